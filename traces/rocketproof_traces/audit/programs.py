"""The rules over one kind of rows as a column program: which rows break which rule, and the values of each breach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocketproof_model import Expr
from rocketproof_model.columns import BoundProgram, ColumnProgram, TermErrors, compile_columns

from .own import NONE, OwnRules
from .rules import KINDS, Rule, chosen, instance
from .vocabulary import vocabulary

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class AuditPlan:
    """What an audit checks in every store.

    - `source()` returns the rules. It is a function of a module, so that a plan is sent to other processes as its name.
    - `settings`: the settings of the broker.
    - `only`: the ids of the rules to check, all rules if empty.
    - `limit`: how many findings of a rule each part of the work keeps.
    - `every`: findings of one cause are not combined.
    - `hosts_by_flag`: see `segments.LogFile`.
    - `own`: rules of the user in addition to those of `source`.
    """

    source: Callable[[], Sequence[Rule]]
    settings: tuple[tuple[str, Any], ...] = ()
    only: tuple[str, ...] = ()
    limit: int = 100
    every: bool = False
    hosts_by_flag: bool = True
    own: OwnRules = NONE

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in (*self.source(), *self.own.rules) if not self.only or rule.id in self.only)


@dataclass(frozen=True)
class ViolatingRow:
    """A row that breaks a rule: `row` is its number among the checked rows."""

    rule: Rule
    row: int
    expected: str
    found: str


class RulePrograms:
    """All rules of a plan, compiled once for each kind of rows."""

    def __init__(self, plan: AuditPlan) -> None:
        self.plan = plan
        self._deciders = {over: Decider(chosen(plan.rules, over), over, dict(plan.settings)) for over in KINDS}

    def __getitem__(self, over: str) -> Decider:
        return self._deciders[over]

    def membership(self, kind: str) -> MembershipProgram:
        return self._memberships[kind]

    @cached_property
    def _memberships(self) -> dict[str, MembershipProgram]:
        return {"record": MembershipProgram("record", dict(self.plan.settings))}


_COMPILED: dict[AuditPlan, RulePrograms] = {}
_compiling = Lock()  # threads that begin at the same time need the same programs


def programs(plan: AuditPlan) -> RulePrograms:
    """Return the programs of a plan, compiled once per process."""
    with _compiling:
        if plan not in _COMPILED:
            _COMPILED[plan] = RulePrograms(plan)
        return _COMPILED[plan]


Decision = Callable[[int, int, Mapping[str, int]], tuple[dict[str, int], list[ViolatingRow]]]
"""Check the first rows of bound arrays like `Decider.decide`: rows, limit, known."""


class MembershipProgram:
    """Decide which rows belong to a queue's succession."""

    def __init__(self, kind: str, settings: Mapping[str, Any]) -> None:
        instance_ = instance(kind, settings)
        member = vocabulary()[kind].member
        assert member is not None
        self._program = compile_columns(instance_, {"member": member})

    def bind(self, rows: Columns) -> BoundProgram:
        """Bind the program to arrays. Its `failed` returns the rows that do not belong."""
        return self._program.bind(rows)


class Decider:
    """The rules over one kind of rows."""

    def __init__(self, rules: Sequence[Rule], over: str, settings: Mapping[str, Any]) -> None:
        self.rules = tuple(rules)
        self._instance = instance(KINDS[over][0], settings)
        self._program = self._compile({str(n): rule.claim.formula for n, rule in enumerate(self.rules)})
        self._value_programs: dict[int, ColumnProgram] = {}

    def _compile(self, terms: Mapping[str, Expr]) -> ColumnProgram | None:
        return compile_columns(self._instance, terms) if terms else None

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The columns that the rules and their expected and found terms read, of either row of a step."""
        terms = {f"{n}{part}": term for n, rule in enumerate(self.rules) for part, term in _parts(rule)}
        program = self._compile(terms)
        return () if program is None else tuple(dict.fromkeys(column.name for column in program.columns))

    def decide(
        self, before: Columns, after: Columns | None, limit: int, known: Mapping[str, int] = MappingProxyType({})
    ) -> tuple[dict[str, int], list[ViolatingRow]]:
        """Return how many rows break each rule, and the breaches in the order of the rows.

        At most `limit` breaches of each rule are returned, minus the number in `known`.
        """
        if self._program is None:
            return {}, []
        return self._decision(self._program.broken(before, after), before, after, limit, known)

    def bind(self, before: Columns, after: Columns | None = None) -> Decision:
        """Return the same check over arrays that are refilled repeatedly."""
        bound = None if self._program is None else self._program.bind(before, after)

        def decide(rows: int, limit: int, known: Mapping[str, int]) -> tuple[dict[str, int], list[ViolatingRow]]:
            return ({}, []) if bound is None else self._decision(bound.broken(rows), before, after, limit, known)

        return decide

    def _decision(
        self, broken: TermErrors, before: Columns, after: Columns | None, limit: int, known: Mapping[str, int]
    ) -> tuple[dict[str, int], list[ViolatingRow]]:
        counts: dict[str, int] = {}
        breaches: list[ViolatingRow] = []
        for number in np.unique(broken.term) if len(broken) else ():
            rule = self.rules[index(number)]
            rows = broken.row[broken.term == number]
            counts[rule.id] = len(rows)
            breaches += self._describe(index(number), rows[: max(0, limit - known.get(rule.id, 0))], before, after)
        return counts, breaches

    def _describe(self, number: int, rows: NDArray[np.int64], before: Columns, after: Columns | None) -> list[ViolatingRow]:
        if not len(rows):
            return []
        rule = self.rules[number]
        program = self._value_programs.get(number)
        if program is None:
            terms = {"expected": rule.expected, "found": rule.found}
            terms |= {f"{name}{n}": getattr(bound, name) for n, bound in enumerate(rule.bounds) for name in ("limit", "holds")}
            program = self._value_programs[number] = compile_columns(self._instance, terms)
        values = program.run(_rows_of(before, rows), None if after is None else _rows_of(after, rows))
        texts = [_texts(getattr(rule, name), values[name], values.fault(name)) for name in ("expected", "found")]
        for n, bound in reversed(list(enumerate(rule.bounds))):
            limits = _texts(bound.limit, values[f"limit{n}"], values.fault(f"limit{n}"))
            broken = ~values[f"holds{n}"].astype(np.bool_) | values.fault(f"holds{n}")
            expected = zip(limits, broken, texts[0], strict=True)
            texts[0] = [f"{bound.relation} {limit}" if is_broken else text for limit, is_broken, text in expected]
        return [ViolatingRow(rule, index(row), expected, found) for row, expected, found in zip(rows, *texts, strict=True)]


def _parts(rule: Rule) -> tuple[tuple[str, Expr], ...]:
    return ("formula", rule.claim.formula), ("expected", rule.expected), ("found", rule.found)


def _rows_of(columns: Columns, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    return {name: column[rows] for name, column in columns.items()}


def _texts(term: Expr, codes: NDArray[Any], fault: NDArray[np.bool_]) -> list[str]:
    """Return values as text for a reader, "out of range" for a number without a value."""
    type_ = term.type

    def text_of(code: int) -> str:
        text = str(type_.decode(code))
        return text.lower() if type_.sort == "bool" else text

    return ["out of range" if out_of_range else text_of(code) for code, out_of_range in zip(codes.tolist(), fault, strict=True)]
