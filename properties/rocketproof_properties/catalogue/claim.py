"""How the catalogue is written: a claim is a function of the specification, a claim about histories is made of rules, and a case says
which verdict is expected where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rocketproof_model import Action, Expr, ModelError, Row, after, all_of, any_of, generalise
from rocketproof_model.language import JAVA_INT, Index, Int, Kind, Property, Type
from rocketproof_model.transforms.mutation import CONSTANT as MUTANT
from rocketproof_spec import Part, Specification
from rocketproof_traces.audit.rules import Over, Rule, rule
from rocketproof_traces.audit.small import row_rule

from ..reports.choices import MESSAGES
from .premises import premise

if TYPE_CHECKING:
    from .facts import Facts
    from .history import History

SEEDS = ("P40", "P45", "P49")
WITH_CASES = (*SEEDS, "P494", "P533")
"""The profiles that there are cases of; others refine one of them."""


@dataclass(frozen=True)
class Claim:
    """A property: `formula(specification)` gives its term, or (term, goal) for leads_to.

    `part` is the part of the specification that it is about, and `needs` says which scopes of that part have it.
    """

    id: str
    sentence: str
    kind: Kind
    formula: Callable[[Any], Any]
    needs: Callable[[Any], bool] = lambda s: True
    part: type[Part] = Specification

    def stated(self, s: Part) -> bool:
        """Whether this part of the specification can state it."""
        return isinstance(s, self.part) and self.needs(s)

    def of(self, s: Part) -> Property:
        made = self.formula(s)
        formula, goal = made if isinstance(made, tuple) else (made, None)
        return s.model.claim(self.id, self.sentence, self.kind, formula, goal)


def _facts(history: History) -> Facts:
    from .facts import Facts  # it loads what reads stores, and most commands judge no history

    return Facts.of(history)


@dataclass(frozen=True)
class HistoryClaim:
    """A property of histories: `rules` over their rows, the audit's own where files show the same; or a `program`, where no rule over
    single rows can say it, and `tests`: whether a history puts it to the test."""

    id: str
    sentence: str
    rules: tuple[Rule, ...] = ()
    program: Callable[[History], str | None] | None = None
    tests: Callable[[History], bool] = lambda history: False

    def check(self, history: History) -> str | None:
        """The first breach in words, None if there is none."""
        if self.program is not None:
            return self.program(history)
        facts = _facts(history)
        for each in self.rules:
            compiled = row_rule(each, facts.settings)
            for row, following, what in facts.rows(each.over):
                if not compiled.holds(row, following):
                    return f"{what}: {compiled.say(row, following)}" + ("" if each.id == self.id else f" ({each.id})")
        return None

    def exercised(self, history: History) -> bool:
        """Whether a row put a rule of the claim's own to the test: one for which the rule's premise is true, if it has any."""
        if self.program is not None:
            return self.tests(history)
        facts = _facts(history)
        number = self.id.partition(".")[0]
        for each in [each for each in self.rules if each.id.partition(".")[0] == number] or self.rules:
            term = premise(each.claim)
            rows = facts.rows(each.over)
            if term is None and rows:
                return True
            compiled = row_rule(each, facts.settings)
            if term is not None and any(compiled.value(term, row, following) for row, following, _ in rows):
                return True
        return False


def about(id_: str, sentence: str, over: Over, formula: Any, expected: Any, found: Any) -> HistoryClaim:
    """A claim about histories that one rule says. Raises ModelError."""
    return HistoryClaim(id_, sentence, (rule(id_, sentence, over, "error", formula, expected, found),))


def named(rules: Iterable[Rule], *ids: str) -> tuple[Rule, ...]:
    """The rules with these ids. Raises KeyError."""
    by_id = {each.id: each for each in rules}
    return tuple(by_id[id_] for id_ in ids)


@dataclass(frozen=True)
class Case:
    """One row of the verdict matrix: a property in a scope under a condition, by one engine, and the verdict that is expected.

    `property` is the id of the behaviour's list; `claim` the formula's own id where a property has several.
    `method` refines the symbolic engine: lemma, induction:k or bounded:depth. `widen`: variables with
    the upper end up to which a proof takes them, without the scope's bounds; `lemmas`: claims that an induction proves along.
    `reason` says why the verdict is expected. The kind history is for claims about histories: their cases have no scope of the
    specification, and `given` names their programs.
    """

    property: str
    claim: str
    sentence: str
    kind: Kind | Literal["history"]
    profile: str
    scope: str
    expected: str
    condition: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    engines: tuple[str, ...] = ("explicit",)
    method: str = ""
    widen: tuple[tuple[str, int], ...] = ()
    lemmas: tuple[str, ...] = ()
    reason: str = ""


def append_now(s: Specification, p: Expr) -> Expr:
    """The step stores the message of p."""
    stored: Expr = (s.job[p].appended == 0) & (after(s.job[p].appended) == 1)
    return stored


def moves(row: Row, before: str, then: str) -> Expr:
    """The step takes the request from one phase to another."""
    move: Expr = (row.phase == before) & (after(row.phase) == then)
    return move


def same(row: Row) -> Expr:
    """The step leaves the row as it is."""
    return all_of(after(value) == value for value in row.fields.values())


def runs_on(s: Specification, b: Expr) -> Expr:
    """The broker runs before and after the step: one process run."""
    both: Expr = s.up[b] & after(s.up[b])
    return both


def answered(row: Row, *codes: str) -> Expr:
    done: Expr = row.phase == "answered"
    return done & any_of(row.answer == code for code in codes)


ERRORS = ("SYSTEM_ERROR", "NO_PERMISSION", "TOPIC_NOT_EXIST", "MESSAGE_ILLEGAL")


def effect(action: Action, variable: str) -> Expr:
    """The term that an action assigns to a variable; raises ModelError if there is none."""
    for update in action.updates:
        if update.target.args[0].name == variable:
            return update.value
    raise ModelError(f"action {action.name} does not set {variable}", "name a variable that it sets")


def condition(action: Action, guard: str) -> Expr:
    return action.guard(guard).condition


def wide(term: Expr) -> Expr:
    """The term for lemmas: every number of the state, the header and the constants becomes any 32-bit int."""

    def widen(e: Expr) -> Type | None:
        if e.op == "given" and e.args[0] == MUTANT:
            return None
        return Int(*JAVA_INT) if e.type.sort == "int" and not isinstance(e.type, Index) else None

    return generalise(term, widen)


def second(claim: Claim, scope: str, depth: int, **more: Any) -> list[Case]:
    """A second engine for a known violation: bounded checking to the depth of its witness, in P49."""
    return cases(claim, scope, "violated", profiles=("P49",), engines=("symbolic",), method=f"bounded:{depth}", **more)


def cases(claim: Claim, scope: str, expected: str | Mapping[str, str], *, profiles: Iterable[str] = SEEDS, **more: Any) -> list[Case]:
    """The same case in several profiles; `expected` may differ by profile."""
    verdict = expected if isinstance(expected, Mapping) else dict.fromkeys(profiles, expected)
    name = claim.id.partition(".")[0]
    return [Case(name, claim.id, claim.sentence, claim.kind, profile, scope, verdict[profile], **more) for profile in profiles]


_DERIVED = "the described code of this release does as the one for which the verdict is stated"


def history_cases(
    claim: HistoryClaim, condition: str, expected: str | Mapping[str, str], profiles: Iterable[str] = SEEDS, reason: str = ""
) -> list[Case]:
    """The cases of a claim about histories: what its programs do, and the verdict, which may differ by profile."""
    verdict = dict.fromkeys(profiles, expected) if isinstance(expected, str) else expected
    return [
        Case(
            claim.id.partition(".")[0],
            claim.id,
            claim.sentence,
            "history",
            profile,
            MESSAGES,
            verdict[profile],
            condition,
            {"programs": condition},
            ("stateful",),
            reason=reason or ("" if profile == "P49" else _DERIVED),
        )
        for profile in verdict
    ]
