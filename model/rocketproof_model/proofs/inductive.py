"""One step of a model from any state: which of some terms every step keeps, and how few of them a proof takes.

Terms are assumed of the state before, each by a literal of its own, so that z3's cores name those that an answer takes. What is left of a
proof is least: no term of it can go without losing the claim or another term. A reader of a certificate looks at few terms then.
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
"""Terms that a reader can take in as they are; to look for fewer can take long where numbers are wide."""


class InductionStep:
    """One step from any state; `terms` may be assumed before it and asked for after it, `live` are the numbers of those that are.

    What the claims say of a state by themselves is among them from the start. `against` are the steps that break a claim, `fault` is an
    error of the model.
    """

    def __init__(self, instance: Instance, claims: Iterable[Property], watch: Watch) -> None:
        self.relation = relation = relation_of(instance, watch)
        self.solver, self.made = Solver(watch), 0
        self.solver.add(relation.typed(0))
        self.taken = relation.at(relation.step, 0)
        self.fault = relation.at(relation.fault, 0)
        self.terms: list[Expr] = []
        self.kept: list[Value] = []
        self.lost: list[Value] = []
        self.live: set[int] = set()
        self.against = {claim: self._against(claim) for claim in claims}
        self.own = {claim: {self.assume(term) for term in certificate.parts(claim, [])} for claim in self.against}

    def assume(self, term: Expr) -> int:
        """Take one more term for something that every step keeps; its number."""
        meaning = self.relation.translate.truth(term)
        self.live.add(len(self.terms))
        self.terms.append(term)
        self.kept.append(self._literal(self.relation.at(meaning, 0)))
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
        self.made += 1
        literal = z3.Bool(f"literal {self.made}")
        self.solver.add(z3.Implies(literal, meaning))
        return literal

    def check(self, live: Iterable[int], *goals: Value) -> Value | None:
        """A z3 model of a step to one of the goals from a state where the terms with these numbers hold. Raises LimitReached."""
        return self.solver.check(self._literal(z3.Or(*goals)), *(self.kept[k] for k in sorted(live)))

    def proof(self, claim: Property, among: Iterable[int], *, closed: bool = False) -> set[int] | None:
        """Of some of the terms those that a proof of the claim takes, each kept by the others; None if there is none.

        `closed` says that every step keeps all of these terms.
        """
        live = set(among)
        if not closed and self.check(live, self.fault, self.against[claim]) is not None:
            return None
        while not closed and live and (model := self.check(live, *(self.lost[k] for k in live))) is not None:
            live -= {k for k in live if code_of(model, self.lost[k])}
            if not self.own[claim] <= live:
                return None
        number = {str(self.kept[k]): k for k in live}
        found = set(self.own[claim])
        waiting = [self.fault, self.against[claim]]
        while waiting:
            if self.check(live, waiting.pop()) is not None:
                return None
            new = {number[name] for name in self.solver.core() if name in number} - found
            found |= new
            waiting += [self.lost[k] for k in sorted(new)]
        return found

    def least(self, claim: Property, *, closed: bool = False) -> list[Expr] | None:
        """The terms beside the claim's own that a proof of it takes; None if there is no proof, `closed` as in `proof`.

        None of them can go, unless they are few anyway. It is tried with the longest first; where half of the time that was left is
        over, the rest stays.
        """
        left = self.solver.watch.left
        found = self.proof(claim, self.live, closed=closed)
        if found is None:
            return None
        beside = found - self.own[claim]
        for k in sorted(beside, key=lambda k: -sum(1 for _ in walk(self.terms[k]))) if len(beside) > FEW else ():
            if left is not None and self.solver.watch.left is not None and self.solver.watch.left < left / 2:
                break
            fewer = self.proof(claim, found - {k}) if k in found else None
            found = found if fewer is None else fewer
        return [self.terms[k] for k in sorted(found - self.own[claim])]


__all__ = ["FEW", "InductionStep"]
