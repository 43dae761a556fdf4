"""The audit of a store with a DLedger log: no finding in a sound one, and all damage at its offset, for every size of ranges."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from damaged_stores import Damage, Damaged, Stored, copied, made
from ledger_stores import HEADER, OTHERS, OWN, SIZE, as_ledger

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.merge import AuditTotals
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.common.pools import on_threads
from rocketproof_traces.spark.tables import commitlog
from rocketproof_traces.stored.errors import StoredError
from rocketproof_traces.stored.segments import RANGE_SIZE, log_files

pytestmark = pytest.mark.behaviour("INV-34", "INV-36", "INV-37", "INV-39", "INV-40", "INV-41", "INV-42", "INV-44", "APP-08")
PLAN = AuditPlan(stored_rules, tuple(settings("P494").items()), every=True)
Made = tuple[Path, list[Stored]]


def audited(root: Path, *, size: int = RANGE_SIZE, workers: int = 1) -> AuditTotals:
    outcome = audit(PLAN, [str(root)], on_threads(workers), SavedAnswers(None), lambda done, all_: None, size)
    assert not outcome.stopped
    return outcome.totals[0]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("plain") / "store")


@pytest.fixture(scope="module")
def sound(plain: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("ledger") / "store"
    return root, as_ledger(*plain, root)


@pytest.fixture
def store(sound: Made, tmp_path: Path) -> Damaged:
    return copied(*sound, tmp_path / "store", 1)


@pytest.mark.parametrize("size", [RANGE_SIZE, 7_001])
def test_sound_store_breaks_no_rule(size: int, sound: Made) -> None:
    totals = audited(sound[0], size=size)
    assert (totals.counts, totals.findings, totals.problems, totals.unread) == ({}, [], [], [])
    assert totals.records == len(sound[1])
    assert len(list((sound[0] / "dledger-n0" / "data").iterdir())) > 3


@pytest.mark.slow
@pytest.mark.parametrize("damage", [*OTHERS, *OWN], ids=lambda damage: damage.name)
def test_damage_is_found(damage: Damage, sound: Made, tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 3)
    offset = damage.do(store)
    totals = audited(store.root)
    assert (damage.property, offset) in {(found.property, found.offset) for found in totals.findings}
    if damage.also != ("*",):
        assert set(totals.counts) <= {damage.property, *damage.also}
    assert totals.problems == []


@pytest.mark.parametrize(("size", "workers"), [(50_000, 1), (7_001, 2)])
def test_parts_make_no_difference(size: int, workers: int, sound: Made, tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 5)
    places = [(damage.property, damage.do(store)) for damage in (*OTHERS, *OWN) if not damage.whole]
    totals, whole = audited(store.root, size=size, workers=workers), audited(store.root)
    assert set(places) <= {(found.property, found.offset) for found in totals.findings}
    assert (totals.findings, totals.counts) == (whole.findings, whole.counts)
    assert len(set(totals.findings)) == len(totals.findings)


def test_finding_shows_entry(store: Damaged) -> None:
    record = store.take()
    store.put(record, 44 - HEADER.size, ">i", record.size + 2)
    found = {each.property: each for each in audited(store.root).findings}
    assert found.keys() == {"INV-40.ledger", "INV-40.body"}
    body = found["INV-40.body"]
    assert (body.topic, body.queue_id, body.queue_offset) == (record.topic, record.queue, record.index)
    assert (body.expected, body.found) == (str(record.size), str(record.size + 2))
    place = record.at - HEADER.size
    assert (body.offset, body.hex) == (record.offset - HEADER.size, record.path.read_bytes()[place : place + 64].hex())


def test_blank_after_damaged_record_is_found(store: Damaged) -> None:
    path = sorted(store.log.iterdir())[1]
    store.put([record for record in store.records if record.path == path][-1], 4, ">I", 7)
    totals = audited(store.root)
    assert totals.counts["INV-37.contiguous"] == 1
    assert not {"INV-37.ended", "INV-37.blank", "INV-38.stored", "INV-37.hole"} & totals.counts.keys()


def test_log_cleaned_mid_file_begins_with_blank(store: Damaged) -> None:
    first, second, *_ = sorted(store.log.iterdir())
    first.unlink()
    cut = [record for record in store.records if record.path == second][5]
    start = cut.at - HEADER.size
    store.write(second, 0, struct.pack(">ii", -1, start))
    for path in (store.root / "consumequeue").glob("*/*/*"):  # as if they were cleaned too
        data = bytearray(path.read_bytes())
        for at in range(0, len(data), 20):
            if struct.unpack_from(">q", data, at)[0] < cut.offset:
                data[at : at + 20] = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)
        path.write_bytes(data)
    for size in (RANGE_SIZE, 30_000):
        totals = audited(store.root, size=size)
        assert totals.records == len([record for record in store.records if record.offset >= cut.offset])
        assert not {id_ for id_ in totals.counts if id_.startswith("INV-37") or id_.endswith("ledger")}
    store.write(second, 0, struct.pack(">ii", -1, start + 1))
    assert {"APP-08.ledger", "INV-40.ledger"} <= audited(store.root).counts.keys()


def test_records_without_quorum_are_no_finding(store: Damaged) -> None:
    """The broker stopped cleanly, with a record after all entries of the consume queues."""
    last = max((record for record in store.records if record.flags == 0), key=lambda record: record.offset)
    store.write(*store.entry(last), bytes(20))
    assert audited(store.root).counts == {}


def test_index_behind_log_after_kill_is_no_finding(store: Damaged) -> None:
    OWN[[damage.name for damage in OWN].index("no entry in the index")].do(store)
    assert audited(store.root).counts == {"INV-36.ledger": 1}
    (store.root / "abort").touch()
    assert audited(store.root).counts == {}
    (store.root / "abort").unlink()
    shutil.rmtree(store.root / "dledger-n0" / "index")
    assert audited(store.root).counts == {}


def test_log_continued_with_dledger_is_audited(plain: Made, sound: Made, tmp_path: Path) -> None:
    """The DLedger files continue where the files of the plain log end."""
    files = log_files([str(sound[0])])
    store = copied(*sound, tmp_path / "store", 1)
    before = store.root / "commitlog"
    before.mkdir()
    assert [(file.base, file.header) for file in log_files([str(store.root)])] == [(file.base, 48) for file in files]
    shutil.copy(sorted((plain[0] / "commitlog").iterdir())[0], before / f"{files[-1].base + SIZE:020}")
    assert [file.header for file in log_files([str(store.root)])] == [48] * len(files) + [0]
    found = audited(store.root)
    assert found.records > len(sound[1])
    assert "INV-37.contiguous" not in found.counts


def test_folder_with_files_alone(sound: Made, tmp_path: Path) -> None:
    shutil.copytree(sound[0] / "dledger-n0" / "data", tmp_path / "some")
    assert {file.header for file in log_files([str(tmp_path / "some")])} == {48}
    totals = audited(tmp_path / "some")
    assert (totals.records, totals.counts) == (len(sound[1]), {"INV-28.stored": 1})


def test_logs_of_two_members_are_separate(store: Damaged) -> None:
    shutil.copytree(store.root / "dledger-n0", store.root / "dledger-n1")
    with pytest.raises(StoredError, match="is there a second time"):
        log_files([str(store.root)])


def test_table_of_records_reads_it(sound: Made) -> None:
    for size in (RANGE_SIZE, 9_001):
        rows = [
            row
            for part in commitlog.TABLE.parts([str(sound[0])], (), size)
            for batch in commitlog.TABLE.read(part, ("physicalOffset", "size", "topic", "error"), ())
            for row in batch.to_pylist()
        ]
        told = [{"physicalOffset": r.offset, "size": r.size, "topic": r.topic, "error": None} for r in sound[1]]
        assert rows == told
