"""The building blocks of the catalogue: claims about the specification, claims about histories, and cases.

A claim is a function of the specification. A claim about histories consists of rules. A case states the expected verdict of a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rocketproof_model import Action, Expr, ModelError, Row, after, all_of, any_of, generalise
from rocketproof_model.language import JAVA_INT, Index, Int, Kind, Property, Type
from rocketproof_model.transforms.mutation import CONSTANT as MUTANT
from rocketproof_spec import Part, Specification
from rocketproof_traces.audit.row_rules import row_rule
from rocketproof_traces.audit.rules import Over, Rule, rule

from ..reports.choices import MESSAGES
from .premises import premise

if TYPE_CHECKING:
    from .facts import Facts
    from .history import History

SEEDS = ("P40", "P45", "P49")
WITH_CASES = (*SEEDS, "P494", "P533")
"""The profiles with their own cases. The other profiles refine one of these."""


@dataclass(frozen=True)
class Claim:
    """A property: `formula(specification)` returns its term, or (term, goal) for leads_to.

    `part` is the class of models that the claim is about. `needs` selects the scopes that can state it.
    """

    id: str
    sentence: str
    kind: Kind
    formula: Callable[[Any], Any]
    needs: Callable[[Any], bool] = lambda s: True
    part: type[Part] = Specification

    def stated(self, s: Part) -> bool:
        """Whether this model of the specification can state the claim."""
        return isinstance(s, self.part) and self.needs(s)

    def of(self, s: Part) -> Property:
        result = self.formula(s)
        formula, goal = result if isinstance(result, tuple) else (result, None)
        return s.model.claim(self.id, self.sentence, self.kind, formula, goal)


def _facts(history: History) -> Facts:
    from .facts import Facts  # it imports the store readers, and most commands judge no history

    return Facts.of(history)


@dataclass(frozen=True)
class LabelledDifference:
    """A value that differs: where, which field, the expected and the found value."""

    where: str
    field: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: {self.field}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True)
class HistoryClaim:
    """A property of histories, as `rules` over their rows, or as a `program` if no rule over single rows can state it.

    The audit's rules are used if files show the same facts. `tests`: whether a history exercises the program.
    """

    id: str
    sentence: str
    rules: tuple[Rule, ...] = ()
    program: Callable[[History], str | None] | None = None
    tests: Callable[[History], bool] = lambda history: False

    def check(self, history: History) -> str | None:
        """Return the first violation as a sentence, or None."""
        violation = self.violation(history)
        return None if violation is None else str(violation)

    def violation(self, history: History) -> LabelledDifference | str | None:
        """Return the first violation: the values of the row that violates a rule, or the sentence of a program."""
        if self.program is not None:
            return self.program(history)
        facts = _facts(history)
        for own_rule in self.rules:
            compiled = row_rule(own_rule, facts.settings)
            for row, following, what in facts.rows(own_rule.over):
                if not compiled.holds(row, following):
                    where = str(what) if own_rule.id == self.id else f"{what} ({own_rule.id})"
                    return LabelledDifference(where, own_rule.field, *compiled.values(row, following))
        return None

    def exercised(self, history: History) -> bool:
        """Whether a row exercises one of the claim's rules: the rule's premise, if it has one, is true for the row."""
        if self.program is not None:
            return self.tests(history)
        facts = _facts(history)
        number = self.id.partition(".")[0]
        for own_rule in [own_rule for own_rule in self.rules if own_rule.id.partition(".")[0] == number] or self.rules:
            term = premise(own_rule.claim)
            rows = facts.rows(own_rule.over)
            if term is None and rows:
                return True
            compiled = row_rule(own_rule, facts.settings)
            if term is not None and any(compiled.value(term, row, following) for row, following, _ in rows):
                return True
        return False


def about(id_: str, sentence: str, over: Over, formula: Any, expected: Any, found: Any) -> HistoryClaim:
    """Return a claim about histories that consists of one rule. Raises ModelError."""
    return HistoryClaim(id_, sentence, (rule(id_, sentence, over, "error", formula, expected, found),))


def named(rules: Iterable[Rule], *ids: str) -> tuple[Rule, ...]:
    """Return the rules with these ids. Raises KeyError."""
    by_id = {rule_.id: rule_ for rule_ in rules}
    return tuple(by_id[id_] for id_ in ids)


@dataclass(frozen=True)
class Case:
    """A row of the verdict matrix: a property in a scope under a condition, decided by one engine, and the expected verdict.

    `property` is the id in the list of the behaviour. `claim` is the id of the formula, if a property has several. `method` refines the
    symbolic engine: lemma, induction:k or bounded:depth. `widen`: variables with the upper limit for a proof, which then ignores the
    scope's bounds. `lemmas`: claims that an induction proves together with this one. `reason` explains the verdict. The kind history is for
    claims about histories. Their cases have no scope of the specification, and `given` names their programs.
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
    """Whether the step stores the message of p."""
    stored: Expr = (s.job[p].appended == 0) & (after(s.job[p].appended) == 1)
    return stored


