"""A search's progress on disk: the states of all levels and the counts before the last level. Another process can resume from it.

States are appended to one file, level by level. A second file records how much of the first is valid, and is always replaced as a whole.
The recorded states therefore exist however the process ends: by a signal, without memory or with a full disk. Writing the record waits for
the disk, so it is limited to a small share of the time. A crash loses the work since the last record and the partly expanded level.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RocketproofError
from .appendfile import AppendFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

VERSION = 2
_STATES, _RECORD, _RUNS, _CANDIDATES, _LOCK = "states", "search.json", "runs", "candidates", "lock"
_PIECE = 1 << 16  # words per read
_PART = 50  # the next save waits for this multiple of the time that the last one took


@dataclass(frozen=True)
class LevelRecord:
    """The progress of a search before a level is expanded.

    `question` is a digest of the model and the claims. `sizes` are the numbers of states per level, `sums` the sums of their words modulo
    2^64. `seen` has the totals of the workers' counts. `first` has the group, place, level and words of each decided claim.

    A search on disk has no sums. Its `ends` has the end of each level in the file of runs, and `leading` is the word that leads their
    order.
    """

    question: str
    words: int
    sizes: list[int]
    sums: list[int]
    seen: dict[str, list[int]]
    first: list[tuple[int, int, int, list[int]]]
    ends: list[int] = field(default_factory=list)
    leading: int = 0


class SearchCheckpoint:
    """A folder for the progress of one search. Between `open` and `release` no other process can open it.

    Progress is saved at most every `seconds` of `clock`, and so rarely that saving takes at most 2 % of the time. With `seconds` 0 it is
    saved before each level.
    """

    def __init__(self, folder: Path, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder, self.seconds, self.clock = folder, seconds, clock
        self.last, self.cost = clock(), 0.0  # the time of the last save, and the seconds that it took
        self.written: list[tuple[int, int]] = []  # of each level in the file: the byte at which it ends, and the sum of its words
        self.file: AppendFile | None = None
        self._lock: int | None = None  # the descriptor of the locked file

    @property
    def sums(self) -> list[int]:
        """The sums of the words of the levels in the file."""
        return [total for _, total in self.written]

    @property
    def _end(self) -> int:
        """The byte at which the next level begins."""
        return self.written[-1][0] if self.written else 0

    @property
    def runs(self) -> Path:
        """The file with the levels of a search on disk; valid if the record has `ends`."""
        return self.folder / _RUNS

    @property
    def candidates(self) -> Path:
        """The file for candidates that a search on disk sets aside within a level; a resumed search does not read it."""
        return self.folder / _CANDIDATES

    def open(self, question: str) -> LevelRecord | None:
        """Lock the folder and return the record of an earlier search, None if there is none.

        Raises RocketproofError if another process has locked the folder, or if the record is damaged or of a different search.
        """
        path = self.folder / _RECORD
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._acquire()
            if not path.exists():
                self.file, self.written = AppendFile(self.folder / _STATES), []
                return None
            record = self._record(path, question)
            if record.ends:
                (self.folder / _STATES).unlink(missing_ok=True)
                return record
            ends = (8 * record.words * states for states in accumulate(record.sizes))
            self.written = list(zip(ends, record.sums, strict=True))
            self.file = AppendFile(self.folder / _STATES, self._end)
        except OSError as error:
            self.release()
            raise RocketproofError(f"{self.folder} cannot keep a search's progress: {error}; give another folder or remove it") from None
        except RocketproofError:
            self.release()
            raise
        return record

    def _acquire(self) -> None:
        """Lock the folder for this process. The system releases the lock when the process ends, however it ends."""
        import fcntl  # absent on Windows, where the rest of this module works

        while self._lock is None:
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked = os.fstat(lock)
                if locked.st_nlink and os.path.samestat(locked, os.stat(self.folder / _LOCK)):
                    os.ftruncate(lock, 0)
                    os.pwrite(lock, str(os.getpid()).encode(), 0)
                    self._lock = lock
            except FileNotFoundError:
                pass  # another search removed the file between `open` and `flock`
            except BlockingIOError:
                pid = os.pread(lock, 20, 0).decode(errors="replace") or "unknown"
                raise RocketproofError(
                    f"{self.folder} is in use by another search, process {pid}; wait until it ends, stop it, or give another folder"
                ) from None
            finally:
                if self._lock != lock:
                    os.close(lock)

    def _record(self, path: Path, question: str) -> LevelRecord:
        """Read a record written by `save`. Raises RocketproofError for anything else."""
        remedy = f"give another folder, or remove {self.folder} to search from the start"
        try:
            document = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            raise RocketproofError(f"{path} is damaged: it is no JSON, or is cut off; {remedy}") from None
        version = document.get("version") if isinstance(document, dict) else None
        if version != VERSION:
            raise RocketproofError(f"{path} is damaged or of another version: its version is {version!r}, not {VERSION}; {remedy}")
        record: Any = document.get("record")
        if not isinstance(record, dict) or document.get("sum") != _checksum(record):
            raise RocketproofError(f"{path} is damaged: its checksum is not that of its content; {remedy}")
        if record["question"] != question:
            raise RocketproofError(f"{self.folder} holds the progress of a search for something else; give another folder or remove it")
        return LevelRecord(**record)

    def level(self, record: LevelRecord, number: int) -> Iterator[Words]:
        """Yield the states of a recorded level in pieces. Raises RocketproofError if the file does not match the record."""
        left, total = record.sizes[number] * record.words, np.int64(0)
        try:
            with open(self.folder / _STATES, "rb") as file:
                file.seek(8 * record.words * sum(record.sizes[:number]))
                while left:
                    states = np.fromfile(file, dtype="<i8", count=min(left, _PIECE // record.words * record.words))
                    if not len(states):
                        break
                    left, total = left - len(states), _sum([states], total)
                    yield states.astype(np.int64, copy=False)
        except OSError:
            raise self.damaged() from None
        if left or int(total) != record.sums[number]:
            raise self.damaged()

    def sample(self, record: LevelRecord, many: int) -> Words:
        """Return about `many` states, evenly spaced over all levels in order. Raises RocketproofError if the file is too short."""
        shape = sum(record.sizes), record.words
        try:
            words = np.memmap(self.folder / _STATES, dtype="<i8", mode="r", shape=shape)
        except (OSError, ValueError):
            raise self.damaged() from None
        return np.array(words[:: max(1, shape[0] // many)], dtype=np.int64).ravel()

    def damaged(self, name: str = _STATES) -> RocketproofError:
        """Return the error for a file whose states do not match the record."""
        path = self.folder / name
        return RocketproofError(
            f"{path} is damaged: its states are not those that were written; remove {self.folder} to search from the start"
        )

    def append(self, parts: Sequence[Words]) -> None:
        """Write a level's states over those of an interrupted attempt. Raises OSError if the disk is full; saved levels stay valid."""
        assert self.file is not None
        self.file.seek(self._end)
        for part in parts:
            self.file.append(part.astype("<i8", copy=False))
        self.written.append((self.file.end, int(_sum(parts, np.int64(0)))))

    @property
    def due(self) -> bool:
        return not self.seconds or self.clock() - self.last >= max(self.seconds, _PART * self.cost)

    def save(self, record: LevelRecord, sync: Callable[[], None] | None = None) -> None:
        """Make the record and all states up to its last level durable. `sync` writes further files to the disk.

        Raises OSError if the disk is full; the record saved before stays valid.
        """
        start = self.clock()
        if self.file is not None:
            self.file.sync()
        if sync is not None:
            sync()
        path = self.folder / _RECORD
        new, content = path.with_suffix(".new"), asdict(record)
        with open(new, "w") as file:
            json.dump({"version": VERSION, "sum": _checksum(content), "record": content}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        self.last = self.clock()
        self.cost = self.last - start

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def release(self) -> None:
        """Close the files and unlock the folder."""
        self.close()
        if self._lock is not None:
            with suppress(OSError):
                (self.folder / _LOCK).unlink()
            os.close(self._lock)
            self._lock = None

    def drop(self) -> None:
        """Remove the file of states: the record refers to the runs now."""
        self.close()
        (self.folder / _STATES).unlink()

    def remove(self) -> None:
        """Remove all files: the search is complete."""
        self.close()
        for name in (_RECORD, _STATES, _RUNS, _CANDIDATES):
            (self.folder / name).unlink(missing_ok=True)
        self.release()
        with suppress(OSError):  # a folder with other files stays
            self.folder.rmdir()


def _checksum(record: object) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _sum(parts: Sequence[Words], start: np.int64) -> np.int64:
    with np.errstate(over="ignore"):
        for part in parts:
            start = start + part.sum(dtype=np.int64)
    return start
