"""A filter of rows: a conjunction of clauses about one column each. An absent value matches only `absent`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Operator = Literal["=", "among", "<", "<=", ">", ">=", "begins", "absent", "present"]
Mask = NDArray[np.bool_]

ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Clause:
    """A condition on a column. `value` is a number or a text, a tuple of them for `among`, None for `absent` and `present`."""

    column: str
    operator: Operator
    value: Any = None


Clauses = Sequence[Clause]


def number_mask(clauses: Iterable[Clause], values: NDArray[np.int64], present: Mask | None = None) -> Mask:
    """Return which numbers match the clauses about their column. `present` marks the existing values, all if None."""
    exists = np.ones(len(values), np.bool_) if present is None else present
    passed = np.ones(len(values), np.bool_)
    for clause in clauses:
        match clause.operator:
            case "absent":
                passed &= ~exists
            case "present":
                passed &= exists
            case "among":
                passed &= exists & np.isin(values, np.array(clause.value, np.int64))
            case order:
                passed &= exists & ORDERS[order](values, clause.value)
    return passed


def text_passes(clauses: Iterable[Clause], text: str | None) -> bool:
    """Return whether a text matches the clauses about its column; None is an absent text."""
    return all(_text_passes(clause, text) for clause in clauses)


def _text_passes(clause: Clause, text: str | None) -> bool:
    match clause.operator:
        case "absent":
            return text is None
        case "present":
            return text is not None
        case "among":
            return text in clause.value if text is not None else False
        case "begins":
            return text is not None and text.startswith(clause.value)
        case order:
            return text is not None and bool(ORDERS[order](text, clause.value))


def row_passes(clauses: Iterable[Clause], row: Mapping[str, int | str]) -> bool:
    """Return whether a single row matches; a column that it does not have is absent."""
    for clause in clauses:
        value = row.get(clause.column)
        if isinstance(value, int):
            if not number_mask([clause], np.array([value], np.int64))[0]:
                return False
        elif not _text_passes(clause, value):
            return False
    return True


def about(clauses: Clauses, column: str) -> tuple[Clause, ...]:
    return tuple(clause for clause in clauses if clause.column == column)


def bounds(clauses: Clauses, column: str) -> tuple[float, float]:
    """Return the smallest and the largest number that can match, both inclusive.

    They are infinite without a bound. The range is empty if low > high.
    """
    low, high = -np.inf, np.inf
    for clause in about(clauses, column):
        if clause.operator in ("=", "among"):
            values = clause.value if clause.operator == "among" else (clause.value,)
            low, high = max(low, min(values, default=np.inf)), min(high, max(values, default=-np.inf))
        elif clause.operator in (">", ">="):
            low = max(low, clause.value + (clause.operator == ">"))
        elif clause.operator in ("<", "<="):
            high = min(high, clause.value - (clause.operator == "<"))
        elif clause.operator == "absent":
            return np.inf, -np.inf
    return low, high
