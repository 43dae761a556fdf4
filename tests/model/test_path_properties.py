"""`until`, `within` and `eventually_always` against their definitions on paths, by networkx and plain loops, for each engine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import networkx as nx
import pytest
from test_liveness import graph_model, is_fair, random_walk

from rocketproof_model import Bool, Instance, Int, Model, ModelError, RocketproofError, include, liveness, observing, one_of
from rocketproof_model.interpreter import initial, successors
from rocketproof_model.result import MEMORY, MODEL_ERROR, Limits, Outcome, Witness

Walk = Mapping[str, tuple[str | None, Mapping[int, int]]]


def edges_of(actions: Walk, clock: str = "") -> set[tuple[int, int, bool]]:
    """Return the steps, and whether each counts: it changes something and belongs to the clock."""
    return {(s, t, s != t and clock in ("", name)) for name, (_, edges) in actions.items() for s, t in edges.items()}


def breaks_within(actions: Walk, formula: list[int], goal: list[int], steps: int, clock: str) -> int | None:
    """Return the length of the shortest path with `steps` counted steps after a state of the formula and no goal from there on."""
    graph = nx.DiGraph()
    nodes = {0} | {n for _, edges in actions.values() for pair in edges.items() for n in pair}
    for node in nodes:
        if node in formula and node not in goal:
            graph.add_edge((node, -1), (node, 0), weight=0)
    for s, t, counts in edges_of(actions, clock):
        graph.add_edge((s, -1), (t, -1), weight=1)
        for done in range(steps) if t not in goal and s not in goal else ():
            graph.add_edge((s, done), (t, done + counts), weight=1)
    graph.add_node((0, -1))
    far = nx.single_source_dijkstra_path_length(graph, (0, -1))
    return min((far[n, steps] for n in nodes if (n, steps) in far), default=None)


def breaks_until(actions: Walk, hold: list[int], goal: list[int], when: list[int] | None) -> int | None:
    """Return the length of the shortest path to a state with neither, after states that hold and are no goal."""
    graph = nx.DiGraph()
    nodes = {0} | {n for _, edges in actions.values() for pair in edges.items() for n in pair}
    for node in nodes:
        if (node == 0 if when is None else node in when) and node not in goal:
            graph.add_edge((node, "free"), (node, "owes"), weight=0)
    for s, t, _ in edges_of(actions):
        if when is not None:
            graph.add_edge((s, "free"), (t, "free"), weight=1)
        if s in hold and t not in goal:
            graph.add_edge((s, "owes"), (t, "owes"), weight=1)
    graph.add_node((0, "free"))
    far = nx.single_source_dijkstra_path_length(graph, (0, "free"))
    return min((far[n, "owes"] for n in nodes if (n, "owes") in far and n not in hold), default=None)


def fair_sets(size: int, actions: Walk, allowed: list[int]) -> list[set[int]]:
    """Return the sets of allowed nodes that a fair path can visit forever."""
    found = []
    for count in range(1, len(allowed) + 1):
        for subset in map(set, itertools.combinations(allowed, count)):
            inner = nx.DiGraph()
            inner.add_nodes_from(subset)
            inner.add_edges_from((s, t) for _, edges in actions.values() for s, t in edges.items() if s in subset and t in subset)
            if nx.is_strongly_connected(inner) and is_fair(subset, actions):
                found.append(subset)
    return found


def distances(actions: Walk) -> dict[int, int]:
    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_edges_from(e for _, edges in actions.values() for e in edges.items())
    return dict(nx.single_source_shortest_path_length(graph, 0))


def shows(outcome: Outcome, steps: int | None) -> None:
    """Assert the verdict, and that the witness is a path of the model with this length."""
    assert outcome.verdict == ("holds" if steps is None else "violated"), outcome.property.id
    if steps is not None:
        assert outcome.witness is not None and len(outcome.witness) == steps
        real(outcome.witness)


def real(witness: Witness) -> None:
    assert witness.states[0] == initial(witness.instance)
    for before, move, after in zip(witness.states, witness.moves, witness.states[1:], strict=False):
        assert (move.action, move.args, after) in [(s.action.name, s.args, s.state) for s in successors(witness.instance, before)]


def any_node(instance: Instance, nodes: list[int]) -> Any:
    at = instance.model.variable("at")[()]
    term: Any = False
    for node in nodes:
        term = (at == node) | term
    return term


@pytest.mark.parametrize("seed", range(2))
def test_within_is_violated_by_the_shortest_path(seed: int) -> None:
    rng, verdicts = random.Random(seed), set()
    for case in range(12):
        size = rng.randint(3, 6)
        actions, formula, goal = random_walk(rng, size, 3)
        clock, steps = ("", "a0")[case % 2], rng.randint(1, 3)
        instance = graph_model(size, actions, formula, goal)
        claim = instance.model.within("w", any_node(instance, formula), any_node(instance, goal), "in time", steps=steps, clock=clock)
        expected = breaks_within(actions, formula, goal, steps, clock)
        shows(observing.check(instance, claim), expected)
        bounded = observing.bounded(instance, claim, depth=4)
        assert (bounded.verdict == "violated") == (expected is not None and expected <= 4)
        verdicts.add(expected is None)
    assert verdicts == {True, False}


@pytest.mark.parametrize("seed", range(2))
def test_until_is_violated_by_a_state_or_endless_waiting(seed: int) -> None:
    rng, verdicts = random.Random(50 + seed), set()
    for case in range(6):
        size = rng.randint(3, 6)
        actions, hold, goal = random_walk(rng, size, 3)
        when = None if case % 2 else [s for s in range(size) if rng.random() < 0.5]
        instance = graph_model(size, actions, hold, goal)
        terms = any_node(instance, hold), any_node(instance, goal)
        asked = None if when is None else any_node(instance, when)
        strong = instance.model.until("strong", *terms, "it lasts and comes", when=asked)
        weak = instance.model.until("weak", *terms, "it lasts", when=asked, weak=True)
        expected = breaks_until(actions, hold, goal, when)
        shows(observing.check(instance, weak), expected)
        outcome = observing.check(instance, strong)
        if expected is not None:
            shows(outcome, expected)
        else:
            owing = {0} if when is None and 0 not in goal else set() if when is None else {s for s in when if s not in goal}
            graph = nx.DiGraph()
            graph.add_nodes_from(range(size))
            graph.add_edges_from((s, t) for s, t, _ in edges_of(actions) if s not in goal and t not in goal)
            waits = {t for s in owing & distances(actions).keys() for t in nx.descendants(graph, s) | {s}}
            lasting = any(waits & nodes for nodes in fair_sets(size, actions, [s for s in range(size) if s not in goal]))
            assert outcome.verdict == ("violated" if lasting else "holds")
            assert outcome.witness is None or (outcome.witness.loop is not None and real(outcome.witness) is None)
        verdicts.add((outcome.verdict, expected is None))
    assert len(verdicts) > 1


@pytest.mark.parametrize("seed", range(3))
def test_eventually_always_is_refuted_by_the_nearest_fair_loop(seed: int) -> None:
    rng, verdicts = random.Random(90 + seed), set()
    for _ in range(12):
        size = rng.randint(3, 6)
        actions, _, good = random_walk(rng, size, 3)
        good = sorted(set(range(size)) - set(good))
        instance = graph_model(size, actions, [], good)
        claim = instance.model.eventually_always("stays", any_node(instance, good), "it stays good")
        far = distances(actions)
        bad = [nodes for nodes in fair_sets(size, actions, sorted(far)) if nodes - set(good)]
        (outcome,) = liveness.check(instance, [claim])
        assert outcome.verdict == ("violated" if bad else "holds")
        if outcome.witness is not None:
            real(outcome.witness)
            assert outcome.depth == min(far[node] for nodes in bad for node in nodes)
            loop = outcome.witness.states[outcome.depth :]
            assert loop[0] == loop[-1] and any(state[0] not in good for state in loop)
            assert is_fair({state[0] for state in loop}, actions) or len(loop) > len(set(loop)) + 1
        verdicts.add(outcome.verdict)
    assert verdicts == {"holds", "violated"}


def counter() -> Model:
    m = Model("counter")
    n = m.var("n", Int(0, 4), init=one_of(0, 1))
    calm = m.var("calm", Bool, init=True)

    @m.action(fair="weak")
    def tick(a: Any) -> None:
        """Count on."""
        a.guard("room", n < 4, "there is room")
        a.set(n, n + 1)

    @m.action()
    def rest(a: Any) -> None:
        """Nothing happens, or the mood changes."""
        a.set(calm, False, when=n == 2)

    return m


def test_unchanging_steps_do_not_count_and_initial_states_do() -> None:
    m = counter()
    n = m.variable("n")[()]
    three = m.within("three", n == 0, n == 3, "3 comes soon", steps=3, clock="tick")
    any_step = m.within("any step", n == 0, n == 3, "3 comes at once", steps=3)
    once = m.until("once", n < 2, n == 2, "it is small at first")
    assert observing.check(m.given(), three).verdict == "holds"
    assert observing.induction(m.given(), three, k=4).verdict == "holds"
    assert observing.check(m.given(), once).verdict == "holds"
    found = observing.check(m.given(), any_step)
    assert found.witness is not None and found.witness.labels() == ["tick()", "tick()", "rest()"]
    with pytest.raises(RocketproofError, match="induction for once"):
        observing.induction(m.given(), once)
    walked = observing.simulate(m.given(), any_step, runs=200, steps=6)
    assert walked.verdict == "violated" and walked.witness is not None and len(walked.witness.states[0]) == 2


def test_limits_and_formula_errors_refer_to_the_original_model() -> None:
    m = counter()
    n = m.variable("n")[()]
    claim = m.until("small", n <= 3, n == 4, "it grows")
    assert observing.check(m.given(), claim, limits=Limits(memory=1)).reason == MEMORY
    row = m.var("row", Bool, over=Int(0, 2), init=False)
    with pytest.raises(RocketproofError) as wrong:
        observing.check(m.given(), m.within("row", row[n], n == 4, "beyond its end", steps=2))
    fault: Any = wrong.value
    assert "index 3 is outside" in str(fault) and len(fault.witness.states[-1]) == m.slots
    assert fault.outcomes[0].reason == MODEL_ERROR


def test_included_model_keeps_its_path_properties() -> None:
    m, other = Model("both"), counter()
    n = other.variable("n")[()]
    other.within("in time", n == 0, n == 3, "3 comes soon", steps=3, clock="tick")
    here = include(m, other, "left")
    (claim,) = m.properties
    assert (claim.clock, claim.goal) == ("left_tick", here(n == 3))
    assert observing.check(m.given(), claim).verdict == "holds"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m, n: m.within("w", n == 0, n == 3, "s", steps=0), "give the number of steps it may take, from 1 to 100,000"),
        (lambda m, n: m.within("w", n == 0, n == 3, "s", steps=2, clock="tock"), "no action 'tock'"),
        (lambda m, n: m.until("u", n, n == 3, "s"), "u"),
    ],
)
def test_invalid_path_properties_are_refused_at_declaration(wrong: Any, said: str) -> None:
    m = counter()
    with pytest.raises(ModelError, match=said):
        wrong(m, m.variable("n")[()])
    assert m.properties == []
