"""Upper bounds of waits and deadlines (INV-20, INV-25, LIV-01, LIV-02, LIV-04, LIV-07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, Row, forall, implies
from rocketproof_spec.deadlines import ATTEMPTS, Expiry, News, Patience
from rocketproof_spec.waiting import WaitingRequests, all_over

from . import conditions as about
from .claim import Case, Claim, HistoryClaim, cases, history_cases
from .history import History


def _each(body: Callable[[Row], Expr]) -> Callable[[WaitingRequests], Expr]:
    return lambda w: forall(w.Request, lambda r: body(w.job[r]))


def _late(p: Patience, more: int) -> Expr:
    return p.cost <= p.timeout + more


INDEPENDENT = Claim(
    "INV-20",
    "a first message creates its topic, whatever is created concurrently",
    "always",
    _each(lambda row: row.step != "missing"),
    part=WaitingRequests,
)
WAIT = Claim(
    "INV-25", "a request waits at most 3 s for the broker lock", "always", _each(lambda row: row.waited <= 3), part=WaitingRequests
)
TWICE = Claim(
    "INV-25.twice",
    "a request waits at most 3 s for the broker lock; a request to a retry topic at most 6 s",
    "always",
    _each(lambda row: (row.waited <= 3) | (row.retry & (row.waited <= 6))),
    part=WaitingRequests,
)
DONE = Claim(
    "AUX-13",
    "every request that waits for the broker lock or holds it eventually ends",
    "leads_to",
    lambda w: (~all_over(w), all_over(w)),
    part=WaitingRequests,
)
LISTED = Claim(
    "LIV-01",
    "the name server knows the broker of a created topic within 30 s, although the registration from creation is lost",
    "always",
    lambda n: implies(n.created & ~n.listed, n.since <= 30),
    part=News,
)
LISTED_SOME_TIME = Claim(
    "LIV-01.fair", "the name server eventually knows a created topic", "leads_to", lambda n: (n.created, n.listed), part=News
)
SEEN = Claim(
    "LIV-02",
    "a producer that uses a topic sees its route within 30 s and the 3 s of a request",
    "always",
    lambda n: implies(n.listed & ~n.seen, n.since <= 33),
    part=News,
)
SEEN_LATE = Claim(
    "REA-52",
    "a producer sees the route later than 30 s after the name server knew it",
    "reachable",
    lambda n: n.listed & ~n.seen & (n.since > 30),
    part=News,
)
GONE = Claim(
    "LIV-04", "a dead broker stays in the routes for at most 120 s plus the 10 s of a scan", "always",
    lambda x: implies(x.listed, x.dead <= 130), part=Expiry,
)  # fmt: skip
ALIVE = Claim(
    "AUX-14", "a broker that registers every 30 s stays in the routes", "always", lambda x: implies(x.alive, x.listed), part=Expiry
)
GONE_LATE = Claim("REA-53", "a dead broker is in the routes for 130 s", "reachable", lambda x: x.listed & (x.dead >= 130), part=Expiry)
ENDS = Claim(
    "LIV-07", "a synchronous send ends within its timeout plus 12 s, after at most 3 attempts", "always",
    lambda p: _late(p, 12) & (p.attempts <= ATTEMPTS), part=Patience,
)  # fmt: skip
ENDS_SOME_TIME = Claim(
    "LIV-07.fair", "a synchronous send eventually ends", "leads_to", lambda p: (p.doing != "nothing", p.doing == "over"), part=Patience
)
ENDS_LATE = Claim(
    "REA-54",
    "a synchronous send eventually ends 12 s after its timeout",
    "reachable",
    lambda p: (p.doing == "over") & ~_late(p, 11),
    part=Patience,
)


ROUTED_IN, KNOWN_IN = 30_000, 33_000  # milliseconds: a period, and a period plus an answer's timeout


def _routed(history: History) -> str | None:
    for event in history.events:
        if event.what == "created" and not _holds_within(history, ("routed", "unrouted"), event.topic, event.who, "", event.at, ROUTED_IN):
            return f"{event.topic} was created on {event.who} at {event.at}, and {ROUTED_IN} ms later the name server does not know it"
    return None


def _known(history: History) -> str | None:
    routed = [e for e in history.events if e.what == "routed"]
    for use in history.events:
        for route in routed:
            if use.what == "used" and use.topic == route.topic:
                since = max(use.at, route.at)
                if not _holds_within(history, ("known", "forgotten"), use.topic, route.who, use.by, since, KNOWN_IN):
                    return f"{use.by} does not know {route.who} for {use.topic} {KNOWN_IN} ms after {since}"
    return None


def _holds_within(history: History, turns: tuple[str, str], topic: str, who: str, by: str, since: int, millis: int) -> bool:
    """Whether the state holds at some time within these milliseconds, or they are not over. `turns`: the events that begin and end it."""
    if history.end < since + millis:
        return True
    turned = [e for e in history.events if e.what in turns and (e.topic, e.who, e.by) == (topic, who, by)]
    before = [e for e in turned if e.at <= since]
    if before and before[-1].what == turns[0]:
        return True
    return any(e.what == turns[0] and since < e.at <= since + millis for e in turned)


# A deadline relates events to each other, so a rule over single rows cannot state it.
ROUTED = HistoryClaim("LIV-01", "the name server knows a created topic's broker within 30 seconds", program=_routed)
KNOWN = HistoryClaim("LIV-02", "a producer that uses a topic knows each broker of its route within 33 seconds", program=_known)
HISTORY = [ROUTED, KNOWN]

CLAIMS = [
    INDEPENDENT, WAIT, TWICE, DONE, LISTED, LISTED_SOME_TIME, SEEN, SEEN_LATE, GONE, ALIVE, GONE_LATE, ENDS, ENDS_SOME_TIME, ENDS_LATE,
]  # fmt: skip

_SLOW: dict[str, Any] = {"condition": "a persist takes up to 4 s", "given": {"slow": 4}}
_QUICK: dict[str, Any] = {"condition": "a persist takes up to 1 s", "given": {"slow": 1}}
_MANY: dict[str, Any] = {"condition": "a persist takes up to 2 s, no retry topics", "given": {"slow": 2, "retries": False}}
_ORDINARY: dict[str, Any] = {"condition": "a persist takes up to 4 s, no retry topics", "given": {"slow": 4, "retries": False}}
_LOCK = "HAZ-08: a lock that is not got in 3 s looks like a missing topic"

CASES: list[Case] = [
    *cases(INDEPENDENT, "locks", "violated", **_SLOW, reason=_LOCK),
    *cases(INDEPENDENT, "locks", "violated", **_MANY, reason="HAZ-09: two creations before it take 4 s together"),
    *cases(INDEPENDENT, "locks", "holds", **_QUICK),
    *cases(WAIT, "locks", "violated", **_SLOW, reason="HAZ-08: a retry topic is tried a second time, and waits again"),
    *cases(WAIT, "locks", "holds", **_ORDINARY),
    *cases(TWICE, "locks", "holds", **_SLOW),
    *cases(DONE, "locks", "holds", **_SLOW),
    *[c for claim in (LISTED, LISTED_SOME_TIME, SEEN, SEEN_LATE) for c in cases(claim, "news", "holds", condition="a fair network")],
    *[c for claim in (GONE, ALIVE, GONE_LATE) for c in cases(claim, "expiry", "holds", condition="a scan every 10 s")],
    *[c for claim in (ENDS, ENDS_SOME_TIME, ENDS_LATE) for c in cases(claim, "patience", "holds", condition="a timeout of 3 s")],
]

HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.LOST, "holds")],
]
