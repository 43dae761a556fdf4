"""Judge the whole commit log of a broker whose files are readable, after all programs have run.

The wire protocol shows nothing between the records, at the ends of files, or outside of queues. The bytes of the files are saved next to a
history without requests, named by its `state` event `log`, so they can be judged again. The claims about logs are judged under the
conditions of all programs. Log files may have a GiB, so bytes are read and written in chunks. If they cannot be read or saved, the event
contains the reason and the claims stay open.
"""

from __future__ import annotations

import base64
import hashlib
import mmap
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from rocketproof_model import RocketproofError, interrupts
from rocketproof_profiles import PROFILES
from rocketproof_protocol.numbers import is_digits, whole_number
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.stored.record import LogRecords, read_log

from ..brokers.runs.parsed import ParsedHistory, load
from ..brokers.runs.recording import HistoryRecorder
from ..catalogue.claim import Case, HistoryClaim
from ..catalogue.history import History
from ..catalogue.stored import settings
from ..catalogue.table import HISTORY_CLAIMS
from ..programs.program import Program
from ..reports.files import no_room, remedy
from . import restarts, slaves, storefiles
from .claims import OF_QUEUES, expected
from .verdicts import JudgedProgram, ProgramFinding

_PROGRAM: Final = re.compile(f"(?:{RETRY_PREFIX}|{DLQ_PREFIX})?([^-]*-[0-9]+)-")
LOGS: Final = "logs"
SOURCE: Final = "the whole log"
FOLDER: Final = "commitlog"
CLAIMS: Final = ("INV-34.records", "INV-37", "INV-38.records", "INV-39", "INV-40", "INV-41", "INV-42", "INV-45")
"""Claims that a log can show by itself. Claims about queues cover only the programs' topics: a broker that deletes a topic may also empty
its own topics."""
_STILL: Final = 0.05
_READS: Final = 20
_CHUNK: Final = 1 << 20
PACKED: Final = ".log.zlib"


UNREAD: Final = "unread"
"""In the `state` event `log`: why there are no bytes."""


class Unread(RocketproofError):
    """A log exists but its bytes cannot be read: which file, why, and what to do."""


@dataclass(frozen=True)
class StoredLog:
    """A log that no longer changes: its files in order, each of `file_size` bytes. After `size` bytes there are only zeros. `digest` covers
    all bytes."""

    paths: tuple[Path, ...]
    file_size: int
    size: int
    digest: bytes

    def chunks(self) -> Iterator[bytes]:
        """Yield the written bytes in chunks. Raises OSError."""
        left = self.size
        for chunk in _chunks(self.paths):
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return


def record(store: Path, path: Path, broker: str, needs: str, origin: Mapping[str, Any], conditions: Iterable[str]) -> bool:
    """Save the log of a store directory, or why it could not be read. Returns False if there is no log. The bytes are written to a file
    next to the history, which may be as large as the store. Raises OSError if not even the reason can be written."""
    packed = path.with_suffix(PACKED)
    try:
        log = stored_log(store)
        if log is None:
            return False
        path.parent.mkdir(exist_ok=True)
        _pack(log, packed)
        state: dict[str, Any] = {"fileSize": log.file_size, "size": log.size, "file": packed.name}
    except Unread as problem:
        state = {UNREAD: str(problem)}
    path.parent.mkdir(exist_ok=True)
    program = Program(0, SOURCE, (), needs)
    recording = HistoryRecorder(path, {**origin, "program": program.data(), "broker": broker, "conditions": sorted(conditions)})
    recording.add("state", broker, "log", state)
    recording.close()
    return True


