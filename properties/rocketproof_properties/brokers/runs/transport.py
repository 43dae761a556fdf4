"""What became of a run's frames: which answers were lost or garbled, which came twice, and what could not be read back.

A client cannot know whether a frame that is missing was kept back by the target or by what lies between them. So no fault is a broken
property by itself. A request whose answer was lost may have been served or not; one that was answered twice may have been served twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rocketproof_traces.history.exchange import Exchange

from .parsed import ParsedHistory

REFUSED: Final = "connection refused"
CLOSED: Final = "connection closed"
SILENT: Final = "no answer in time"
UNREADABLE: Final = "unreadable frame"
TWICE: Final = "answered twice"
NOBODY: Final = "an answer to nobody"
UNREAD: Final = "not read back"
READING: Final = "reading back"
_KINDS: Final = {"TimedOut": SILENT, "FrameError": UNREADABLE, "ConnectFailed": REFUSED}


@dataclass(frozen=True)
class TransportFault:
    """A fault: of which `kind`, what was asked, and what was seen. `at` is the same for the same request whenever a program runs; `op` says
    what that was, "" where there is none."""

    kind: str
    at: str
    seq: int
    text: str
    op: str = ""

    @property
    def leaves_doubt(self) -> bool:
        """Whether nobody knows what the broker has done, or what it holds."""
        return self.kind != REFUSED and (self.at != READING or self.kind == UNREAD)

    def __str__(self) -> str:
        return f"{self.at}: {self.text}"


def faults(parsed: ParsedHistory) -> tuple[TransportFault, ...]:
    """All faults of a run, in order; those of looking come last."""
    return (*_of_requests(parsed), *_of_nobody(parsed), *_of_looking(parsed))


def numbered(parsed: ParsedHistory) -> dict[int, str]:
    """Which request of its client each is, by its event: the same whenever a program runs."""
    numbers: Counter[str] = Counter()
    found = {}
    for asked in parsed.asked:
        numbers[asked.process] += 1
        found[asked.seq] = f"{asked.process}, request {numbers[asked.process]} ({asked.op})"
    return found


def _of_requests(parsed: ParsedHistory) -> Iterator[TransportFault]:
    at_of = numbered(parsed)
    for asked in parsed.asked:
        at = at_of[asked.seq]
        if asked.closed == "fail":
            yield TransportFault(REFUSED, at, asked.seq, str(asked.outcome.get("error", "")), asked.op)
        elif asked.closed == "info" and "error" in asked.outcome:
            text = str(asked.outcome["error"])
            yield TransportFault(_kind(text), at, asked.seq, text, asked.op)
        elif is_doubled(asked):
            codes = " and ".join(str(answer.get("code")) for answer in (asked.outcome, *asked.strays))
            yield TransportFault(TWICE, at, asked.seq, f"{1 + len(asked.strays)} answers, with the codes {codes}", asked.op)


def _of_nobody(parsed: ParsedHistory) -> Iterator[TransportFault]:
    for seq, answer in parsed.strays:
        yield TransportFault(NOBODY, "no request", seq, f"an answer with code {answer.get('code')} and an opaque that no request has")


def _of_looking(parsed: ParsedHistory) -> Iterator[TransportFault]:
    seen = parsed.states.get("unread", {})
    for text in seen.get("faults", ()):
        yield TransportFault(_kind(text), READING, -1, text)
    for what in seen.get("missed", ()):
        yield TransportFault(UNREAD, READING, -1, what)


def _kind(text: str) -> str:
    return _KINDS.get(text.partition(":")[0], CLOSED)


def is_lost(asked: Exchange) -> bool:
    """Whether an answer was wanted, and none came that could be read."""
    return asked.closed == "info" and "error" in asked.outcome and not asked.one_way


def is_doubled(asked: Exchange) -> bool:
    """Whether more than one answer came to a request that wants one."""
    return asked.closed == "ok" and bool(asked.strays) and not asked.one_way
