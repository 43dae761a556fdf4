"""Properties of paths as plain properties of a model with an observer: the only definition of `until` and `within`.

The observer is a number. 0: no obligation is pending. 1: an obligation is pending; for `within`, each counted step adds 1. The highest
number: the property is violated. The goal resets it to 0, so the longest wait counts. The observer is a variable that every action updates
and none reads. Engines need no further support for such properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from .actions import Action, Assignment, written
from .expr import Expr, const
from .model import Model
from .operations import any_of, minimum
from .properties import Property
from .records import after, ite
from .traverse import rewrite
from .types import Bool, Int
from .variables import ANY

OBSERVED: Final = ("until", "weak_until", "within")
"""The kinds of properties that need an observer."""
LASTING: Final = ("leads_to", "eventually_always", "until")
"""The kinds that only an endless path may violate: fairness decides them."""


@dataclass(frozen=True, eq=False)
class Observer:
    """The pending obligation of a property, as a number from 0 to `broken`."""

    claim: Property

    @property
    def broken(self) -> int:
        return self.claim.steps + 1 if self.claim.kind == "within" else 2

    def first(self) -> Expr:
        """Return the number in an initial state."""
        return self._becomes(const(0, Int(0, self.broken)), self.claim.formula, const(0, Bool))

    def next(self, before: Expr, counts: Expr) -> Expr:
        """Return the number after a step, from the number before and whether the step counts."""
        asked = const(0, Bool) if self.claim.once else self.claim.formula
        return self._becomes(before, asked, counts)

    def counts(self, action: Action) -> Expr:
        """Return whether a step of an action counts, as a term over the state before.

        It counts if it changes something and, if the property has a clock, is a step of the clock.
        """
        if self.claim.kind != "within" or self.claim.clock not in ("", action.name):
            return const(0, Bool)
        return any_of(update.when & (update.target != update.assigned) for update in action.updates)

    def _becomes(self, before: Expr, asked: Expr, counts: Expr) -> Expr:
        goal, hold = self.claim.goal, self.claim.hold
        assert goal is not None, self.claim.kind
        waits = before != 0
        if hold is not None:
            wait = ite(waits | asked, ite(hold, 1, 2), 0)
        else:
            wait = ite(waits, minimum(before + ite(counts, 1, 0), self.broken), ite(asked, 1, 0))
        number: Expr = ite(goal, 0, wait)
        return number


def observed(model: Model, claims: Iterable[Property]) -> tuple[Model, Mapping[Property, tuple[Property, ...]]]:
    """Return the model with an observer for each claim that needs one, and the equivalent plain properties of each claim.

    The observers are the last variables, in the claims' order. The first plain property is an `always`. If the claim also requires that its
    goal is reached, a `leads_to` follows. Raises ModelError for a claim that distinguishes elements of a symmetric index.
    """
    wanted = list(claims)
    if not any(claim.kind in OBSERVED for claim in wanted):
        return model, {claim: (claim,) for claim in wanted}
    extended = replace(
        model, variables=list(model.variables), actions=list(model.actions), starts=list(model.starts), properties=[]
    )  # fmt: skip
    plain: dict[Property, tuple[Property, ...]] = {}
    for claim in wanted:
        plain[claim] = (claim,) if claim.kind not in OBSERVED else _observe(extended, model.actions, claim)
    return extended, plain


def _observe(extended: Model, actions: Iterable[Action], claim: Property) -> tuple[Property, ...]:
    observer = Observer(claim)
    waits = extended.var(f"waits {claim.id}", Int(0, observer.broken), init=ANY, sentence=f"what {claim.id} waits for")
    extended.initially(waits == observer.first())
    for number, action in enumerate(actions):  # the model's own actions, which neither read nor write another observer

        def after_step(e: Expr, updates: tuple[Assignment, ...] = action.updates) -> Expr | None:
            return written(updates, Expr("ref", e.args, e.type)) if e.op == "after" else None

        # The formulas refer to the state after the step, `waits` and `counts` to the state before.
        before, counts = Expr("free", ("before",), waits.type), Expr("free", ("counts",), Bool)
        value = rewrite(after(observer.next(before, counts)), after_step)
        values = {before: waits, counts: observer.counts(action)}
        update = Assignment(waits, rewrite(value, values.get), claim.place)
        extended.actions[number] = replace(extended.actions[number], updates=(*extended.actions[number].updates, update))
    parts = [Property(claim.id, claim.sentence, "always", waits != observer.broken, place=claim.place)]
    if claim.kind == "until":
        parts.append(Property(f"{claim.id} in the end", claim.sentence, "leads_to", waits != 0, waits == 0, claim.place))
    return tuple(parts)


__all__ = ["LASTING", "OBSERVED", "Observer", "observed"]
