"""Rules of one kind of rows as a column program: which rows break which rule, and what is said of them."""

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

from .rules import KINDS, Rule, chosen, instance
from .vocabulary import vocabulary

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class AuditPlan:
    """What is asked of every store: `source()` gives the rules, of which those of `only` are meant (all of them if it is empty), under
    these settings; `limit`: how many findings of a rule each part of the work keeps; `every`: those of one cause are not folded;
    `hosts_by_flag`: as of `segments.LogFile`.
    `source` is a function of a module, so that a plan travels to other processes as its name."""

    source: Callable[[], Sequence[Rule]]
    settings: tuple[tuple[str, Any], ...] = ()
    only: tuple[str, ...] = ()
    limit: int = 100
    every: bool = False
    hosts_by_flag: bool = True

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.source() if not self.only or rule.id in self.only)


@dataclass(frozen=True)
class ViolatingRow:
    """A row that breaks a rule: its number among the rows decided."""

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

    def member(self, kind: str) -> Member:
        return self._members[kind]

    @cached_property
    def _members(self) -> dict[str, Member]:
        return {"record": Member("record", dict(self.plan.settings))}


_MADE: dict[AuditPlan, RulePrograms] = {}
_one_at_a_time = Lock()  # threads that begin together need the same programs


def programs(plan: AuditPlan) -> RulePrograms:
    """The programs of a plan, made once in a process."""
    with _one_at_a_time:
        if plan not in _MADE:
            _MADE[plan] = RulePrograms(plan)
        return _MADE[plan]


Decision = Callable[[int, int, Mapping[str, int]], tuple[dict[str, int], list[ViolatingRow]]]
"""Decides the first so many rows, as `Decider.decide` does: rows, limit, known."""


class Member:
    """Which rows belong to a queue's succession."""

    def __init__(self, kind: str, settings: Mapping[str, Any]) -> None:
        made = instance(kind, settings)
        member = vocabulary()[kind].member
        assert member is not None
        self._program = compile_columns(made, {"member": member})

    def bind(self, rows: Columns) -> BoundProgram:
        """Whose `failed` tells the rows that do not."""
        return self._program.bind(rows)


class Decider:
    """The rules over one kind of rows."""

    def __init__(self, rules: Sequence[Rule], over: str, settings: Mapping[str, Any]) -> None:
        self.rules = tuple(rules)
        self._instance = instance(KINDS[over][0], settings)
        self._program = self._compile({str(n): rule.claim.formula for n, rule in enumerate(self.rules)})
        self._said: dict[int, ColumnProgram] = {}

    def _compile(self, terms: Mapping[str, Expr]) -> ColumnProgram | None:
        return compile_columns(self._instance, terms) if terms else None

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The columns that deciding the rules and saying what was found asks for, of either row of a step."""
        terms = {f"{n}{part}": term for n, rule in enumerate(self.rules) for part, term in _parts(rule)}
        program = self._compile(terms)
        return () if program is None else tuple(dict.fromkeys(column.name for column in program.columns))

    def decide(
        self, before: Columns, after: Columns | None, limit: int, known: Mapping[str, int] = MappingProxyType({})
    ) -> tuple[dict[str, int], list[ViolatingRow]]:
        """How many rows break each rule, and of each rule at most `limit` breaches, less those that are `known`, in the order of the
        rows."""
        if self._program is None:
            return {}, []
        return self._told(self._program.broken(before, after), before, after, limit, known)

    def bind(self, before: Columns, after: Columns | None = None) -> Decision:
        """The same over arrays that are filled anew again and again."""
        bound = None if self._program is None else self._program.bind(before, after)

        def decide(rows: int, limit: int, known: Mapping[str, int]) -> tuple[dict[str, int], list[ViolatingRow]]:
            return ({}, []) if bound is None else self._told(bound.broken(rows), before, after, limit, known)

        return decide

    def _told(
        self, broken: TermErrors, before: Columns, after: Columns | None, limit: int, known: Mapping[str, int]
    ) -> tuple[dict[str, int], list[ViolatingRow]]:
        counts: dict[str, int] = {}
        breaches: list[ViolatingRow] = []
        for number in np.unique(broken.term) if len(broken) else ():
            rule = self.rules[index(number)]
            rows = broken.row[broken.term == number]
            counts[rule.id] = len(rows)
            breaches += self._say(index(number), rows[: max(0, limit - known.get(rule.id, 0))], before, after)
        return counts, breaches

    def _say(self, number: int, rows: NDArray[np.int64], before: Columns, after: Columns | None) -> list[ViolatingRow]:
        if not len(rows):
            return []
        rule = self.rules[number]
        program = self._said.get(number)
        if program is None:
            terms = {"expected": rule.expected, "found": rule.found}
            terms |= {f"{name}{n}": getattr(bound, name) for n, bound in enumerate(rule.bounds) for name in ("limit", "holds")}
            program = self._said[number] = compile_columns(self._instance, terms)
        answers = program.run(_taken(before, rows), None if after is None else _taken(after, rows))
        words = [_words(getattr(rule, name), answers[name], answers.fault(name)) for name in ("expected", "found")]
        for n, bound in reversed(list(enumerate(rule.bounds))):
            limits = _words(bound.limit, answers[f"limit{n}"], answers.fault(f"limit{n}"))
            broken = ~answers[f"holds{n}"].astype(np.bool_) | answers.fault(f"holds{n}")
            words[0] = [f"{bound.relation} {limit}" if out else said for limit, out, said in zip(limits, broken, words[0], strict=True)]
        return [ViolatingRow(rule, index(row), expected, found) for row, expected, found in zip(rows, *words, strict=True)]


def _parts(rule: Rule) -> tuple[tuple[str, Expr], ...]:
    return ("formula", rule.claim.formula), ("expected", rule.expected), ("found", rule.found)


def _taken(columns: Columns, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    return {name: column[rows] for name, column in columns.items()}


def _words(term: Expr, codes: NDArray[Any], fault: NDArray[np.bool_]) -> list[str]:
    """Values as a person reads them; a number that is out of any range has none."""
    type_ = term.type

    def word(code: int) -> str:
        text = str(type_.decode(code))
        return text.lower() if type_.sort == "bool" else text

    return ["out of range" if none else word(code) for code, none in zip(codes.tolist(), fault, strict=True)]
