"""Invariants generated from reached states, so that induction proves claims that are not inductive by themselves.

Reached states suggest candidates: combinations of values that up to three elements of the state never have together, and the maximum
difference between two elements. If a step from some state violates a claim, candidates that exclude this state are assumed, and every step
has to preserve them too. If no candidate excludes the state, the violated term is given up (Houdini, restricted to candidates that some
step requires). A proof needs as few of the remaining terms as possible (`inductive`). `symbolic.induction` makes the proof with these terms
as lemmas, so nothing here needs to be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING

import numpy as np

from ..errors import LimitReached
from ..formulas.relation import code_of
from ..language import Bool, Expr, IndexType, Instance, Property, SetType, all_of, const
from ..result import Limits, Outcome, Watch
from ..search import explore
from ..symbolic import induction, refuse_other_kinds
from .inductive import InductionStep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

STATES = 20_000  # reached states from which candidates are generated
VALUES = 12  # a feature with more values is used in comparisons only
MOST = 100_000  # maximum of candidates, and of combinations of three features
AT_ONCE = 12  # candidates assumed for one step: fewer mean more calls of z3, more mean larger ones
NONE = -1


@dataclass(frozen=True)
class Candidates:
    """Claims about states, as rows. A feature of a state is an element of it, or whether a set has a member: (slot, bit or -1).

    `never` (f, a, g, b, h, c): features f, g, h never have the values a, b, c together; f or g is NONE if there are fewer than three
    features. `above` (i, j, d): slot i is at most d more than slot j, or than 0 if j is NONE.
    """

    features: tuple[tuple[int, int], ...]
    never: Codes
    above: Codes

    def broken(self, state: Sequence[int]) -> NDArray[np.bool_]:
        """Return which candidates are false in a state."""
        seen = np.append(_features(np.array([state], np.int64), self.features)[0], 0)
        codes = np.array([*state, 0], np.int64)
        f, a, g, b, h, c = self.never.T
        x, y, d = self.above.T
        return np.concatenate([(seen[f] == a) & (seen[g] == b) & (seen[h] == c), codes[x] - codes[y] > d])

    @cached_property
    def sizes(self) -> Codes:
        """The number of features of each claim."""
        return np.concatenate([1 + (self.never[:, [0, 2]] != NONE).sum(axis=1), 1 + (self.above[:, 1] != NONE)])

    def term(self, instance: Instance, number: int) -> Expr:
        """Return one of the claims as a term."""
        slots = [v.element(at) for v in instance.model.variables for at in v.elements()]
        if number >= len(self.never):
            i, j, d = self.above[number - len(self.never)].tolist()
            bounded: Expr = (slots[i] - slots[j] if j != NONE else slots[i]) <= d
            return bounded
        row = self.never[number].tolist()
        literals = [
            _literal(slots[self.features[f][0]], self.features[f][1], value)
            for f, value in zip(row[::2], row[1::2], strict=True)
            if f != NONE
        ]
        return ~all_of(literals)

    def __len__(self) -> int:
        return len(self.never) + len(self.above)


def _literal(term: Expr, bit: int, value: int) -> Expr:
    """Return the condition that an element of the state has a value, or that a set has a member or not."""
    asked = term.has(const(bit, term.type.of)) if isinstance(term.type, SetType) else term
    if asked.type is Bool:
        return asked if value else ~asked
    equal: Expr = asked == const(value, asked.type)
    return equal


def _features(states: Codes, features: Sequence[tuple[int, int]]) -> Codes:
    columns = [states[:, slot] if bit == NONE else states[:, slot] >> bit & 1 for slot, bit in features]
    return np.stack(columns, axis=1) if columns else np.zeros((len(states), 0), np.int64)


def suggested(instance: Instance, states: Codes) -> Candidates:
    """Return candidates that are true in all these states (n, slots), which include the initial state."""
    types = [v.type for v in instance.model.variables for _ in v.elements()]
    bits = [[(k, bit) for bit in t.of.codes()] if isinstance(t, SetType) else [(k, NONE)] for k, t in enumerate(types)]
    features = tuple(f for some in bits for f in some if len(np.unique(_features(states, [f]))) <= VALUES)
    seen = np.unique(_features(states, features), axis=0)
    values = [np.unique(column, return_inverse=True) for column in seen.T]
    never: list[tuple[int, int, int, int, int, int]] = []
    for f, (slot, bit) in enumerate(features):
        codes = range(2) if bit != NONE else types[slot].codes() if types[slot].size <= 2 * VALUES else range(0)
        never += [(NONE, 0, NONE, 0, f, code) for code in codes if code not in values[f][0].tolist()]
    pairs = {}
    for f, g in combinations(range(len(features)), 2):
        pairs[f, g] = met = _together(values, (f, g))
        never += [(NONE, 0, f, int(values[f][0][a]), g, int(values[g][0][b])) for a, b in np.argwhere(~met)]
    for f, g, h in islice(combinations(range(len(features)), 3), MOST):
        new = ~_together(values, (f, g, h)) & pairs[f, g][:, :, None] & pairs[f, h][:, None, :] & pairs[g, h][None, :, :]
        if len(never) > MOST:
            break
        never += [(f, int(values[f][0][a]), g, int(values[g][0][b]), h, int(values[h][0][c])) for a, b, c in np.argwhere(new)]
    numbers = [k for k, type_ in enumerate(types) if type_.sort == "int" and not isinstance(type_, IndexType)]
    above = [(i, NONE, int(most)) for i in numbers if (most := states[:, i].max()) < types[i].hi]
    for i, j in permutations(numbers, 2):
        most = int((states[:, i] - states[:, j]).max())
        if most <= 1 and most < types[i].hi - types[j].lo:
            above.append((i, j, most))
    return Candidates(features, np.array(never, np.int64).reshape(-1, 6), np.array(above, np.int64).reshape(-1, 3))


def _together(values: Sequence[tuple[Codes, Codes]], chosen: Sequence[int]) -> NDArray[np.bool_]:
    """Return for each combination of the values of some features whether a state has it."""
    sizes = tuple(len(values[f][0]) for f in chosen)
    met = np.zeros(sizes, np.bool_)
    met[tuple(values[f][1].ravel() for f in chosen)] = True
    return met


def _strengthen(step: InductionStep, candidates: Candidates, instance: Instance) -> None:
    """Assume candidates until every step preserves the assumptions and satisfies the claims, as far as candidates allow.

    Each violating step begins in a state that candidates exclude. The simplest of them is assumed, and has to be preserved too. If no
    candidate is left, the term that the step violates is given up.
    """
    left, met = np.ones(len(candidates), np.bool_), np.zeros(len(candidates), np.int64)
    claims = dict(step.against)
    fault = [step.fault]
    while True:
        model = step.check(step.live, *fault, *claims.values(), *(step.lost[k] for k in step.live))
        if model is None:
            return
        broken = candidates.broken(step.relation.read(model, 0))
        met += broken
        excluding = np.flatnonzero(broken & left)
        if len(excluding):
            best = excluding[np.lexsort((-met[excluding], candidates.sizes[excluding]))[:AT_ONCE]]
            left[best] = False
            for number in best.tolist():
                step.assume(candidates.term(instance, number))
            continue
        if fault and code_of(model, step.fault):
            fault = []
        claims = {claim: against for claim, against in claims.items() if not code_of(model, against)}
        step.live -= {k for k in step.live if code_of(model, step.lost[k])}


def prove(instance: Instance, claims: Sequence[Property], *, limits: Limits = Limits(), states: int = STATES) -> list[Outcome]:
    """Prove `always` and `step` claims by induction, with invariants generated from the first `states` reached states as lemmas.

    `symbolic.induction` describes the outcomes. If a claim holds, `details["invariants"]` are the terms that its proof needs in addition to
    the claim. In the counterexample of a claim that stays `not inductive`, the generated invariants hold. Raises ModelFault as
    `search.explore` does, and RocketproofError for other kinds of property.
    """
    for claim in claims:
        refuse_other_kinds(claim)
    watch = Watch(limits)
    try:
        watch.check()
        reached = explore(instance, [], limits=replace(limits, states=states, disk=None), symmetry=False)
        words = reached.kernel.layout.words
        codes = np.concatenate([reached.kernel.layout.unpack_many(level.reshape(-1, words)) for level in reached.levels()])
        candidates = suggested(instance, codes)
        step = InductionStep(instance, claims, watch)
        _strengthen(step, candidates, instance)
        proofs = [step.least(claim, closed=True) for claim in claims]
    except LimitReached as stop:
        return [Outcome(claim, "symbolic", "unknown", stop.reason, seconds=watch.seconds) for claim in claims]
    outcomes = []
    for claim, needed in zip(claims, proofs, strict=True):
        lemmas = [step.terms[k] for k in sorted(step.live - step.own[claim])] if needed is None else needed
        outcome = induction(instance, claim, lemmas=lemmas, limits=replace(limits, seconds=watch.left))
        outcomes.append(outcome)
    return outcomes
