"""One step of a model from any state: which terms every step preserves, and how few of them a proof needs.

Each term is assumed in the state before by a separate literal, so that z3's cores name the terms that an answer needs. The remaining terms
of a proof are minimal: no term can be removed without losing the claim or another term. A reader of a certificate then has few terms to
read.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..formulas.relation import code_of, relation_of
from ..formulas.smt import z3
from ..formulas.solver import Solver
from ..formulas.values import Value
from ..language import Expr, Instance, Property, walk
from ..result import Watch
from . import certificate

FEW = 3
"""Number of terms that a reader can follow as they are; reducing them further can take long if numbers are wide."""


class InductionStep:
    """One step from any state. `terms` may be assumed before it and required after it; `live` are the numbers of the terms in use.

    The terms include from the start what the claims state about a state by themselves. `against` are the steps that violate a claim,
    `fault` is an error of the model.
    """

    def __init__(self, instance: Instance, claims: Iterable[Property], watch: Watch) -> None:
        self.relation = relation = relation_of(instance, watch)
        self.solver, self.literal_count = Solver(watch), 0
        self.solver.add(relation.typed(0))
        self.taken = relation.at(relation.step, 0)
        self.fault = relation.at(relation.fault, 0)
        self.terms: list[Expr] = []
        self.literals: list[Value] = []
        self.lost: list[Value] = []
        self.live: set[int] = set()
        self.against = {claim: self._against(claim) for claim in claims}
        self.own = {claim: {self.assume(term) for term in certificate.parts(claim, [])} for claim in self.against}

    def assume(self, term: Expr) -> int:
        """Add a term that every step is expected to preserve and return its number."""
        meaning = self.relation.translate.truth(term)
        self.live.add(len(self.terms))
        self.terms.append(term)
        self.literals.append(self._literal(self.relation.at(meaning, 0)))
        self.lost.append(self._then(meaning))
        return len(self.terms) - 1

    def _then(self, meaning: Value) -> Value:
        self.solver.add(self.relation.at(self.relation.facts, 0), self.relation.at(self.relation.facts, 1))
        return z3.And(self.taken, z3.Not(self.relation.at(meaning, 1)))

    def _against(self, claim: Property) -> Value:
        (goal,) = certificate.parts(claim, []) or [claim.formula]
        meaning = self.relation.translate.truth(goal)
        if claim.kind in ("always", "reachable"):
            return self._then(meaning)
        happens = self.taken if claim.kind == "step" else self.relation.at(self.relation.stuck, 0)
        return z3.And(happens, z3.Not(self.relation.at(meaning, 0)))

    def _literal(self, meaning: Value) -> Value:
        self.literal_count += 1
        literal = z3.Bool(f"literal {self.literal_count}")
        self.solver.add(z3.Implies(literal, meaning))
        return literal

    def check(self, live: Iterable[int], *goals: Value) -> Value | None:
        """Return a z3 model of a step to one of the goals from a state in which the terms with these numbers hold. Raises LimitReached."""
        return self.solver.check(self._literal(z3.Or(*goals)), *(self.literals[k] for k in sorted(live)))

    def proof(self, claim: Property, among: Iterable[int], *, closed: bool = False) -> set[int] | None:
        """Return the terms among the given ones that a proof of the claim needs, each preserved by the others; None if there is no proof.

        `closed` states that every step preserves all of these terms.
        """
        live = set(among)
        if not closed and self.check(live, self.fault, self.against[claim]) is not None:
            return None
        while not closed and live and (model := self.check(live, *(self.lost[k] for k in live))) is not None:
            live -= {k for k in live if code_of(model, self.lost[k])}
            if not self.own[claim] <= live:
                return None
        number = {str(self.literals[k]): k for k in live}
        needed = set(self.own[claim])
        waiting = [self.fault, self.against[claim]]
        while waiting:
            if self.check(live, waiting.pop()) is not None:
                return None
            new = {number[name] for name in self.solver.core() if name in number} - needed
            needed |= new
            waiting += [self.lost[k] for k in sorted(new)]
        return needed

    def least(self, claim: Property, *, closed: bool = False) -> list[Expr] | None:
        """Return the terms that a proof of the claim needs in addition to the claim's own; None if there is no proof.

        `closed` is as in `proof`.

        None of them can be removed, unless they are few anyway. Removal is tried for the longest terms first. It stops when half of the
        remaining time is used.
        """
        left = self.solver.watch.left
        needed = self.proof(claim, self.live, closed=closed)
        if needed is None:
            return None
        beside = needed - self.own[claim]
        for k in sorted(beside, key=lambda k: -sum(1 for _ in walk(self.terms[k]))) if len(beside) > FEW else ():
            if left is not None and self.solver.watch.left is not None and self.solver.watch.left < left / 2:
                break
            fewer = self.proof(claim, needed - {k}) if k in needed else None
            needed = needed if fewer is None else fewer
        return [self.terms[k] for k in sorted(needed - self.own[claim])]


__all__ = ["FEW", "InductionStep"]
