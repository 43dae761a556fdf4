"""Requests that a broker may answer before it has dispatched the records they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketproof_protocol import codes
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.parsed import ParsedHistory

WITHIN: Final = 1000
"""A message must be in its queue this many milliseconds after its request."""
NOTHING_THERE: Final[Mapping[str, tuple[int, ...]]] = {
    "pull": (codes.PULL_NOT_FOUND, codes.PULL_RETRY_IMMEDIATELY, codes.PULL_OFFSET_MOVED),
    "progress": (codes.QUERY_NOT_FOUND,),
}
"""Codes of responses about a queue without dispatched records."""
ENDS: Final = ("max_offset", "search", "pull", "earliest")
"""Requests whose responses show which messages a queue has."""
_END: Final = "maxOffset"
OF_DISPATCH: Final = (*ENDS, "progress")
"""Requests whose responses depend on how far the broker has dispatched."""


def is_soon(history: ParsedHistory, exchange: Exchange) -> bool:
    """Whether a request was sent so soon after another request that its message may not be dispatched yet."""
    sent = max(
        (earlier.sent_millis for earlier in history.exchanges if earlier.seq < exchange.seq and earlier.op != exchange.op), default=-WITHIN
    )
    return exchange.sent_millis < sent + WITHIN


def has_all(theirs: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    """Whether the queue that a pull read ended where our queue ends, so it lacks nothing."""
    ends = theirs.get(_END), ours.get(_END)
    return None not in ends and ends[0] == ends[1]
