"""Transport faults of a run: lost, garbled and duplicate responses, and failed queries.

A client cannot know whether the target or the network lost a frame. A fault is therefore not a violated property by itself. A request whose
response was lost may have been served or not. A request with two responses may have been served twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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
    """A fault of a `kind`, the request that it is about (`at`), and what was seen.

    `at` is the same for the same request in every run of a program. `op` is the request's operation, "" if there is none.
    """

    kind: str
    at: str
    seq: int
    text: str
    op: str = ""

    @property
    def leaves_doubt(self) -> bool:
        """Whether the broker's action or state is unknown."""
        return self.kind != REFUSED and (self.at != READING or self.kind == UNREAD)

    def __str__(self) -> str:
        return f"{self.at}: {self.text}"


def faults(parsed: ParsedHistory) -> tuple[TransportFault, ...]:
    """Return all faults of a run in order, those of queries last."""
    return (*_of_requests(parsed), *_of_strays(parsed), *_of_queries(parsed))


def numbered(parsed: ParsedHistory) -> dict[int, str]:
    """Return, by event, the client of each request and its number there, which are the same in every run of a program."""
    numbers: Counter[str] = Counter()
    texts = {}
    for request in parsed.exchanges:
        numbers[request.process] += 1
        texts[request.seq] = f"{request.process}, request {numbers[request.process]} ({request.op})"
    return texts


def _of_requests(parsed: ParsedHistory) -> Iterator[TransportFault]:
    at_of = numbered(parsed)
    for request in parsed.exchanges:
        at = at_of[request.seq]
        if request.closed == "fail":
            yield TransportFault(REFUSED, at, request.seq, str(request.outcome.get("error", "")), request.op)
        elif request.closed == "info" and "error" in request.outcome:
            text = str(request.outcome["error"])
            yield TransportFault(_kind(text), at, request.seq, text, request.op)
        elif request.is_doubled:
            codes = " and ".join(str(answer.get("code")) for answer in (request.outcome, *request.strays))
            yield TransportFault(TWICE, at, request.seq, f"{1 + len(request.strays)} answers, with the codes {codes}", request.op)


def _of_strays(parsed: ParsedHistory) -> Iterator[TransportFault]:
    for stray in parsed.strays:
        text = f"an answer with code {stray.value.get('code')} and an opaque that no request has"
        yield TransportFault(NOBODY, "no request", stray.seq, text)


def _of_queries(parsed: ParsedHistory) -> Iterator[TransportFault]:
    seen = parsed.states.get("unread", {})
    for text in seen.get("faults", ()):
        yield TransportFault(_kind(text), READING, -1, text)
    for what in seen.get("missed", ()):
        yield TransportFault(UNREAD, READING, -1, what)


def _kind(text: str) -> str:
    return _KINDS.get(text.partition(":")[0], CLOSED)
