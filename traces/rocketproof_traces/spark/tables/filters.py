"""The option `filters` of a reader: a list of conditions `[column, operator, value]` that all must hold, as JSON or Python values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final

from ...common.errors import TraceError
from .clauses import Clause, Clauses, Operator
from .table import TEXT, TIME, StoreTable

OPERATORS: Final[dict[str, Operator]] = {
    "=": "=",
    "==": "=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "in": "among",
    "startswith": "begins",
    "is null": "absent",
    "is not null": "present",
}
"""The operators of filters, as users write them."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FORM: Final = 'give [["topic", "=", "orders"]], a list of [column, operator, value]'


def clauses_of(table: StoreTable, text: str | None) -> Clauses:
    """Return the clauses of the option's text, none without the option. Raises TraceError for what the table cannot filter by."""
    if text is None:
        return ()
    place = f"{table.name}: filters"
    try:
        given = json.loads(text)
    except ValueError:
        raise TraceError(place, "is not JSON", _FORM) from None
    if not isinstance(given, list):
        raise TraceError(place, "is no list", _FORM)
    return tuple(_clause(table, place, condition) for condition in given)


def _clause(table: StoreTable, place: str, condition: Any) -> Clause:
    if not isinstance(condition, list | tuple) or len(condition) != 3 or not all(isinstance(word, str) for word in condition[:2]):
        raise TraceError(place, f"{condition!r} is no condition", _FORM)
    column, word, value = table.spelled(condition[0]), condition[1].lower(), condition[2]
    operator = OPERATORS.get(word)
    known = [name for name, each in OPERATORS.items() if each in table.pushed.get(column, frozenset())]
    if operator is None or word not in known:
        near = get_close_matches(word, known, 1)
        remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}" if known else "filter the rows with where()"
        raise TraceError(place, f"{column} has no operator {word!r}", remedy)
    if operator in ("absent", "present"):
        return Clause(column, operator)
    if operator == "among":
        if not isinstance(value, list | tuple):
            raise TraceError(place, f"{column} in {value!r} is no list", "give a list of values")
        return Clause(column, operator, tuple(_value(table, place, column, each) for each in value))
    return Clause(column, operator, _value(table, place, column, value))


def _value(table: StoreTable, place: str, column: str, value: Any) -> int | str:
    """Return a value of the option as clauses compare it."""
    kind = table.columns[column]
    compared = comparable(table, column, _time(value) if kind == TIME else value)
    if compared is not None:
        return compared
    if kind == TIME:
        raise TraceError(place, f"{column}: {value!r} is no time with a zone", "give one such as 2026-11-01T00:00:00+00:00")
    raise TraceError(place, f"{column}: {value!r} is no {'text' if kind == TEXT else 'number'}", "give a value of the column's type")


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def comparable(table: StoreTable, column: str, value: Any) -> int | str | None:
    """Return a Python value as clauses compare it (times in microseconds), None if its type differs from the column's."""
    kind = table.columns[column]
    if kind == TIME:
        return (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) and value.tzinfo is not None else None
    wanted = str if kind == TEXT else int
    return value if isinstance(value, wanted) and not isinstance(value, bool) else None


def written(conditions: Sequence[Sequence[Any]]) -> str:
    """Return conditions of Python values as the option's text."""
    return json.dumps([list(condition) for condition in conditions], default=_plain)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def is_implied(clause: Clause, clauses: Clauses) -> bool:
    """Return whether every row that matches the clauses matches this one."""
    named = any(each.column == clause.column and each.operator != "absent" for each in clauses)
    return clause in clauses or (clause.operator == "present" and named)
