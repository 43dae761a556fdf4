"""Files of a broker are judged by the audit's rules: a good store breaks none, and one with a changed byte does, under the item's id."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.store.indexfile import MappedIndexFile
from rocketproof_impl.system.disk import SystemDisk
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging import storefiles
from rocketproof_properties.judging.wholelog import judge_log
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.validation.entries import entries, entry_of, puts_to_the_test
from rocketproof_properties.validation.ownprograms import Suite
from rocketproof_traces.stored.index import StoredIndexFile

PROFILE = "P494"
BODY = b"a body that is found again"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the store of a broker with two messages."""
    folder = tmp_path_factory.mktemp("store")
    with InProcess(PROFILE).open() as running:
        suite = Suite(running, PROFILE, folder / "histories")
        (folder / "histories").mkdir()
        suite.perform([("send", {"topic": "A", "body": BODY.decode(), "properties": {"KEYS": "k"}}), ("send", {"topic": "A"})])
        shutil.copytree(running.store("broker-a"), folder / "kept")
        suite.close()
    return folder / "kept"


def judged(store: Path, path: Path) -> dict[str, bool]:
    assert storefiles.record(store, path, "broker-a", "", {}, PROFILE)
    judged = judge_log(path, PROFILE)
    items = {entry.id: entry for entry in entries(PROFILE, frozenset(Capability))}
    assert all(entry_of(finding) in items for finding in judged.findings)
    assert puts_to_the_test(judged, items["INV-41.stored"])
    return {id_: held for id_, (held, _, _) in judged.claims.items()}


@pytest.mark.slow
def test_files_are_judged_by_rules_of_audit(store: Path, tmp_path: Path) -> None:
    held = judged(store, tmp_path / "logs" / "1.ndjson")
    assert len(held) > 30 and all(held.values())
    spoiled = tmp_path / "spoiled"
    shutil.copytree(store, spoiled)
    (log,) = (path for path in sorted((spoiled / "commitlog").iterdir()) if BODY in path.read_bytes())
    log.write_bytes(log.read_bytes().replace(BODY, BODY.swapcase()))
    held = judged(spoiled, tmp_path / "logs" / "2.ndjson")
    assert not held["INV-41.stored"] and held["INV-37.stored"]


def test_queue_may_be_rebuilt_from_records_before_topic_deletion(store: Path, tmp_path: Path) -> None:
    """Then the first record after the deletion has number 0 too, but is the second entry."""
    rebuilt = tmp_path / "rebuilt"
    shutil.copytree(store, rebuilt)
    (queue,) = (path for path in (rebuilt / "consumequeue").glob("*/0/*") if path.parts[-3].endswith("-A"))
    entries_ = queue.read_bytes()
    queue.write_bytes(entries_[:20] * 2 + entries_[40:])
    numbers = itertools.count(1)

    def broken(topics: list[str]) -> set[str]:
        path = tmp_path / "logs" / f"{next(numbers)}.ndjson"
        assert storefiles.record(rebuilt, path, "broker-a", "", {"anew": topics}, PROFILE)
        return {id_ for id_, (held, _, _) in judge_log(path, PROFILE).claims.items() if not held}

    there = broken([])
    assert {"INV-44.offset", "INV-44.back"} <= there == broken(["another"])
    assert broken([queue.parts[-3]]) == there - {"INV-44.offset", "INV-44.back"}


def test_store_that_cannot_be_read_whole_passes_nothing(store: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(store, torn)
    (torn / "config" / "topics.json").write_text("{")
    path = tmp_path / "logs" / "1.ndjson"
    assert storefiles.record(torn, path, "broker-a", "", {}, PROFILE)
    found = judge_log(path, PROFILE)
    broken = {one.property for one in found.deviations}
    assert found.exercised == found.claims.keys() == broken
    assert found.left_open and not found.left_open.keys() & broken
    assert all("topics.json" in reason for reason in found.left_open.values())


def test_ctrl_c_ends_audit(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Iterator[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr("rocketproof_traces.common.pools.on_threads", lambda *_, **__: interrupted)
    with pytest.raises(KeyboardInterrupt):
        storefiles.record(store, tmp_path / "1.ndjson", "broker-a", "", {}, PROFILE)
    assert not (tmp_path / "1.ndjson").exists()


def test_folder_without_store_reports_nothing(tmp_path: Path) -> None:
    assert storefiles.record(tmp_path, tmp_path / "1.ndjson", "broker-a", "", {}, PROFILE) is False


def test_files_have_items_only_where_they_can_be_read() -> None:
    assert not {rule.id for rule in storefiles.rules()} & {entry.id for entry in entries(PROFILE, frozenset())}


@pytest.mark.parametrize("most", [1, 99])
def test_entry_that_broker_adds_during_audit_breaks_no_rule(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The audit reads the entries of an index file before its slots, which may then name an entry added in between (REC-04).

    The broker adds `most` entries. If it never stops, nothing is decided.
    """
    written = tmp_path / "written"
    shutil.copytree(store, written)
    (path,), (queue,) = (written / "index").iterdir(), (written / "consumequeue").glob("*-A")
    heads, added = StoredIndexFile.heads, itertools.count()

    def put_before(file: StoredIndexFile, first: int, count: int) -> Any:
        if next(added) < most:
            with SystemDisk(written) as disk:
                mapped = MappedIndexFile(str(path), disk.map(str(path), path.stat().st_size), file.slots, file.limit)
                mapped.load()
                assert mapped.put(f"{queue.name}#k", 0, mapped.header.end_timestamp)
        return heads(file, first, count)

    monkeypatch.setattr(StoredIndexFile, "heads", put_before)
    monkeypatch.setattr(storefiles, "_STILL", 0)
    monkeypatch.setattr(storefiles, "_AUDITS", 3)
    assert storefiles.record(written, tmp_path / "1.ndjson", "broker-a", "", {}, PROFILE)
    found = judge_log(tmp_path / "1.ndjson", PROFILE)
    assert [str(deviation) for deviation in found.deviations] == []
    assert ("REC-04.keySlot" in found.left_open) == (most > 1)
