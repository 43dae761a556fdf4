"""A search up to symmetry gives the verdicts of a search of all states, over as many states as there are orbits."""

from __future__ import annotations

import oracle
import pytest
from generated_models import Case, generated, in_proportion
from symmetric_models import orbits, symmetric_models
from test_engines import ODD, SAFETY, USUAL, same_lasso, same_witness

from rocketproof_model import liveness, search

GROUPS = 8
MODELS = in_proportion(5)  # in a group: 40 in all under the profile ci


@pytest.mark.parametrize("group", range(GROUPS))
def test_orbits_verdicts_and_lengths_are_right(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ALONE", 0)  # start threads for the smallest level

    @generated(group, MODELS, symmetric_models())
    def agree(case: Case) -> None:
        space = oracle.explore(case.instance)
        classes = orbits(case.instance, space.states)
        assert sum(map(len, classes)) == len(space.states), "the reachable states are not symmetric"
        stuck = {space.states[i] for i in space.deadlocks}
        tuning = (USUAL, ODD)[len(space.edges) % 2]
        for workers in (1, 2):
            run = search.explore(case.instance, workers=workers, tuning=tuning)
            assert (run.finished, run.asymmetry) == (True, "")
            assert (run.states, run.represented(), run.depth) == (len(classes), len(space.states), space.levels)
            assert run.deadlocks == sum(not stuck.isdisjoint(orbit) for orbit in classes)
            assert run.coverage.guards == space.guards
            for outcome in run.outcomes:
                steps = oracle.shortest(space, outcome.property)
                assert outcome.verdict == oracle.verdict(outcome.property, steps), outcome.property
                if steps is not None:
                    same_witness(space, outcome, steps)
            assert [o.property.id for o in run.outcomes] == [p.id for p in case.model.properties if p.kind in SAFETY]
        for outcome in liveness.check(case.instance, exploration=run):
            same_lasso(space, outcome)

    agree()
