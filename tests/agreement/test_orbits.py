"""A search with symmetry has the verdicts of a search without it, and as many states as there are orbits."""

from __future__ import annotations

import oracle
import pytest
from compared import ODD, USUAL, same_lasso, same_search
from generated_models import Case, generated
from symmetric_models import orbits, symmetric_models

from proportion import in_proportion
from rocketproof_model import liveness, search
from rocketproof_model.explicit import pool

GROUPS = 8
MODELS = in_proportion(5)  # per group: 40 in total under the profile ci


@pytest.mark.parametrize("group", range(GROUPS))
def test_orbits_verdicts_and_lengths_are_right(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_ALONE", 0)  # start threads for the smallest level

    @generated(group, MODELS, symmetric_models())
    def agree(case: Case) -> None:
        space = oracle.explore(case.instance)
        classes = orbits(case.instance, space.states)
        assert sum(map(len, classes)) == len(space.states), "the reachable states are not symmetric"
        tuning = (USUAL, ODD)[len(space.edges) % 2]
        for workers in (1, 2):
            run = search.explore(case.instance, workers=workers, tuning=tuning)
            same_search(space, run, classes)
        for outcome in liveness.check(case.instance, exploration=run):
            same_lasso(space, outcome)

    agree()
