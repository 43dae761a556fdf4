"""Judging many histories at once equals judging each alone, in every order of arrival."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from many_histories import FIELDS, PROFILE, TABLE, alone, history, write, write_parquet

from rocketproof_traces import history as reading
from rocketproof_traces.bulk import local, partition
from rocketproof_traces.bulk.cache import PieceCache
from rocketproof_traces.bulk.ingest import sources, stamp_of
from rocketproof_traces.bulk.results import DONE, FolderResults, Summary
from rocketproof_traces.bulk.tables import EVENTS, FINDINGS, event_row
from rocketproof_traces.bulk.work import JudgingJob, tasks
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header
from rocketproof_traces.history.exchanges import CallEvents, paired

DATA = Path(__file__).parents[1] / "data"


def judge(tmp: Path, *sources: Path, profile: str = PROFILE, **more: object) -> Summary:
    order = JudgingJob(tuple(map(str, sources)), profile, str(tmp / "out"), str(tmp / "cache"), **more)  # type: ignore[arg-type]
    return local.judge(order)


def test_each_finding_equals_that_of_single_history(tmp_path: Path) -> None:
    cases = {"right": history(), "wrong": history(wrong="T1"), "lost": history(lost=True), "both": history(wrong="T2", lost=True)}
    folder = tmp_path / "in"
    folder.mkdir()
    expected = []
    for name, (header, events) in cases.items():
        path = write(folder / f"{name}.ndjson", header, events)
        expected += alone(str(path), header, events)
    judged = judge(tmp_path, folder)
    assert judged.findings == sorted(expected, key=lambda row: (row["history"], row["seq"]))
    assert len(expected) == 2 and judged.verdict == "illegal"
    single = [judge_history(header, events, PROFILE) for header, events in cases.values()]
    assert (judged.events, judged.explained, judged.parts.total()) == (
        sum(verdict.events for verdict in single),
        sum(verdict.explained for verdict in single),
        sum(verdict.parts for verdict in single),
    )
    assert judged.out_of_reach == {"asked of the name server": 4, "no answer came": 6}
    table = pq.read_table(tmp_path / "out" / "findings.parquet")
    assert table.schema == FINDINGS and table.num_rows == 2


@pytest.mark.parametrize("kept", [partition.KEPT, 0], ids=["held", "read a second time"])
@pytest.mark.parametrize(("strays", "verdict"), [((), "illegal"), (("half",), "ok"), (("commit",), "ok"), (("send",), "ok")])
def test_request_answered_twice_may_have_been_served_twice(
    strays: tuple[str, ...], verdict: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first and the last message the queue gained two others: one is that of a transaction."""
    monkeypatch.setattr(partition, "KEPT", kept)
    half = {"properties": "TRAN_MSG\1true\2", "sysFlag": "4"}
    requests = {"send": {}, "half": half, "route": {}, "commit": {"commitOrRollback": "8"}, "last": {}}
    offsets = {"send": "0", "last": "3"}
    ops = {"route": "route", "commit": "end_transaction"}
    events = [Event(0, "state", "broker-a", "topics", {"topics": TABLE})]

    def add(type_: str, op: str, value: dict[str, Any]) -> int:
        events.append(Event(len(events), type_, "client 0", op, value, len(events)))
        return len(events) - 1

    for name, fields in requests.items():
        op = ops.get(name, "send")
        to = "name server" if op == "route" else "broker-a"
        begun = add("invoke", op, {"to": to, "fields": {**FIELDS, "topic": "T", "queueId": "0", **fields}, "bodySize": 1})
        answer = {"code": 0, "fields": {"queueId": "0", "queueOffset": offsets.get(name, "0")}}
        add("ok", op, answer)
        if name in (*strays, "route"):
            add("info", "stray", {"of": begun, **answer})
    add("info", "stray", {"of": [], "code": 0})
    header = Header({"settings": {"autoCreateTopicEnable": "true"}})
    path = write(tmp_path / "twice.ndjson", header, events)
    found, single = judge(tmp_path, path), judge_history(header, events, PROFILE)
    assert found.findings == alone(str(path), header, events)
    assert found.verdict == single.verdict == verdict
    assert found.out_of_reach == single.out_of_reach


def test_only_new_histories_are_judged(tmp_path: Path) -> None:
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


def test_batch_that_was_not_finished_is_done_again(tmp_path: Path) -> None:
    path = write(tmp_path / "one.ndjson", *history(wrong="T1"))
    first = judge(tmp_path, path)
    (batch,) = (tmp_path / "out" / "verdicts").iterdir()
    (batch / DONE).unlink()
    assert FolderResults(str(tmp_path / "out")).stamps() == {}
    assert judge(tmp_path, path).data() == first.data()


