"""Compiled functions of actions agree with the interpreter, step by step, also without a value."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress

import pytest
from generated_models import Case, generated, models

from proportion import few
from rocketproof_model import Action, EvaluationError, Instance
from rocketproof_model.functions import Functions, term_function
from rocketproof_model.interpreter import Environment, State, effect, evaluate, initial, refusing, successors
from rocketproof_model.partial import View, decided, excluding
from rocketproof_properties.catalogue.table import properties
from rocketproof_spec import build, constants

GROUPS, MODELS, STATES = 8, 15, 25


def interpreted(instance: Instance, state: State, action: Action, args: Sequence[int]) -> object:
    try:
        guard = refusing(instance, state, action, args)
    except EvaluationError:
        return "no value in a guard"
    try:
        return guard.name if guard else effect(instance, state, action, args)
    except EvaluationError:
        return "no value in the effect"


def compiled(functions: Functions, state: State, action: Action, args: Sequence[int]) -> object:
    function = functions[action.name]
    try:
        guard = function.guard(state, args)
    except EvaluationError:
        return "no value in a guard"
    try:
        return guard.name if guard else function.effect(state, args)
    except EvaluationError:
        return "no value in the effect"


def same_everywhere(instance: Instance, most: int) -> int:
    """Compare all actions in reached states and in random states of the variables' types; return the number of comparisons."""
    functions = Functions(instance)
    chance = random.Random(0)
    types = [v.type for v in instance.model.variables for _ in v.elements()]
    start = [initial(instance)]
    todo = start + [tuple(chance.randint(t.lo, t.hi) for t in types) for _ in range(most // 3)]
    seen, compared = set(todo), 0
    while todo:
        state = todo.pop(0)
        for action in instance.model.actions:
            cases = list(action.instances) if action.count <= 12 else [
                tuple(chance.randint(t.lo, t.hi) for t in action.parameters.values()) for _ in range(12)
            ]  # fmt: skip
            for args in cases:
                expected = interpreted(instance, state, action, args)
                found = compiled(functions, state, action, args)
                assert found == expected, (action.label(args), state)
                compared += 1
                if isinstance(expected, tuple):
                    assert all(type(code) is int for code in found), "a truth value instead of a code"  # type: ignore[attr-defined]
                    if expected not in seen and len(seen) < most:
                        seen.add(expected)
                        todo.append(expected)
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("faulty", [False, True], ids=["proper", "faulty"])
@pytest.mark.parametrize("group", range(GROUPS))
def test_compiled_functions_agree_on_generated_models(group: int, *, faulty: bool) -> None:
    @generated(group, MODELS, models(faulty=faulty))
    def agree(case: Case) -> None:
        same_everywhere(case.instance, STATES)

    agree()


@pytest.mark.parametrize("scope", ["tiny", "small", "creation", "names", "restart", "store"])
@pytest.mark.parametrize("profile", few(["P49", "P40"], 1))
def test_compiled_functions_agree_on_the_specification(scope: str, profile: str) -> None:
    assert same_everywhere(build(scope).model.given(**constants(profile)), 60) > 1000


@pytest.mark.parametrize("scope", ["tiny", "small", "restart"])
def test_actions_depend_only_on_their_declared_reads(scope: str) -> None:
    """A change of any other slot changes neither the refusing guard nor the assigned values."""
    instance = build(scope).model.given(**constants("P49"))
    functions = Functions(instance)
    chance = random.Random(1)
    types = [v.type for v in instance.model.variables for _ in v.elements()]
    looked = 0
    state = initial(instance)
    for _ in range(4000):
        action = chance.choice(instance.model.actions)
        args = tuple(chance.randint(t.lo, t.hi) for t in action.parameters.values())
        if refusing(instance, state, action, args) is not None:
            continue
        function = functions[action.name]
        reads = function.reads(state, args)
        other = tuple(v if slot in reads else chance.randint(types[slot].lo, types[slot].hi) for slot, v in enumerate(state))
        refused = function.guard(other, args)
        assert refused is None or refused.bound
        assert function.changes(other, *args) == function.changes(state, *args)
        state = function.effect(state, args)
        looked += 1
    assert looked > 10


@pytest.mark.parametrize("scope", ["tiny", "store"])
def test_term_of_a_step_has_the_interpreters_value(scope: str) -> None:
    """All state and step properties of the scope, along a random run."""
    specification = build(scope)
    instance = specification.model.given(**constants("P49"))
    formulas = [claim.formula for claim in properties(specification) if claim.kind in ("always", "step")]
    chance = random.Random(3)
    state = initial(instance)
    functions = [term_function(instance, formula) for formula in formulas]
    for _ in range(60):
        after = chance.choice([step.state for step in successors(instance, state)] or [initial(instance)])
        for formula, function in zip(formulas, functions, strict=True):
            assert function(state, after) == evaluate(formula, Environment(state, {}, instance.constants, after))
        state = after
    assert len(formulas) > 5


@pytest.mark.parametrize("scope", ["tiny", "restart"])
def test_partial_states_decide_like_their_full_states(scope: str) -> None:
    """A term with a value in spite of hidden slots has the same value, or none, if they are known; an allowed action is possible."""
    instance = build(scope).model.given(**constants("P49"))
    chance = random.Random(2)
    told = hidden = 0
    state = initial(instance)
    for _ in range(1500):
        action = chance.choice(instance.model.actions)
        args = tuple(chance.randint(t.lo, t.hi) for t in action.parameters.values())
        scene = Environment(state, dict(zip(action.parameters, args, strict=True)), instance.constants)
        share = chance.choice((0.0, 0.1, 0.4))
        seen = View([None if chance.random() < share else code for code in state], scene.args, instance.constants)
        for term in [g.condition for g in action.guards] + [u.value for u in action.updates]:
            code = decided(term, seen)
            with suppress(EvaluationError):
                assert code in (None, evaluate(term, scene))
            told, hidden = told + (code is not None), hidden + (code is None)
        if refusing(instance, state, action, args) is None:
            assert excluding(action, seen) is None
            state = effect(instance, state, action, args)
    assert told > 1000 and hidden > 100
