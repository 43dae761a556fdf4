"""The cases of the claims about histories: under which programs a claim holds, and in which profile.

The condition of a case names what its programs may do (`rocketproof_properties.generators.strategies` makes them); the stateful engine
looks for breaches on the simulated cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..checks.sources import MESSAGES
from .claim import SEEDS, Case
from .history import HISTORY_CLAIMS

# Conditions

ANYTHING = ""
PLAIN = "plain messages"
SENT = "sends of every kind, and no send-back"
DELAYED = "messages with a delay"
HALF_ONES = "half messages"
HALF_DELAYED = "half messages with a delay"
AT_LIMIT = "retried messages sent at their limit"
SENT_BACK = "messages sent back to be retried"
UP_GIVEN = "messages given up when they are sent back"
NO_RETRY = "groups without retry queues"
TOO_LARGE = "records larger than a file"
THROWN = "no body, a send hook and a store that refuses"
FULL = "an executor with no room for what follows a put"
UNKNOWN = "requests with unknown codes"
BUSY = "a page cache that is busy"
HOOKED = "a send hook"
BY_NAME = "sends to the schedule topic by its name"
FAILING = "messages whose consumption always fails"
REGISTERED = "brokers that come, change and go"
LOST = "registrations of new topics get lost"
CRASHED = "processes that end and start again"
WAITING = "power losses, and every put waits for the device"
HASTY = "power losses, and no put waits for the device"
SET_BACK = "clocks that are set back"

_DERIVED = "the described code of this release does as the one for which the verdict is stated"


def _cases(id_: str, condition: str, expected: str | Mapping[str, str], profiles: Iterable[str] = SEEDS, reason: str = "") -> list[Case]:
    claim = next(c for c in HISTORY_CLAIMS if c.id == id_)
    verdict = dict.fromkeys(profiles, expected) if isinstance(expected, str) else expected
    return [
        Case(
            id_.partition(".")[0],
            id_,
            claim.sentence,
            "history",
            profile,
            MESSAGES,
            due,
            condition,
            {"programs": condition},
            ("stateful",),
            reason=reason or ("" if profile == "P49" else _DERIVED),
        )
        for profile, due in verdict.items()
    ]


_GENERAL = [
    "INV-01",
    "INV-02",
    "INV-03",
    "INV-04",
    "INV-05",
    "INV-06.records",
    "INV-07.records",
    "INV-30.records",
    "INV-34.records",
    "INV-35.records",
    "INV-36.records",
    "INV-37",
    "INV-38.records",
    "INV-39",
    "INV-40",
    "INV-41",
    "INV-42",
    "INV-43",
    "INV-47",
    "INV-48",
    "INV-49",
    "INV-51",
]
_LATER_FAULTY = {"P40": "holds", "P45": "holds", "P49": "violated"}
_LATER_GOOD = {"P40": "violated", "P45": "violated", "P49": "holds"}
_WITH_HALF = ("P45", "P49")  # earlier releases know no half messages
_IN_FUTURE = (
    "HAZ-24: with asynchronous answers what is thrown behind the put is answered by nobody; without, the task answers it; 5.x refuses a "
    "request without a body before it is put"
)
_NO_ROOM = "HAZ-25: with asynchronous answers a failure's answer is a task of its own; without, the task itself writes it"
_UNSERVED = "HAZ-26: a code that nobody serves is answered before anyone looks at the flag; recorded releases have a processor for all"
_LIMITED = "the record is limited; in the recorded releases the body is"
_PARSED = "the stored text is the parsed map without WAIT; earlier it is the sender's own text, and 5.x leaves WAIT in"
_TRACED = "HAZ-19: a hook's region and trace switch are stored; 5.x stores them without hooks too"

CASES: list[Case] = [
    *[case for id_ in _GENERAL for case in _cases(id_, ANYTHING, "holds")],
    *_cases("INV-40.limit", ANYTHING, {**dict.fromkeys(SEEDS, "holds"), "P494": "violated", "P533": "violated"}, reason=_LIMITED),
    *_cases("INV-01", THROWN, {**_LATER_FAULTY, "P533": "holds"}, reason=_IN_FUTURE),
    *_cases("INV-01", FULL, _LATER_FAULTY, reason=_NO_ROOM),
    *_cases("INV-03", UNKNOWN, {**dict.fromkeys(SEEDS, "violated"), "P494": "holds", "P533": "holds"}, reason=_UNSERVED),
    *_cases("INV-03", BUSY, "violated", reason="HAZ-26: a busy processor refuses before anyone looks at the flag"),
    *[case for id_ in ("INV-02", "INV-04", "INV-07.records") for case in _cases(id_, BUSY, "holds")],
    *_cases("INV-06.records", TOO_LARGE, "violated", reason="HAZ-22: what comes of the second append is not looked at"),
    *_cases("INV-44", PLAIN, "holds"),
    *_cases("INV-44", DELAYED, "violated", reason="HAZ-13: the offset is one of the schedule topic's queue"),
    *_cases("INV-44", HALF_ONES, "violated", _WITH_HALF, "HAZ-13: the offset is one of the half topic's queue"),
    *_cases("INV-44", AT_LIMIT, "violated", reason="HAZ-15: the offset is one of the dead-letter topic's queue"),
    *_cases("INV-45", DELAYED, "holds"),
    *_cases(
        "INV-45",
        HALF_DELAYED,
        {"P40": "holds", "P45": "violated", "P49": "violated"},
        reason="HAZ-39: the half topic is kept instead of the one asked for; P40 knows no half messages",
    ),
    *_cases("INV-46", BY_NAME, _LATER_GOOD, reason="HAZ-42: only later releases refuse the schedule topic"),
    *_cases("INV-47", AT_LIMIT, "holds"),
    *_cases("INV-47", UP_GIVEN, "holds"),
    *_cases("INV-48", FAILING, "holds"),
    *_cases("INV-49", FAILING, "holds"),
    *_cases("INV-50", SENT_BACK, "holds", reason="a delayed message is serialised again, when it has its origin's id"),
    *_cases("INV-50", UP_GIVEN, _LATER_GOOD, reason="HAZ-32: earlier releases serialise a dead letter before it has the id"),
    *_cases("INV-51", NO_RETRY, "violated", reason="HAZ-30: the message is given up and called a success"),
    *_cases("INV-54", SENT, "holds"),
    *_cases("INV-55", PLAIN, "holds"),
    *_cases("INV-55", DELAYED, "violated", reason="HAZ-14: they are counted for the schedule topic"),
    *_cases("INV-55", HALF_ONES, "violated", _WITH_HALF, "HAZ-14: they are counted for the half topic"),
    *_cases("INV-55", AT_LIMIT, "violated", reason="HAZ-14: they are counted for the dead-letter topic"),
    *_cases("INV-56", HOOKED, {**dict.fromkeys(SEEDS, "violated"), "P533": "holds"}, reason=_TRACED),
    *_cases("INV-57", PLAIN, {**_LATER_GOOD, "P533": "violated"}, reason=_PARSED),
    *_cases("INV-57", DELAYED, "violated", reason="a delayed message is serialised again, with WAIT"),
    *_cases("INV-57", HALF_ONES, "violated", _WITH_HALF, "a half message is serialised again, with WAIT"),
    *_cases("INV-57", SENT_BACK, "violated", reason="a send-back sets WAIT to false and stores it"),
    *_cases("INV-59.tables", REGISTERED, "holds"),
    *_cases("INV-60", REGISTERED, "holds"),
    *_cases("LIV-01", LOST, "holds"),
    *_cases("LIV-02", LOST, "holds"),
    *_cases("LIV-06", FAILING, "holds"),
    *[
        case
        for condition in (CRASHED, WAITING)
        for id_ in ("INV-06.records", "INV-34.records", "INV-37", "INV-43")
        for case in _cases(id_, condition, "holds")
    ],
    *_cases("INV-36.records", CRASHED, "holds"),
    *_cases("INV-06.records", HASTY, "violated", reason="what was answered was not forced, and the power took it"),
    *_cases("INV-42", SET_BACK, "violated", reason="a store time is what the clock shows"),
]