@pytest.mark.parametrize("form", ["parquet", "pieces", "shuffled pieces", "cache"])
def test_form_changes_nothing(tmp_path: Path, form: str) -> None:
    _, events = history(wrong="T1")
    header = Header()
    folder = tmp_path / "in"
    folder.mkdir()
    if form == "parquet":
        write_parquet(folder / "many.parquet", {"a": events, "b": events})
    elif form == "cache":
        piece = write(tmp_path / "whole.ndjson", Header({"history": "a"}), events)
        judge(tmp_path / "before", piece)
        folder = tmp_path / "before" / "cache"
    else:
        pieces = [events[k : k + 40] for k in range(0, len(events), 40)]
        if form == "shuffled pieces":
            mixed = list(events)
            random.Random(5).shuffle(mixed)
            pieces = [mixed[:100], mixed[100:], mixed[90:130]]
        for number, piece_ in enumerate(pieces):
            write(folder / f"{number}.ndjson", Header({"history": "a"}), piece_)
    judged = judge(tmp_path, folder)
    names = ("a", "b") if form == "parquet" else ("a",)
    assert judged.findings == [row for name in names for row in alone(name, header, events)]
    assert judged.events == len(events) * len(names)


def test_late_pieces_are_awaited(tmp_path: Path) -> None:
    header, events = history(wrong="T1")
    folder = tmp_path / "in"
    folder.mkdir()
    named = Header({**header.origin, "history": "a"})
    write(folder / "1.ndjson", named, events[:50])
    write(folder / "3.ndjson", named, events[90:])
    judged = judge(tmp_path, folder)
    assert (judged.verdict, judged.unknown, judged.events) == ("unknown", ["a: events 50 to 89 did not come yet"], 50)
    assert judge(tmp_path, folder, late=1000.0).verdict == "unknown"
    given_up = judge(tmp_path, folder, late=100.0)
    assert [(finding["kind"], finding["seq"], finding["recorded"]) for finding in given_up.findings] == [
        ("not readable", 50, "events 50 to 89 never came"),
    ]
    write(folder / "2.ndjson", named, events[50:90])
    assert judge(tmp_path, folder).findings == alone("a", named, events)


def test_data_before_damage_is_judged(tmp_path: Path) -> None:
    header, events = history()
    whole = write(tmp_path / "cut.ndjson", header, events, '{"v": 1, "seq"')
    lines = whole.read_text().splitlines(keepends=True)
    lines[100] = "%%%\n"
    (tmp_path / "corrupt.ndjson").write_text("".join(lines))
    twice = [*events[:30], events[29].__class__(29, "info", "x", "y", {})]
    write_parquet(tmp_path / "twice.parquet", {"t": twice})
    judged = judge(tmp_path, whole, tmp_path / "corrupt.ndjson", tmp_path / "twice.parquet")
    told = {
        Path(str(finding["file"] or finding["history"])).name: (finding["line"], finding["seq"], finding["recorded"])
        for finding in judged.findings
    }
    assert told["cut.ndjson"] == (len(events) + 2, None, "the last line is cut off; delete it, or record again")
    assert told["corrupt.ndjson"][0] == 101 and "is not JSON" in told["corrupt.ndjson"][2]
    assert told["t"] == (None, 29, "is there twice, with different contents")
    assert judged.verdict == "illegal" and judged.events == len(events) + 99 + 30
    assert judged.histories == {"unreadable": 3} and judged.unread == 0