def stored_log(store: Path) -> StoredLog | None:
    """Return the log of a store once two reads with a pause between them are equal; None if there is no complete log. Raises Unread if it
    cannot be read or keeps changing."""
    previous: StoredLog | None = None
    for _ in range(_READS):
        try:
            paths = tuple(sorted(path for path in (store / FOLDER).iterdir() if is_digits(path.name)))
            sizes = {path.stat().st_size for path in paths}
            if len(sizes) != 1 or sizes == {0} or whole_number(paths[0].name) != 0:
                return None
            current = StoredLog(paths, sizes.pop(), *_read_through(paths))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unread(_unreadable(error)) from None
        if current == previous:
            return current
        previous = current
        interrupts.pause(_STILL)
    raise Unread(f"the files in {store / FOLDER} go on changing; stop what writes to the broker, and run it again")


def _unreadable(error: OSError) -> str:
    return f"{error.filename} cannot be read ({error.strerror}); make it readable, and run it again"


def files(store: Path) -> tuple[bytes, int] | None:
    """Return the written bytes of a store's log and the size of a file; None if there is no complete or readable log. Joins all files in
    memory, so it is for small stores."""
    try:
        log = stored_log(store)
    except Unread:
        return None
    return None if log is None else (b"".join(log.chunks()), log.file_size)


