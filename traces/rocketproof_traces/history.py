"""Histories: what happened in a run, real or simulated, as NDJSON, one event a line, in the order it was seen.

The first line is a header with the schema's name and version. A process (a client, a broker, a node) has at most one
open call: `invoke` opens it, `ok`, `fail` or `info` with the same `op` closes it (`info`: nobody knows whether it took
effect). `info` also stands alone for things that happen to a run; `disk` is what a store held, `state` what a
part of the system said of itself, `crash` ends a process and its open call. docs/history.md describes the schema,
docs/history.schema.json states it for other tools.

A witness becomes a history of one `state` event and an `info` event a step, and comes back by replaying those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from rocketproof_model import EvaluationError, Instance, Model, Property
from rocketproof_model.interpreter import State, effect, refusing
from rocketproof_model.result import Move, Witness

from .compressed import DamagedError, is_compressed, open_text
from .errors import TraceError, short
from .itf import NO_PROPERTY
from .words import code_of, elements, lane, plain

SCHEMA = "rocketproof-history"
VERSION = 1
TYPES = ("invoke", "ok", "fail", "info", "disk", "crash", "state")
MODEL = "model"


@dataclass(frozen=True)
class Header:
    """What a history is about: `origin` says what made it, `start` is the wall clock (ISO 8601) at time 0 or None.

    `witness` is there in a history made of a witness: its property, constants, loop and note.
    """

    origin: Mapping[str, Any] = field(default_factory=dict)
    start: str | None = None
    note: str = ""
    witness: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Event:
    """One line. `time` is in nanoseconds since the start, None where there was no clock; `seq` counts from 0."""

    seq: int
    type: str
    process: str
    op: str
    value: Mapping[str, Any]
    time: int | None = None


class Moment(Protocol):
    """An event as far as its value does not matter."""

    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def time(self) -> int | None: ...


def header_line(header: Header) -> str:
    row: dict[str, Any] = {"v": VERSION, "type": "header", "schema": SCHEMA, "version": VERSION, "origin": dict(header.origin)}
    row |= {"start": header.start, "note": header.note}
    if header.witness is not None:
        row["witness"] = dict(header.witness)
    return json.dumps(row, ensure_ascii=False)


def event_line(event: Event) -> str:
    row = {"v": VERSION, "seq": event.seq, "time": event.time, "process": event.process, "type": event.type, "op": event.op}
    return json.dumps({**row, "value": dict(event.value)}, ensure_ascii=False)


# Reading


def read(path: str | Path) -> tuple[Header, Iterator[Event]]:
    """The header, and the events one by one as the file, plain or compressed, is read. Raises TraceError that names file and line."""
    lines = _lines(Path(path))
    first = next(lines, None)
    if first is None:
        raise TraceError(str(path), "is empty", "give a history: its first line is a header")
    header = _header(f"{path}:1", _object(f"{path}:1", first))
    return header, _events(str(path), lines)


def read_piece(path: str | Path) -> tuple[Header, Iterator[tuple[int, Event]]]:
    """Like `read` for a file that holds a piece of a history: its events have the numbers that they have in the whole, and calls may
    have begun before it. Only the form of each is looked at. The events come with their lines."""
    lines = _lines(Path(path))
    first = next(lines, None)
    if first is None:
        raise TraceError(str(path), "is empty", "give a history: its first line is a header")
    header = _header(f"{path}:1", _object(f"{path}:1", first))
    return header, ((n, _event(f"{path}:{n}", _object(f"{path}:{n}", line))) for n, line in enumerate(lines, 2))


def is_history(path: str | Path) -> bool:
    """Whether a file begins with the header of a history. One that cannot be read is none."""
    try:
        with open_text(path) as file:
            row = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and row.get("schema") == SCHEMA


def _lines(path: Path) -> Iterator[str]:
    number = 0
    try:
        with open_text(path) as file:
            for line in file:
                number += 1
                yield line
    except DamagedError as error:
        raise TraceError(f"{path}:{number + 1}", f"cannot be read ({error.strerror})", "copy the file again, or record again") from None
    except OSError as error:
        raise TraceError(str(path), f"cannot be read ({error.strerror})", "check the path of the history") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}:{number + 1}" if number else str(path), "is not text", "give a history (NDJSON)") from None


def _events(path: str, lines: Iterator[str]) -> Iterator[Event]:
    rules = Rules()
    for number, line in enumerate(lines, 2):
        place = f"{path}:{number}"
        event = _event(place, _object(place, line))
        rules.check(place, event)
        yield event


def _object(place: str, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        if not line.endswith("\n"):
            raise TraceError(place, "the last line is cut off", "delete it, or record again") from None
        raise TraceError(place, f"is not JSON: {short(line.strip())}", "give one JSON object a line") from None
    if not isinstance(row, dict):
        raise TraceError(place, f"is {short(row)}, no object", "give one JSON object a line")
    version = row.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TraceError(place, f"'v' is {short(version)}", f"each line carries the version of the schema, 1 to {VERSION}")
    if version > VERSION:
        raise TraceError(place, f"has version {version}, this one reads up to {VERSION}", "update rocketproof")
    return row


_TEXT = (str, "a text")
_OBJECT = (dict, "an object")
_Keys = Mapping[str, tuple[type | tuple[type, ...], str]]
_KEYS: _Keys = {
    "seq": (int, "a number"),
    "time": ((int, type(None)), "nanoseconds or null"),
    "process": _TEXT,
    "type": _TEXT,
    "op": _TEXT,
    "value": _OBJECT,
}
_HEADER_KEYS: _Keys = {
    "type": _TEXT,
    "schema": _TEXT,
    "version": (int, "a number"),
    "origin": _OBJECT,
    "start": ((str, type(None)), "a text or null"),
    "note": _TEXT,
}
_WITNESS_KEYS: _Keys = {"property": _TEXT, "constants": _OBJECT, "loop": ((int, type(None)), "a number or null")}


def _typed(place: str, row: dict[str, Any], keys: _Keys, optional: set[str]) -> None:
    for key, (kind, what) in keys.items():
        if key not in row:
            raise TraceError(place, f"has no {key!r}", f"give {', '.join(keys)}")
        if not isinstance(row[key], kind) or isinstance(row[key], bool):
            raise TraceError(place, f"{key!r} is {short(row[key])}, not {what}", "see docs/history.md in the room traces")
    for key in row:
        if key not in keys and key not in optional:
            raise TraceError(place, f"has unknown key {key!r}", f"the keys are {', '.join([*keys, *sorted(optional)])}")


def _header(place: str, row: dict[str, Any]) -> Header:
    if row.get("type") != "header" or row.get("schema") != SCHEMA:
        raise TraceError(place, "is no header of a history", f'the first line has "type": "header" and "schema": "{SCHEMA}"')
    _typed(place, row, _HEADER_KEYS, {"v", "witness"})
    if not 1 <= row["version"] <= VERSION:
        raise TraceError(
            place, f"'version' is {row['version']}, this one reads 1 to {VERSION}", "give that of the schema, or update rocketproof"
        )
    witness = row.get("witness")
    if witness is not None:
        if not isinstance(witness, dict):
            raise TraceError(place, f"'witness' is {short(witness)}, not an object", "see docs/history.md in the room traces")
        _typed(f"{place}: witness", witness, _WITNESS_KEYS, set())
    return Header(row["origin"], row["start"], row["note"], witness)


def _event(place: str, row: dict[str, Any]) -> Event:
    _typed(place, row, _KEYS, {"v"})
    return Event(row["seq"], row["type"], row["process"], row["op"], row["value"], row["time"])


class Rules:
    """What an event needs beside its form: its number, its type, and a call to close. Fed in order."""

    def __init__(self) -> None:
        self.next = 0
        self.open: dict[str, str] = {}

    def check(self, place: str, event: Moment) -> None:
        type_, process, op = event.type, event.process, event.op
        if event.seq != self.next:
            raise TraceError(place, f"'seq' is {event.seq}, expected {self.next}", "events are numbered from 0 without gaps")
        if type_ not in TYPES:
            raise TraceError(place, f"unknown type {type_!r}", f"the types are {', '.join(TYPES)}")
        if event.time is not None and event.time < 0:
            raise TraceError(place, f"'time' is {event.time}", "time is in nanoseconds since the start, not negative")
        opened = self.open.get(process)
        if type_ == "invoke":
            if opened is not None:
                raise TraceError(place, f"{process} invokes {op} while {opened} is open", "close it with ok, fail or info first")
            self.open[process] = op
        elif opened == op or type_ == "crash":
            self.open.pop(process, None)
        elif type_ in ("ok", "fail"):
            raise TraceError(place, f"{type_} closes {op} of {process}, which is not open", "write its invoke first")
        self.next += 1


# Writing


class Writer:
    """Appends events to a file, each flushed as a whole line. An existing history is continued and keeps its header."""

    def __init__(self, path: str | Path, header: Header | None = None) -> None:
        self._path = Path(path)
        self._rules = Rules()
        if self._path.exists() and self._path.stat().st_size:
            if is_compressed(self._path):
                raise TraceError(str(path), "is compressed and cannot be continued", "unpack it, or give another file")
            self.header, events = read(self._path)
            for event in events:
                self._rules.check(str(path), event)
            fresh = False
        else:
            self.header, fresh = header or Header(), True
        try:
            self._file = self._path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise TraceError(str(path), f"cannot be written ({error.strerror})", "give a file in a folder of your own") from None
        if fresh:
            self._put(header_line(self.header))

    def _put(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()

    def add(self, type_: str, process: str, op: str, value: Mapping[str, Any], time: int | None = None) -> Event:
        """Append one event; raises TraceError if it does not follow the schema's rules."""
        event = Event(self._rules.next, type_, process, op, value, time)
        self._rules.check(f"{self._path}: event {event.seq}", event)
        self._put(event_line(event))
        return event

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


