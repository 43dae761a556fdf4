"""The whole commit log of a broker whose files may be read, judged when the programs on it are done.

What is between the records, at the ends of files or in no queue goes over no wire. The files' bytes are kept next to a history without
requests, whose `state` event `log` names them, so that they can be judged again. Judged are the claims about logs, under what any of the
programs did. A log may have files of a GiB, so its bytes are read and written a piece at a time. If they cannot be read or kept, the event
has the reason instead, and the claims are left open.
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
from . import restarts, storefiles
from .expected import OF_QUEUES, expected
from .judging import JudgedProgram, ProgramFinding

_PROGRAM: Final = re.compile(f"(?:{RETRY_PREFIX}|{DLQ_PREFIX})?([^-]*-[0-9]+)-")
LOGS: Final = "logs"
SOURCE: Final = "the whole log"
FOLDER: Final = "commitlog"
CLAIMS: Final = ("INV-34.records", "INV-37", "INV-38.records", "INV-39", "INV-40", "INV-41", "INV-42", "INV-45")
"""What a log shows by itself; about queues only the programs' own: a broker that deletes a topic may empty its own ones too."""
_STILL: Final = 0.05
_LOOKS: Final = 20
_CHUNK: Final = 1 << 20
PACKED: Final = ".log.zlib"


UNREAD: Final = "unread"
"""In the `state` event `log`: why there are no bytes."""


class Unread(RocketproofError):
    """There is a log, and its bytes cannot be looked at: which file, why, and what to do."""


@dataclass(frozen=True)
class StoredLog:
    """A log that stands still: its files in order, each of `file_size` bytes. `size` bytes are written, behind them are only zeros;
    `digest` is that of all bytes."""

    paths: tuple[Path, ...]
    file_size: int
    size: int
    digest: bytes

    def chunks(self) -> Iterator[bytes]:
        """Yield what is written, a piece at a time. Raises OSError."""
        left = self.size
        for chunk in _chunks(self.paths):
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return


def record(store: Path, path: Path, broker: str, needs: str, origin: Mapping[str, Any], conditions: Iterable[str]) -> bool:
    """Write down the log in a store directory, or why it could not be looked at; False where there is none. The bytes become a file of
    their own next to the history, which may be as large as the store's. Raises OSError if not even the reason can be written."""
    packed = path.with_suffix(PACKED)
    try:
        found = stored_log(store)
        if found is None:
            return False
        path.parent.mkdir(exist_ok=True)
        _pack(found, packed)
        state: dict[str, Any] = {"fileSize": found.file_size, "size": found.size, "file": packed.name}
    except Unread as problem:
        state = {UNREAD: str(problem)}
    path.parent.mkdir(exist_ok=True)
    program = Program(0, SOURCE, (), needs)
    recording = HistoryRecorder(path, {**origin, "program": program.data(), "broker": broker, "conditions": sorted(conditions)})
    recording.add("state", broker, "log", state)
    recording.close()
    return True


def stored_log(store: Path) -> StoredLog | None:
    """Find the log of a store, read twice with a pause until nothing changes; None where there is no whole one. Raises Unread where it
    cannot be read, or goes on changing."""
    before: StoredLog | None = None
    for _ in range(_LOOKS):
        try:
            paths = tuple(sorted(one for one in (store / FOLDER).iterdir() if is_digits(one.name)))
            sizes = {one.stat().st_size for one in paths}
            if len(sizes) != 1 or sizes == {0} or whole_number(paths[0].name) != 0:
                return None
            found = StoredLog(paths, sizes.pop(), *_read_through(paths))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unread(_unreadable(error)) from None
        if found == before:
            return found
        before = found
        interrupts.pause(_STILL)
    raise Unread(f"the files in {store / FOLDER} go on changing; stop what writes to the broker, and run it again")


def _unreadable(error: OSError) -> str:
    return f"{error.filename} cannot be read ({error.strerror}); make it readable, and run it again"


def files(store: Path) -> tuple[bytes, int] | None:
    """Return what is written in a store's log, its files joined, and the size of a file, for stores of small files; None where there is no
    whole log, or it cannot be read."""
    try:
        found = stored_log(store)
    except Unread:
        return None
    return None if found is None else (b"".join(found.chunks()), found.file_size)


