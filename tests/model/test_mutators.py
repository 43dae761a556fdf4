"""Generated mutants of a small model: which exist, that a single kernel serves all, and where each differs."""

import random

import pytest

from rocketproof_model import Bool, Enum, Instance, Int, Model, interpreter, search
from rocketproof_model.explicit.difference import Differences
from rocketproof_model.explicit.paths import Paths
from rocketproof_model.language import Body, Expr
from rocketproof_model.transforms.mutation import CONSTANT, with_mutants
from rocketproof_model.transforms.mutators import mutants
from rocketproof_spec import part

Light = Enum("red", "green", "amber")


def crossing() -> Model:
    """Build two lights; a car passes on green."""
    m = Model("crossing")
    road = m.index("Road", 2)
    light = m.var("light", Light, over=road, init="red")
    cars = m.var("cars", Int(0, 3), init=0)
    most = m.var("most", Int(0, 3), init=3)
    closed = m.var("closed", Bool, init=False)

    @m.action(r=road)
    def turn(a: Body, r: Expr) -> None:
        """A light turns green where no car waits and the other is red."""
        other = light[1 - r]
        a.guard("red", light[r] == "red", "the light is red")
        a.guard("free", (other == "red") & ~closed, "the other light is red and the road is open")
        a.set(light[r], "green")

    @m.action(r=road)
    def drive(a: Body, r: Expr) -> None:
        """A car passes."""
        a.guard("room", cars < most, "there is room for another car")
        a.guard("green", light[r] == "green", "the light is green")
        a.set(cars, cars + 1)
        a.set(closed, True, when=cars == 2)

    @m.action(r=road)
    def stop(a: Body, r: Expr) -> None:
        """The light turns red."""
        a.bound("late", light[r] != "red", "it is not red")
        a.guard("counted", cars <= 3, "the cars are counted")
        a.set(light[r], "red")

    return m


EXPECTED = """
turn: guard 'red' dropped
turn: guard 'red' negated
turn: guard 'red' with (light[r] == red) taken for green
turn: guard 'free' dropped
turn: guard 'free' negated
turn: guard 'free' without (light[(1 - r)] == red)
turn: guard 'free' without ~closed
turn: guard 'free' with (light[(1 - r)] == red) taken for green
turn: light not set
turn: light set to its initial value
turn: light set to the next value
drive: guard 'room' dropped
drive: guard 'room' negated
drive: guard 'room' with (cars < most) taken for <=
drive: guard 'room' with (cars < most) one earlier
drive: guard 'green' dropped
drive: guard 'green' negated
drive: guard 'green' with (light[r] == green) taken for amber
drive: cars not set
drive: cars set to its initial value
drive: cars set to one more
drive: cars set to one less
drive: cars set to most
drive: cars with most read for cars
drive: closed not set
drive: closed set always
drive: closed set when it should not be
drive: closed set to its initial value
stop: guard 'counted' dropped
stop: guard 'counted' negated
stop: guard 'counted' with (cars <= 3) taken for <
stop: guard 'counted' with (cars <= 3) one later
stop: light not set
stop: light set to the next value
"""


def test_guards_and_assignments_have_mutants_and_bounds_have_none() -> None:
    assert [mutant.id for mutant in mutants(crossing())] == EXPECTED.split("\n")[1:-1]


def test_specification_mutants_have_unique_ids_and_change_something() -> None:
    for name in ("tiny", "recovery"):
        made = mutants(part(name).model)
        assert len({mutant.id for mutant in made}) == len(made) > 200
        for mutant in made:
            action = part(name).model.named(mutant.action)
            if mutant.guard:
                assert mutant.change(action.guard(mutant.guard)) is not action.guard(mutant.guard).condition
            else:
                changed = [u for u in action.updates if u.target.args[0].name == mutant.sets]
                assert any(mutant.change(update) is not update.value for update in changed)


def counts(instance: Instance) -> tuple[int, int, int]:
    exploration = search.explore(instance, [])
    return exploration.states, exploration.transitions, exploration.depth


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["patience", "tiny"])
def test_mutant_behaves_the_same_compiled_alone_or_together(scope: str) -> None:
    model = part(scope).model
    every = mutants(model)
    together = with_mutants(model, every)
    assert counts(together.given()) == counts(model.given())
    for number in random.Random(1).sample(range(len(every)), 12):
        alone = with_mutants(model, [every[number]])
        results = []
        for instance in (together.given(**{CONSTANT: number + 1}), alone.given(**{CONSTANT: 1})):
            try:
                results.append(counts(instance))
            except interpreter.EvaluationError as error:
                results.append(str(error))
        assert results[0] == results[1], every[number].id


def test_differing_states_are_those_of_the_interpreter() -> None:
    model = crossing()
    every = mutants(model)
    together = with_mutants(model, every)
    original = together.given()
    graph = search.explore(original, []).graph()
    differences = Differences(graph, original)
    differing = 0
    for number, mutant in enumerate(every, 1):
        instance = together.given(**{CONSTANT: number})
        expected = {k for k in range(len(graph.states)) if steps(original, graph.state(k)) != steps(instance, graph.state(k))}
        found = list(differences.states(instance, together.named(mutant.action)))
        assert set(found) <= expected
        assert found == sorted(found)
        assert bool(found) == bool(expected), mutant.id
        assert found[:1] == sorted(expected)[:1], "the first of them is the first of all"
        differing += bool(found)
        for state in found:
            step = differences.steps(instance, state)
            assert bool(step) or isinstance(steps(instance, graph.state(state)), str)
    assert differing == len(every) - 2, "there are never more than 3 cars, so 'counted' can be dropped or be 4"


def steps(instance: Instance, state: interpreter.State) -> list[tuple[str, interpreter.State]] | str:
    try:
        return [(step.label, step.state) for step in interpreter.successors(instance, state)]
    except interpreter.EvaluationError as error:
        return str(error)


def test_paths_are_shortest_and_do_without_an_action() -> None:
    model = crossing()
    graph = search.explore(model.given(), []).graph()
    paths, without = Paths(graph), Paths(graph, ["stop"])
    levels = graph.level.searchsorted(range(len(graph.states)), side="right") - 1
    for number in range(len(graph.states)):
        moves = paths.to(number)
        assert moves is not None
        assert len(moves) == levels[number]
        state = interpreter.initial(model.given())
        for move in moves:
            state = interpreter.effect(model.given(), state, model.named(move.action), move.args)
        assert state == graph.state(number)
    allowed = [without.to(number) for number in range(len(graph.states))]
    assert None in allowed
    assert all(move.action != "stop" for moves in allowed if moves for move in moves)
