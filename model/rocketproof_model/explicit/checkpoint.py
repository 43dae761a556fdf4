"""A search's progress on disk, from which another process goes on: the states of all levels, and what was seen before the last of them.

States are appended to one file, each level when it is new. What counts of it stands in a second file, which is replaced as a whole:
whenever the process ends, by a signal, without memory or on a full disk, what that file says is there. It is written seldom, as it waits
for the disk: at most a certain part of the time goes into that. What is lost is the work since then, and of the level that was being
expanded.
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
from .appended import Appended

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

VERSION = 2
_STATES, _RECORD, _RUNS, _CANDIDATES, _LOCK = "states", "search.json", "runs", "candidates", "lock"
_PIECE = 1 << 16  # words that are read at once
_PART = 50  # saving again waits for so many times as long as saving took


@dataclass(frozen=True)
class LevelRecord:
    """What was known when a level was to be expanded.

    `question` stands for the model and the claims; `sizes` are the states of each level and `sums` the sums of their words, modulo
    2^64. `seen` holds the totals of what the workers counted, `first` each decided claim's group, place, level and words. Of a search
    on disk `ends` says where each level ends in the file of runs, whose order the word `leading` leads, and there are no sums.
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
    """A folder for the progress of one search, which is saved at most every so many seconds of a `clock`, and so seldom that 2 % of the
    time goes into it; before each level if `seconds` is 0. From `open` to `release` no other process can open it."""

    def __init__(self, folder: Path, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder, self.seconds, self.clock = folder, seconds, clock
        self.last, self.cost = clock(), 0.0  # when it was saved, and the seconds that this took
        self.written: list[tuple[int, int]] = []  # of each level in the file: the byte where it ends, and the sum of its words
        self.file: Appended | None = None
        self._lock: int | None = None  # the descriptor of the locked file

    @property
    def sums(self) -> list[int]:
        """The sums of the words of the levels in the file."""
        return [total for _, total in self.written]

    @property
    def _end(self) -> int:
        """The byte where the next level begins."""
        return self.written[-1][0] if self.written else 0

    @property
    def runs(self) -> Path:
        """The file of the levels of a search on disk; it counts where the record has `ends`."""
        return self.folder / _RUNS

    @property
    def candidates(self) -> Path:
        """What a search on disk puts aside within a level; nobody goes on from it."""
        return self.folder / _CANDIDATES

    def open(self, question: str) -> LevelRecord | None:
        """Lock the folder and return what an earlier search has left there, None if nothing.

        RocketproofError if another process has locked it, if the record is that of another search, or if it is damaged.
        """
        path = self.folder / _RECORD
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._acquire()
            if not path.exists():
                self.file, self.written = Appended(self.folder / _STATES), []
                return None
            record = self._record(path, question)
            if record.ends:
                (self.folder / _STATES).unlink(missing_ok=True)
                return record
            ends = (8 * record.words * states for states in accumulate(record.sizes))
            self.written = list(zip(ends, record.sums, strict=True))
            self.file = Appended(self.folder / _STATES, self._end)
        except OSError as error:
            self.release()
            raise RocketproofError(f"{self.folder} cannot keep a search's progress: {error}; give another folder or remove it") from None
        except RocketproofError:
            self.release()
            raise
        return record

    def _acquire(self) -> None:
        """Lock the folder for this process. The system drops the lock of a process that has ended, however it ended."""
        import fcntl  # absent on Windows, where all else here can be imported

        while self._lock is None:
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                there = os.fstat(lock)
                if there.st_nlink and os.path.samestat(there, os.stat(self.folder / _LOCK)):
                    os.ftruncate(lock, 0)
                    os.pwrite(lock, str(os.getpid()).encode(), 0)
                    self._lock = lock
            except FileNotFoundError:
                pass  # a search that has just ended removed the file between its opening and its locking
            except BlockingIOError:
                pid = os.pread(lock, 20, 0).decode(errors="replace") or "unknown"
                raise RocketproofError(
                    f"{self.folder} is in use by another search, process {pid}; wait until it ends, stop it, or give another folder"
                ) from None
            finally:
                if self._lock != lock:
                    os.close(lock)

    def _record(self, path: Path, question: str) -> LevelRecord:
        """Read what `save` has written. RocketproofError for anything else."""
        remedy = f"give another folder, or remove {self.folder} to search from the start"
        try:
            found = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            raise RocketproofError(f"{path} is damaged: it is no JSON, or is cut off; {remedy}") from None
        version = found.get("version") if isinstance(found, dict) else None
        if version != VERSION:
            raise RocketproofError(f"{path} is damaged or of another version: its version is {version!r}, not {VERSION}; {remedy}")
        record: Any = found.get("record")
        if not isinstance(record, dict) or found.get("sum") != _checksum(record):
            raise RocketproofError(f"{path} is damaged: its checksum is not that of its content; {remedy}")
        if record["question"] != question:
            raise RocketproofError(f"{self.folder} holds the progress of a search for something else; give another folder or remove it")
        return LevelRecord(**record)

    def level(self, record: LevelRecord, number: int) -> Iterator[Words]:
        """The states of a level that the record has, in pieces. RocketproofError if the file is not as the record says."""
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
        """About so many states, evenly spaced over all levels, the last one's last. Raises RocketproofError if the file is too short."""
        shape = sum(record.sizes), record.words
        try:
            words = np.memmap(self.folder / _STATES, dtype="<i8", mode="r", shape=shape)
        except (OSError, ValueError):
            raise self.damaged() from None
        return np.array(words[:: max(1, shape[0] // many)], dtype=np.int64).ravel()

    def damaged(self, name: str = _STATES) -> RocketproofError:
        """The error for a file of states that are not those of the record."""
        path = self.folder / name
        return RocketproofError(
            f"{path} is damaged: its states are not those that were written; remove {self.folder} to search from the start"
        )

    def append(self, parts: Sequence[Words]) -> None:
        """Write a level's states, over those of an attempt cut short. OSError if there is no room: what was saved before stays."""
        assert self.file is not None
        self.file.seek(self._end)
        for part in parts:
            self.file.append(part.astype("<i8", copy=False))
        self.written.append((self.file.end, int(_sum(parts, np.int64(0)))))

    @property
    def due(self) -> bool:
        return not self.seconds or self.clock() - self.last >= max(self.seconds, _PART * self.cost)

    def save(self, record: LevelRecord, sync: Callable[[], None] | None = None) -> None:
        """Make the record count, with all states up to its last level; where these are in other files than its own, `sync` brings them to
        the disk. OSError if there is no room: what was saved before stays."""
        start = self.clock()
        if self.file is not None:
            self.file.sync()
        if sync is not None:
            sync()
        path = self.folder / _RECORD
        new, told = path.with_suffix(".new"), asdict(record)
        with open(new, "w") as file:
            json.dump({"version": VERSION, "sum": _checksum(told), "record": told}, file)
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
        """Close the files, and let other processes open the folder."""
        self.close()
        if self._lock is not None:
            with suppress(OSError):
                (self.folder / _LOCK).unlink()
            os.close(self._lock)
            self._lock = None

    def drop(self) -> None:
        """Remove the file of states: they are in runs now, and the record says so."""
        self.close()
        (self.folder / _STATES).unlink()

    def remove(self) -> None:
        """Remove all files: the search is over."""
        self.close()
        for name in (_RECORD, _STATES, _RUNS, _CANDIDATES):
            (self.folder / name).unlink(missing_ok=True)
        self.release()
        with suppress(OSError):  # somebody else's files stay
            self.folder.rmdir()


def _checksum(record: object) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _sum(parts: Sequence[Words], start: np.int64) -> np.int64:
    with np.errstate(over="ignore"):
        for part in parts:
            start = start + part.sum(dtype=np.int64)
    return start