def test_where_nothing_can_be_judged(tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").write_text("")
    (tmp_path / "text.ndjson").write_text("hello\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty").mkdir()
    names = ("empty.ndjson", "text.ndjson", "other.parquet", "broken.parquet")
    judged = judge(tmp_path, *(tmp_path / name for name in names))
    assert judged.verdict == "unreadable" and judged.unread == len(names) == len(judged.findings)
    said = {Path(finding["file"]).name: finding["recorded"] for finding in judged.findings}
    assert "is empty" in said["empty.ndjson"] and "has no column 'seq'" in said["other.parquet"]
    with pytest.raises(TraceError, match="holds no files"):
        judge(tmp_path, tmp_path / "empty")
    with pytest.raises(TraceError, match="is not there"):
        judge(tmp_path, tmp_path / "nothing")


def test_long_history_is_split_into_files_and_judged_equally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, events = history(topics=5, wrong="T3")
    path = write(tmp_path / "long.ndjson", header, events)
    expected = judge(tmp_path / "held", path)
    monkeypatch.setattr(local, "HELD", 100)
    monkeypatch.setattr(partition, "KEPT", 100)
    judged = judge(tmp_path / "spilled", path)
    assert judged.data() == expected.data() and judged.findings == alone(str(path), header, events)


@pytest.mark.slow
def test_several_processes_equal_one(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.ndjson", *history(wrong="T1" if number == 1 else ""))
    order = JudgingJob(tuple(str(tmp_path / f"{n}.ndjson") for n in range(3)), PROFILE, str(tmp_path / "out"), str(tmp_path / "cache"))
    judged = local.judge(order, cores=2)
    shutil.rmtree(tmp_path / "out")
    assert local.judge(order).data() == judged.data()


def test_dividing_keeps_open_calls_only(tmp_path: Path) -> None:
    """However long a history is, at most one batch of rows waits to be written."""
    header, events = history(sends=400)
    path = write(tmp_path / "long.ndjson", header, events)
    judge(tmp_path, path)
    cache = PieceCache(str(tmp_path / "cache"))
    (task,) = tasks(cache.sources().values(), {}, JudgingJob((), PROFILE, "", ""))
    batches = list(partition.partition(cache, task))
    assert sum(batch.num_rows for batch in batches) == 1 + 3 + 400 * 6 + 401 * 3
    parts = {row["part"] for batch in batches for row in batch.to_pylist()}
    assert parts == {-1, 0, 1, 2}


@pytest.mark.parametrize(("version", "profile"), [("4.9.4", "P494"), pytest.param("5.3.3", "P533", marks=pytest.mark.slow)])
def test_recordings_of_single_requests_are_histories(tmp_path: Path, version: str, profile: str) -> None:
    judged = judge(tmp_path, DATA / f"rocketmq-{version}.jsonl", profile=profile)
    assert (judged.verdict, judged.findings) == ("ok", [])
    assert {row["history"].rpartition("#")[2] for row in judged.rows} == {"A", "L", "M", "N"}
    assert judged.explained > 250


def test_recording_of_other_broker_is_not_explained(tmp_path: Path) -> None:
    lines = (DATA / "rocketmq-4.9.4.jsonl").read_text().splitlines()
    row = json.loads(lines[6])
    row["response"]["extFields"]["queueOffset"] = "1"
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join([*lines[:6], json.dumps(row), *lines[7:]]) + "\n")
    judged = judge(tmp_path, path, profile="P494")
    said = "code 0 SUCCESS, queue 0, offset 1, stored in n2_4, queue 0, offset 0, transaction not"
    assert [(finding["op"], finding["recorded"]) for finding in judged.findings] == [("send", said)]


def test_eight_producers_at_real_broker_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "real.ndjson"
    path.write_bytes(gzip.decompress((DATA / "history-4.9.4-8-producers.ndjson.gz").read_bytes()))
    header, lines = reading.read(path)
    events = list(lines)
    assert len({event.process for event in events}) == 8
    judged = judge(tmp_path, path, profile="P494")
    assert (judged.verdict, judged.findings, judged.events) == ("ok", [], len(events))
    assert judged.explained == judge_history(header, events, "P494").explained > 1800


def spoiled(events: Sequence[Event], seq: int, value: Mapping[str, Any]) -> list[Event]:
    return [replace(event, value=value) if event.seq == seq else event for event in events]


def last_answer(events: Sequence[Event], topic: str) -> Event:
    calls = [call for call in paired(events) if isinstance(call, CallEvents) and call.begun.op == "send"]
    return max((call.ended for call in calls if call.ended and call.begun.value["fields"]["topic"] == topic), key=lambda event: event.seq)


@pytest.mark.parametrize("code", ["0", None])
def test_invalid_response_is_named_and_rest_is_judged(code: object, tmp_path: Path) -> None:
    header, events = history()
    bad = last_answer(events, "T1").seq
    changed = spoiled(events, bad, {"code": code, "fields": {"queueId": "0", "queueOffset": "5"}})
    with pytest.raises(TraceError, match=f"event {bad}: the answer's code"):
        judge_history(header, changed, PROFILE)
    judged = judge(tmp_path, write(tmp_path / "one.ndjson", header, changed))
    assert [(finding["kind"], finding["seq"]) for finding in judged.findings] == [("not readable", bad)]
    assert judged.verdict == "illegal" and judged.parts == {"ok": 2, "unreadable": 1}
    assert judged.explained == judge_history(header, events, PROFILE).explained - 2  # this one and the next


@pytest.mark.parametrize(
    ("fields", "size", "explained"),
    [({"sysFlag": "128"}, 1, True), ({"properties": "INNER_NUM\x012\x02"}, 1, True), ({}, 0, False)],
)
def test_send_rejected_for_a_flag_a_property_or_its_body_is_judged_as_alone(
    fields: dict[str, str], size: int, explained: bool, tmp_path: Path
) -> None:
    """Such sends are found by their text, since decoding all of them would take too long. 5.3.3 answers one without a body otherwise."""
    header, events = history(1, 2)
    value = {"to": "broker-a", "fields": {**FIELDS, "topic": "T0", "queueId": "0", **fields}, "bodySize": size}
    end = len(events)
    events += [Event(end, "invoke", "client 0", "send", value, end), Event(end + 1, "ok", "client 0", "send", {"code": 13}, end + 1)]
    expected = judge_history(header, events, "P533")
    judged = judge(tmp_path, write(tmp_path / "one.ndjson", header, events), profile="P533")
    assert (judged.explained, judged.parts) == (expected.explained, {str(expected.verdict): 1})
    assert [row["seq"] for row in judged.findings] == [finding.seq for finding in expected.findings]
    assert (not expected.findings) is explained


UNTOLD: dict[str, object] = {
    "offset in words": {"queueId": "0", "queueOffset": "zwölf"},
    "half an offset": {"queueId": "0", "queueOffset": 1.5},
    "no queue": {"queueOffset": "5"},
    "null": None,
    "a list": ["queueId"],
}


@pytest.mark.parametrize("what", UNTOLD)
def test_stored_message_without_its_place_is_finding(what: str, tmp_path: Path) -> None:
    """Another implementation may respond this way: it is judged, not refused."""
    header, events = history()
    bad = last_answer(events, "T1").seq
    changed = spoiled(events, bad, {"code": 0, "fields": UNTOLD[what]})
    assert [finding.seq for finding in judge_history(header, changed, PROFILE).findings] == [bad]
    judged = judge(tmp_path, write(tmp_path / "one.ndjson", header, changed))
    assert [(finding["kind"], finding["seq"]) for finding in judged.findings] == [("not explained", bad)]


def test_request_with_non_numeric_size_is_named() -> None:
    header, events = history()
    first = next(event for event in events if event.type == "invoke" and event.op == "send")
    with pytest.raises(TraceError, match=f"event {first.seq}: is not a request"):
        judge_history(header, spoiled(events, first.seq, {**first.value, "bodySize": "much"}), PROFILE)


@pytest.mark.parametrize("text", ["{oops", "[]", "null", "[" * 100_000])
@pytest.mark.parametrize("columns", ["all", "bare"])
@pytest.mark.parametrize("which", ["invoke", "ok", "state"])
def test_non_object_value_ends_its_history(which: str, columns: str, text: str, tmp_path: Path) -> None:
    _, events = history()
    seq = last_answer(events, "T1").seq if which == "ok" else max(e.seq for e in events if e.type == "invoke" and e.op == "send")
    if which == "state":
        seq = next(e.seq for e in events if e.type == "state")
    rows = [event_row(name, event) for name in ("damaged", "whole") for event in events]
    for row in rows:
        if (row["history"], row["seq"]) == ("damaged", seq):
            row["value"] = text
    names = EVENTS.names if columns == "all" else ["history", "seq", "time", "process", "type", "op", "value"]
    pq.write_table(pa.Table.from_pylist(rows, EVENTS).select(names), tmp_path / "both.parquet")
    judged = judge(tmp_path, tmp_path / "both.parquet")
    assert [(finding["history"], finding["kind"], finding["seq"]) for finding in judged.findings] == [("damaged", "not readable", seq)]
    assert "its value is" in judged.findings[0]["recorded"]
    assert judged.histories == {"ok": 1, "unreadable": 1}


def test_data_before_invalid_number_is_judged(tmp_path: Path) -> None:
    _, events = history()
    rows = [event_row("one", event) for event in events]
    table = pa.Table.from_pylist(rows, EVENTS).select(["history", "seq", "process", "type", "op", "value"])
    numbers = pa.array([seq if seq < 30 else None for seq in table["seq"].to_pylist()], pa.int64())
    pq.write_table(table.set_column(1, "seq", numbers), tmp_path / "one.parquet")
    judged = judge(tmp_path, tmp_path / "one.parquet")
    assert judged.events == 30 and "event None: is no event" in judged.findings[0]["recorded"]


def test_table_without_rows_is_nothing_to_judge(tmp_path: Path) -> None:
    pq.write_table(EVENTS.empty_table(), tmp_path / "none.parquet")
    assert judge(tmp_path, tmp_path / "none.parquet").verdict == "unreadable"


def test_links_give_each_file_once(tmp_path: Path) -> None:
    folder, other = tmp_path / "in", tmp_path / "other"
    for path in (folder, other):
        path.mkdir()
        write(path / f"{path.name}.ndjson", *history(1, 2))
    (folder / "a link").symlink_to(folder / "in.ndjson")
    (folder / "loop").symlink_to(".")
    (folder / "elsewhere").symlink_to(other)
    (folder / "nowhere").symlink_to("not there")
    assert [name for name, _ in sources([str(folder)])] == [str(folder / "elsewhere" / "other.ndjson"), str(folder / "in.ndjson")]
    assert sources([str(folder)])[1][1] == stamp_of(str(folder / "in.ndjson"))
