"""Histories: the schema, its rules, and witnesses there and back."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rocketproof_model.result import Witness
from rocketproof_traces import history
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header
from rocketproof_traces.witness import as_history

DOCS = Path(__file__).parents[2] / "traces" / "docs"
SCHEMA = json.loads((DOCS / "history.schema.json").read_text(encoding="utf-8"))
HEAD = history.header_line(Header({"target": "broker"}))
EVENT = {"v": 1, "seq": 0, "time": None, "process": "p", "type": "invoke", "op": "send", "value": {}}


def fits(line: str) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(line)))


def read_lines(folder: Path, *lines: str) -> tuple[Header, list[Event]]:
    path = folder / "h.ndjson"
    path.write_text("".join(lines), encoding="utf-8")
    header, events = history.read(path)
    return header, list(events)


def row(**changes: Any) -> str:
    return json.dumps({k: v for k, v in {**EVENT, **changes}.items() if v != "absent"}) + "\n"


def test_schema_is_valid_and_documented_examples_follow_it(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    blocks = re.findall(r"```json\n(.*?)```", (DOCS / "history.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = [line + "\n" for block in blocks for line in block.splitlines()]
    assert len(lines) == 5
    assert [line for line in lines if not fits(line)] == []
    header, events = read_lines(tmp_path, *lines)
    assert header.origin["cfg"] == "A"
    assert [e.type for e in events] == ["invoke", "ok", "crash", "disk"]


def test_written_history_follows_schema_and_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "h.ndjson"
    with history.Writer(path, Header({"target": "x"}, "2026-01-01T00:00:00Z", "why")) as writer:
        writer.add("invoke", "p", "send", {"topic": "Größe"}, 5)
        writer.add("info", "nemesis", "cut", {})
    with history.Writer(path) as writer:
        assert writer.header.note == "why"
        assert writer.add("ok", "p", "send", {}, 9).seq == 2
    assert all(fits(line) for line in path.read_text(encoding="utf-8").splitlines())
    header, events = history.read(path)
    assert header == Header({"target": "x"}, "2026-01-01T00:00:00Z", "why")
    assert [(e.seq, e.type, e.time) for e in events] == [(0, "invoke", 5), (1, "info", None), (2, "ok", 9)]


def test_events_are_given_out_while_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "h.ndjson"
    path.write_text(HEAD + "\n" + row() + "no json", encoding="utf-8")
    _, events = history.read(path)
    assert next(events).op == "send"
    with pytest.raises(TraceError, match=r"h\.ndjson:3: the last line is cut off; delete it"):
        next(events)


WRONG_LINES = {
    "newer": (row(v=2), "has version 2, this one reads up to 1; update rocketproof"),
    "no version": (row(v="absent"), "'v' is None"),
    "no op": (row(op="absent"), "has no 'op'"),
    "extra": (row(extra=1), "has unknown key 'extra'"),
    "type": (row(type="done"), "unknown type 'done'; the types are invoke, ok"),
    "seq": (row(seq=4), "'seq' is 4, expected 0"),
    "seq text": (row(seq="0"), "'seq' is '0', not a number"),
    "seq bool": (row(seq=False), "'seq' is False, not a number"),
    "time": (row(time=1.5), "'time' is 1.5, not nanoseconds or null"),
    "past": (row(time=-1), "'time' is -1"),
    "value": (row(value=[]), "'value' is [], not an object"),
    "no call": (row(type="ok"), "ok closes send of p, which is not open; write its invoke first"),
    "list": ("[]\n", "is [], no object"),
    "no JSON": ("oh\n", "is not JSON: 'oh'"),
}


@pytest.mark.parametrize("name", WRONG_LINES)
def test_wrong_line_is_refused_with_its_number(name: str, tmp_path: Path) -> None:
    line, expected = WRONG_LINES[name]
    with pytest.raises(TraceError, match=re.escape(f"h.ndjson:2: {expected}")) as caught:
        read_lines(tmp_path, HEAD + "\n", line)
    assert "\n" not in str(caught.value)
    if name not in ("no JSON", "seq", "no call"):
        assert not fits(line), "the schema file allows what the reader refuses"


def test_wrong_headers_are_refused(tmp_path: Path) -> None:
    for text, expected in {
        "": "is empty",
        row(): ":1: is not the header of a history",
        HEAD.replace("rocketproof-history", "jepsen") + "\n": ":1: is not the header of a history",
        HEAD.replace('"v": 1', '"v": 3') + "\n": ":1: has version 3",
        HEAD.replace('"version": 1', '"version": 2') + "\n": ":1: 'version' is 2, this one reads 1 to 1",
        HEAD.replace('"note": ""', '"note": 1') + "\n": ":1: 'note' is 1, not a text",
        HEAD.replace("}", '}, "witness": {}', 1) + "\n": ":1: witness: has no 'property'",
    }.items():
        with pytest.raises(TraceError, match=re.escape(expected)):
            read_lines(tmp_path, text)
    with pytest.raises(TraceError, match="cannot be read"):
        history.read(tmp_path / "absent")


def test_process_has_one_open_call_and_crash_ends_it() -> None:
    rules = history.Rules()

    def put(seq: int, type_: str, op: str = "send") -> None:
        rules.check("here", Event(seq, type_, "p", op, {}))

    put(0, "invoke")
    with pytest.raises(TraceError, match="p invokes look while send is open"):
        put(1, "invoke", "look")
    put(1, "info", "beside")
    put(2, "info")
    put(3, "invoke")
    put(4, "crash", "kill")
    put(5, "invoke", "look")


@pytest.mark.parametrize("which", ["skew", "loud", "lasso"])
def test_witness_round_trips_through_history(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    witness: Witness = request.getfixturevalue(which)
    header, events = as_history.from_witness(witness, {"model": "m"})
    lines = [history.header_line(header), *map(history.event_line, events)]
    assert [line for line in lines if not fits(line)] == []
    header, events = read_lines(tmp_path, *(line + "\n" for line in lines))
    back = as_history.to_witness(header, events, witness.instance)
    assert (back.property, back.moves, back.states, back.loop, back.note) == (
        witness.property, witness.moves, witness.states, witness.loop, witness.note,
    )  # fmt: skip
    assert [e.process for e in events[1:3]] != ["model", "model"]


def test_history_that_model_does_not_follow_is_refused(skew: Witness) -> None:
    header, events = as_history.from_witness(skew, {})
    for k, changes, expected in (
        (3, {"value": {**events[3].value, "changes": {}}}, "event 3: handle(p=0) changes"),
        (3, {"op": "explode"}, "event 3: info explode is not a step of model routing"),
        (3, {"value": {"args": {"p": 5}, "changes": {}}}, "event 3: p: 5 is not a value of Producer"),
        (3, {"value": {"args": {"p": 1}, "changes": {}}}, "event 3: handle(p=1) is refused by guard 'in flight'"),
        (0, {"value": {}}, "event 0: no variable cached[0]"),
        (0, {"type": "info"}, "event 0: is not the first state of a model"),
    ):
        odd = [dataclasses.replace(e, **changes) if e.seq == k else e for e in events]
        with pytest.raises(TraceError, match=re.escape(f"history: {expected}")):
            as_history.to_witness(header, odd, skew.instance)
    with pytest.raises(TraceError, match="was not made of a witness"):
        as_history.to_witness(Header(), events, skew.instance)


def test_property_outside_model_is_passed_in(skew: Witness) -> None:
    claim = dataclasses.replace(skew.property, id="INV-99")
    header, events = as_history.from_witness(dataclasses.replace(skew, property=claim), {})
    with pytest.raises(TraceError, match="its property 'INV-99' is not in model routing"):
        as_history.to_witness(header, events, skew.instance)
    assert as_history.to_witness(header, events, skew.instance, claim).property is claim