def _chunks(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the bytes of files in chunks. Raises OSError with the file's name."""
    for path in paths:
        with path.open("rb") as file:
            while chunk := _next(file, path):
                yield chunk


def _next(file: BinaryIO, path: Path) -> bytes:
    try:
        return file.read(_CHUNK)
    except OSError as error:
        error.filename = str(path)
        raise


def _read_through(paths: Iterable[Path]) -> tuple[int, bytes]:
    """Return the end of the last nonzero byte and the digest of all bytes."""
    digest, at, end = hashlib.blake2b(digest_size=32), 0, 0
    for chunk in _chunks(paths):
        digest.update(chunk)
        end = at + written if (written := len(chunk.rstrip(b"\0"))) else end
        at += len(chunk)
    return end, digest.digest()


def _pack(log: StoredLog, to: Path) -> None:
    """Write the compressed bytes of a log to a file. Raises Unread, and leaves no file, if that fails."""
    packer = zlib.compressobj()
    try:
        with to.open("wb") as file:
            for chunk in log.chunks():
                file.write(packer.compress(chunk))
            file.write(packer.flush())
    except OSError as error:
        to.unlink(missing_ok=True)
        read = error.filename not in (None, str(to))
        raise Unread(_unreadable(error) if read else f"{to} cannot be written ({error.strerror}); {remedy(error)}") from None


def read(parsed: ParsedHistory, profile: str, folder: Path) -> LogRecords:
    """Read the saved log in the format of this profile. `folder` contains the history. Raises TraceError if the bytes are missing or differ
    from the history, and Unread if they could not be read then or now."""
    state = parsed.states["log"]
    if UNREAD in state:
        raise Unread(str(state[UNREAD]))
    try:
        file_size, size = whole_number(state["fileSize"]), whole_number(state["size"])
        if not (0 < file_size < 1 << 31 and size >= 0):
            raise ValueError(f"files of {file_size} bytes, {size} in all")
        with _unpacked(_packed(state, folder), size, -(-max(1, size) // file_size) * file_size) as data:
            return read_log(data, file_size, written=size, hosts_by_flag=PROFILES[profile].hosts_by_flag)
    except (KeyError, ValueError, TypeError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and no_room(error):
            raise Unread(f"{tempfile.gettempdir()} has no room for the log ({error.strerror}); make room there, and run it again") from None
        problem = f"the log's bytes cannot be read ({error})"
        raise TraceError(str(folder), problem, "give the folder of the report as validate has written it") from None


def _packed(state: Mapping[str, Any], folder: Path) -> Iterator[bytes]:
    """Yield the compressed bytes of the file next to the history. Earlier versions put them into the history as text."""
    if "file" not in state:
        return iter([base64.b64decode(state["zlib"])])
    return _chunks([folder / Path(state["file"]).name])


@contextmanager
def _unpacked(packed: Iterable[bytes], size: int, length: int) -> Iterator[mmap.mmap]:
    """Yield the uncompressed bytes, padded with zeros to a length. They are in a temporary file, not in memory."""
    unpacker, left = zlib.decompressobj(), size
    with tempfile.TemporaryFile() as file:
        for chunk in packed:
            while chunk or unpacker.unconsumed_tail:
                unpacked = unpacker.decompress(unpacker.unconsumed_tail or chunk, _CHUNK)
                chunk = b""
                left -= file.write(unpacked)
                if left < 0:
                    raise ValueError(f"there are more than {size} bytes")
                if not unpacked:
                    break
        left -= file.write(unpacker.flush())
        if left:
            raise ValueError(f"there are {size - left} bytes and not {size}")
        file.truncate(length)
        file.flush()
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as data:
            yield data


def log_of(data: bytes, file_size: int, *, hosts_by_flag: bool = True) -> LogRecords:
    """Return the log in these bytes. The last file is padded with zeros. `hosts_by_flag`: as in `segments.LogFile`."""
    return read_log(data.ljust(-(-len(data) // file_size) * file_size, b"\0"), file_size, hosts_by_flag=hosts_by_flag)


def claims(profile: str, conditions: frozenset[str]) -> Iterator[tuple[HistoryClaim, Case | None]]:
    """Yield the claims that must hold for a broker's log under these conditions, each with the case that states it."""
    for claim in HISTORY_CLAIMS:
        verdict, case = expected(profile, claim.id, conditions, SOURCE)
        if claim.id in CLAIMS and verdict == "holds":
            yield claim, case


def decided(
    log: LogRecords, mine: LogRecords, broker: str, profile: str, conditions: frozenset[str]
) -> Iterator[tuple[HistoryClaim, Case | None, str | None, History]]:
    """Yield each of the `claims` with its violation (None if it holds) and the history it was checked in. Claims about queues use
    `mine`."""
    for claim, case in claims(profile, conditions):
        history = History(logs={broker: mine if claim.id in OF_QUEUES else log}, early_batches=settings(profile)["early_batches"])
        yield claim, case, claim.check(history), history


def _program(topic: str) -> str:
    """Return the number of the program that a topic belongs to. The topics that a program deleted are known only if its history is kept."""
    match = _PROGRAM.match(topic)
    return match[1] if match else ""


def judge_log(path: Path, profile: str) -> JudgedProgram:
    """Judge a saved log, audit result, restart or slave. Raises TraceError for a file that is not a history."""
    parsed = load(path)
    if storefiles.STATE in parsed.states:
        return storefiles.judge(parsed, path, profile)
    if restarts.STATE in parsed.states:
        return restarts.judge(parsed, path, profile)
    if slaves.STATE in parsed.states:
        return slaves.judge(parsed, path, profile)
    conditions = frozenset(str(condition) for condition in parsed.origin.get("conditions", ()))
    judged = JudgedProgram(0, path, SOURCE, conditions, events=len(parsed.events), by=("claims",))
    try:
        log = read(parsed, profile, path.parent)
    except Unread as problem:
        judged.left_open = {claim.id: str(problem) for claim, _ in claims(profile, conditions)}
        return judged
    deleted = frozenset(parsed.origin.get("deleted", ()))
    kept = parsed.origin.get("programs")
    prefixes = None if kept is None else frozenset(f"{parsed.names.prefix}-{number}" for number in kept)
    records = [record for record in log.records if parsed.names.is_mine(record.topic) and record.topic not in deleted]
    mine = replace(log, records=[record for record in records if prefixes is None or _program(record.topic) in prefixes])
    exercised = set()
    for claim, case, text, history in decided(log, mine, parsed.broker, profile, conditions):
        judged.claims[claim.id] = (text is None, "holds", "")
        if text is not None or claim.exercised(history):
            exercised.add(claim.id)
        if text is not None:
            judged.deviations.append(
                ProgramFinding("claims", claim.id, f"{claim.sentence}: {text} ({SOURCE})", reason=case.reason if case else "")
            )
    judged.exercised = frozenset(exercised)
    return judged
