"""A history as a document: requests and responses, the order that explains them, and the first unexplained event."""

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import rocketproof_traces
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.explorer.history import LONGEST, of_history
from rocketproof_traces.history import Event, Header

ROOM = Path(rocketproof_traces.__file__).parents[1]
SCHEMA = json.loads((ROOM / "docs" / "trace.schema.json").read_text("utf-8"))
HISTORY = Path(__file__).parents[1] / "data" / "history-4.9.4-8-producers.ndjson.gz"
TRIMMED = 240


@pytest.fixture(scope="module")
def recorded() -> tuple[Header, list[Event]]:
    """The beginning of a recording of eight concurrent producers."""
    with gzip.open(HISTORY, "rt", encoding="utf-8") as file:
        rows = [json.loads(next(file)) for _ in range(TRIMMED)]
    events = [Event(r["seq"], r["type"], r["process"], r["op"], r["value"], r["time"]) for r in rows[1:]]
    return Header(rows[0]["origin"]), events


def changed(events: list[Event], number: int, **fields: str) -> tuple[list[Event], Event]:
    """Return the events with other fields in a response."""
    answer = [e for e in events if e.type == "ok" and "queueOffset" in e.value.get("fields", {})][number]
    new = {**answer.value, "fields": {**answer.value["fields"], **fields}}
    other = Event(answer.seq, answer.type, answer.process, answer.op, new, answer.time)
    return [other if e is answer else e for e in events], other


def made(header: Header, events: list[Event]) -> Any:
    document = of_history(header, events, judge_history(header, events, "P494"), "a history")
    jsonschema.validate(json.loads(json.dumps(document)), SCHEMA)
    return document


def test_explained_history_has_order_that_respects_time(recorded: tuple[Header, list[Event]]) -> None:
    header, events = recorded
    document = made(header, events)
    assert document["verdict"]["verdict"] == "ok"
    rows = {row["id"]: row for row in document["operations"]}
    assert len(rows) == sum(e.type == "invoke" for e in events)
    assert len(document["clients"]) == 8
    answered = {i for i, row in rows.items() if row["end"] is not None}
    assert answered <= set(document["order"])
    earliest = float("inf")
    for place, id_ in reversed(list(enumerate(document["order"]))):
        assert rows[id_]["position"] == place
        assert rows[id_]["begin"] < earliest, "something that had ended before it began comes after it"
        earliest = min(earliest, rows[id_]["end"] or earliest)
    # A queue's offsets are given in the order of the explanation.
    offsets: dict[tuple[str, str], int] = {}
    for id_ in document["order"]:
        row = rows[id_]
        told = dict(row["answer"])
        if row["name"] == "send" and told.get("code") == "0":
            key = dict(row["fields"])["topic"], told["queueId"]
            assert int(told["queueOffset"]) > offsets.get(key, -1)
            offsets[key] = int(told["queueOffset"])
    assert len(offsets) > 3


def test_first_that_nothing_explains(recorded: tuple[Header, list[Event]]) -> None:
    header, events = recorded
    wrong, answer = changed(events, 20, queueOffset="77")
    last = wrong[-1]
    value: dict[str, Any] = {"signal": "</script>", "note": "x" * 1000}
    wrong.append(Event(last.seq + 1, "crash", "broker-a", "kill", value, last.time))
    document = made(header, wrong)
    (refused,) = [row for row in document["operations"] if row["status"] == "refused"]
    assert (refused["end"], refused["position"]) == (answer.seq, None)
    assert document["refusal"]["operation"] == refused["id"]
    assert document["refusal"]["recorded"].endswith("offset 77")
    assert document["refusal"]["values"]
    assert document["verdict"]["sentence"].startswith("nothing explains event ")
    assert refused["id"] not in document["order"]
    assert {row["status"] for row in document["operations"] if row["end"] is not None and row["end"] < answer.seq} == {"explained"}
    beyond = [row for row in document["operations"] if row["status"] == "beyond"]
    assert beyond
    assert all(row["end"] > answer.seq for row in beyond)
    (mark,) = document["marks"]
    assert (mark["at"], mark["kind"]) == (last.seq + 1, "crash")
    assert "</script>" in mark["text"]
    assert "x" * (LONGEST + 1) not in mark["text"]


def test_page_of_long_history_shows_surroundings_of_event(recorded: tuple[Header, list[Event]]) -> None:
    header, events = recorded
    wrong, answer = changed(events, 20, queueOffset="77")
    verdict = judge_history(header, wrong, "P494")
    whole = of_history(header, wrong, verdict, "whole")
    assert whole["left_out"] is None
    most = len(json.dumps(whole["operations"], separators=(",", ":"))) // 4

    def part(around: int | None = None) -> Any:
        found = of_history(header, wrong, verdict, "part", around=around, largest=most)
        jsonschema.validate(json.loads(json.dumps(found)), SCHEMA)
        assert len(json.dumps(found["operations"], ensure_ascii=False, separators=(",", ":"))) <= most + 200
        shown = [row["id"] for row in found["operations"]]
        begins = [row["id"] for row in whole["operations"]]
        first = begins.index(shown[0])
        assert shown == begins[first : first + len(shown)]
        assert found["left_out"] == {"before": first, "after": len(begins) - first - len(shown)}
        assert found["order"] == [begun for begun in whole["order"] if begun in shown]
        assert set(found["clients"]) == {row["client"] for row in found["operations"]}
        return found

    refused = part()
    (row,) = [row for row in refused["operations"] if row["status"] == "refused"]
    assert row["end"] == answer.seq
    places = [operation["id"] for operation in refused["operations"]]
    assert places.index(row["id"]) >= len(places) // 2, "most of it comes before what nothing explains"
    assert part(0)["left_out"]["before"] == 0
    assert part(events[-1].seq)["left_out"]["after"] == 0


def test_program_end_is_no_fault_and_target_has_name(recorded: tuple[Header, list[Event]]) -> None:
    header, events = recorded
    over = Event(len(events), "info", "program", "over", {}, events[-1].time)
    document = made(Header({**header.origin, "target": {"name": "a broker", "version": "4.9.4", "offers": []}}), [*events, over])
    assert document["marks"] == made(header, events)["marks"]
    assert document["subject"]["model"] == "a broker 4.9.4"


def test_other_endings_are_shown(recorded: tuple[Header, list[Event]]) -> None:
    header, _ = recorded
    fields = {"producerGroup": "g", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0"}
    asked = {"to": "broker-a", "fields": {**fields, "sysFlag": "0", "bornTimestamp": "1", "flag": "0"}, "bodySize": 1}
    steps = [
        ("invoke", "a", "send", asked),
        ("fail", "a", "send", {}),
        ("invoke", "b", "send", asked),
        ("info", "b", "send", {"error": "lost"}),
    ]
    steps += [("info", "b", "disconnect", {"address": "x"}), ("info", "a", "stray", {}), ("invoke", "c", "configure", {"to": "broker-a"})]
    steps += [("ok", "c", "configure", {"code": 0}), ("invoke", "a", "send", asked)]
    document = made(header, [Event(k, t, p, o, v) for k, (t, p, o, v) in enumerate(steps)])
    told = [(row["client"], row["outcome"], row["end"]) for row in document["operations"]]
    assert told == [("a", "fail", 1), ("b", "unknown", 3), ("c", "ok", 7), ("a", "unknown", None)]
    assert [mark["kind"] for mark in document["marks"]] == ["disconnect", "fault", "settings"]
    assert document["operations"][0]["label"] == "send T, queue 0"
    assert document["operations"][0]["nanos"] == [None, None]
