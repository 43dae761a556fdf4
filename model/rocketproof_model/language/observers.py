"""Properties of paths as plain properties of a model that remembers: the one definition of `until` and `within`.

What such a property waits for is one number, its observer. 0: nothing is waited for; 1: waiting; of `within`, 1 more for each step that
counts. The highest number says that the property is broken. The goal sets it back to 0, so that the longest wait is the one that counts.
As a variable that every action updates and none reads, the observer gives every engine the property without knowing of it.
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
    """What a property waits for, as a number from 0 to `broken`."""

    claim: Property

    @property
    def broken(self) -> int:
        return self.claim.steps + 1 if self.claim.kind == "within" else 2

    def first(self) -> Expr:
        """The number in an initial state."""
        return self._becomes(const(0, Int(0, self.broken)), self.claim.formula, const(0, Bool))

    def next(self, before: Expr, counts: Expr) -> Expr:
        """The number in a state, from that in the state before and whether the step between them counts."""
        asked = const(0, Bool) if self.claim.once else self.claim.formula
        return self._becomes(before, asked, counts)

    def counts(self, action: Action) -> Expr:
        """Whether a step of an action counts: it changes something, and is of the clock if there is one. Over the state before."""
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
    """The model with an observer for each claim that needs one, and for each claim the plain ones that say the same together.

    The observers are the last variables, in the claims' order. `always` comes first; where a claim also says that its goal is reached, a
    `leads_to` follows. Raises ModelError for a claim that tells elements of a symmetric index apart.
    """
    wanted = list(claims)
    if not any(claim.kind in OBSERVED for claim in wanted):
        return model, {claim: (claim,) for claim in wanted}
    made = replace(
        model, variables=list(model.variables), actions=list(model.actions), starts=list(model.starts), properties=[]
    )  # fmt: skip
    plain: dict[Property, tuple[Property, ...]] = {}
    for claim in wanted:
        plain[claim] = (claim,) if claim.kind not in OBSERVED else _observe(made, model.actions, claim)
    return made, plain


def _observe(made: Model, actions: Iterable[Action], claim: Property) -> tuple[Property, ...]:
    observer = Observer(claim)
    waits = made.var(f"waits {claim.id}", Int(0, observer.broken), init=ANY, sentence=f"what {claim.id} waits for")
    made.initially(waits == observer.first())
    for number, action in enumerate(actions):  # those of the model itself: none reads or writes another observer

        def behind(e: Expr, updates: tuple[Assignment, ...] = action.updates) -> Expr | None:
            return written(updates, Expr("ref", e.args, e.type)) if e.op == "after" else None

        # The formulas speak of the state behind the step, `waits` and what counts of the one before it.
        before, counts = Expr("free", ("before",), waits.type), Expr("free", ("counts",), Bool)
        value = rewrite(after(observer.next(before, counts)), behind)
        given = {before: waits, counts: observer.counts(action)}
        update = Assignment(waits, rewrite(value, given.get), claim.place)
        made.actions[number] = replace(made.actions[number], updates=(*made.actions[number].updates, update))
    parts = [Property(claim.id, claim.sentence, "always", waits != observer.broken, place=claim.place)]
    if claim.kind == "until":
        parts.append(Property(f"{claim.id} in the end", claim.sentence, "leads_to", waits != 0, waits == 0, claim.place))
    return tuple(parts)


__all__ = ["LASTING", "OBSERVED", "Observer", "observed"]
