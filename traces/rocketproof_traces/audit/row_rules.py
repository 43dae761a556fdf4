"""Rules over few rows: the formulas as Python functions. Compiling a column program would cost more than it saves.

The programs of tests produce thousands of histories with about ten rows each. A row is a tuple with a value for each column of its
vocabulary.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rocketproof_model import Expr
from rocketproof_model.functions import term_function

from .rules import KINDS, Rule, instance
from .vocabulary import vocabulary

Settings = tuple[tuple[str, Any], ...]
Row = tuple[int, ...]


@cache
def row_of(kind: str) -> Callable[..., Row]:
    """Return the constructor of a vocabulary's rows from columns by name; omitted columns are 0."""
    names = [variable.name for variable in vocabulary()[kind].model.variables]
    return namedtuple(kind, names, defaults=[0] * len(names))


class RowRule:
    """A rule under settings."""

    def __init__(self, rule: Rule, settings: Settings) -> None:
        self.rule = rule
        self._instance = instance(KINDS[rule.over][0], dict(settings))
        self._functions: dict[Expr, Callable[..., int]] = {}
        self.holds = self._function(rule.claim.formula)

    def _function(self, term: Expr) -> Callable[..., int]:
        if term not in self._functions:
            self._functions[term] = term_function(self._instance, term)
        return self._functions[term]

    def value(self, term: Expr, row: Row, after: Row = ()) -> int:
        """Return the code of a term over such a row."""
        return self._function(term)(row, after)

    def values(self, row: Row, after: Row = ()) -> tuple[str, str]:
        """Return the expected and the found value of a row that breaks the rule."""
        expected = self._text(self.rule.expected, row, after)
        for bound in self.rule.bounds:
            if not self._function(bound.holds)(row, after):
                expected = f"{bound.relation} {self._text(bound.limit, row, after)}"
                break
        return expected, self._text(self.rule.found, row, after)

    def _text(self, term: Expr, row: Row, after: Row) -> str:
        value = str(term.type.decode(self._function(term)(row, after)))
        return value.lower() if term.type.sort == "bool" else value


@cache
def row_rule(rule: Rule, settings: Settings) -> RowRule:
    """Return a rule under settings, compiled once."""
    return RowRule(rule, settings)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Return settings in the form that `row_rule` takes."""
    return tuple(sorted(values.items()))
