"""Liveness on the finite state graph: does `formula` always lead to `goal` under the actions' fairness, does it hold for ever in the end?

A violation is a lasso: from an initial state to one of the formula, on through states without the goal, and round a
cycle of such states that no fairness assumption forbids; against `eventually_always`, round a fair cycle through a
state where it fails. Fairness is that of each action *instance* (an action with its
arguments): weakly fair, it cannot be enabled without end and never happen; strongly fair, it cannot be enabled again and
again and never happen. As in TLA+ (WF_vars and SF_vars), only steps that change the state count: an instance whose step would
change nothing is for fairness not enabled, and does not happen. Staying in a state for ever is a lasso too unless a fair
instance can change that state.

What an answer depends on is part of it: a violation names the fairness that would have forbidden the lasso and whether that
would make the property hold; a property that holds names the fair actions that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import interrupts
from .errors import EvaluationError, LimitReached
from .explicit.edges import STRONG, UNFAIR, WEAK, Bools, Edges, Levels, Long, Nodes, given
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
# States that numbers of 31 bits tell apart; what the graph and its analysis take beside words and masks, in bytes a state and an edge.
_MOST, _STATE_BYTES, _EDGE_BYTES = (1 << 31) - 2, 60, 8
# Longer loops are not searched for bounds: each state asks each fair instance in the interpreter.
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
        """The levels with one action's set to `level`."""
        return np.where(self.owner == action, np.int8(level), self.fair)


@dataclass(frozen=True, eq=False)
class Space:
    """A state graph with its labels; `state` gives the state of a node. `workers` threads judge its components."""

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

    It needs the whole state graph: `exploration` is one that `explore` has finished for this instance, and not up to symmetry, else
    it explores itself. A violation is a lasso with the shortest prefix, and of those the one with the shortest loop; `depth` is the length
    of the prefix. In `details`: `pending`, the number of states with an obligation; `vacuous`, whether no state has the formula;
    `shortest_loop`, False if loops are so many that one was taken without comparing all; if it holds, `needs_fairness`, the actions whose
    fairness cannot be left out, and `enough_fairness`, a set that suffices; if violated, `strengthen`, from an action
    to the fairness that alone would make it hold, and `bounds`, pairs of a fair action and a bound of the scope that
    stops it in the cycle. A limit of time, memory or states, or Ctrl-C, gives unknown; that the graph does not fit the limit of memory, or
    the machine's, is known before it is made, and `needs_bytes` says what it takes. Raises ModelFault, an EvaluationError with its path,
    where the interpreter meets one.
    """
    claims = [p for p in (instance.model.properties if properties is None else properties) if p.kind in LIVE]
    if not claims:
        return []
    watch = Watch(limits)
    if exploration is not None and exploration.symmetric:
        exploration = None
    found = exploration or explore(
        instance, [], workers=workers, limits=replace(limits, disk=None), report=report, checked=checked, symmetry=False
    )
    outcomes: list[Outcome] = []
    reason, needed = found.reason, 0
    if found.finished and found.table is not None:
        needed = found.table.bytes + _graph_bytes(found, claims)
        most = limits.memory or physical_memory()
        reason = MEMORY if 0 < most < needed else ""
    if found.finished and not reason:
        try:
            space, masks = _space(found, claims, checked, workers)
            common = found.seconds if exploration is not None else watch.seconds
            for k, claim in enumerate(claims):
                outcome = decide(space, claim, _truths(masks, 2 * k), _truths(masks, 2 * k + 1), watch)
                outcomes.append(replace(outcome, seconds=common + outcome.seconds, transitions=found.transitions))
                if report is not None:
                    report(Progress("explicit", found.depth, found.states, 0, watch.seconds))
        except LimitReached as limit:
            reason = limit.reason
        except MemoryError:
            reason = MEMORY
        except KeyboardInterrupt:
            interrupts.heard()
            reason = INTERRUPTED
    rest = claims[len(outcomes) :]
    size: dict[str, Any] = {"states": found.states, "transitions": found.transitions, "depth": found.depth}
    size["details"] = {"needs_bytes": needed} if reason == MEMORY and needed else {}
    return outcomes + [Outcome(claim, "explicit", "unknown", reason, None, **size, seconds=watch.seconds) for claim in rest]


def verdicts(exploration: Exploration, claims: Iterable[Property], *, checked: bool = True) -> dict[Property, Verdict]:
    """Whether `leads_to` and `eventually_always` claims hold in the graph of a finished exploration, and no more than that.

    Without witnesses, and what `check` says of fairness, it takes a fraction of its time. Raises ModelFault as that does.
    """
    live = [p for p in claims if p.kind in LIVE]
    space, masks = _space(exploration, live, checked, 1)
    found: dict[Property, Verdict] = {}
    for k, claim in enumerate(live):
        _, parts = _waiting(space, claim, _truths(masks, 2 * k), _truths(masks, 2 * k + 1))
        found[claim] = "holds" if _holds(space.graph, space.labels.fair, parts) else "violated"
    return found


def _graph_bytes(found: Exploration, claims: Sequence[Property]) -> int:
    """What the graph of a search and the claims' analysis take at most."""
    formulas = [f for p in claims for f in asked(p)]
    of_state = _STATE_BYTES + 8 * found.kernel.layout.words + 8 * mask_words(formulas)
    return found.states * of_state + found.transitions * _EDGE_BYTES


