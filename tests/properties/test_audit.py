"""The audit of a fabricated store: no finding in a sound one, and all damage at its offset, for every size of ranges."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_stores import DAMAGES, Damage, Stored, copied, made

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit import segment
from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.merge import AuditTotals
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.common.pools import on_threads
from rocketproof_traces.stored.segments import RANGE_SIZE

pytestmark = pytest.mark.behaviour(
    "INV-10", "INV-13", "INV-30", "INV-31", "INV-34", "INV-35", "INV-37", "INV-39", "INV-40", "INV-41", "INV-42", "INV-44", "INV-45",
    "APP-08", "REC-04", "HAZ-22",
)  # fmt: skip
PLAN = AuditPlan(stored_rules, tuple(settings("P494").items()), every=True)


def audited(root: Path, plan: AuditPlan = PLAN, *, size: int = RANGE_SIZE, workers: int = 1) -> AuditTotals:
    outcome = audit(plan, [str(root)], on_threads(workers), SavedAnswers(None), lambda done, all_: None, size)
    assert not outcome.stopped
    return outcome.totals[0]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    return made(tmp_path_factory.mktemp("sound") / "store")


def test_sound_store_breaks_no_rule(sound: tuple[Path, list[Stored]]) -> None:
    totals = audited(sound[0])
    assert totals.counts == {}
    assert totals.findings == []
    assert totals.problems == []
    assert totals.records == len(sound[1])
    assert sum(totals.topics.values()) == len(sound[1])


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_damage_is_found(damage: Damage, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """The finding has the right property and offset, and only consequences of the damage accompany it."""
    store = copied(*sound, tmp_path / "store", 1)
    offset = damage.do(store)
    totals = audited(store.root)
    assert (damage.property, offset) in {(found.property, found.offset) for found in totals.findings}
    if damage.also != ("*",):
        assert set(totals.counts) <= {damage.property, *damage.also}
    assert totals.problems == []


@pytest.mark.parametrize(("size", "workers"), [(1 << 20, 1), (50_000, 1), (7_001, 2)])
def test_parts_make_no_difference(size: int, workers: int, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """Damage of all kinds in one store, with the log cut into parts of these sizes, gives the same findings, each once."""
    store = copied(*sound, tmp_path / "store", 5)
    places = [(damage.property, damage.do(store)) for damage in DAMAGES if not damage.whole]
    totals, whole = audited(store.root, size=size, workers=workers), audited(store.root)
    assert set(places) <= {(found.property, found.offset) for found in totals.findings}
    assert totals.findings == whole.findings
    assert totals.counts == whole.counts
    assert len(set(totals.findings)) == len(totals.findings)


def test_thread_uses_its_workspace_again(sound: tuple[Path, list[Stored]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of one store reuse it, except with too many known values. The findings are equal."""
    store = copied(*sound, tmp_path / "store", 5)
    for damage in DAMAGES:
        if not damage.whole:
            damage.do(store)
    begun: list[segment.StoreFolder] = []
    made_new = segment._Workspace.__init__
    monkeypatch.setattr(segment._Workspace, "__init__", lambda self, plan, store: (begun.append(store), made_new(self, plan, store))[1])
    totals = audited(store.root, size=50_000)
    assert len(begun) == 1
    monkeypatch.setattr(segment, "MANY", 0)
    assert audited(store.root, size=50_000) == totals
    assert len(begun) > 3


def test_counts_are_exact_where_findings_are_limited(sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 1)
    for record in store.records[:50]:
        store.put(record, 72, ">i", -1)
    totals = audited(store.root, AuditPlan(stored_rules, limit=7, every=True))
    assert totals.counts == {"APP-08.reconsumeTimes": 50}
    assert [found.offset for found in totals.findings] == [record.offset for record in store.records[:7]]


def test_finding_states_expected_and_found_value(sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 1)
    record = store.take()
    store.put(record, 28, ">q", 42)
    (found,) = audited(store.root).findings
    shown = record.path.read_bytes()[record.at : record.at + 64].hex()
    sentence = "the physical offset in a record is the place where it lies"
    assert found == AuditFinding(
        str(store.root), str(record.path), record.offset, "INV-37.stored", record.topic, record.queue, record.index,
        str(record.offset), "42", shown, "error", sentence,
    )  # fmt: skip


def test_only_named_rules_are_audited(sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 1)
    record = store.take()
    store.put(record, 28, ">q", 42)
    store.put(record, 72, ">i", -1)
    assert audited(store.root, AuditPlan(stored_rules, only=("APP-08.reconsumeTimes",))).counts == {"APP-08.reconsumeTimes": 1}


@pytest.mark.parametrize(
    ("rule", "relations"),
    [
        ("INV-30.stored", ["below"]),
        ("INV-40.limit", ["at most"]),
        ("INV-47.stored", ["at least"]),
        ("INV-43.stored", ["at least", "at most"]),
        ("INV-06.stored", ["at most"]),
        ("TRX-06.commit", ["at least", "below", "above"]),
        ("INV-34.stored", []),
        ("INV-41.record", []),
    ],
)
def test_comparison_symbol_relates_found_value_to_expected_one(rule: str, relations: list[str]) -> None:
    assert {each.id: [bound.relation for bound in each.bounds] for each in stored_rules()}[rule] == relations


def test_finding_names_which_of_two_bounds_is_broken(sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 1)
    low, high = (store.put(store.take(), 68, ">i", port) for port in (0, 70_000))
    said = {found.offset: (found.expected, found.found) for found in audited(store.root).findings}
    assert said == {low: ("at least 1", "0"), high: ("at most 65535", "70000")}
