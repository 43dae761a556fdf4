"""Liveness against second opinions: brute force over subsets of states, and networkx with its own recursion."""

import itertools
import random
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import routing
from rocketproof_model import Bool, Int, Maybe, Model, any_of, ite, liveness
from rocketproof_model.errors import EvaluationError, LimitReached
from rocketproof_model.explicit import cycles
from rocketproof_model.explicit.edges import STRONG, WEAK, Edges
from rocketproof_model.explicit.lasso import FairComponents, components, fair_nodes
from rocketproof_model.interpreter import holds, initial, successors
from rocketproof_model.liveness import Labels, Space, check, decide
from rocketproof_model.result import INTERRUPTED, MEMORY, STATES, TIME, Limits, Watch
from rocketproof_model.search import explore


def space_of(instance):
    """Build the state graph with the interpreter alone."""
    labels = Labels.of(instance)
    number = {(move.action, move.args): k for k, move in enumerate(labels.moves)}
    states, numbers, edges = [initial(instance)], {initial(instance): 0}, []
    for state in states:
        for step in successors(instance, state):
            if step.state not in numbers:
                numbers[step.state] = len(states)
                states.append(step.state)
            edges.append((numbers[state], numbers[step.state], number[step.action.name, step.args]))
    columns = np.array(edges, np.int64).reshape(-1, 3).T
    return Space(instance, Edges.of(len(states), *columns), labels, states.__getitem__), states


def decided(instance, claim=None):
    claim = claim or next(p for p in instance.model.properties if p.kind == "leads_to")
    space, states = space_of(instance)
    formula, goal = (np.array([holds(instance, f, s) for s in states]) for f in (claim.formula, claim.goal))
    return decide(space, claim, formula, goal, Watch(Limits()))


def graph_model(size, actions, formula, goal):
    """Build a model that walks on the nodes 0..size-1: `actions` maps a name to (fairness, {source: target})."""
    m = Model("walk")
    at = m.var("at", Int(0, size - 1), init=0)
    for name, (fair, edges) in actions.items():

        def walk(a, edges=edges):
            """Go along an edge."""
            a.guard("edge", any_of(at == s for s in edges), "there is an edge")
            value = at
            for source, target in edges.items():
                value = ite(at == source, target, value)
            a.set(at, value)

        m.action(fair=fair, name=name)(walk)
    m.leads_to("live", any_of(at == s for s in formula), any_of(at == s for s in goal), "the formula leads to the goal")
    return m.given()


def random_walk(rng, size, count):
    actions = {}
    for k in range(count):
        sources = [s for s in range(size) if rng.random() < 0.5]
        actions[f"a{k}"] = (rng.choice([None, "weak", "strong"]), {s: rng.randrange(size) for s in sources})
    formula = [s for s in range(size) if rng.random() < 0.6]
    goal = [s for s in range(size) if rng.random() < 0.3]
    return actions, formula, goal


def is_fair(nodes, actions):
    """Return whether a path that visits just `nodes` repeatedly, along all their edges, is fair by WF_vars and SF_vars."""
    for fair, edges in actions.values():
        taken = any(s in nodes and t in nodes and s != t for s, t in edges.items())
        enabled = [s for s in nodes if edges.get(s, s) != s]
        if not taken and ((fair == "weak" and len(enabled) == len(nodes)) or (fair == "strong" and enabled)):
            return False
    return True


