"""Judging many histories at once says what judging each by itself says, whatever way they came."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from many_histories import PROFILE, alone, history, write, write_parquet

from rocketproof_traces import history as reading
from rocketproof_traces.bulk import divide, local
from rocketproof_traces.bulk.results import DONE, Results, Summary
from rocketproof_traces.bulk.shelf import Shelf
from rocketproof_traces.bulk.tables import FINDINGS
from rocketproof_traces.bulk.work import Order, dockets
from rocketproof_traces.errors import TraceError
from rocketproof_traces.histories import judge_history
from rocketproof_traces.history import Header

DATA = Path(__file__).parents[1] / "data"


def judge(tmp: Path, *sources: Path, profile: str = PROFILE, **more: object) -> Summary:
    order = Order(tuple(map(str, sources)), profile, str(tmp / "out"), str(tmp / "shelf"), **more)  # type: ignore[arg-type]
    return local.judge(order)


def test_each_finding_is_that_of_the_history_alone(tmp_path: Path) -> None:
    cases = {"right": history(), "wrong": history(wrong="T1"), "lost": history(lost=True), "both": history(wrong="T2", lost=True)}
    folder = tmp_path / "in"
    folder.mkdir()
    expected = []
    for name, (header, events) in cases.items():
        path = write(folder / f"{name}.ndjson", header, events)
        expected += alone(str(path), header, events)
    found = judge(tmp_path, folder)
    assert found.findings == sorted(expected, key=lambda row: (row["history"], row["seq"]))
    assert len(expected) == 2 and found.verdict == "illegal"
    single = [judge_history(header, events, PROFILE) for header, events in cases.values()]
    assert (found.events, found.explained, found.parts.total()) == (
        sum(one.events for one in single),
        sum(one.explained for one in single),
        sum(one.parts for one in single),
    )
    assert found.out_of_reach == {"asked of the name server": 4, "no answer came": 6}
    table = pq.read_table(tmp_path / "out" / "findings.parquet")
    assert table.schema == FINDINGS and table.num_rows == 2


def test_nothing_is_judged_twice_and_what_is_new_is(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "one.ndjson", *history())
    assert judge(tmp_path, folder).histories == {"ok": 1}
    assert judge(tmp_path, folder).histories == {"ok": 1}
    assert len(list((tmp_path / "out" / "verdicts").iterdir())) == 1
    write(folder / "two.ndjson", *history(wrong="T0"))
    assert judge(tmp_path, folder).histories == {"ok": 1, "illegal": 1}
    write(folder / "two.ndjson", *history(sends=21))
    assert judge(tmp_path, folder).histories == {"ok": 2}
    assert len(list((tmp_path / "out" / "verdicts").iterdir())) == 3


def test_a_batch_that_was_not_finished_is_done_again(tmp_path: Path) -> None:
    path = write(tmp_path / "one.ndjson", *history(wrong="T1"))
    first = judge(tmp_path, path)
    (batch,) = (tmp_path / "out" / "verdicts").iterdir()
    (batch / DONE).unlink()
    assert Results(str(tmp_path / "out")).stamps() == {}
    assert judge(tmp_path, path).data() == first.data()


@pytest.mark.parametrize("form", ["parquet", "pieces", "shuffled pieces", "shelf"])
def test_the_form_changes_nothing(tmp_path: Path, form: str) -> None:
    _, events = history(wrong="T1")
    header = Header()
    folder = tmp_path / "in"
    folder.mkdir()
    if form == "parquet":
        write_parquet(folder / "many.parquet", {"a": events, "b": events})
    elif form == "shelf":
        piece = write(tmp_path / "whole.ndjson", Header({"history": "a"}), events)
        judge(tmp_path / "before", piece)
        folder = tmp_path / "before" / "shelf"
    else:
        pieces = [events[k : k + 40] for k in range(0, len(events), 40)]
        if form == "shuffled pieces":
            mixed = list(events)
            random.Random(5).shuffle(mixed)
            pieces = [mixed[:100], mixed[100:], mixed[90:130]]
        for number, piece_ in enumerate(pieces):
            write(folder / f"{number}.ndjson", Header({"history": "a"}), piece_)
    found = judge(tmp_path, folder)
    names = ("a", "b") if form == "parquet" else ("a",)
    assert found.findings == [row for name in names for row in alone(name, header, events)]
    assert found.events == len(events) * len(names)


def test_pieces_that_come_late_are_waited_for(tmp_path: Path) -> None:
    header, events = history(wrong="T1")
    folder = tmp_path / "in"
    folder.mkdir()
    named = Header({**header.origin, "history": "a"})
    write(folder / "1.ndjson", named, events[:50])
    write(folder / "3.ndjson", named, events[90:])
    found = judge(tmp_path, folder)
    assert (found.verdict, found.unknown, found.events) == ("unknown", ["a: events 50 to 89 did not come yet"], 50)
    assert judge(tmp_path, folder, late=1000.0).verdict == "unknown"
    given_up = judge(tmp_path, folder, late=100.0)
    assert [(one["kind"], one["seq"], one["recorded"]) for one in given_up.findings] == [
        ("not readable", 50, "events 50 to 89 never came"),
    ]
    write(folder / "2.ndjson", named, events[50:90])
    assert judge(tmp_path, folder).findings == alone("a", named, events)


def test_what_is_before_a_damaged_place_is_judged(tmp_path: Path) -> None:
    header, events = history()
    whole = write(tmp_path / "cut.ndjson", header, events, '{"v": 1, "seq"')
    lines = whole.read_text().splitlines(keepends=True)
    lines[100] = "%%%\n"
    (tmp_path / "corrupt.ndjson").write_text("".join(lines))
    twice = [*events[:30], events[29].__class__(29, "info", "x", "y", {})]
    write_parquet(tmp_path / "twice.parquet", {"t": twice})
    found = judge(tmp_path, whole, tmp_path / "corrupt.ndjson", tmp_path / "twice.parquet")
    told = {Path(str(one["file"] or one["history"])).name: (one["line"], one["seq"], one["recorded"]) for one in found.findings}
    assert told["cut.ndjson"] == (len(events) + 2, None, "the last line is cut off; delete it, or record again")
    assert told["corrupt.ndjson"][0] == 101 and "is not JSON" in told["corrupt.ndjson"][2]
    assert told["t"] == (None, 29, "is there twice, with different contents")
    assert found.verdict == "illegal" and found.events == len(events) + 99 + 30
    assert found.histories == {"unreadable": 3} and found.unread == 0


def test_where_nothing_can_be_judged(tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").write_text("")
    (tmp_path / "text.ndjson").write_text("hello\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty").mkdir()
    names = ("empty.ndjson", "text.ndjson", "other.parquet", "broken.parquet")
    found = judge(tmp_path, *(tmp_path / name for name in names))
    assert found.verdict == "unreadable" and found.unread == len(names) == len(found.findings)
    said = {Path(one["file"]).name: one["recorded"] for one in found.findings}
    assert "is empty" in said["empty.ndjson"] and "has no column 'seq'" in said["other.parquet"]
    with pytest.raises(TraceError, match="holds no files"):
        judge(tmp_path, tmp_path / "empty")
    with pytest.raises(TraceError, match="is not there"):
        judge(tmp_path, tmp_path / "nothing")


def test_a_long_history_is_divided_into_files_and_judged_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, events = history(topics=5, wrong="T3")
    path = write(tmp_path / "long.ndjson", header, events)
    expected = judge(tmp_path / "held", path)
    monkeypatch.setattr(local, "HELD", 100)
    monkeypatch.setattr(divide, "KEPT", 100)
    found = judge(tmp_path / "spilled", path)
    assert found.data() == expected.data() and found.findings == alone(str(path), header, events)


def test_processes_give_the_same_as_one(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.ndjson", *history(wrong="T1" if number == 1 else ""))
    order = Order(tuple(str(tmp_path / f"{n}.ndjson") for n in range(3)), PROFILE, str(tmp_path / "out"), str(tmp_path / "shelf"))
    found = local.judge(order, cores=2)
    shutil.rmtree(tmp_path / "out")
    assert local.judge(order).data() == found.data()


def test_dividing_keeps_open_calls_only(tmp_path: Path) -> None:
    """However long a history is, the rows that wait to be written are of one batch."""
    header, events = history(sends=400)
    path = write(tmp_path / "long.ndjson", header, events)
    judge(tmp_path, path)
    shelf = Shelf(str(tmp_path / "shelf"))
    (docket,) = dockets(shelf.taken().values(), {}, Order((), PROFILE, "", ""))
    batches = list(divide.divide(shelf, docket))
    assert sum(batch.num_rows for batch in batches) == 1 + 3 + 400 * 6 + 401 * 3
    parts = {row["part"] for batch in batches for row in batch.to_pylist()}
    assert parts == {-1, 0, 1, 2}


@pytest.mark.parametrize(("version", "profile"), [("4.9.4", "P494"), ("5.3.3", "P533")])
def test_recordings_of_single_requests_are_histories(tmp_path: Path, version: str, profile: str) -> None:
    found = judge(tmp_path, DATA / f"rocketmq-{version}.jsonl", profile=profile)
    assert (found.verdict, found.findings) == ("ok", [])
    assert {one["history"].rpartition("#")[2] for one in found.rows} == {"A", "L", "M", "N"}
    assert found.explained > 250


def test_a_recording_that_another_broker_made_is_not_explained(tmp_path: Path) -> None:
    lines = (DATA / "rocketmq-4.9.4.jsonl").read_text().splitlines()
    row = json.loads(lines[6])
    row["response"]["extFields"]["queueOffset"] = "1"
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join([*lines[:6], json.dumps(row), *lines[7:]]) + "\n")
    found = judge(tmp_path, path, profile="P494")
    assert [(one["op"], one["recorded"]) for one in found.findings] == [("send", "code 0 SUCCESS, queue 0, offset 1")]


def test_eight_producers_at_a_real_broker_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "real.ndjson"
    path.write_bytes(gzip.decompress((DATA / "history-4.9.4-8-producers.ndjson.gz").read_bytes()))
    header, lines = reading.read(path)
    events = list(lines)
    assert len({event.process for event in events}) == 8
    found = judge(tmp_path, path, profile="P494")
    assert (found.verdict, found.findings, found.events) == ("ok", [], len(events))
    assert found.explained == judge_history(header, events, "P494").explained > 1800
