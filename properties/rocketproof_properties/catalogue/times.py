"""Offsets by time: the messages that a consumer misses or gets in excess after seeking to a time (times.py of the specification)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, all_of, any_of, implies
from rocketproof_spec.times import Times

from .claim import WITH_CASES, Case, Claim, cases, effect, wide


def _all(t: Times, formula: Callable[[int], Any]) -> Expr:
    """A formula for every record, by its offset."""
    return all_of(implies(t.records > offset, formula(offset)) for offset in range(t.most))


def _any(t: Times, formula: Callable[[int], Any]) -> Expr:
    return any_of((t.records > offset) & formula(offset) for offset in range(t.most))


def _given(t: Times, formula: Callable[[int], Any]) -> Expr:
    """A formula for every record, for a consumer that queried the lower bound."""
    return implies(t.asked == "lower", _all(t, formula))


def _is_last(t: Times) -> Expr:
    """The upper bound separates the records stored at the time or earlier, if there are any, from the later ones."""
    known = (t.asked == "upper") & _any(t, lambda o: t.stored[o] <= t.time)
    return implies(known, _all(t, lambda o: (t.stored[o] <= t.time) == (t.told >= o)))


def _looked_up(t: Times, formula: Callable[[Expr, Expr], Expr]) -> Expr:
    """A formula for the time and the offset of every query of the lower bound, for all times, in a queue ordered by time."""
    look_up = t.model.named("look_up")
    time, above = (Expr("par", (name,), look_up.parameters[name]) for name in ("time", "above"))
    ordered = all_of(implies(t.records > o + 1, t.stored[o] <= t.stored[o + 1]) for o in range(t.most - 1))
    nonempty = (t.records > 0) & (t.records <= t.most)
    return wide(implies(~above & nonempty & ordered, formula(time, effect(look_up, "told"))))


def _parts(t: Times) -> Expr:
    def parts(time: Expr, offset: Expr) -> Expr:
        return implies(t.bounds_by_time != "none", _all(t, lambda o: (t.stored[o] >= time) == (offset <= o)))

    return _looked_up(t, parts)


def _is_neighbour(t: Times) -> Expr:
    def neighbour(time: Expr, offset: Expr) -> Expr:
        def at(o: int) -> Expr:
            here = t.stored[o]
            last = (here < time) & ((t.records == o + 1) | (t.stored[o + 1] > time if o + 1 < t.most else True))
            first = (here > time) & (t.stored[o - 1] < time if o else True)
            return (offset == o) & ((here == time) | last | first)

        return implies(t.bounds_by_time == "none", _any(t, at))

    return _looked_up(t, neighbour)


ALL = Claim(
    "AUX-111",
    "a consumer that seeks to a time gets every message stored at that time or later",
    "always",
    lambda t: _given(t, lambda o: implies(t.stored[o] >= t.time, t.told <= o)),
    part=Times,
)
ONLY = Claim(
    "AUX-111.only",
    "and no message stored earlier",
    "always",
    lambda t: _given(t, lambda o: implies(t.stored[o] < t.time, t.told > o)),
    part=Times,
)
LAST = Claim("AUX-112", "the upper bound of a time is the last message stored at that time or earlier", "always", _is_last, part=Times)
THERE = Claim(
    "AUX-112.there",
    "the upper bound of a time is never a message stored later",
    "always",
    lambda t: implies(t.asked == "upper", _all(t, lambda o: implies(t.told == o, t.stored[o] <= t.time))),
    part=Times,
)
BOUND = Claim("AUX-111.bound", "the lower bound separates earlier messages from all others, for all times", "lemma", _parts, part=Times)
BESIDE = Claim(
    "AUX-111.beside",
    "binary search returns a message of the time if there is one, otherwise a neighbour, for all times",
    "lemma",
    _is_neighbour,
    part=Times,
)
MIDST = Claim(
    "REA-173",
    "a consumer gets an offset in the middle of the messages of its time",
    "reachable",
    lambda t: (
        (t.asked == "lower") & any_of((t.told == o) & (t.stored[o] == t.time) & (t.stored[o - 1] == t.time) for o in range(1, t.most))
    ),
    part=Times,
)
BETWEEN = Claim(
    "REA-174",
    "a consumer seeks to a time between two messages",
    "reachable",
    lambda t: (t.asked == "lower") & _any(t, lambda o: t.stored[o] < t.time) & _any(t, lambda o: t.stored[o] > t.time),
    part=Times,
)

CLAIMS = [ALL, ONLY, LAST, THERE, BOUND, BESIDE, MIDST, BETWEEN]

_PASSED: dict[str, Any] = {"condition": "a time that has passed"}
_AHEAD: dict[str, Any] = {"condition": "any time", "given": {"past": False}}
_ALONE: dict[str, Any] = {"condition": "any time, and only the lower bound is known", "given": {"past": False, "bounds_by_time": "lower"}}
_LEMMA: dict[str, Any] = {"engines": ("symbolic",), "method": "lemma", "condition": "all 32-bit ints"}
_HALVED = tuple(profile for profile in WITH_CASES if profile != "P533")
_LATER = dict.fromkeys(_HALVED, "violated") | {"P533": "holds"}
_MISSED = "up to 5.1.0 halving ends at the first message of the time that it comes upon: earlier ones of its batch are passed over"
_NEAR = "up to 5.1.0 the nearest message is told, and that may be an earlier one"
_END = "the end is told where nothing was stored then or later, and what is stored next may be of an earlier time than was asked for"
_ZERO = "0 is told, too, where nothing was stored then or earlier"

CASES: list[Case] = [
    *cases(ALL, "times", _LATER, profiles=WITH_CASES, **_PASSED, reason=_MISSED),
    *cases(ALL, "times", "holds", profiles=("P533",), **_AHEAD),
    *cases(ALL, "times", "holds", profiles=("P533",), **_ALONE),
    *cases(ONLY, "times", _LATER, profiles=WITH_CASES, **_PASSED, reason=_NEAR),
    *cases(ONLY, "times", "violated", profiles=("P533",), **_AHEAD, reason=_END),
    *cases(LAST, "times", _LATER, profiles=WITH_CASES, **_PASSED, reason="up to 5.1.1 no upper bound is known"),
    *cases(LAST, "times", "violated", profiles=("P533",), **_ALONE, reason="5.1.1 tells the lower bound, whatever is asked for"),
    *cases(THERE, "times", "violated", profiles=WITH_CASES, **_PASSED, reason=_ZERO),
    *cases(BOUND, "times", "holds", profiles=("P533",), **_LEMMA),
    *cases(BESIDE, "times", "holds", profiles=_HALVED, **_LEMMA),
    *cases(MIDST, "times", "holds", profiles=_HALVED, **_PASSED),
    *cases(BETWEEN, "times", "holds", profiles=WITH_CASES, **_PASSED),
]
