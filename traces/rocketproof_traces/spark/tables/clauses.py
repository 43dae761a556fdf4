"""Which rows are wanted: a conjunction of clauses, each about one column. A value that is absent passes none but `absent`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Operator = Literal["=", "among", "<", "<=", ">", ">=", "begins", "absent", "present"]
Mask = NDArray[np.bool_]

_ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Clause:
    """`value` is a number or a text, a tuple of them for `among`, and nothing for `absent` and `present`."""

    column: str
    operator: Operator
    value: Any = None


Clauses = Sequence[Clause]


def number_mask(clauses: Iterable[Clause], values: NDArray[np.int64], present: Mask | None = None) -> Mask:
    """Which numbers pass clauses about their column. `present` says where there is one (everywhere)."""
    there = np.ones(len(values), np.bool_) if present is None else present
    passed = np.ones(len(values), np.bool_)
    for clause in clauses:
        match clause.operator:
            case "absent":
                passed &= ~there
            case "present":
                passed &= there
            case "among":
                passed &= there & np.isin(values, np.array(clause.value, np.int64))
            case order:
                passed &= there & _ORDERS[order](values, clause.value)
    return passed


def text_passes(clauses: Iterable[Clause], text: str | None) -> bool:
    """Whether a text passes clauses about its column; None is an absent one."""
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
            return text is not None and bool(_ORDERS[order](text, clause.value))


def row_passes(clauses: Iterable[Clause], row: Mapping[str, int | str]) -> bool:
    """Whether a single row passes; a column that it does not hold is absent."""
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
    """The least and the greatest number that may pass, both included; infinite where there is no bound, empty if low > high."""
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
