"""Three outcomes of judging, and the only place that combines them.

A search for an explanation ends in one of three ways: it finds one, it shows that there is none, or a bound stops it. Alternatives
(settings, orders, profiles) are combined with `any_of`, independent parts (topics, cases, histories) with `all_of`. Both keep the third
value: an undecided member decides nothing, so deciding it later never contradicts a combined outcome that is decided now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, TypeVar

T = TypeVar("T")
NOTHING_JUDGED: Final = "no answer could be judged; record requests to brokers, or see above what is out of reach"
"""Why it is undecided whether the specification explains histories in which it had nothing to explain."""


class JudgingOutcome(StrEnum):
    """The outcome of judging; its value is the word in files and in JSON."""

    EXPLAINED = "ok"
    REFUSED = "illegal"
    UNDECIDED = "unknown"


def any_of(outcomes: Iterable[JudgingOutcome]) -> JudgingOutcome:
    """Combine alternatives: explained if one is explained, else undecided if one is undecided, else refused."""
    return _first_of((JudgingOutcome.EXPLAINED, JudgingOutcome.UNDECIDED), outcomes, JudgingOutcome.REFUSED)


def all_of(outcomes: Iterable[JudgingOutcome]) -> JudgingOutcome:
    """Combine independent parts: refused if one is refused, else undecided if one is undecided, else explained."""
    return _first_of((JudgingOutcome.REFUSED, JudgingOutcome.UNDECIDED), outcomes, JudgingOutcome.EXPLAINED)


def decisive(alternatives: Iterable[T], outcome: Callable[[T], JudgingOutcome], progress: Callable[[T], int]) -> T:
    """Return an alternative whose outcome is `any_of` all alternatives: the one with the most progress, or the first of equals.

    Alternatives are evaluated in order up to the first explained one. Raises ValueError without alternatives.
    """
    tried: list[T] = []
    for alternative in alternatives:
        tried.append(alternative)
        if outcome(alternative) is JudgingOutcome.EXPLAINED:
            break
    combined = any_of(map(outcome, tried))
    return max((alternative for alternative in tried if outcome(alternative) is combined), key=progress)


def _first_of(ranked: tuple[JudgingOutcome, ...], outcomes: Iterable[JudgingOutcome], otherwise: JudgingOutcome) -> JudgingOutcome:
    """Return the first of the ranked outcomes that occurs."""
    seen = set(outcomes)
    return next((outcome for outcome in ranked if outcome in seen), otherwise)


__all__ = ["NOTHING_JUDGED", "JudgingOutcome", "all_of", "any_of", "decisive"]