def shortest_prefix(size, actions, formula, goal, fair_nodes):
    """Return the length of the shortest path through the formula into `fair_nodes`, by distances in networkx; None without a path."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(e for _, edges in actions.values() for e in edges.items())
    waiting = graph.subgraph(set(range(size)) - set(goal))
    lengths = []
    for start, before in nx.single_source_shortest_path_length(graph, 0).items():
        if start in formula and start not in goal:
            after = nx.single_source_shortest_path_length(waiting, start)
            lengths += [before + after[node] for node in fair_nodes if node in after]
    return min(lengths, default=None)


def by_subsets(size, actions, formula, goal):
    """Second opinion 1: try every set of nodes without the goal as the set that a path visits forever."""
    fair_nodes = set()
    calm = [s for s in range(size) if s not in goal]
    for count in range(1, len(calm) + 1):
        for subset in map(set, itertools.combinations(calm, count)):
            inner = nx.DiGraph()
            inner.add_nodes_from(subset)
            inner.add_edges_from((s, t) for _, edges in actions.values() for s, t in edges.items() if s in subset and t in subset)
            if nx.is_strongly_connected(inner) and is_fair(subset, actions):
                fair_nodes |= subset
    return shortest_prefix(size, actions, formula, goal, fair_nodes)


def by_networkx(size, actions, formula, goal):
    """Second opinion 2: components of networkx, and a recursion that drops a set of nodes at a time."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(e for _, edges in actions.values() for e in edges.items())
    fair_nodes = set()

    def search(nodes):
        for component in map(frozenset, nx.strongly_connected_components(graph.subgraph(nodes))):
            if is_fair(component, actions):
                fair_nodes.update(component)
                continue
            for fair, edges in actions.values():
                moving = {s for s, t in edges.items() if s != t}
                if fair == "strong" and not any(s in component and edges[s] in component for s in moving):
                    rest = component - moving
                    if rest != component:
                        search(rest)
                        break

    search(set(range(size)) - set(goal))
    return shortest_prefix(size, actions, formula, goal, fair_nodes)


def check_witness(outcome):
    """Replay a lasso on the interpreter and check every fairness assumption on it, from the definitions."""
    witness = outcome.witness
    instance, claim = witness.instance, witness.property
    assert len(witness.states) == len(witness.moves) + 1
    assert witness.states[0] == initial(instance)
    for before, move, after in zip(witness.states, witness.moves, witness.states[1:], strict=False):
        assert (move.action, move.args, after) in [(s.action.name, s.args, s.state) for s in successors(instance, before)]
    assert witness.states[witness.loop] == witness.states[-1], "the lasso is not closed"
    goal = [holds(instance, claim.goal, s) for s in witness.states]
    pending = [k for k in range(witness.loop + 1) if holds(instance, claim.formula, witness.states[k]) and not any(goal[k:])]
    assert pending, "no state of the formula is followed by states without the goal only"
    loop = witness.states[witness.loop :]
    enabled = [{(s.action.name, s.args) for s in successors(instance, state) if s.state != state} for state in loop]
    steps = zip(witness.moves[witness.loop :], itertools.pairwise(loop), strict=True)
    taken = {(m.action, m.args) for m, (before, after) in steps if before != after}
    for action in instance.model.actions:
        for args in action.instances:
            key = (action.name, args)
            if action.fair == "weak":
                assert key in taken or any(key not in e for e in enabled), f"{key} is always enabled and never taken"
            if action.fair == "strong":
                assert key in taken or all(key not in e for e in enabled), f"{key} is enabled and never taken"


@pytest.mark.parametrize("seed", range(6))
def test_small_random_walks_agree_with_all_subsets_and_with_networkx(seed):
    rng = random.Random(seed)
    violated = 0
    for case in range(60):
        size = rng.randint(2, 7)
        actions, formula, goal = random_walk(rng, size, rng.randint(1, 5))
        outcome = decided(graph_model(size, actions, formula, goal))
        expected = by_subsets(size, actions, formula, goal)
        assert by_networkx(size, actions, formula, goal) == expected
        what = f"seed {seed} case {case}: {actions}, {formula} ~> {goal}"
        assert outcome.verdict == ("holds" if expected is None else "violated"), what
        if outcome.witness is not None:
            violated += 1
            assert outcome.witness.loop == expected, f"{what}: prefix {outcome.witness.loop}, shortest is {expected}"
            check_witness(outcome)
    assert 5 < violated < 55, "the generated walks should decide both ways"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_larger_random_walks_agree_with_networkx(seed):
    rng = random.Random(100 + seed)
    for case in range(20):
        size = rng.randint(10, 25)
        actions, formula, goal = random_walk(rng, size, rng.randint(3, 9))
        goal = goal[:3]
        outcome = decided(graph_model(size, actions, formula, goal))
        expected = by_networkx(size, actions, formula, goal)
        assert outcome.verdict == ("holds" if expected is None else "violated"), f"seed {seed} case {case}"
        if outcome.witness is not None:
            assert outcome.witness.loop == expected
            check_witness(outcome)


