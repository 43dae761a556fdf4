"""What a broker may not have dispatched yet when it is asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketproof_protocol import codes
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.parsed import ParsedHistory

WITHIN: Final = 1000
"""Milliseconds behind a request for its message, by which it must be in its queue."""
NOTHING_THERE: Final[Mapping[str, tuple[int, ...]]] = {
    "pull": (codes.PULL_NOT_FOUND, codes.PULL_RETRY_IMMEDIATELY, codes.PULL_OFFSET_MOVED),
    "progress": (codes.QUERY_NOT_FOUND,),
}
"""What is answered about a queue into which nothing is dispatched yet."""
ENDS: Final = ("max_offset", "search", "pull", "earliest")
"""Requests that answer which messages a queue has."""
_END: Final = "maxOffset"
OF_DISPATCH: Final = (*ENDS, "progress")
"""Requests whose answers say how far a broker has dispatched."""


def is_soon(history: ParsedHistory, asked: Exchange) -> bool:
    """Whether what was sent just before a question may not be dispatched yet."""
    sent = max((one.sent_millis for one in history.asked if one.seq < asked.seq and one.op != asked.op), default=-WITHIN)
    return asked.sent_millis < sent + WITHIN


def has_all(theirs: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    """Whether a queue that a pull looked at ended where ours does, so that nothing is missing in it."""
    ends = theirs.get(_END), ours.get(_END)
    return None not in ends and ends[0] == ends[1]
