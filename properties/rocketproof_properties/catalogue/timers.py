"""The place of a message with a delay level or a delivery time, and of such a half message (HAZ-39)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rocketproof_model import Expr, Row, after, exists, forall, implies
from rocketproof_profiles import PROFILES
from rocketproof_spec import Specification
from rocketproof_spec.placement import is_delayed, is_free

from .claim import WITH_CASES, Case, Claim, append_now, cases


def _waits(s: Specification) -> bool:
    return s.scope.waits


def _way(s: Specification, body: Callable[[Expr, Row, Row], Expr], of: Any = forall) -> Expr:
    """A formula over a request and the placement of its record."""
    assert s.places is not None
    way = s.places.way
    claim: Expr = of(s.Producer, lambda p: body(p, s.job[p], way[p]))
    return claim


def _is_placed(s: Specification, way: Row, topic: str) -> Expr:
    delayed, halves, wheel = s.scope.named("forbidden")
    is_placed: Expr = (way.lane >= 0) & (way.place == {"delayed": delayed, "halves": halves, "wheel": wheel}[topic])
    return is_placed


def _moves(s: Specification, way: Row, topic: str) -> Expr:
    moves: Expr = ~_is_placed(s, way, topic) & after(_is_placed(s, way, topic))
    return moves


FREE = Claim(
    "AUX-108",
    "a stored message is in the queue of its delay level or in the timer, or requested no delay",
    "step",
    lambda s: _way(s, lambda p, job, way: implies(append_now(s, p), is_free(way, job.kind))),
    _waits,
)
LEVEL = Claim(
    "AUX-109",
    "a message with a delay level and a delivery time waits for its delay level",
    "step",
    lambda s: _way(s, lambda _, job, way: implies(_moves(s, way, "wheel"), ~is_delayed(way.level, job.kind))),
    _waits,
)
HALF = Claim(
    "AUX-110",
    "a half message is stored in the half topic, whatever delay it requests",
    "step",
    lambda s: _way(
        s, lambda _, job, way: implies(_is_placed(s, way, "halves") & (after(job.phase) != "idle"), after(_is_placed(s, way, "halves")))
    ),
    _waits,
)
TIMED = Claim(
    "REA-171",
    "a message is stored in the topic of the timers",
    "reachable",
    lambda s: _way(s, lambda _, job, way: (job.appended == 1) & _is_placed(s, way, "wheel"), exists),
    _waits,
)
DELAYED = Claim(
    "REA-172",
    "a message is stored on a delay level",
    "reachable",
    lambda s: _way(s, lambda _, job, way: (job.appended == 1) & _is_placed(s, way, "delayed"), exists),
    _waits,
)
CLAIMS = [FREE, LEVEL, HALF, TIMED, DELAYED]

_THERE: dict[str, Any] = {"condition": "the topic exists at the start", "given": {"existing": True}}
_TIMERS = {**dict.fromkeys(WITH_CASES, "violated"), "P533": "holds"}
_WITH_HALVES = [profile for profile in WITH_CASES if PROFILES[profile].half_messages]


def _cases(claim: Claim, expected: Any, reason: str, profiles: Iterable[str] = WITH_CASES) -> list[Case]:
    return cases(claim, "timers", expected, profiles=profiles, **_THERE, reason=reason)


CASES: list[Case] = [
    *_cases(FREE, "holds", "CL-02"),
    *_cases(LEVEL, "holds", "CL-02: a delay level is looked for first, and a message on one has no time any more", ["P533"]),
    *_cases(HALF, "violated", "HAZ-39: what waits is put on its level or into the wheel behind the half topic", _WITH_HALVES),
    *_cases(TIMED, _TIMERS, "messages have times of their own from 5.0 on"),
    *_cases(DELAYED, "holds", "CL-02"),
]
