"""Histories as NDJSON files, one event per line, read and written event by event. The first line is a header with the schema's name and
version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..common.compressed import DamagedStreamError, is_compressed, open_text
from ..common.errors import TraceError, short
from .events import SCHEMA, VERSION, Event, Header, Rules, event_line, header_line


def read(path: str | Path) -> tuple[Header, Iterator[Event]]:
    """Return the header, and an iterator over the events of a plain or compressed file. Raises TraceError naming file and line."""
    lines = _lines(Path(path))
    first = next(lines, None)
    if first is None:
        raise TraceError(str(path), "is empty", "give a history: its first line is a header")
    header = _header(f"{path}:1", _object(f"{path}:1", first))
    return header, _events(str(path), lines)


def read_piece(path: str | Path) -> tuple[Header, Iterator[tuple[int, Event]]]:
    """Read a file with a piece of a history, like `read`. Events keep their numbers in the whole history, and calls may have begun
    before the piece. Only the form of each event is checked. Each event comes with its line number."""
    lines = _lines(Path(path))
    first = next(lines, None)
    if first is None:
        raise TraceError(str(path), "is empty", "give a history: its first line is a header")
    header = _header(f"{path}:1", _object(f"{path}:1", first))
    return header, ((n, _event(f"{path}:{n}", _object(f"{path}:{n}", line))) for n, line in enumerate(lines, 2))


def is_history(path: str | Path) -> bool:
    """Whether a file begins with the header of a history; False for an unreadable file."""
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
    except DamagedStreamError as error:
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
        raise TraceError(place, "is not the header of a history", f'the first line has "type": "header" and "schema": "{SCHEMA}"')
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


class Writer:
    """Appends events to a file and flushes each as a whole line. An existing history is continued and keeps its header."""

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
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            raise TraceError(str(self._path), f"cannot be written ({error.strerror})", "make room there, and run it again") from None

    def add(self, type_: str, process: str, op: str, value: Mapping[str, Any], time: int | None = None) -> Event:
        """Append an event. Raises TraceError if it violates the schema's rules."""
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
