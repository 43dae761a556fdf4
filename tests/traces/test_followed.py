"""Following growing stores: each record is judged once, as by an audit of the whole store at the end."""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from growing_store import grow
from written_store import Sent, Stored, write_store

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.checkpoint import FILE, Checkpoint, Followed
from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.following import LogFollower, Round, followed_rules
from rocketproof_traces.audit.merge import AuditTotals
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.audit.task import LogRange, failed_segment
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.common.pools import on_threads
from rocketproof_traces.stored.growing import LogPosition

PLAN = AuditPlan(stored_rules, tuple(sorted(settings("P494").items())), every=True)
SETTINGS = {"profile": "P494"}
FILE_SIZE = 1 << 13


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    """Return a log of several files with damage of each kind that is judged: a checksum, a time, an offset, a magic number."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    stored = write_store(folder, [Sent("orders", n % 2, bytes(20 + n), {"TAGS": "a"}) for n in range(120)], FILE_SIZE)
    hurt(folder, stored[10], 4, b"xxxx")
    hurt(folder, stored[30], 100, b"x")
    hurt(folder, stored[31], 20, struct.pack(">q", 3))
    hurt(folder, stored[60], 56, struct.pack(">q", 1_600_000_000_000))
    hurt(folder, stored[90], 72, struct.pack(">i", -5))
    return folder, stored


def hurt(folder: Path, record: Stored, at: int, data: bytes) -> None:
    base = record.offset // FILE_SIZE * FILE_SIZE
    with (folder / "commitlog" / f"{base:020d}").open("r+b") as file:
        file.seek(record.offset - base + at)
        file.write(data)


def batch(folder: Path) -> AuditTotals:
    """Audit a whole store by the rules that are judged while following."""
    plan = replace(PLAN, only=tuple(rule.id for rule in followed_rules(PLAN)[0]))
    (totals,) = audit(plan, [str(folder)], on_threads(1), SavedAnswers(None)).totals
    return totals


def follow(store: Path, checkpoint: Path, size: int = 1 << 30) -> Round:
    """Judge one round in a new process's place: the checkpoint is opened again."""
    with Checkpoint(checkpoint, SETTINGS) as kept:
        return LogFollower(PLAN, [str(store)], kept, size).round(on_threads(1))


@pytest.mark.parametrize(("step", "size"), [(1500, 1 << 30), (FILE_SIZE + 7, 900)])
def test_growing_store_gives_findings_of_batch_audit(whole: tuple[Path, list[Stored]], tmp_path: Path, step: int, size: int) -> None:
    folder, stored = whole
    store, found, records = tmp_path / "store", [], 0
    end = stored[-1].offset + stored[-1].size
    for reached in (*range(step, end, step), end):
        grow(folder, store, reached)
        more = True
        while more:
            done = follow(store, tmp_path / "kept", size)
            assert done.problems == {}
            found, records, more = found + done.findings, records + done.records, done.more
    expected = batch(store)
    assert sorted(found) == expected.findings
    assert {finding.property for finding in found} >= {"INV-41.stored", "INV-42.stored", "INV-34.stored", "APP-08.reconsumeTimes"}
    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        assert kept.findings() == expected.findings
        (followed,) = kept.stores.values()
    assert (followed.counts, followed.records, records) == (expected.counts, expected.records, expected.records)


