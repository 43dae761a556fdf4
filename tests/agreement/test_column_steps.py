"""The bulk check of recorded steps agrees with the interpreter on each step: the same guard, the same elements, the same claims."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
from generated_models import Case, generated, models

from rocketproof_model import EvaluationError, Expr, Instance, Property, simulate
from rocketproof_model.columns import RecordedSteps, Violation, check_steps
from rocketproof_model.interpreter import Environment, State, evaluate, initial, slot_of, successors
from rocketproof_model.language import show
from rocketproof_model.result import Move
from rocketproof_properties.catalogue import table as catalogue
from rocketproof_spec import build, constants

Step = tuple[State, Move, State]
Wrong = tuple[int, str, str, str, bool]  # row, kind, name, action, fault
GROUPS, MODELS, ROWS = 8, 6, 80


def truth(formula: Expr, scope: Environment) -> bool | None:
    """Return the truth value, None without a value."""
    try:
        return bool(evaluate(formula, scope))
    except EvaluationError:
        return None


def expected(instance: Instance, row: int, step: Step, claims: Sequence[Property]) -> set[Wrong]:
    """Return the second opinion about a step, by the interpreter alone. The states' values are within their types."""
    state, move, after = step
    action = instance.model.named(move.action)
    scope = Environment(state, dict(zip(action.parameters, move.args, strict=True)), instance.constants, after)
    found: set[Wrong] = set()
    for claim in claims:
        if claim.kind == "step":
            said = truth(claim.formula, scope)
            found |= set() if said else {(row, "step", claim.id, "", said is None)}
        elif claim.kind == "always":
            for name, where in ((claim.id, state), (f"{claim.id}'", after)):
                said = truth(claim.formula, Environment(where, {}, instance.constants))
                found |= set() if said else {(row, "always", name, "", said is None)}
    for guard in action.guards:
        said = truth(guard.condition, scope)
        if not said:
            return found | {(row, "guard", guard.name, action.name, said is None)}
    should = list(state)
    for update in action.updates:
        type_ = update.target.args[0].type
        try:
            if not evaluate(update.when, scope):
                continue
            code, slot = evaluate(update.assigned, scope), slot_of(update.target, scope)
        except EvaluationError:
            return found | {(row, "effect", show(update.target), action.name, True)}
        if not type_.lo <= code <= type_.hi:
            return found | {(row, "effect", show(update.target), action.name, True)}
        should[slot] = code
    for clash in action.clashes:
        if evaluate(clash, scope):
            return found | {(row, "effect", show(clash), action.name, True)}
    names = [v.name_at(at) for v in instance.model.variables for at in v.elements()]
    for slot, name in enumerate(names):
        if should[slot] != after[slot]:
            kind = "effect" if name in may_write(instance, action.name) else "frame"
            found.add((row, kind, name, action.name, False))
    return found


def may_write(instance: Instance, action: str) -> set[str]:
    """Return the elements that some assignment can write, by the possible values of its indices."""
    found = set()
    for update in instance.model.named(action).updates:
        indices, variable = update.target.args[1:], update.target.args[0]
        for at in variable.elements():
            if all(index.args[0] == k if index.op == "const" else k in index.type.codes() for index, k in zip(indices, at, strict=True)):
                found.add(variable.name_at(at))
    return found


def flat(violations: Iterable[Violation]) -> list[Wrong]:
    return sorted((int(row), v.kind, v.name, v.action, v.fault) for v in violations for row in v.rows)


def tampered(instance: Instance, chance: random.Random, step: Step) -> Step:
    """Change something in the step, within the types: a value before or after, a parameter, or the action."""
    state, move, after = list(step[0]), step[1], list(step[2])
    types = [v.type for v in instance.model.variables for _ in v.elements()]
    way, slot = chance.randrange(4), chance.randrange(len(types))
    if way < 2:
        (state, after)[way][slot] = chance.randint(types[slot].lo, types[slot].hi)
    else:
        action = chance.choice(instance.model.actions) if way == 3 else instance.model.named(move.action)
        move = Move(action.name, tuple(chance.randint(t.lo, t.hi) for t in action.parameters.values()))
    return tuple(state), move, tuple(after)


def judged_alike(instance: Instance, steps: list[Step], claims: Sequence[Property]) -> set[str]:
    """Return the kinds of violations in which both agree."""
    second = sorted(wrong for row, step in enumerate(steps) for wrong in expected(instance, row, step, claims))
    assert flat(check_steps(instance, RecordedSteps.of(instance, steps), claims)) == second
    return {kind for _, kind, *_ in second}


def walked(instance: Instance, runs: int, steps: int) -> list[Step]:
    """Return steps of random walks."""
    found: list[Step] = []
    for run in range(runs):
        here = initial(instance)
        for move, state in simulate.walk(instance, seed=1, run=run, steps=steps):
            if move is not None:
                found.append((here, move, state))
            here = state
    return found


@pytest.mark.slow
@pytest.mark.parametrize("faulty", [False, True], ids=["proper", "faulty"])
@pytest.mark.parametrize("group", range(GROUPS))
def test_bulk_check_agrees_on_generated_models(group: int, *, faulty: bool) -> None:
    kinds: set[str] = set()

    @generated(group, MODELS, models(faulty=faulty))
    def agree(case: Case) -> None:
        instance, chance = case.instance, random.Random(group)
        types = [v.type for v in case.model.variables for _ in v.elements()]
        steps: list[Step] = []
        while len(steps) < ROWS:
            state = tuple(chance.randint(t.lo, t.hi) for t in types)
            action = chance.choice(case.model.actions)
            move = Move(action.name, tuple(chance.randint(t.lo, t.hi) for t in action.parameters.values()))
            after = state
            try:
                allowed = list(successors(instance, state))
                if allowed and chance.random() < 0.7:
                    step = chance.choice(allowed)
                    move, after = Move(step.action.name, step.args), step.state
            except EvaluationError:
                pass
            step = (state, move, after)
            steps.append(step if chance.random() < 0.5 else tampered(instance, chance, step))
        kinds.update(judged_alike(instance, steps, case.model.properties))

    agree()
    assert {"guard", "effect", "frame"} <= kinds


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "profile"), [("tiny", "P40"), ("small", "P49"), ("store", "P49")])
def test_recorded_steps_of_the_specification(scope: str, profile: str) -> None:
    """Walks have no violation; every tampered step is found, with the same guard."""
    specification = build(scope)
    instance = specification.model.given(**constants(profile))
    claims = [c for c in catalogue.properties(specification) if c.kind in ("always", "step")]
    steps = walked(instance, 4, 25)
    wrong = {name.removesuffix("'") for step in steps for _, _, name, *_ in expected(instance, 0, step, claims)}
    sound = [c for c in claims if c.id not in wrong]
    assert sound
    assert check_steps(instance, RecordedSteps.of(instance, steps), sound) == []
    chance = random.Random(scope)
    kinds = judged_alike(instance, [tampered(instance, chance, step) for step in steps], claims)
    assert {"guard", "effect"} <= kinds
