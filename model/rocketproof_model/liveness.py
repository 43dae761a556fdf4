"""Liveness on the finite state graph: does `formula` always lead to `goal` under the actions' fairness, or hold for ever in the end?

A violation of `leads_to` is a lasso. It goes from an initial state to a state of the formula and continues through states without the goal.
It ends in a cycle of such states that no fairness assumption forbids. A violation of `eventually_always` is a fair cycle through a state in
which the formula fails.

Each action *instance* (an action with its arguments) can be fair. A weakly fair instance cannot be enabled for ever and never happen; a
strongly fair instance cannot be enabled again and again and never happen. As in TLA+ (WF_vars and SF_vars), only steps that change the
state count: an instance whose step would change nothing is not enabled for fairness, and does not happen. Staying in a state for ever is a
lasso too, unless a fair instance can change that state.

An outcome names the fairness it depends on. A violation names the fairness that would forbid the lasso, and whether it would make the
property hold. A property that holds names the fair actions that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import interrupts
from .errors import EvaluationError, LimitReached
from .explicit.edges import STRONG, UNFAIR, WEAK, Bools, Edges, Levels, Long, Nodes, array_addresses
from .explicit.exploration import Exploration
from .explicit.kernel import BITS, compile_masks, mask_words
from .explicit.lasso import FairComponents, Lasso, PendingStates, components, fair_nodes, shortest, waiting
from .explicit.loops import ask_all
from .explicit.table import physical_memory
from .explicit.threads import in_pieces
from .faults import fault_at_end
from .interpreter import State, refusing
from .language import Action, Bool, Expr, Instance, Property, const
from .result import INTERRUPTED, LIVE, MEMORY, Limits, Move, Outcome, Progress, Report, Verdict, Watch, Witness
from .routines import compile_routine
from .search import explore

_LEVEL = {None: UNFAIR, "weak": WEAK, "strong": STRONG}
_WORD = {WEAK: "weak", STRONG: "strong"}
# The maximum of states (31-bit numbers), and the bytes per state and edge of the graph and its analysis, without words and masks.
_MOST, _STATE_BYTES, _EDGE_BYTES = (1 << 31) - 2, 60, 8
# Longer loops are not searched for bounds: the interpreter evaluates each fair instance in each state.
_LOOP_FOR_BOUNDS = 64


@dataclass(frozen=True, eq=False)
class Labels:
    """The action instances of a model by number, in the model's order, and the level of fairness of each."""

    actions: tuple[Action, ...]
    moves: tuple[Move, ...]
    owner: Nodes
    fair: Levels

    @staticmethod
    def of(instance: Instance) -> Labels:
        actions = tuple(instance.model.actions)
        moves = tuple(Move(a.name, args) for a in actions for args in a.instances)
        owner = np.repeat(np.arange(len(actions), dtype=np.int32), [a.count for a in actions])
        levels = np.array([_LEVEL[a.fair] for a in actions], np.int8)
        return Labels(actions, moves, owner, levels[owner])

    def label(self, number: int) -> str:
        return str(self.actions[self.owner[number]].label(self.moves[number].args))

    def leveled(self, action: int, level: int) -> Levels:
        """Return the levels with one action's level set to `level`."""
        return np.where(self.owner == action, np.int8(level), self.fair)


@dataclass(frozen=True, eq=False)
class Space:
    """A state graph with its labels; `state` returns the state of a node. `workers` threads analyse its components."""

    instance: Instance
    graph: Edges
    labels: Labels
    state: Callable[[int], State]
    workers: int = 1


