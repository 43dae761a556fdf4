"""The broker's counters of stored messages (INV-54, INV-55)."""

from __future__ import annotations

from rocketproof_model import implies
from rocketproof_traces.audit.vocabulary import vocabulary

from . import conditions as about
from .claim import Case, HistoryClaim, history_cases
from .claim import about as claim_about


def _histories() -> list[HistoryClaim]:
    c = vocabulary()["count"].row
    same = c.counted == c.sent
    return [
        claim_about(
            "INV-54",
            "the total message count is the number of messages that sends appended",
            "count",
            implies(c.whole, same), c.sent, c.counted,
        ),
        claim_about(
            "INV-55",
            "the message count of a topic is the number of messages sent to it",
            "count",
            implies(~c.whole, same), c.sent, c.counted,
        ),
    ]  # fmt: skip


HISTORY = _histories()
_SUM, _BY_TOPIC = HISTORY

HISTORY_CASES: list[Case] = [
    *history_cases(_SUM, about.SENT, "holds"),
    *history_cases(_BY_TOPIC, about.PLAIN, "holds"),
    *history_cases(_BY_TOPIC, about.DELAYED, "violated", reason="HAZ-14: they are counted for the schedule topic"),
    *history_cases(_BY_TOPIC, about.HALF_ONES, "violated", about.WITH_HALF, "HAZ-14: they are counted for the half topic"),
    *history_cases(_BY_TOPIC, about.AT_LIMIT, "violated", reason="HAZ-14: they are counted for the dead-letter topic"),
]
