"""The whole commit log of a broker whose files may be read, judged when the programs on it are done.

What is between the records, at the ends of files or in no queue goes over no wire. The files' bytes become a `state` event `log` of
a history without requests, so that they can be judged again. Judged are the claims about logs, under what any of the programs did.
"""

from __future__ import annotations

import base64
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rocketproof_profiles import PROFILES
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from rocketproof_traces.stored.record import Log, read_log

from ..catalogue import HISTORY_CLAIMS
from ..catalogue.claim import Case, HistoryClaim
from ..catalogue.stored import settings
from ..generators.programs import Program
from ..histories.history import History
from ..runs.parsed import ParsedHistory, load
from ..runs.recording import Recording
from . import restarts, storefiles
from .expected import OF_QUEUES, expected
from .judging import Judged, Verdict

_PROGRAM: Final = re.compile(f"(?:{RETRY_PREFIX}|{DLQ_PREFIX})?([^-]*-[0-9]+)-")
LOGS: Final = "logs"
SOURCE: Final = "the whole log"
FOLDER: Final = "commitlog"
CLAIMS: Final = ("INV-34.records", "INV-37", "INV-38.records", "INV-39", "INV-40", "INV-41", "INV-42", "INV-45")
"""What a log shows by itself; about queues only the programs' own: a broker that deletes a topic may empty its own ones too."""
_STILL: Final = 0.05
_LOOKS: Final = 20


def record(store: Path, path: Path, broker: str, needs: str, origin: Mapping[str, Any], conditions: Iterable[str]) -> bool:
    """Write down the log in a store directory; False where there is none, or it does not stand still."""
    found = files(store)
    if found is None:
        return False
    data, file_size = found
    program = Program(0, SOURCE, (), needs)
    path.parent.mkdir(exist_ok=True)
    recording = Recording(path, {**origin, "program": program.data(), "broker": broker, "conditions": sorted(conditions)})
    kept = base64.b64encode(zlib.compress(data)).decode()
    recording.add("state", broker, "log", {"fileSize": file_size, "size": len(data), "zlib": kept})
    recording.close()
    return True


def files(store: Path) -> tuple[bytes, int] | None:
    """The bytes of a store's log, its files joined, up to the last that is written, and the size of one file; None where there is none, or
    it does not stand still."""
    before: bytes | None = None
    for _ in range(_LOOKS):
        try:
            found = sorted(one for one in (store / FOLDER).iterdir() if one.name.isdecimal())
            content = [one.read_bytes() for one in found]
        except OSError:
            return None
        if not content or int(found[0].name) != 0 or len({len(one) for one in content}) != 1:
            return None
        data = b"".join(content).rstrip(b"\0")
        if data == before:
            return data, len(content[0])
        before = data
        time.sleep(_STILL)
    return None


def read(parsed: ParsedHistory, profile: str) -> Log:
    """The log that was written down, as a broker of this profile writes it."""
    state = parsed.states["log"]
    data = zlib.decompress(base64.b64decode(state["zlib"]))
    return log_of(data, int(state["fileSize"]), hosts_by_flag=PROFILES[profile].hosts_by_flag)


def log_of(data: bytes, file_size: int, *, hosts_by_flag: bool = True) -> Log:
    """The log of such bytes: the last file is filled up with zeros. `hosts_by_flag`: as of `segments.LogFile`."""
    return read_log(data.ljust(-(-len(data) // file_size) * file_size, b"\0"), file_size, hosts_by_flag=hosts_by_flag)


def decided(
    log: Log, mine: Log, broker: str, profile: str, conditions: frozenset[str]
) -> Iterator[tuple[HistoryClaim, Case | None, str | None, History]]:
    """The claims that have to hold of a broker's log under these conditions, each with the case that says so and what breaks it, None for
    nothing, and the history in which it was looked for. Claims about queues see `mine`."""
    for claim in HISTORY_CLAIMS:
        verdict, case = expected(profile, claim.id, conditions, SOURCE)
        if claim.id in CLAIMS and verdict == "holds":
            history = History(logs={broker: mine if claim.id in OF_QUEUES else log}, early_batches=settings(profile)["early_batches"])
            yield claim, case, claim.check(history), history


def _program(topic: str) -> str:
    """Which program of a run a topic is of. What a program has deleted is known of those only whose histories are kept."""
    found = _PROGRAM.match(topic)
    return found[1] if found else ""


def judge_log(path: Path, profile: str) -> Judged:
    """Judge a log, or what an audit said or a start showed, that was written down. Raises TraceError for a file that is not a history."""
    parsed = load(path)
    if storefiles.STATE in parsed.states:
        return storefiles.judge(parsed, path, profile)
    if restarts.STATE in parsed.states:
        return restarts.judge(parsed, path, profile)
    conditions = frozenset(str(one) for one in parsed.origin.get("conditions", ()))
    found = Judged(0, path, SOURCE, conditions, events=len(parsed.events), by=("claims",))
    log = read(parsed, profile)
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
            found.verdicts.append(Verdict("claims", claim.id, f"{claim.sentence}: {text} ({SOURCE})", reason=case.reason if case else ""))
    found.exercised = frozenset(exercised)
    return found