# Witnesses as histories


def from_witness(witness: Witness, origin: Mapping[str, Any]) -> tuple[Header, list[Event]]:
    """The history of a witness: its first state, then a step an event, with what each changes."""
    instance = witness.instance
    constants = {name: plain(instance.model.constants[name][0], code) for name, code in instance.constants.items()}
    facts = {"property": witness.property.id, "constants": constants, "loop": witness.loop}
    events = []
    if witness.states:
        start = {name: plain(v.type, witness.states[0][slot]) for name, v, slot in elements(instance.model)}
        events.append(Event(0, "state", MODEL, "start", start))
    for k, move in enumerate(witness.moves, 1):
        action = instance.model.named(move.action)
        before, after = witness.states[k - 1], witness.states[k]
        args = {name: plain(t, code) for (name, t), code in zip(action.parameters.items(), move.args, strict=True)}
        new = {name: plain(v.type, after[slot]) for name, v, slot in elements(instance.model) if before[slot] != after[slot]}
        events.append(Event(k, "info", lane(action, move.args), move.action, {"args": args, "changes": new}))
    return Header(dict(origin), None, witness.note, facts), events


def to_witness(
    header: Header, events: Iterable[Event], instance: Instance, property_: Property | None = None, place: str = "history"
) -> Witness:
    """Replay a history made by `from_witness`; `property_` is for one that is not the model's own.

    Raises TraceError where the model does not follow the history, naming the event.
    """
    facts = header.witness
    if facts is None:
        raise TraceError(place, "was not made of a witness", "only such a history holds every step of the model")
    claim = property_ or _property(place, instance.model, facts["property"])
    for name, value in facts["constants"].items():
        if name not in instance.constants or plain(instance.model.constants[name][0], instance.constants[name]) != value:
            raise TraceError(place, f"was made with {name} = {short(value)}", "build the model as 'origin' says")
    states: list[State] = []
    moves: list[Move] = []
    for event in events:
        where = f"{place}: event {event.seq}"
        if not states:
            states.append(_start(where, event, instance.model))
        else:
            move, state = _step(where, event, instance, states[-1])
            moves.append(move)
            states.append(state)
    loop = facts["loop"]
    if loop is not None and not 0 <= loop < len(states):
        raise TraceError(place, f"'loop' is {short(loop)}, no index of its {len(states)} states", "record it again")
    return Witness(instance, claim, tuple(moves), tuple(states), loop, header.note)


