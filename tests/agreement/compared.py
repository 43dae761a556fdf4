"""Compares an engine's answers about a model with plain loops over the interpreter (oracle.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import oracle

from rocketproof_model import EvaluationError, liveness, search
from rocketproof_model.explicit.edges import Edges
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.interpreter import State
from rocketproof_model.result import Outcome

USUAL = search.Tuning()
# Loops instead of unrolled parameters, states of several words, a table that has to grow, single states.
ODD = search.Tuning(unroll=1, word_bits=9, homes=16, block=1)
SAFETY = ("always", "reachable", "step", "deadlock_free")


def same_search(space: oracle.Space, run: Exploration, classes: Sequence[frozenset[State]] | None = None) -> None:
    """Compare the counts, verdicts and witnesses of a search; under symmetry `classes` are the orbits of all states."""
    assert run.finished
    if classes is None:
        counts = (run.states, run.transitions, run.depth, run.deadlocks)
        assert counts == (len(space.states), space.generated, space.levels, len(space.deadlocks))
        assert run.coverage.taken == space.taken
    else:
        stuck = {space.states[i] for i in space.deadlocks}
        deadlocks = sum(not stuck.isdisjoint(orbit) for orbit in classes)
        assert run.asymmetry == ""
        assert (run.states, run.depth, run.deadlocks) == (len(classes), space.levels, deadlocks)
    if run.table is not None:
        assert run.represented() == len(space.states)
    assert run.coverage.guards == space.guards
    for outcome in run.outcomes:
        steps = oracle.shortest(space, outcome.property)
        assert outcome.verdict == oracle.verdict(outcome.property, steps), outcome.property
        if steps is None:
            assert outcome.witness is None
        else:
            same_witness(space, outcome, steps)
    assert [o.property.id for o in run.outcomes] == [p.id for p in space.instance.model.properties if p.kind in SAFETY]


def same_but_for_memory(one: Exploration, other: Exploration) -> None:
    """Assert that searches in memory and in files found the same."""
    assert other.finished and other.disk > 0
    counts = [(run.states, run.transitions, run.depth, run.deadlocks, run.sizes, run.coverage) for run in (one, other)]
    assert counts[0] == counts[1]
    for mine, its in zip(one.outcomes, other.outcomes, strict=True):
        assert (mine.property, mine.verdict, mine.details) == (its.property, its.verdict, its.details)
        paths = {(w.moves, w.states) for w in (mine.witness, its.witness) if w is not None}
        assert len(paths) <= 1 and (mine.witness is None) == (its.witness is None)


def same_bounded(space: oracle.Space, outcomes: Sequence[Outcome], depth: int) -> None:
    """Assert that bounded checking finds every witness of at most `depth` steps, and claims nothing else."""
    for outcome in outcomes:
        steps = oracle.shortest(space, outcome.property)
        if steps is not None and steps <= depth:
            same_witness(space, outcome, steps)
        else:
            assert (outcome.verdict, outcome.reason) == ("unknown", "bound reached"), outcome.property


def same_witness(space: oracle.Space, outcome: Outcome, steps: int) -> None:
    """Assert that the outcome has a real path with this many steps whose end shows the claim."""
    witness = outcome.witness
    assert outcome.verdict == oracle.verdict(outcome.property, steps), outcome.property
    assert witness is not None
    assert len(witness) == steps, f"{outcome.property.id}: a shortest witness has {steps} steps"
    assert oracle.path_is_real(space, [(m.action, m.args) for m in witness.moves], witness.states), witness.labels()
    assert oracle.shows(space, outcome.property, witness.states), witness.labels()


def same_lasso(space: oracle.Space, outcome: Outcome) -> None:
    """Assert that verdict and prefix length are those of networkx, and that the lasso is a fair path of the model."""
    entry = oracle.lasso(space, outcome.property)
    assert outcome.verdict == ("holds" if entry is None else "violated"), outcome.property
    if entry is not None:
        witness = outcome.witness
        assert witness is not None and witness.loop == entry
        moves = [(m.action, m.args) for m in witness.moves]
        assert oracle.path_is_real(space, moves, witness.states), witness.labels()
        assert oracle.lasso_is_fair(space, outcome.property, moves, witness.states, witness.loop), witness.labels()


def liveness_space(space: oracle.Space) -> liveness.Space:
    """Return the oracle's graph in the form of the liveness algorithms."""
    labels = liveness.Labels.of(space.instance)
    number = {(m.action, m.args): k for k, m in enumerate(labels.moves)}
    columns = [(s, t, number[name, args]) for s, name, args, t in space.edges]
    sources, targets, named = np.array(columns, np.int64).reshape(-1, 3).T
    return liveness.Space(
        space.instance, Edges.of(len(space.states), sources, targets, named, space.level.count(0)), labels, space.states.__getitem__
    )


def raises(run: Callable[[], object]) -> bool:
    try:
        run()
    except EvaluationError:
        return True
    return False