def test_round_that_is_interrupted_leaves_no_trace(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, _ = whole

    def interrupted(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        yield function(items[0])
        raise KeyboardInterrupt

    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        with pytest.raises(KeyboardInterrupt):
            LogFollower(PLAN, [str(folder)], kept).round(interrupted)
        assert (kept.stores, kept.findings()) == ({}, [])
    assert sorted(follow(folder, tmp_path / "kept").findings) == batch(folder).findings


def test_range_that_cannot_be_read_ends_the_round_of_its_store(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """Its records are read again in a later round, and nothing more is to be read in this one: `--once` ends."""

    def unreadable(_function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            task = LogRange.read(item)
            yield task.key, failed_segment(task, "cannot be read").text()

    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        done = LogFollower(PLAN, [str(whole[0])], kept, 900).round(unreadable)
        assert (done.problems, done.more, kept.stores) == ({str(whole[0]): "cannot be read"}, False, {})


def test_findings_and_position_are_kept_together(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """The disk is full after the positions are written and before the findings are."""
    first, *_ = batch(whole[0]).findings

    def full() -> Iterator[AuditFinding]:
        yield first
        raise OSError(28, "No space left on device")

    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        with pytest.raises(TraceError, match="cannot be written"):
            kept.commit({"store": Followed(LogPosition(5, 1))}, full())
        assert kept.stores == {}
    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        assert (kept.stores, kept.findings()) == ({}, [])


def test_nothing_is_concluded_across_deleted_files(tmp_path: Path) -> None:
    stored = write_store(tmp_path / "whole", [Sent("orders", 0, bytes(100)) for _ in range(200)], FILE_SIZE)
    store = grow(tmp_path / "whole", tmp_path / "store", 1000)
    follow(store, tmp_path / "kept")
    grow(tmp_path / "whole", store, stored[-1].offset + stored[-1].size)
    (store / "commitlog" / f"{0:020d}").unlink()
    done = follow(store, tmp_path / "kept")
    assert list(done.missing) == [str(store)]
    assert (done.findings, done.records) == ([], sum(each.offset >= FILE_SIZE for each in stored))
    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        assert kept.stores[str(store)].missing == tuple(done.missing.values())


def test_rewritten_store_is_left_and_others_are_followed(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, _ = whole
    store = grow(folder, tmp_path / "store", 3000)
    with Checkpoint(tmp_path / "kept", SETTINGS) as kept:
        follower = LogFollower(PLAN, [str(store), str(folder)], kept)
        follower.round(on_threads(1))
        write_store(tmp_path / "other", [Sent("orders", 0, bytes(90))] * 60, FILE_SIZE)
        grow(tmp_path / "other", store, 6000)
        done = follower.round(on_threads(1))
        assert list(follower.lost) == list(done.problems) == [str(store)]
        assert "begin again with a new checkpoint" in done.problems[str(store)]
        assert follower.round(on_threads(1)).problems == {}


def test_rules_that_need_other_files_are_left_out() -> None:
    judged, left_out = ({rule.id for rule in rules} for rules in followed_rules(PLAN))
    assert judged | left_out == {rule.id for rule in stored_rules()}
    assert {"INV-37.stored", "INV-41.stored", "INV-42.stored", "INV-34.stored", "INV-37.hole", "TRX-05.stored"} <= judged
    needs_queues, needs_table, needs_first_records = "INV-36.stored", "INV-48.ordinary", "INV-49.chain"
    assert {needs_queues, needs_table, needs_first_records, "INV-47.stored", "REC-04.level"} <= left_out


def test_page_names_rules_about_records_that_are_left_out() -> None:
    text = (Path(__file__).parents[2] / "traces" / "docs" / "follow.md").read_text("utf-8")
    named = re.findall(r"[A-Z]+-\d+\.\w+", text.partition("These rules about records are not judged:")[2].partition("##")[0])
    about_records = {rule.id for rule in followed_rules(PLAN)[1] if rule.over in ("record", "log", "line", "damage")}
    assert (sorted(named), len(named)) == (sorted(about_records), len(about_records))
    numbers = [f"{len(rules)} rules" for rules in followed_rules(PLAN)]
    assert all(number in text for number in numbers), numbers


def damaged_file(folder: Path) -> None:
    (folder / FILE).write_bytes(b"no database at all " * 100)


def other_table(folder: Path) -> None:
    with sqlite3.connect(folder / FILE) as database:
        database.execute("INSERT INTO stores VALUES ('s', 1, 2, '{}')")
    database.close()


def other_version(folder: Path) -> None:
    with sqlite3.connect(folder / FILE) as database:
        database.execute("UPDATE audit SET version = 99")
    database.close()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (damaged_file, "is no checkpoint of an audit"),
        (other_table, "is no checkpoint of an audit"),
        (other_version, "was made by another version of rocketproof"),
    ],
)
def test_checkpoint_that_cannot_be_read_is_one_line(tmp_path: Path, spoil: Callable[[Path], None], says: str) -> None:
    with Checkpoint(tmp_path, SETTINGS), pytest.raises(TraceError, match="is used by another process"):
        Checkpoint(tmp_path, SETTINGS)
    with pytest.raises(TraceError, match="belongs to an audit with another profile"):
        Checkpoint(tmp_path, {"profile": "P49"})
    spoil(tmp_path)
    with pytest.raises(TraceError, match=says):
        Checkpoint(tmp_path, SETTINGS)
