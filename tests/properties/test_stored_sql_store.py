"""A damaged store checked by SQL over its columns and by the audit: records, queues, entries, files and topics."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_by_sql import GIVEN, SQL, broken, load
from damaged_stores import DAMAGES, Damage, Stored, copied, made, points_behind

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.common.pools import on_processes

SETTINGS = settings("P494")
PLAN = AuditPlan(stored_rules, tuple(SETTINGS.items()), limit=1 << 30, every=True)
Found = tuple[str, int, int]  # topic, queue id, and the physical offset or the number of the entry

WANTED = {
    "record": "'', -1, physicalOffset",
    "log": "'', -1, next.physicalOffset",
    "line": "'', -1, next.physicalOffset",
    "queue": "topic, queueId, begun",
    "entry": "topic, queueId, index",
    "file": "'', -1, base",
    "files": "'', -1, next.base",
    "topic": "key, -1, 0",
}
OTHER = {"INV-48.chain", "INV-49.chain", "INV-50.form", "INV-50.place", "INV-38.stored"}
"""Of these the SQL sees too little: other records, and where the records of a file end."""
IDS = {over: SQL[over].keys() - OTHER for over in WANTED}


def by_sql(root: Path) -> dict[str, list[Found]]:
    connection = load(root)
    table = {"log": "record", "files": "file"}
    return {
        id_: broken(connection, table.get(over, over), over, id_, GIVEN | SETTINGS, WANTED[over])
        for over, ids in IDS.items()
        for id_ in ids
    }


def by_audit(root: Path) -> dict[str, list[Found]]:
    (totals,) = audit(PLAN, [str(root)], on_processes(1), SavedAnswers(None), lambda done, all_: None).totals
    found: dict[str, list[Found]] = {id_: [] for ids in IDS.values() for id_ in ids}
    for finding in totals.findings:
        if finding.property in found:
            inside = finding.property in IDS["record"] | IDS["log"] | IDS["line"]
            place = finding.queue_offset if finding.property in IDS["entry"] else finding.offset
            found[finding.property].append(("", -1, place) if inside else (finding.topic, finding.queue_id, place))
    return {id_: sorted(places) for id_, places in found.items()}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    return made(tmp_path_factory.mktemp("sound") / "store")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12, 21, 22])
def test_store_with_many_damages(seed: int, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", seed)
    for damage in DAMAGES:
        if not damage.whole:
            damage.do(store)
    broken = by_sql(store.root)
    assert by_audit(store.root) == broken
    there = {id_ for id_, places in broken.items() if places}
    assert {"INV-30.sign", "INV-30.stored", "INV-34.first", *IDS["entry"]} <= there
    assert len(there & (IDS["record"] | IDS["log"] | IDS["line"])) >= 20


OF_ALL = [damage for damage in DAMAGES if damage.whole and damage.name not in ("cut file", "blank that is too short")]


@pytest.mark.slow
@pytest.mark.parametrize("damage", OF_ALL, ids=lambda damage: damage.name)
def test_files_and_topics(damage: Damage, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 7)
    damage.do(store)
    broken = by_sql(store.root)
    assert by_audit(store.root) == broken
    assert broken.get(damage.property, True), "the damage is not one that is looked for here"


@pytest.mark.slow
@pytest.mark.parametrize(("entries", "behind", "wrong"), [(1, 0, 1), (2, 0, 0), (2, 4 << 20, 0), (2, 5 << 20, 2)])
def test_entries_past_log_end_are_found(entries: int, behind: int, wrong: int, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 7)
    points_behind(store, entries, behind)
    broken = by_sql(store.root)
    assert by_audit(store.root) == broken
    assert len(broken["INV-44.record"]) == wrong
