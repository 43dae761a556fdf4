"""Claims about a model: a kind, a sentence and the formulas of the kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import ModelError, caller
from .expr import Expr, coerce, show
from .types import Bool

Kind = Literal[
    "always", "reachable", "step", "deadlock_free", "leads_to", "eventually_always", "until", "weak_until", "within", "lemma"
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Property:
    """A claim about a model.

    `always` and `reachable` have a state formula. `step` relates a state and its successor (`after(x)`). `deadlock_free`: each state has a
    successor unless `formula` holds in it (a permitted end). `leads_to`: whenever `formula` holds, `goal` holds then or later under the
    actions' fairness. `eventually_always`: `formula` holds from some state on. `lemma`: it holds for all values of its `free` terms,
    whatever the state.

    `until` and `weak_until`: from each state in which `formula` holds (with `once`: an initial state), `hold` holds until `goal` does.
    `within`: if `formula` holds, `goal` holds at most `steps` steps later; if `clock` names an action, only its steps count.
    """

    id: str
    sentence: str
    kind: Kind
    formula: Expr
    goal: Expr | None = None
    place: str = ""
    hold: Expr | None = None
    once: bool = False
    steps: int = 0
    clock: str = ""

    @property
    def declared(self) -> str:
        """The name of the Model method that declares such a property."""
        if self.kind == "leads_to" and self.formula.op == "const":
            return "eventually"
        return "until" if self.kind == "weak_until" else self.kind

    @property
    def terms(self) -> tuple[Expr, ...]:
        """All formulas of the claim."""
        return tuple(term for term in (self.formula, self.hold, self.goal) if term is not None)

    def mapped(self, change: Callable[[Expr], Expr]) -> Property:
        """Return the same claim with `change` applied to each of its formulas."""
        hold, goal = (None if term is None else change(term) for term in (self.hold, self.goal))
        return replace(self, formula=change(self.formula), hold=hold, goal=goal)


def claimed(
    id_: str,
    sentence: str,
    kind: Kind,
    formula: Any,
    goal: Any = None,
    *,
    hold: Any = None,
    once: bool = False,
    steps: int = 0,
    clock: str = "",
) -> Property:
    """Return a property made of formulas as a user writes them. Raises ModelError for an invalid formula or number."""
    if kind == "within" and (type(steps) is not int or not 1 <= steps <= MOST_STEPS):
        raise ModelError(f"property {id_} asks for steps={steps!r}", f"give the number of steps it may take, from 1 to {MOST_STEPS:,}")
    terms = [None if term is None else coerce(term, Bool) for term in (goal, hold)]
    return Property(id_, sentence, kind, coerce(formula, Bool), terms[0], caller(), terms[1], once, steps, clock)


def formula_text(claim: Property) -> str:
    """Return the claim's formulas as one readable line."""
    formula, goal = show(claim.formula), "" if claim.goal is None else show(claim.goal)
    if claim.declared == "eventually":
        return f"{goal} again and again"
    if claim.kind == "leads_to":
        return f"{formula} leads to {goal}"
    if claim.kind in ("until", "weak_until") and claim.hold is not None:
        held = f"{show(claim.hold)} until {goal}{', or for ever' if claim.kind == 'weak_until' else ''}"
        return held if claim.once else f"from {formula} on: {held}"
    if claim.kind == "within":
        return f"{formula} leads to {goal} within {claim.steps} {f'steps of {claim.clock}' if claim.clock else 'steps'}"
    return formula


MOST_STEPS = 100_000

__all__ = ["Kind", "Property", "claimed", "formula_text"]