def _chunks(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the bytes of files, a piece at a time. Raises OSError with the file's name."""
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
    """Return where the last byte other than zero ends, and the digest of all bytes."""
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
    """Read the log that was written down, as a broker of this profile writes it; `folder` is that of the history. Raises TraceError where
    its bytes are not there, or are others than the history says, and Unread where they could not be looked at, or cannot now."""
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
    """Yield the compressed bytes: of the file next to the history, or of the text in it, where earlier versions put them."""
    if "file" not in state:
        return iter([base64.b64decode(state["zlib"])])
    return _chunks([folder / Path(state["file"]).name])


@contextmanager
def _unpacked(packed: Iterable[bytes], size: int, length: int) -> Iterator[mmap.mmap]:
    """Give the uncompressed bytes, filled up with zeros to a length. They lie in a file that is gone afterwards, and not in memory."""
    unpacker, left = zlib.decompressobj(), size
    with tempfile.TemporaryFile() as file:
        for chunk in packed:
            while chunk or unpacker.unconsumed_tail:
                found = unpacker.decompress(unpacker.unconsumed_tail or chunk, _CHUNK)
                chunk = b""
                left -= file.write(found)
                if left < 0:
                    raise ValueError(f"there are more than {size} bytes")
                if not found:
                    break
        left -= file.write(unpacker.flush())
        if left:
            raise ValueError(f"there are {size - left} bytes and not {size}")
        file.truncate(length)
        file.flush()
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as data:
            yield data


def log_of(data: bytes, file_size: int, *, hosts_by_flag: bool = True) -> LogRecords:
    """The log of such bytes: the last file is filled up with zeros. `hosts_by_flag`: as of `segments.LogFile`."""
    return read_log(data.ljust(-(-len(data) // file_size) * file_size, b"\0"), file_size, hosts_by_flag=hosts_by_flag)


def claims(profile: str, conditions: frozenset[str]) -> Iterator[tuple[HistoryClaim, Case | None]]:
    """The claims that have to hold of a broker's log under these conditions, each with the case that says so."""
    for claim in HISTORY_CLAIMS:
        verdict, case = expected(profile, claim.id, conditions, SOURCE)
        if claim.id in CLAIMS and verdict == "holds":
            yield claim, case


def decided(
    log: LogRecords, mine: LogRecords, broker: str, profile: str, conditions: frozenset[str]
) -> Iterator[tuple[HistoryClaim, Case | None, str | None, History]]:
    """The `claims`, each with what breaks it, None for nothing, and the history in which it was looked for. Claims about queues see
    `mine`."""
    for claim, case in claims(profile, conditions):
        history = History(logs={broker: mine if claim.id in OF_QUEUES else log}, early_batches=settings(profile)["early_batches"])
        yield claim, case, claim.check(history), history


def _program(topic: str) -> str:
    """Which program of a run a topic is of. What a program has deleted is known of those only whose histories are kept."""
    found = _PROGRAM.match(topic)
    return found[1] if found else ""


def judge_log(path: Path, profile: str) -> JudgedProgram:
    """Judge a log, or what an audit said or a start showed, that was written down. Raises TraceError for a file that is not a history."""
    parsed = load(path)
    if storefiles.STATE in parsed.states:
        return storefiles.judge(parsed, path, profile)
    if restarts.STATE in parsed.states:
        return restarts.judge(parsed, path, profile)
    conditions = frozenset(str(one) for one in parsed.origin.get("conditions", ()))
    found = JudgedProgram(0, path, SOURCE, conditions, events=len(parsed.events), by=("claims",))
    try:
        log = read(parsed, profile, path.parent)
    except Unread as problem:
        found.left_open = {claim.id: str(problem) for claim, _ in claims(profile, conditions)}
        return found
    deleted = frozenset(parsed.origin.get("deleted", ()))
    kept = parsed.origin.get("programs")
    prefixes = None if kept is None else frozenset(f"{parsed.names.prefix}-{number}" for number in kept)
    records = [one for one in log.records if parsed.names.is_mine(one.topic) and one.topic not in deleted]
    mine = replace(log, records=[one for one in records if prefixes is None or _program(one.topic) in prefixes])
    exercised = set()
    for claim, case, text, history in decided(log, mine, parsed.broker, profile, conditions):
        found.claims[claim.id] = (text is None, "holds", "")
        if text is not None or claim.exercised(history):
            exercised.add(claim.id)
        if text is not None:
            found.verdicts.append(
                ProgramFinding("claims", claim.id, f"{claim.sentence}: {text} ({SOURCE})", reason=case.reason if case else "")
            )
    found.exercised = frozenset(exercised)
    return found