def fewest_steps_round(actions, home, goal):
    """Count the steps of the shortest fair walk from a node back to it without the goal, by breadth-first search over everything a walk
    visits.
    """
    start = (home, frozenset([home]), frozenset())
    level, seen, steps = [start], {start}, 0
    while level:
        for at, nodes, taken in level:
            able = {(name, s) for name, (_, edges) in actions.items() for s in nodes if edges.get(s, s) != s}
            neglected = {name: [s for n, s in able if n == name] for name, (fair, _) in actions.items() if fair and name not in taken}
            starved = any(len(where) == len(nodes) if actions[name][0] == "weak" else where for name, where in neglected.items())
            if at == home and not starved:
                return steps
        following = []
        for at, nodes, taken in level:
            for name, (_, edges) in actions.items():
                to = edges.get(at, at)
                new = (to, nodes | {to}, taken | {name})
                if to != at and to not in goal and new not in seen:
                    seen.add(new)
                    following.append(new)
        level, steps = following, steps + 1
    return None


@pytest.mark.parametrize("seed", range(3))
def test_loop_after_the_shortest_prefix_is_the_shortest(seed):
    rng = random.Random(600 + seed)
    loops = []
    while len(loops) < 20:
        size = rng.randint(4, 7)
        actions, _, goal = random_walk(rng, size, 4)
        actions = {name: (rng.choice(["weak", "strong"]), edges) for name, (_, edges) in actions.items()}
        instance = graph_model(size, actions, range(size), goal)
        outcome = decided(instance)
        if outcome.witness is None or outcome.depth == len(outcome.witness):
            continue
        check_witness(outcome)
        graph = nx.DiGraph()
        graph.add_nodes_from(range(size))
        graph.add_edges_from(e for _, edges in actions.values() for e in edges.items())
        # With every state in the formula, an obligation is pending wherever the goal does not hold.
        entries = [s for s, far in nx.single_source_shortest_path_length(graph, 0).items() if far == outcome.depth and s not in goal]
        shortest = min(filter(None, (fewest_steps_round(actions, home, goal) for home in entries)))
        assert outcome.details["shortest_loop"]
        assert len(outcome.witness) - outcome.depth == shortest, f"{actions}, goal {goal}"
        loops.append(shortest)
    assert max(loops) > 2


def test_loop_is_fair_and_marked_if_too_many_to_compare(monkeypatch):
    monkeypatch.setattr(cycles, "_MOST", 0)
    rng = random.Random(600)
    for _ in range(30):
        actions, formula, goal = random_walk(rng, 6, 4)
        outcome = decided(graph_model(6, actions, formula, goal))
        if outcome.witness is not None:
            check_witness(outcome)
            assert outcome.details["shortest_loop"] == (len(outcome.witness) - outcome.depth in (0, 2))


@pytest.mark.parametrize("seed", range(3))
def test_needed_and_sufficient_fairness_agree_with_the_second_opinion(seed):
    rng = random.Random(200 + seed)
    cases = 0
    while cases < 15:
        size = rng.randint(3, 6)
        actions, formula, goal = random_walk(rng, size, rng.randint(2, 4))
        if not goal or by_subsets(size, actions, formula, goal) is not None:
            continue
        cases += 1

        def holds_without(names, size=size, actions=actions, formula=formula, goal=goal):
            fewer = {k: (None if k in names else fair, e) for k, (fair, e) in actions.items()}
            return by_subsets(size, fewer, formula, goal) is None

        outcome = decided(graph_model(size, actions, formula, goal))
        fair = {k for k, (level, _) in actions.items() if level}
        assert set(outcome.details["needs_fairness"]) == {k for k in fair if not holds_without({k})}
        enough = set(outcome.details["enough_fairness"])
        assert holds_without(fair - enough)
        assert not any(holds_without(fair - enough | {k}) for k in enough), "a smaller set would do"


def test_suggested_strengthening_makes_the_property_hold():
    rng = random.Random(300)
    promised = 0
    for _ in range(80):
        size = rng.randint(3, 6)
        actions, formula, goal = random_walk(rng, size, rng.randint(2, 4))
        outcome = decided(graph_model(size, actions, formula, goal))
        assert outcome.witness is None or outcome.witness.note
        for name, level in outcome.details.get("strengthen", {}).items():
            promised += 1
            assert name in outcome.witness.note
            stronger = {**actions, name: (level, actions[name][1])}
            assert by_subsets(size, stronger, formula, goal) is None
    assert promised > 5