def _property(place: str, model: Model, id_: Any) -> Property:
    for claim in (*model.properties, NO_PROPERTY):
        if claim.id == id_:
            return claim
    raise TraceError(place, f"its property {short(id_)} is not in model {model.name}", "build the model as 'origin' says")


def _start(where: str, event: Event, model: Model) -> State:
    if event.type != "state" or event.process != MODEL:
        raise TraceError(where, "is no first state of a model", "only a history made of a witness can be replayed")
    names = [name for name, _, _ in elements(model)]
    odd = sorted(event.value.keys() ^ set(names))
    if odd:
        what = "unknown" if odd[0] in event.value else "no"
        raise TraceError(where, f"{what} variable {odd[0]}", "build the model as 'origin' says")
    return tuple(_value(where, v.type, name, event.value[name]) for name, v, _ in elements(model))


def _value(where: str, type_: Any, name: str, value: Any) -> int:
    try:
        return code_of(type_, value)
    except ValueError as error:
        raise TraceError(where, f"{name}: {error}", "build the model as 'origin' says") from None


def _step(where: str, event: Event, instance: Instance, before: State) -> tuple[Move, State]:
    action = next((a for a in instance.model.actions if a.name == event.op), None)
    args = event.value.get("args")
    if event.type != "info" or action is None or not isinstance(args, dict) or args.keys() != action.parameters.keys():
        raise TraceError(where, f"{event.type} {event.op} is no step of model {instance.model.name}", "build the model as 'origin' says")
    codes = tuple(_value(where, t, name, args[name]) for name, t in action.parameters.items())
    try:
        guard = refusing(instance, before, action, codes)
        after = before if guard else effect(instance, before, action, codes)
    except EvaluationError as error:
        raise TraceError(where, f"{action.label(codes)} has no meaning ({error})", "build the model as 'origin' says") from None
    if guard is not None:
        refused = f"{action.label(codes)} is refused by guard {guard.name!r} ({guard.sentence})"
        raise TraceError(where, refused, "build the model as 'origin' says")
    new = {name: plain(v.type, after[slot]) for name, v, slot in elements(instance.model) if before[slot] != after[slot]}
    if new != event.value.get("changes"):
        raise TraceError(where, f"{action.label(codes)} changes {short(new)}", f"the history says {short(event.value.get('changes'))}")
    return Move(action.name, codes), after
