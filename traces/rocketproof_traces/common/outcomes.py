"""Three outcomes of judging, and the only place that combines them.

A search for an explanation ends in one of three ways: it finds one, it shows that there is none, or a bound stops it. Alternatives
(settings, orders, profiles) are combined with `any_of`, independent parts (topics, cases, histories) with `all_of`. Both keep the third
value: an undecided member decides nothing, so deciding it later never contradicts a combined outcome that is decided now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")


class Outcome(StrEnum):
    """The outcome of judging; its value is the word in files and in JSON."""

    EXPLAINED = "ok"
    REFUSED = "illegal"
    UNDECIDED = "unknown"


def any_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Combine alternatives: explained if one is explained, else undecided if one is undecided, else refused."""
    return _first_of((Outcome.EXPLAINED, Outcome.UNDECIDED), outcomes, Outcome.REFUSED)


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Combine independent parts: refused if one is refused, else undecided if one is undecided, else explained."""
    return _first_of((Outcome.REFUSED, Outcome.UNDECIDED), outcomes, Outcome.EXPLAINED)


def decisive(alternatives: Iterable[T], outcome: Callable[[T], Outcome], progress: Callable[[T], int]) -> T:
    """Return an alternative whose outcome is `any_of` the alternatives: the one with the most progress, of equal ones the first.

    Alternatives are taken one by one, and none after the first explained one. Raises ValueError if there is no alternative.
    """
    tried: list[T] = []
    for alternative in alternatives:
        tried.append(alternative)
        if outcome(alternative) is Outcome.EXPLAINED:
            break
    combined = any_of(map(outcome, tried))
    return max((one for one in tried if outcome(one) is combined), key=progress)


def _first_of(ranked: tuple[Outcome, ...], outcomes: Iterable[Outcome], otherwise: Outcome) -> Outcome:
    """Return the first of the ranked outcomes that occurs."""
    seen = set(outcomes)
    return next((outcome for outcome in ranked if outcome in seen), otherwise)


__all__ = ["Outcome", "all_of", "any_of", "decisive"]