# 0 -> 1 -> 0 ... with an exit to the goal 2 at node 1 only: enabled repeatedly, never continuously.
FLICKER = {"go": (None, {0: 1, 1: 0}), "exit": (None, {1: 2})}


def flicker(**fair):
    return graph_model(3, {k: (fair.get(k), e) for k, (_, e) in FLICKER.items()}, [0], [2])


def test_weak_fairness_does_not_force_an_intermittently_enabled_exit():
    outcome = decided(flicker(go="weak", exit="weak"))
    check_witness(outcome)
    assert outcome.verdict == "violated"
    assert outcome.witness.loop == 0
    assert [m.action for m in outcome.witness.moves] == ["go", "go"]
    assert "exit() is enabled again and again but not strongly fair" in outcome.witness.note
    assert outcome.details["strengthen"] == {"exit": "strong"}


def test_strong_fairness_forces_the_exit_and_both_are_needed():
    outcome = decided(flicker(go="weak", exit="strong"))
    assert outcome.verdict == "holds"
    assert outcome.reason == "exhausted"
    assert outcome.details["needs_fairness"] == ["go", "exit"]


@pytest.mark.parametrize(
    ("actions", "formula", "goal", "loop", "length", "note"),
    [
        # exit is neglected on the cycle through 2, but between 0 and 1 it is never enabled, and go happens continuously.
        ({"go": ("strong", {0: 1, 1: 0}), "round": (None, {1: 2, 2: 0}), "exit": ("strong", {2: 3})}, 0, 3, 0, 2, ""),
        ({"go": ("weak", {0: 1, 1: 2, 2: 3, 3: 1})}, 3, 4, 3, 6, ""),
        ({"go": ("weak", {0: 1, 1: 2, 2: 3, 3: 2})}, 2, 1, 2, 4, ""),
        # The first path to 3 meets the goal at 1; the second has the formula at 2 and then no goal.
        ({"left": ("weak", {0: 1, 1: 3}), "right": ("weak", {0: 2, 2: 3}), "rest": ("weak", {3: 3})}, 2, 1, 2, 2, ""),
        ({"go": ("strong", {0: 1, 1: 2})}, 0, 3, 2, 2, "it ends in a state that no step changes"),
        ({"go": ("strong", {0: 1}), "rest": ("strong", {1: 1})}, 0, 2, 1, 1, "it ends in a state that no step changes"),
    ],
    ids=["part of a component", "formula in the cycle", "goal before the cycle", "pending by path", "deadlock", "unchanging steps"],
)
def test_violation_has_the_shortest_fair_lasso(actions, formula, goal, loop, length, note):
    outcome = decided(graph_model(5, actions, [formula], [goal]))
    check_witness(outcome)
    assert (outcome.verdict, outcome.witness.loop, len(outcome.witness)) == ("violated", loop, length)
    assert note in outcome.witness.note


def test_without_fairness_the_walk_can_stay():
    outcome = decided(flicker(exit="strong"))
    check_witness(outcome)
    assert (outcome.witness.loop, len(outcome.witness)) == (0, 0)
    assert "no fairness on go: go() stays enabled and never happens" in outcome.witness.note


def test_starvation_by_an_unfair_rival_is_named():
    busy = {"work": (None, {0: 0}), "finish": (None, {0: 1})}
    outcome = decided(graph_model(2, busy, [0], [1]))
    assert "no fairness on finish" in outcome.witness.note
    assert outcome.details["strengthen"] == {"finish": "weak"}
    assert decided(graph_model(2, {**busy, "finish": ("weak", {0: 1})}, [0], [1])).verdict == "holds"


def test_unchanging_step_does_not_count_for_fairness():
    # TLC finds no violation: SF_at(act) requires a step of act that changes `at`, and at 1 such a step is possible repeatedly.
    walk = {"tick": ("weak", {0: 1, 1: 0}), "act": ("strong", {0: 0, 1: 2})}
    outcome = decided(graph_model(3, walk, [0, 1, 2], [2]))
    assert outcome.verdict == "holds"
    assert outcome.details["needs_fairness"] == ["tick", "act"]
    weaker = decided(graph_model(3, {**walk, "act": ("weak", walk["act"][1])}, [0, 1, 2], [2]))
    check_witness(weaker)
    assert [m.action for m in weaker.witness.moves] == ["tick", "tick"]
    assert weaker.details["strengthen"] == {"act": "strong"}


