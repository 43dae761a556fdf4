"""The second opinion: plain loops over the interpreter, written independently of the engines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import networkx as nx

from rocketproof_model import EvaluationError, Instance, Property
from rocketproof_model.interpreter import Environment, State, effect, evaluate, holds

Label = tuple[str, tuple[int, ...]]
Edge = tuple[int, str, tuple[int, ...], int]


@dataclass(eq=False)
class Space:
    """All reachable states, in breadth-first order, and all steps between them.

    `edges` are (state, action, arguments, state). `level` counts steps from the initial state; `levels` is their number. `fairness` is that
    of each action, and can be changed.
    """

    instance: Instance
    states: list[State] = field(default_factory=list)
    index: dict[State, int] = field(default_factory=dict)
    level: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    guards: dict[tuple[str, str], tuple[bool, bool]] = field(default_factory=dict)
    witnesses: dict[Property, int | None] = field(default_factory=dict)
    owed: dict[Property, dict[int, int]] = field(default_factory=dict)
    fairness: dict[str, str | None] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        return self.level[-1] + 1

    @property
    def generated(self) -> int:
        """Count the steps and the initial states."""
        return len(self.edges) + self.level.count(0)

    @property
    def deadlocks(self) -> list[int]:
        going = {s for s, *_ in self.edges}
        return [i for i in range(len(self.states)) if i not in going]


def starting(instance: Instance) -> list[State]:
    """Return the initial states: the combinations of initial values that satisfy the conditions."""
    scope = Environment((), {}, instance.constants)
    ways = [{evaluate(term, scope): 0 for term in terms} for variable in instance.model.variables for terms in variable.init]
    return [state for state in itertools.product(*ways) if all(holds(instance, e, state) for e in instance.model.starts)]


def explore(instance: Instance) -> Space:
    """Return every state and step; raises EvaluationError if an action has no value."""
    space = Space(instance)
    space.taken = {a.name: 0 for a in instance.model.actions}
    space.fairness = {a.name: a.fair for a in instance.model.actions}
    space.guards = {(a.name, g.name): (False, False) for a in instance.model.actions for g in a.guards}
    space.states = starting(instance)
    space.index, space.level = {state: number for number, state in enumerate(space.states)}, [0] * len(space.states)
    for number, state in enumerate(space.states):
        for action in instance.model.actions:
            for args in action.instances:
                scope = Environment(state, dict(zip(action.parameters, args, strict=True)), instance.constants)
                for guard in action.guards:
                    answer = bool(evaluate(guard.condition, scope))
                    seen = space.guards[action.name, guard.name]
                    space.guards[action.name, guard.name] = (seen[0] or answer, seen[1] or not answer)
                    if not answer:
                        break
                else:
                    target = effect(instance, state, action, args)
                    if target not in space.index:
                        space.index[target] = len(space.states)
                        space.states.append(target)
                        space.level.append(space.level[number] + 1)
                    space.taken[action.name] += 1
                    space.edges.append((number, action.name, args, space.index[target]))
    return space


def shortest(space: Space, claim: Property) -> int | None:
    """Return the steps of the shortest witness: a state against `always`, a state for `reachable`, a step against `step`, or a deadlock."""
    if claim not in space.witnesses:
        space.witnesses[claim] = next(_witnesses(space, claim), None)
    return space.witnesses[claim]


def _witnesses(space: Space, claim: Property) -> Iterator[int]:
    """Yield the lengths of witnesses, shortest first, because states and steps are in breadth-first order."""
    instance, states, level = space.instance, space.states, space.level
    if claim.kind == "step":
        steps = dict.fromkeys((s, t) for s, _, _, t in space.edges)
        return (level[s] + 1 for s, t in steps if not holds(instance, claim.formula, states[s], states[t]))
    wanted = space.deadlocks if claim.kind == "deadlock_free" else range(len(states))
    return (level[i] for i in wanted if holds(instance, claim.formula, states[i]) == (claim.kind == "reachable"))


def verdict(claim: Property, steps: int | None) -> str:
    """Return the verdict on a property with a witness of this length."""
    return "holds" if (steps is None) != (claim.kind == "reachable") else "violated"


def breaks(space: Space, claim: Property) -> int | None:
    """Return the steps of the shortest path that breaks `until` or `within`: follow a single obligation from each possible start."""
    assert claim.goal is not None
    instance, states = space.instance, space.states
    goal = [holds(instance, claim.goal, s) for s in states]
    asked = [holds(instance, claim.formula, s) for s in states]
    hold = None if claim.hold is None else [holds(instance, claim.hold, s) for s in states]
    onward: dict[int, set[tuple[int, bool]]] = {}
    for s, name, _, t in space.edges:
        onward.setdefault(s, set()).add((t, s != t and claim.clock in ("", name)))
    start = range(space.level.count(0))
    level = {(i, -1) for i in start if not claim.once} | {(i, 0) for i in start if claim.once and not goal[i]}
    seen, steps = set(level), 0
    while level:
        owing = {(i, 0) for i, done in level if done < 0 and asked[i] and not goal[i]} - seen
        seen |= owing
        level |= owing
        if any(done >= 0 and (done == claim.steps if hold is None else not hold[i]) for i, done in level):
            return steps
        following = set()
        for i, done in level:
            for t, counts in onward.get(i, ()):
                if done < 0:
                    following.add((t, -1))
                elif not goal[t]:
                    following.add((t, done + (counts and hold is None)))
        level, steps = following - seen, steps + 1
        seen |= level
    return None


def pending(space: Space, claim: Property) -> dict[int, int]:
    """Return the states that a path reaches with a pending goal, and the fewest steps from the initial state to each."""
    instance, states = space.instance, space.states
    goal = [claim.goal is not None and holds(instance, claim.goal, s) for s in states]
    owing = [claim.goal is None or (holds(instance, claim.formula, s) and not goal[i]) for i, s in enumerate(states)]
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_weighted_edges_from((-1, (i, False), 0) for i in range(space.level.count(0)))
    graph.add_weighted_edges_from(((i, False), (i, True), 0) for i in range(len(states)) if owing[i])
    for s, _, t in {(s, 0, t) for s, _, _, t in space.edges}:
        graph.add_edge((s, False), (t, False), weight=1)
        if not goal[t]:
            graph.add_edge((s, True), (t, True), weight=1)
    far = nx.single_source_dijkstra_path_length(graph, -1)
    return {key[0]: steps for key, steps in far.items() if key != -1 and key[1]}


def lasso(space: Space, claim: Property) -> int | None:
    """Return the steps to the nearest state where a fair path can stay among states with a pending goal; None if the property holds.

    Fairness applies to each action instance (a label is an action with its arguments) and, as in TLA+, to its steps that change the state.
    """
    owed = space.owed[claim] = space.owed.get(claim) or pending(space, claim)
    changes = [(s, name, args, t) for s, name, args, t in space.edges if s != t]
    graph: nx.MultiDiGraph = nx.MultiDiGraph()
    graph.add_nodes_from(owed)
    graph.add_edges_from((s, t, {"by": (name, args)}) for s, name, args, t in changes if s in owed and t in owed)
    fairness = space.fairness
    able: dict[int, set[Label]] = {i: set() for i in owed}
    for s, name, args, _ in changes:
        if s in owed and fairness[name]:
            able[s].add((name, args))
    return min((owed[i] for i in fair_nodes(graph, able, fairness, failing(space, claim))), default=None)


def failing(space: Space, claim: Property) -> set[int]:
    """Return the states that a counterexample loop has to visit: for `eventually_always` those where the formula fails."""
    return {i for i, s in enumerate(space.states) if claim.goal is not None or not holds(space.instance, claim.formula, s)}


def fair_nodes(graph: nx.MultiDiGraph, able: dict[int, set[Label]], fairness: dict[str, str | None], visit: set[int]) -> set[int]:
    """Return the states of strongly connected parts in which a path can stay, treat every fair label fairly, and visit a given state."""
    found: set[int] = set()
    for part in nx.strongly_connected_components(graph):
        if not part & visit:
            continue
        inner = graph.subgraph(part)
        done = {by for _, _, by in inner.edges(data="by")}
        sometimes = set().union(*(able[i] for i in part)) - done
        always = set(sometimes).intersection(*(able[i] for i in part))
        if any(fairness[name] == "weak" for name, _ in always):
            continue
        strong = {label for label in sometimes if fairness[label[0]] == "strong"}
        if strong:
            found |= fair_nodes(graph.subgraph(i for i in part if not able[i] & strong), able, fairness, visit)
        else:
            found |= part
    return found


def faulty(instance: Instance) -> bool:
    """Return whether a reachable state has an action without a value."""
    try:
        explore(instance)
    except EvaluationError:
        return True
    return False


def path_is_real(space: Space, moves: Sequence[tuple[str, tuple[int, ...]]], states: Sequence[State]) -> bool:
    """Return whether a witness starts at an initial state and follows steps of the model."""
    steps = {(s, name, args, t) for s, name, args, t in space.edges}
    numbers = [space.index.get(s) for s in states]
    pairs = zip(moves, numbers, numbers[1:], strict=False)
    return (
        numbers[0] in range(space.level.count(0)) and len(states) == len(moves) + 1 and all((s, *move, t) in steps for move, s, t in pairs)
    )


def shows(space: Space, claim: Property, states: Sequence[State]) -> bool:
    """Return whether the end of a path decides its property."""
    instance = space.instance
    if claim.kind == "step":
        return not holds(instance, claim.formula, states[-2], states[-1])
    stuck = claim.kind != "deadlock_free" or space.index[states[-1]] in space.deadlocks
    return stuck and holds(instance, claim.formula, states[-1]) == (claim.kind == "reachable")


def lasso_is_fair(space: Space, claim: Property, moves: Sequence[Label], states: Sequence[State], loop: int) -> bool:
    """Return whether the lasso owes the goal forever from some state on, or fails in its loop, and neglects no fair label there."""
    instance, owing = space.instance, False
    for state in states if claim.goal is not None else ():
        owing = (owing or holds(instance, claim.formula, state)) and not holds(instance, claim.goal, state)
    circle = [space.index[s] for s in states[loop:]]
    if claim.goal is None:
        owing = any(not holds(instance, claim.formula, space.states[i]) for i in circle)
    if states[-1] != states[loop] or any(claim.goal is not None and holds(instance, claim.goal, space.states[i]) for i in circle):
        return False
    taken = {move for move, s, t in zip(moves[loop:], circle, circle[1:], strict=False) if s != t}
    able = [{(name, args) for s, name, args, t in space.edges if s == i and t != i} for i in circle]
    for action in instance.model.actions:
        for args in action.instances:
            label = (action.name, args)
            asked = [label in here for here in able]
            if label not in taken and ((action.fair == "weak" and all(asked)) or (action.fair == "strong" and any(asked))):
                return False
    return owing