def _space(found: Exploration, claims: Sequence[Property], checked: bool, workers: int) -> tuple[Space, Long]:
    """The graph of a finished exploration, and for each state a mask of the claims' formulas and goals that hold there."""
    formulas = [f for p in claims for f in asked(p)]
    instance = found.instance
    graph = found.graph(most=_MOST, staying=False, workers=workers)
    masks = np.zeros((found.states, mask_words(formulas)), np.int64)
    answers = compile_masks("check", found.kernel.layout, formulas, checked=checked)
    consts = found.kernel.consts(instance)

    def ask(begin: int, end: int) -> int:
        values, states, rows = given(consts, graph.states[begin:end], masks[begin:end])
        fault = compile_routine(ask_all)(answers, values, states, end - begin, graph.states.shape[1], rows, masks.shape[1])
        return fault if fault < 0 else begin + fault

    fault = next((fault for fault in in_pieces(ask, found.states, workers) if fault >= 0), -1)
    if fault >= 0:
        path = graph.path(fault)
        error = fault_at_end(instance, *path, claims)
        raise error or EvaluationError(f"a term without a value in state {path[1][-1]}, which the interpreter does not confirm")
    edges = Edges(graph.first, graph.target, graph.instance, int(graph.level[1]))
    return Space(instance, edges, Labels.of(instance), graph.state, workers), masks


def _truths(masks: Long, number: int) -> Bools:
    """The states where a formula holds."""
    word = np.ascontiguousarray(masks).view(np.uint8).reshape(len(masks), -1)[:, 8 * (number // BITS) + number % BITS // 8]
    found: Bools = (word >> (number % BITS % 8) & 1).view(np.bool_)
    return found


def asked(claim: Property) -> tuple[Expr, Expr]:
    """What is asked of each state: of `leads_to` its formula and its goal; of `eventually_always` where it fails, as the formula."""
    return (claim.formula, claim.goal) if claim.goal is not None else (~claim.formula, const(0, Bool))


def decide(space: Space, claim: Property, formula: Bools, goal: Bools, watch: Watch) -> Outcome:
    """Decide one claim, given where the terms of `asked` hold. Raises LimitReached when the time is over.

    Against `leads_to` a lasso waits for ever; against `eventually_always` it goes through a failing state again and again.
    """
    graph, labels, start = space.graph, space.labels, watch.seconds
    paths, parts = _waiting(space, claim, formula, goal)
    watch.check()
    found = fair_nodes(graph, labels.fair, parts)
    lasso = shortest(graph, labels.fair, paths, parts.visit, found)
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
    """The states in which the claim has not come true yet, as paths to them and as the parts in which a lasso may go round."""
    graph, everywhere = space.graph, np.ones(space.graph.size, np.bool_)
    lasting = claim.kind == "eventually_always"
    paths = waiting(graph, everywhere if lasting else formula, goal)
    return paths, FairComponents(components(graph, paths.reached), formula if lasting else everywhere, space.workers)


def _holds(graph: Edges, fair: Levels, parts: FairComponents) -> bool:
    return not (fair_nodes(graph, fair, parts, all_of_them=False) >= 0).any()


def _needs(graph: Edges, labels: Labels, parts: FairComponents, watch: Watch) -> tuple[list[str], list[str]]:
    """The fair actions without which it would not hold, and a smallest set (none can be left out) that is enough."""
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
    """An action that a lasso neglects: one of its instances, the fairness that would forbid the lasso, and the one (if
    any) under which the property holds, all else unchanged."""

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
    """Fair actions that a bound of the scope, and no rule, stops somewhere in the loop: (action, bound)."""
    loop = sorted(set(lasso.nodes[lasso.loop :]))
    if len(loop) > _LOOP_FOR_BOUNDS:
        return []
    taken = set(lasso.labels[lasso.loop :])
    found: dict[tuple[str, str], None] = {}
    states = [space.state(node) for node in loop]
    for number in map(int, np.flatnonzero(space.labels.fair)):
        if number in taken:
            continue
        action, args = space.labels.actions[space.labels.owner[number]], space.labels.moves[number].args
        for state in states:
            guard = refusing(space.instance, state, action, args)
            if guard is not None and guard.bound:
                found[action.name, guard.name] = None
    return list(found)


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