def moves(row: Row, before: str, then: str) -> Expr:
    """Whether the step moves the request from one phase to another."""
    move: Expr = (row.phase == before) & (after(row.phase) == then)
    return move


def same(row: Row) -> Expr:
    """Whether the step leaves the row unchanged."""
    return all_of(after(value) == value for value in row.fields.values())


def runs_on(s: Specification, b: Expr) -> Expr:
    """Whether the broker runs before and after the step, in one process run."""
    both: Expr = s.up[b] & after(s.up[b])
    return both


def answered(row: Row, *codes: str) -> Expr:
    done: Expr = row.phase == "answered"
    return done & any_of(row.answer == code for code in codes)


ERRORS = ("SYSTEM_ERROR", "NO_PERMISSION", "TOPIC_NOT_EXIST", "MESSAGE_ILLEGAL", "INVALID_PARAMETER")


def effect(action: Action, variable: str) -> Expr:
    """Return the term that an action assigns to a variable. Raises ModelError if there is none."""
    for update in action.updates:
        if update.target.args[0].name == variable:
            return update.value
    raise ModelError(f"action {action.name} does not set {variable}", "name a variable that it sets")


def condition(action: Action, guard: str) -> Expr:
    return action.guard(guard).condition


def wide(term: Expr) -> Expr:
    """Generalize the term for lemmas: numbers of the state, the header and the constants become any 32-bit ints."""

    def widen(e: Expr) -> Type | None:
        if e.op == "given" and e.args[0] == MUTANT:
            return None
        return Int(*JAVA_INT) if e.type.sort == "int" and not isinstance(e.type, Index) else None

    return generalise(term, widen)


def second(claim: Claim, scope: str, depth: int, **more: Any) -> list[Case]:
    """Return cases with a second engine for a known violation: bounded checking to the depth of its witness, in P49."""
    return cases(claim, scope, "violated", profiles=("P49",), engines=("symbolic",), method=f"bounded:{depth}", **more)


def cases(claim: Claim, scope: str, expected: str | Mapping[str, str], *, profiles: Iterable[str] = SEEDS, **more: Any) -> list[Case]:
    """Return the same case in several profiles. `expected` may differ by profile."""
    verdict = expected if isinstance(expected, Mapping) else dict.fromkeys(profiles, expected)
    name = claim.id.partition(".")[0]
    return [Case(name, claim.id, claim.sentence, claim.kind, profile, scope, verdict[profile], **more) for profile in profiles]


_DERIVED = "the described code of this release does as the one for which the verdict is stated"


def history_cases(
    claim: HistoryClaim, condition: str, expected: str | Mapping[str, str], profiles: Iterable[str] = SEEDS, reason: str = ""
) -> list[Case]:
    """Return the cases of a claim about histories. `condition` selects their programs; the verdict may differ by profile."""
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