def test_goal_on_the_cycle_follows_each_formula():
    # A search that remembers visited states but not their pending obligations fails on such cycles.
    ring = {"go": ("weak", {0: 1, 1: 2, 2: 0})}
    assert decided(graph_model(3, ring, [0, 1, 2], [1])).verdict == "holds"


def test_fairness_applies_to_each_instance():
    m = Model("two")
    Who = m.index("Who", 2)
    done = m.var("done", Bool, over=Who, init=False)
    busy = m.var("busy", Bool, init=False)

    @m.action(fair="weak", w=Who)
    def serve(a, w):
        """An element is served, any number of times."""
        a.set(done[w], True)
        a.set(busy, ~busy)

    m.eventually("both", done[0] & done[1], "both are served")
    assert decided(m.given()).verdict == "holds"


def test_the_bound_that_stops_a_fair_action_is_named():
    m = Model("counter")
    n = m.var("n", Int(0, 2), init=0)

    @m.action(fair="weak")
    def tick(a):
        """Count on."""
        a.bound("room", n < 2, "the scope has room")
        a.set(n, n + 1)

    m.eventually("three", n >= 3, "three is reached")
    outcome = decided(m.given())
    assert outcome.details["bounds"] == [("tick", "room")]
    assert "bound 'room' stops tick" in outcome.witness.note


def test_formula_that_never_holds_is_vacuous():
    assert decided(graph_model(3, {"go": ("weak", {0: 1})}, [2], [1])).details["vacuous"]
    assert not decided(graph_model(3, {"go": ("weak", {0: 1})}, [0], [1])).details["vacuous"]


def test_time_limit_ends_the_search():
    instance = flicker()
    space, states = space_of(instance)
    nothing = np.zeros(len(states), bool)
    with pytest.raises(LimitReached, match="time"):
        decide(space, instance.model.properties[0], nothing, nothing, Watch(Limits(seconds=0.0)))


@pytest.mark.slow
def test_a_component_of_fifty_thousand_states_is_searched_without_recursion():
    size = 50_000
    ring = np.arange(size)
    graph = Edges.of(size, ring, np.roll(ring, -1), np.zeros(size, int))
    instance = graph_model(2, {"go": ("strong", {0: 1})}, [0], [1])
    space = Space(instance, graph, Labels.of(instance), lambda node: (node,))
    outcome = decide(space, instance.model.properties[0], ring == size - 1, ring == size, Watch(Limits()))
    assert outcome.witness.loop == size - 1
    assert len(outcome.witness) == 2 * size - 1


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_share_the_components(workers):
    # Pairs of nodes that reach each other; from every second pair a strongly fair label leads away that is never taken.
    pairs = 70_000
    first, away = np.arange(pairs) * 2, np.arange(1, pairs, 2) * 2
    columns = ((first, first + 1, 0), (first + 1, first, 0), (away, np.full(len(away), 2 * pairs), 1))
    source, target = (np.concatenate([column[k] for column in columns]) for k in (0, 1))
    label = np.repeat([0, 0, 1], [pairs, pairs, len(away)])
    graph = Edges.of(2 * pairs + 1, source, target, label)
    everywhere = np.ones(graph.size, np.bool_)
    for level, fair_ones in ((STRONG, first[::2]), (WEAK, first)):
        parts = FairComponents(components(graph, everywhere), everywhere, workers)
        found = fair_nodes(graph, np.array([WEAK, level], np.int8), parts)
        assert (np.flatnonzero(found[:-1:2] >= 0) * 2 == fair_ones).all() and (found[:-1:2] == found[1::2]).all()
        assert len(np.unique(found)) == len(fair_ones) + (2 if level == STRONG else 1)


# -- through the compiled search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_search_gives_the_same_answers(seed):
    rng = random.Random(400 + seed)
    size = rng.randint(8, 20)
    actions, formula, goal = random_walk(rng, size, 5)
    instance = graph_model(size, actions, formula, goal[:3])
    model = instance.model
    at = model.variable("at")[()]
    for k in range(40):
        low, high = rng.randrange(size), rng.randrange(size)
        model.leads_to(f"also {k}", at >= low, (at == high) | (at == k % size), "from some nodes to others")
    outcomes = check(instance)
    assert [o.property for o in outcomes] == model.properties
    verdicts = set()
    for outcome in outcomes:
        plain = decided(instance, outcome.property)
        assert (outcome.verdict, outcome.states, outcome.depth) == (plain.verdict, plain.states, plain.depth)
        assert outcome.details["vacuous"] == plain.details["vacuous"]
        assert outcome.details.get("needs_fairness") == plain.details.get("needs_fairness")
        if outcome.witness is not None:
            check_witness(outcome)
        verdicts.add(outcome.verdict)
    assert verdicts == {"holds", "violated"}
    alone = liveness.verdicts(explore(instance, [], symmetry=False), model.properties)
    assert alone == {outcome.property: outcome.verdict for outcome in outcomes}