def check(
    instance: Instance,
    properties: Iterable[Property] | None = None,
    *,
    limits: Limits = Limits(),
    report: Report | None = None,
    workers: int = 1,
    checked: bool = True,
    exploration: Exploration | None = None,
) -> list[Outcome]:
    """Decide `leads_to` and `eventually_always` among the given properties (by default the model's); other kinds are left out.

    It needs the whole state graph. `exploration` is a finished result of `explore` for this instance, not up to symmetry; by default it
    explores itself. A violation is a lasso with the shortest prefix and, among these, the shortest loop; `depth` is the length of the
    prefix.

    In `details`:

    - `pending`: the number of states with an obligation;
    - `vacuous`: whether no state has the formula;
    - `shortest_loop`: False if there are too many loops to compare all;
    - `needs_fairness` if it holds: the actions whose fairness cannot be left out;
    - `enough_fairness` if it holds: a set of actions whose fairness suffices;
    - `strengthen` if violated: maps an action to the fairness that alone would make the property hold;
    - `bounds` if violated: pairs of a fair action and a bound of the scope that stops it in the cycle.

    A limit of time, memory or states, or Ctrl-C, gives unknown. If the graph does not fit the limit of memory or the machine's memory, this
    is known before it is built, and `needs_bytes` is its size. Raises ModelFault, an EvaluationError with its path, where the interpreter
    has an error.
    """
    claims = [p for p in (instance.model.properties if properties is None else properties) if p.kind in LIVE]
    if not claims:
        return []
    watch = Watch(limits)
    if exploration is not None and exploration.symmetric:
        exploration = None
    explored = exploration or explore(
        instance, [], workers=workers, limits=replace(limits, disk=None), report=report, checked=checked, symmetry=False
    )
    outcomes: list[Outcome] = []
    reason, needed = explored.reason, 0
    if explored.finished and explored.table is not None:
        needed = explored.table.bytes + _graph_bytes(explored, claims)
        most = limits.memory or physical_memory()
        reason = MEMORY if 0 < most < needed else ""
    if explored.finished and not reason:
        try:
            space, masks = _space(explored, claims, checked, workers)
            common = explored.seconds if exploration is not None else watch.seconds
            for k, claim in enumerate(claims):
                outcome = decide(space, claim, _truths(masks, 2 * k), _truths(masks, 2 * k + 1), watch)
                outcomes.append(replace(outcome, seconds=common + outcome.seconds, transitions=explored.transitions))
                if report is not None:
                    report(Progress("explicit", explored.depth, explored.states, 0, watch.seconds))
        except LimitReached as limit:
            reason = limit.reason
        except MemoryError:
            reason = MEMORY
        except KeyboardInterrupt:
            interrupts.heard()
            reason = INTERRUPTED
    rest = claims[len(outcomes) :]
    size: dict[str, Any] = {"states": explored.states, "transitions": explored.transitions, "depth": explored.depth}
    size["details"] = {"needs_bytes": needed} if reason == MEMORY and needed else {}
    return outcomes + [Outcome(claim, "explicit", "unknown", reason, None, **size, seconds=watch.seconds) for claim in rest]


def verdicts(exploration: Exploration, claims: Iterable[Property], *, checked: bool = True) -> dict[Property, Verdict]:
    """Return whether `leads_to` and `eventually_always` claims hold in the graph of a finished exploration.

    Computes no witnesses and no analysis of fairness, so it takes a fraction of the time of `check`. Raises ModelFault as `check` does.
    """
    live = [p for p in claims if p.kind in LIVE]
    space, masks = _space(exploration, live, checked, 1)
    result: dict[Property, Verdict] = {}
    for k, claim in enumerate(live):
        _, parts = _waiting(space, claim, _truths(masks, 2 * k), _truths(masks, 2 * k + 1))
        result[claim] = "holds" if _holds(space.graph, space.labels.fair, parts) else "violated"
    return result


def _graph_bytes(exploration: Exploration, claims: Sequence[Property]) -> int:
    """Return an upper bound of the bytes of a search's graph and the claims' analysis."""
    formulas = [f for p in claims for f in obligation_terms(p)]
    of_state = _STATE_BYTES + 8 * exploration.kernel.layout.words + 8 * mask_words(formulas)
    return exploration.states * of_state + exploration.transitions * _EDGE_BYTES


