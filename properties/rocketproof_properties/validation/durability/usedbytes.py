"""The bytes of a stopped broker's files that its next start may read: which there are, and how one of them is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from rocketproof_protocol.numbers import is_digits

from ...programs.corruption import CHECKPOINT, FLIP, LOG, QUEUE, TABLES, StoreFiles
from .outcome import QUEUES

T = TypeVar("T")
TABLES_PART: Final = "tables"
PARTS: Final = (LOG, QUEUE, TABLES_PART)
"""The parts of a store: the log, the load's queues, and the checkpoint with the tables of topics and groups."""
_MOST: Final = {LOG: 40, QUEUE: 20, TABLES_PART: 16}
"""The number of bytes of a file that are changed, at equal distances."""


class UsedByte(NamedTuple):
    """A byte of a file. `path` is relative to the store directory."""

    path: str
    position: int

    def change(self, files: StoreFiles, how: str) -> bool:
        """Flip all bits of the byte, or set it to zero. Return False if it is zero already and nothing changes."""
        (before,) = files.read(self.path, self.position, 1)
        after = before ^ 0xFF if how == FLIP else 0
        if before != after:
            files.replace(self.path, self.position, bytes([after]))
        return before != after


def used_bytes(files: StoreFiles, part: str, topic: str) -> list[UsedByte]:
    """Return bytes of each file of a part of the store, from its first to its last one that is not zero."""
    return [UsedByte(path, position) for path in _paths(files, part, topic) for position in _positions(files, path, part)]


def _positions(files: StoreFiles, path: str, part: str) -> Sequence[int]:
    end = len(files.read(path, 0, files.size(path)).rstrip(b"\0"))
    return spread(range(end), _MOST[part])


def _paths(files: StoreFiles, part: str, topic: str) -> Iterator[str]:
    if part in (LOG, QUEUE):
        folders = [LOG] if part == LOG else [f"{QUEUE}/{topic}/{queue}" for queue in range(QUEUES)]
        yield from (f"{folder}/{name}" for folder in folders for name in files.names(folder) if is_digits(name))
    else:
        yield from (path for path in (CHECKPOINT, *(f"config/{table}" for table in TABLES)) if files.size(path))


def spread(values: Sequence[T], most: int) -> Sequence[T]:
    """Return at most that many of the values, at equal distances."""
    return values if len(values) <= most else [values[number * len(values) // most] for number in range(most)]