def routes(**fair):
    """Build the routing model with these actions fair, and claims about every broker's registration and the topic's creation."""
    m = routing.model()
    m.actions = [replace(a, fair=fair.get(a.name)) for a in m.actions]
    registered, created = m.variable("registered"), m.variable("created")
    m.leads_to("registers", ~registered[1], registered[1], "an unregistered broker registers")
    m.eventually("appears", created[0] | created[1], "some broker gets the topic")
    return m


def decided_by_search(model):
    return [o.verdict for o in check(model.given())]


def test_fairness_needed_by_the_routing_model():
    fair = {"fetch_route": "weak", "send": "strong", "handle": "weak", "register": "strong", "refresh": "weak"}
    outcomes = {o.property.id: o for o in check(routes(**fair).given(), workers=2)}
    assert {key: o.verdict for key, o in outcomes.items()} == {"registers": "holds", "appears": "holds"}
    assert outcomes["registers"].states == 326_684
    assert outcomes["registers"].details["needs_fairness"] == ["register"]
    assert outcomes["appears"].details["needs_fairness"] == ["fetch_route", "send", "handle"]


def test_witness_does_not_depend_on_the_number_of_workers():
    instance = routes(register="strong", handle="weak", fetch_route="weak").given()
    exploration = explore(instance, [])
    one, two = check(instance, exploration=exploration), check(instance, workers=2)
    assert [o.verdict for o in one] == [o.verdict for o in two] == ["holds", "violated"]
    check_witness(one[1])
    assert (one[1].witness.moves, one[1].witness.loop) == (two[1].witness.moves, two[1].witness.loop)
    assert "no fairness on send" in one[1].witness.note
    assert one[1].details["strengthen"] == {"send": "weak"}
    assert decided_by_search(routes(register="strong", handle="weak", fetch_route="weak", send="weak")) == ["holds", "holds"]


def test_limits_give_unknown_with_the_reason():
    instance = routes().given()
    for limits, reason in ((Limits(states=1000), STATES), (Limits(seconds=0.0), TIME), (Limits(memory=10_000_000), MEMORY)):
        assert {(o.verdict, o.reason) for o in check(instance, limits=limits)} == {("unknown", reason)}
    exploration = explore(instance, [])
    outcomes = check(instance, limits=Limits(memory=10_000_000), exploration=exploration)
    assert {(o.verdict, o.reason) for o in outcomes} == {("unknown", MEMORY)}
    (needed,) = {o.details["needs_bytes"] for o in outcomes}
    assert 76 * exploration.states + 8 * exploration.transitions < needed < 120 * exploration.states + 8 * exploration.transitions
    enough, too_little = (check(instance, limits=Limits(memory=needed + k), exploration=exploration) for k in (0, -1))
    assert {o.verdict for o in too_little} == {"unknown"} != {o.verdict for o in enough}


def test_ctrl_c_keeps_decided_verdicts():
    instance = routes(register="strong").given()

    def stop(progress):
        raise KeyboardInterrupt

    outcomes = check(instance, exploration=explore(instance, []), report=stop)
    assert [(o.verdict, o.reason) for o in outcomes] == [("holds", "exhausted"), ("unknown", INTERRUPTED)]


def test_formula_without_a_value_is_an_error():
    m = Model("hole")
    Who = m.index("Who", 2)
    who = m.var("who", Maybe(Who), init=None)

    @m.action()
    def choose(a):
        """Choose the second."""
        a.set(who, 1)

    m.leads_to("hole", who.get == 1, who.is_some, "asks for an element where there is none")
    with pytest.raises(EvaluationError, match="None where its element is asked"):
        check(m.given())


def test_other_kinds_of_properties_are_left_out():
    m = routing.model()
    assert check(m.given()) == []