def _space(exploration: Exploration, claims: Sequence[Property], checked: bool, workers: int) -> tuple[Space, Long]:
    """Return the graph of a finished exploration, and for each state a mask of the claims' formulas and goals that hold in it."""
    formulas = [f for p in claims for f in obligation_terms(p)]
    instance = exploration.instance
    graph = exploration.graph(most=_MOST, staying=False, workers=workers)
    masks = np.zeros((exploration.states, mask_words(formulas)), np.int64)
    answers = compile_masks("check", exploration.kernel.layout, formulas, checked=checked)
    consts = exploration.kernel.consts(instance)

    def ask(begin: int, end: int) -> int:
        values, states, rows = array_addresses(consts, graph.states[begin:end], masks[begin:end])
        fault = compile_routine(ask_all)(answers, values, states, end - begin, graph.states.shape[1], rows, masks.shape[1])
        return fault if fault < 0 else begin + fault

    fault = next((fault for fault in in_pieces(ask, exploration.states, workers) if fault >= 0), -1)
    if fault >= 0:
        path = graph.path(fault)
        error = fault_at_end(instance, *path, claims)
        raise error or EvaluationError(f"a term without a value in state {path[1][-1]}, which the interpreter does not confirm")
    edges = Edges(graph.first, graph.target, graph.instance, int(graph.level[1]))
    return Space(instance, edges, Labels.of(instance), graph.state, workers), masks


