"""Bytes that a program changes in the files of a broker that is down: the places by name, and where they are in the files.

Places of the log and of a queue belong to the last record of the log. They exist only if that record is the program's own, so that a
program damages no message of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from rocketproof_protocol.numbers import is_digits, whole_number
from rocketproof_traces.stored.layout import (
    BLANK_SIZE,
    BODY_CRC_AT,
    ENTRY_SIZE,
    MAGIC_AT,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_V2,
    SIZE_AT,
)
from rocketproof_traces.stored.record import LONGEST_HEAD, Head, head_of, parts_of

from ..reports.choices import known

LOG, QUEUE, CHECKPOINT = "commitlog", "consumequeue", "checkpoint"
TABLES = TOPICS, GROUPS = "topics.json", "subscriptionGroup.json"
_FIELD, _PLACE = 4, 8
_TIMES: Final = 24
"""Bytes of the three times in a checkpoint."""


class StoreFiles(Protocol):
    """The files of a store directory whose broker is down. Paths are relative to it. Operations raise OSError."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the sorted names of the files in a folder, none if there is no folder."""
        ...

    def size(self, path: str) -> int:
        """Return the length of a file in bytes, 0 if there is none."""
        ...

    def read(self, path: str, position: int, length: int) -> bytes:
        """Return the bytes at a position of an existing file, fewer at its end."""
        ...

    def replace(self, path: str, position: int, data: bytes) -> None:
        """Write bytes over those at a position."""
        ...


class CorruptedBytes(NamedTuple):
    """Changed bytes of a file. `path` is relative to the store directory."""

    path: str
    position: int
    length: int


class _LastRecord(NamedTuple):
    """The last record of a log: the file that has it, its position there and in the log, its fixed part, and its topic."""

    path: str
    position: int
    place: int
    head: Head
    topic: str

    def bytes_at(self, start: int, length: int) -> CorruptedBytes | None:
        """Return the bytes from a position inside the record on, None if there are none."""
        return CorruptedBytes(self.path, self.position + start, length) if length > 0 else None


def _last_record(files: StoreFiles) -> _LastRecord | None:
    """Return the last record of the last file that has one."""
    for name in filter(is_digits, reversed(files.names(LOG))):
        records = [*_records(files, f"{LOG}/{name}", whole_number(name))]
        if records:
            return records[-1]
    return None


def _records(files: StoreFiles, path: str, begin: int) -> Iterator[_LastRecord]:
    """Yield the records of a file of the log, which begins at this place, up to a blank or the first damage."""
    position, size = 0, files.size(path)
    while position + BLANK_SIZE <= size:
        head = head_of(files.read(path, position, LONGEST_HEAD))
        if head is None or head.magic not in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2) or head.physical_offset != begin + position:
            return
        parts = parts_of(partial(files.read, path), position, size, head)
        if parts.parts != head.size:
            return
        topic = files.read(path, parts.topic_at, parts.topic_length).decode("utf-8", "replace")
        yield _LastRecord(path, position, begin + position, head, topic)
        position += head.size


def _entry(files: StoreFiles, last: _LastRecord) -> CorruptedBytes | None:
    """Return the entry of the last record in its queue, None if it has none."""
    folder, entry = f"{QUEUE}/{last.topic}/{last.head.queue_id}", last.head.queue_offset * ENTRY_SIZE
    for name in filter(is_digits, files.names(folder)):
        path, position = f"{folder}/{name}", entry - whole_number(name)
        if 0 <= position < files.size(path) and files.read(path, position, _PLACE) == last.place.to_bytes(_PLACE, "big"):
            return CorruptedBytes(path, position, ENTRY_SIZE)
    return None


_Find = Callable[[StoreFiles, _LastRecord], CorruptedBytes | None]
_OF_RECORD: Final[Mapping[tuple[str, str], _Find]] = {
    (LOG, "size"): lambda files, last: last.bytes_at(SIZE_AT, _FIELD),
    (LOG, "magic"): lambda files, last: last.bytes_at(MAGIC_AT, _FIELD),
    (LOG, "checksum"): lambda files, last: last.bytes_at(BODY_CRC_AT, _FIELD),
    (LOG, "body"): lambda files, last: last.bytes_at(last.head.length, last.head.body_length),
    (QUEUE, "entry"): _entry,
}
_OF_FILES: Final[Mapping[tuple[str, str], tuple[str, int]]] = {
    (TOPICS, "start"): (f"config/{TOPICS}", 1),
    (GROUPS, "start"): (f"config/{GROUPS}", 1),
    (CHECKPOINT, "times"): (CHECKPOINT, _TIMES),
}
PLACES: Final = (*_OF_RECORD, *_OF_FILES)
"""The files, each with the name of a place in it."""
FLIP, ZERO = HOWS = ("flip", "zero")


def validated(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a change with the `file`, the `place` and `how` as they are known here. Raises InputError."""
    file = known("file", str(wanted["file"]), dict.fromkeys(of for of, _ in PLACES))
    place = known(f"place of {file}", str(wanted["place"]), [each for of, each in PLACES if of == file])
    return {**wanted, "file": file, "place": place, "how": known("change", str(wanted["how"]), HOWS)}


def damaged_file(event: Mapping[str, Any]) -> str | None:
    """Return the file that was changed, given the value of the event that ended a broker's process; None for a plain end."""
    file: str | None = event.get("corrupt", {}).get("file")
    return file


def corrupt(files: StoreFiles, file: str, place: str, how: str, is_mine: Callable[[str], bool]) -> CorruptedBytes | None:
    """Flip all bits at a place, or set its bytes to zero, and return where it is. `is_mine`: whether a topic is the program's own.

    Return None, and change nothing, if the files do not have the place or its bytes are zero already. Raises OSError.
    """
    found = _found(files, (file, place), is_mine)
    if found is None or found.position + found.length > files.size(found.path):
        return None
    before = files.read(*found)
    after = bytes(byte ^ 0xFF for byte in before) if how == FLIP else bytes(len(before))
    if before == after:
        return None
    files.replace(found.path, found.position, after)
    return found


def _found(files: StoreFiles, key: tuple[str, str], is_mine: Callable[[str], bool]) -> CorruptedBytes | None:
    if key in _OF_FILES:
        path, length = _OF_FILES[key]
        return CorruptedBytes(path, 0, length)
    last = _last_record(files)
    return _OF_RECORD[key](files, last) if last is not None and is_mine(last.topic) else None
