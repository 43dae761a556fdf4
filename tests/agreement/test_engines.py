"""All engines give the same answers about generated models.

Every engine is compared with plain loops over the interpreter (oracle.py). In each group only some models are compiled, because compilation
costs most; z3 and the liveness algorithms check every model. Models depend on the number of their group alone.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import oracle
import pytest
from compared import ODD, USUAL, liveness_space, raises, same_bounded, same_but_for_memory, same_lasso, same_search
from generated_models import Case, formulas, generated, models, terms
from model_text import describe, source

from proportion import in_proportion
from rocketproof_model import EvaluationError, Expr, Instance, Model, all_of, free, implies, language, lemmas, liveness, search, symbolic
from rocketproof_model.explicit import pool
from rocketproof_model.explicit.checkpoint import SearchCheckpoint
from rocketproof_model.interpreter import Environment, evaluate, successors
from rocketproof_model.language import OBSERVED, Bool, const, walk
from rocketproof_model.result import LIVE, Limits, Watch

GROUPS = 20
MODELS = in_proportion(12)  # per group: 240 in total under the profile ci
COMPILED = in_proportion(5)  # per group: 100 in total
DEPTH = 2


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(GROUPS))
def test_z3_and_networkx_agree_with_the_interpreter(group: int) -> None:
    @generated(group, MODELS, models())
    def agree(case: Case) -> None:
        space = oracle.explore(case.instance)
        same_bounded(space, symbolic.bounded(case.instance, depth=DEPTH), DEPTH)
        known = liveness_space(space)
        for claim in case.model.properties:
            if claim.kind in LIVE:
                formula, goal = (
                    np.array([oracle.holds(case.instance, e, s) for s in space.states]) for e in liveness.obligation_terms(claim)
                )
                same_lasso(space, liveness.decide(known, claim, formula, goal, Watch(Limits())))

    agree()


@pytest.mark.parametrize("group", range(6))
def test_observers_agree_with_paths(group: int) -> None:
    """A plain claim of the observed model is violated if a path breaks the property; other tests here compare plain claims."""

    @generated(group, COMPILED, models())
    def agree(case: Case) -> None:
        space = oracle.explore(case.instance)
        for claim in case.model.properties:
            if claim.kind in OBSERVED:
                model, plain = language.observed(case.model, [claim])
                seen = oracle.explore(Instance(model, case.instance.constants))
                assert oracle.shortest(seen, plain[claim][0]) == oracle.breaks(space, claim), claim.kind
                assert {state[:-1] for state in seen.states} == set(space.states)

    agree()


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(GROUPS))
def test_kernels_agree(group: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pool, "_ALONE", 0)  # start threads for the smallest level
    on_disk = Limits(memory=1, disk=1 << 30)

    @generated(group, COMPILED, models())
    def agree(case: Case) -> None:
        space = oracle.explore(case.instance)
        tuning = (USUAL, ODD)[len(space.edges) % 2]  # alternates, because a kernel costs most to compile
        runs = [search.explore(case.instance, workers=w, checked=c, tuning=tuning) for w in (1, 2) for c in (True, False)]
        for run in runs:
            same_search(space, run)
        paths = [[(o.witness.moves, o.witness.states) for o in run.outcomes if o.witness] for run in runs]
        assert all(path == paths[0] for path in paths), "the witness depends on the number of workers or on checking"
        with_runs = replace(tuning, homes=1, run_block=3)
        exploration = search.explore(case.instance, workers=2, tuning=with_runs, limits=on_disk, checkpoint=SearchCheckpoint(tmp_path))
        same_but_for_memory(runs[0], exploration)
        for outcome in liveness.check(case.instance, exploration=runs[0]):
            same_lasso(space, outcome)

    agree()


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_engine_detects_model_errors(group: int) -> None:
    @generated(group, COMPILED, models(faulty=True))
    def agree(case: Case) -> None:
        faulty = oracle.faulty(case.instance)
        assert raises(lambda: search.explore(case.instance)) == faulty
        assert raises(lambda: search.explore(case.instance, workers=2)) == faulty

    agree()


@pytest.mark.parametrize("group", range(GROUPS))
def test_z3_detects_model_errors_within_its_depth(group: int) -> None:
    @generated(group, in_proportion(10), models(faulty=True))
    def agree(case: Case) -> None:
        # For a claim that is always true, only the states on the path are checked.
        claim = case.model.claim("true", "every state is looked at", "always", True)
        assert raises(lambda: symbolic.bounded(case.instance, [claim], depth=DEPTH)) == fault_within(case.instance, DEPTH)

    agree()


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(10))
def test_kernels_agree_about_formulas_in_all_states(group: int) -> None:
    @generated(group, 3, formulas())
    def agree(case: Case) -> None:
        states = list(itertools.product(*(v.type.codes() for v in case.model.variables)))
        for run in (search.explore(case.instance, checked=c, tuning=t) for c, t in ((True, USUAL), (False, ODD))):
            assert run.states == len(states)
            for outcome in run.outcomes:
                formula = outcome.property.formula
                wrong = sum(not oracle.holds(case.instance, formula, state) for state in states)
                assert outcome.details["violating"] == wrong, source(formula)

    agree()


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(10))
def test_formulas_without_value_are_detected(group: int) -> None:
    @generated(group, 3, formulas(faulty=True))
    def agree(case: Case) -> None:
        starts = oracle.starting(case.instance)
        states = list(itertools.product(*(v.type.codes() for v in case.model.variables)))
        for claim in case.model.properties:
            asked = partial(oracle.holds, case.instance, claim.formula)
            assert raises(partial(search.explore, case.instance, [claim])) == raises(lambda ask=asked: [*map(ask, states)])
            assert raises(partial(symbolic.bounded, case.instance, [claim], depth=0)) == any(
                raises(partial(asked, start)) for start in starts
            )

    agree()


@pytest.mark.parametrize("group", range(5))
def test_proofs_agree_about_the_value_of_a_term(group: int) -> None:
    @generated(group, MODELS, terms())
    def agree(term: Expr) -> None:
        unknowns = sorted({e for e in walk(term) if e.op == "free"}, key=str)
        points = all_values(unknowns)
        known = [(point, evaluate(term, Environment((), {}, {}, free=point))) for point in points[:: len(points) // 24 + 1]]

        def table(change: int) -> Expr:
            """Require that the term has the known value at each point; the last value can be wrong."""
            rows = [*known[:-1], (known[-1][0], known[-1][1] ^ change)]
            at = [all_of(e == const(point[e.args[0]], e.type) for e in unknowns) for point, _ in rows]
            return all_of(implies(here, has(v)) for here, (_, v) in zip(at, rows, strict=True))

        def has(value: int) -> Expr:
            """Require that the term has this code, which can be outside its type."""
            if term.type.sort == "bool":
                return term == bool(value)
            return term == value if term.type.lo <= value <= term.type.hi else const(False, Bool)

        model = Model("terms")
        assert proven(model, table(0)), source(term)
        assert not proven(model, table(1)), source(term)

    agree()


def test_printed_models_build_the_same_model() -> None:
    """A failing test prints a model that can be pasted into a file."""

    @generated(0, MODELS, models())
    def agree(case: Case) -> None:
        names: dict[str, object] = {name: getattr(language, name) for name in dir(language) if not name.startswith("_")}
        exec("from rocketproof_model import *\n" + describe(case.instance), names)
        again = names["instance"]
        assert isinstance(again, Instance)
        one, other = oracle.explore(case.instance), oracle.explore(again)
        assert (one.states, one.edges) == (other.states, other.edges)
        for mine, its in zip(case.model.properties, again.model.properties, strict=True):
            if mine.kind in OBSERVED:
                assert oracle.breaks(one, mine) == oracle.breaks(other, its)
            elif mine.kind not in LIVE:
                assert oracle.shortest(one, mine) == oracle.shortest(other, its)

    agree()


def proven(model: Model, formula: Expr) -> bool:
    outcome = lemmas.prove(model, model.claim("lemma", "holds for all values", "lemma", formula))
    assert outcome.verdict in ("holds", "violated"), outcome.reason
    return outcome.verdict == "holds"


def all_values(unknowns: list[Expr]) -> list[dict[str, int]]:
    values: list[dict[str, int]] = [{}]
    for e in unknowns:
        assert e is free(e.args[0], e.type)
        values = [{**v, e.args[0]: code} for v in values for code in e.type.codes()]
    return values


def fault_within(instance: Instance, depth: int) -> bool:
    """Return whether an action has no value in a state within `depth` steps."""
    level = set(oracle.starting(instance))
    try:
        for _ in range(depth):
            level = {step.state for state in level for step in successors(instance, state)}
    except EvaluationError:
        return True
    return False