def _truths(masks: Long, number: int) -> Bools:
    """Return the states in which a formula holds."""
    word = np.ascontiguousarray(masks).view(np.uint8).reshape(len(masks), -1)[:, 8 * (number // BITS) + number % BITS // 8]
    truths: Bools = (word >> (number % BITS % 8) & 1).view(np.bool_)
    return truths


def obligation_terms(claim: Property) -> tuple[Expr, Expr]:
    """Return the terms to evaluate in each state, a formula and a goal.

    They are those of `leads_to`; for `eventually_always` the formula is its failure.
    """
    return (claim.formula, claim.goal) if claim.goal is not None else (~claim.formula, const(0, Bool))


def decide(space: Space, claim: Property, formula: Bools, goal: Bools, watch: Watch) -> Outcome:
    """Decide one claim from the states in which the terms of `obligation_terms` hold. Raises LimitReached when the time is over.

    A lasso against `leads_to` never reaches the goal; a lasso against `eventually_always` visits a failing state again and again.
    """
    graph, labels, start = space.graph, space.labels, watch.seconds
    paths, parts = _waiting(space, claim, formula, goal)
    watch.check()
    component = fair_nodes(graph, labels.fair, parts)
    lasso = shortest(graph, labels.fair, paths, parts.visit, component)
    details: dict[str, Any] = {"pending": int(np.count_nonzero(paths.reached)), "vacuous": claim.goal is not None and not formula.any()}
    witness, depth = None, None
    if lasso is None:
        details["needs_fairness"], details["enough_fairness"] = _needs(graph, labels, parts, watch)
    else:
        remedies = _remedies(graph, labels, parts, lasso, watch)
        details["shortest_loop"] = lasso.least
        details["strengthen"] = {r.action.name: _WORD[r.cure] for r in remedies if r.cure}
        details["bounds"] = _bounds(space, lasso)
        moves = tuple(labels.moves[k] for k in lasso.labels)
        states = tuple(space.state(node) for node in lasso.nodes)
        witness = Witness(space.instance, claim, moves, states, lasso.loop, _note(space, lasso, remedies, details["bounds"]))
        depth = lasso.loop
    return Outcome(
        claim, "explicit", "holds" if witness is None else "violated", "exhausted" if witness is None else "", witness,
        graph.size, len(graph.targets), depth, watch.seconds - start, details,
    )  # fmt: skip


def _waiting(space: Space, claim: Property, formula: Bools, goal: Bools) -> tuple[PendingStates, FairComponents]:
    """Return the states in which the claim is pending, as paths to them and as the components in which a lasso may loop."""
    graph, everywhere = space.graph, np.ones(space.graph.size, np.bool_)
    lasting = claim.kind == "eventually_always"
    paths = waiting(graph, everywhere if lasting else formula, goal)
    return paths, FairComponents(components(graph, paths.reached), formula if lasting else everywhere, space.workers)


def _holds(graph: Edges, fair: Levels, parts: FairComponents) -> bool:
    return not (fair_nodes(graph, fair, parts, all_of_them=False) >= 0).any()


def _needs(graph: Edges, labels: Labels, parts: FairComponents, watch: Watch) -> tuple[list[str], list[str]]:
    """Return the fair actions without which the claim would not hold, and a minimal set that suffices."""
    fair = [k for k, action in enumerate(labels.actions) if action.fair is not None]
    needed = []
    for k in fair:
        watch.check()
        if not _holds(graph, labels.leveled(k, UNFAIR), parts):
            needed.append(k)

    def only(actions: Iterable[int]) -> Levels:
        return np.where(np.isin(labels.owner, list(actions)), labels.fair, np.int8(UNFAIR))

    enough = list(needed)
    if not _holds(graph, only(enough), parts):
        enough = list(fair)
        for k in fair:
            watch.check()
            if k not in needed and _holds(graph, only(j for j in enough if j != k), parts):
                enough.remove(k)
    names = [action.name for action in labels.actions]
    return [names[k] for k in needed], [names[k] for k in enough]


@dataclass(frozen=True)
class _Remedy:
    """An instance of an action that a lasso neglects.

    It has the fairness that would forbid the lasso, and the fairness, if any, under which the property holds with all else unchanged.
    """

    action: Action
    example: str
    level: int
    cure: int


def _remedies(graph: Edges, labels: Labels, parts: FairComponents, lasso: Lasso, watch: Watch) -> list[_Remedy]:
    loop = set(lasso.nodes[lasso.loop :])
    taken = set(lasso.labels[lasso.loop :])
    times = np.zeros(len(labels.moves), np.int64)
    for node in loop:
        times[graph.enabled(node)] += 1
    result = []
    for k, action in enumerate(labels.actions):
        have = _LEVEL[action.fair]
        levels = {
            int(i): WEAK if times[i] == len(loop) else STRONG
            for i in np.flatnonzero((labels.owner == k) & (times > 0))
            if int(i) not in taken
        }
        example = min(levels, key=lambda i: (levels[i], i), default=None)
        if example is None or levels[example] <= have:
            continue
        cure = UNFAIR
        for level in range(levels[example], STRONG + 1):
            watch.check()
            if _holds(graph, labels.leveled(k, level), parts):
                cure = level
                break
        result.append(_Remedy(action, labels.label(example), levels[example], cure))
    return result


def _bounds(space: Space, lasso: Lasso) -> list[tuple[str, str]]:
    """Return the fair actions that a bound of the scope, and no rule, stops somewhere in the loop: (action, bound)."""
    loop = sorted(set(lasso.nodes[lasso.loop :]))
    if len(loop) > _LOOP_FOR_BOUNDS:
        return []
    taken = set(lasso.labels[lasso.loop :])
    stopped: dict[tuple[str, str], None] = {}
    states = [space.state(node) for node in loop]
    for number in map(int, np.flatnonzero(space.labels.fair)):
        if number in taken:
            continue
        action, args = space.labels.actions[space.labels.owner[number]], space.labels.moves[number].args
        for state in states:
            guard = refusing(space.instance, state, action, args)
            if guard is not None and guard.bound:
                stopped[action.name, guard.name] = None
    return list(stopped)


def _note(space: Space, lasso: Lasso, remedies: Sequence[_Remedy], bounds: Sequence[tuple[str, str]]) -> str:
    cures = [r for r in remedies if r.cure]
    parts = []
    if lasso.loop == len(lasso.labels) and not len(space.graph.enabled(lasso.nodes[-1])):
        parts.append("it ends in a state that no step changes")
    for remedy in cures or remedies[:2]:
        if remedy.level == WEAK:
            parts.append(f"no fairness on {remedy.action.name}: {remedy.example} stays enabled and never happens")
        else:
            parts.append(f"{remedy.example} is enabled again and again but not strongly fair")
    if not parts:
        parts.append("no promise of fairness rules it out: what is enabled in the loop also happens in it")
    if cures:
        parts.append("the property would hold under " + " or ".join(f"{_WORD[r.cure]} fairness of {r.action.name}" for r in cures))
    elif remedies:
        parts.append("no single action's fairness would make the property hold")
    parts += [f"the scope's bound {guard!r} stops {action}" for action, guard in bounds]
    return "; ".join(parts)
