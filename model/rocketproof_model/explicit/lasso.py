"""Fair lassos of a labelled graph: the algorithms that `liveness` uses, over plain arrays and without any model.

A node may always stay where it is, so every strongly connected component counts, also a single node without an edge. Staying is no step:
edges from a node to itself are left out of the graph, so they neither enable nor take their label. TLA+ defines fairness the same way
(WF_vars, SF_vars).

A component is fair if it meets two conditions. Each weakly fair label is disabled at one of its nodes or taken inside it. Each strongly
fair label is disabled at all of its nodes or taken inside it. A component that fails for weak fairness has no fair cycle. A component that
fails for strong fairness may have one among the nodes where that label is disabled, so these nodes are searched again (Streett). Each round
removes a strongly fair label, so there are at most as many rounds as such labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..routines import compile_routine, get, load, put, routine
from .cycles import shortest_cycle
from .edges import STRONG, Bools, Codes, Edges, Levels, Long, Nodes, array_addresses, byte, int32, put_byte, put_int32
from .threads import in_pieces


@dataclass(frozen=True, eq=False)
class Components:
    """Strongly connected components: number k holds the nodes `order[starts[k]:starts[k + 1]]`, whose `part` is -1 - k.

    The `part` of a node in no component is 0.
    """

    order: Nodes
    starts: Nodes
    part: Nodes


@dataclass(frozen=True, eq=False)
class FairComponents:
    """The components to search for fair cycles with `workers` threads. A cycle has to visit a node of `visit`."""

    components: Components
    visit: Bools
    workers: int = 1


@dataclass(frozen=True, eq=False)
class PendingStates:
    """The nodes in which an obligation can be pending, found breadth first.

    `queue` holds codes in the order in which they were found. The code of a node is twice its number if a path reaches it without a pending
    obligation, and one more if with one. Codes at distance d are at places `levels[d]` to `levels[d + 1]` - 1. An obligation arises in the
    nodes of `arises`, and may be pending in those of `reached`.
    """

    queue: Codes
    levels: Long
    arises: Bools
    reached: Bools

    def at(self, distance: int) -> Codes:
        """Return the part of the queue at this distance."""
        codes: Codes = self.queue[self.levels[distance] : self.levels[distance + 1]]
        return codes


@dataclass(frozen=True)
class Lasso:
    """Nodes and the labels of the edges between them; the last node is the node at `loop`, where the cycle begins.

    If `loop` is the last position, the lasso stays at that node for ever. `least`: no fair loop after a prefix of this length is shorter.
    """

    nodes: tuple[int, ...]
    labels: tuple[int, ...]
    loop: int
    least: bool


def waiting(graph: Edges, formula: Bools, goal: Bools) -> PendingStates:
    """Return the nodes reachable through a node of the formula and from there only through nodes without the goal."""
    arises = formula & ~goal
    seen, reached = (np.zeros(graph.size, np.bool_) for _ in range(2))
    queue = np.empty(2 * graph.size, np.uint32)  # pages that are never written take no memory
    levels = np.empty(2 * graph.size + 1, np.int64)
    arrays = array_addresses(graph.offsets, graph.targets, arises, goal, seen, reached, queue, levels)
    levels = levels[: compile_routine(walk_waiting)(*arrays, graph.starts) + 1].copy()
    return PendingStates(queue[: levels[-1]], levels, arises, reached)


def components(graph: Edges, alive: Bools) -> Components:
    """Return the strongly connected components of the nodes that are `alive`."""
    total = int(np.count_nonzero(alive))
    part = np.zeros(graph.size, np.int32)
    path, edge, low, order = (np.empty(total, np.int32) for _ in range(4))
    starts = np.zeros(total + 1, np.int32)
    arrays = array_addresses(graph.offsets, graph.targets, alive, part, path, edge, low, order, starts)
    parts = compile_routine(tarjan)(*arrays, graph.size, total)
    return Components(order, starts[: parts + 1], part)


def fair_nodes(graph: Edges, fair: Levels, first: FairComponents, *, all_of_them: bool = True) -> Nodes:
    """Return the number of the fair component of each node, or -1; `fair` gives each label's level.

    `first` are the components to start from; a component is fair only if it has a node to visit. Without `all_of_them` the search stops at
    the first round that finds a fair component.
    """
    component = np.full(graph.size, -1, np.int32)
    parts, before = first.components, 0
    while len(parts.order):
        keep = np.zeros(graph.size, np.bool_)

        def judge(begin: int, end: int, parts: Components = parts, keep: Bools = keep, before: int = before) -> bool:
            enabled, taken, touched = (np.zeros(len(fair), kind) for kind in (np.int64, np.bool_, np.int32))
            arrays = array_addresses(
                graph.offsets, graph.targets, graph.labels, fair, parts.order, parts.starts, parts.part, first.visit, component, keep,
                enabled, taken, touched,
            )  # fmt: skip
            return bool(compile_routine(judge_components)(*arrays, begin, end, before))

        some = any(in_pieces(judge, len(parts.starts) - 1, first.workers))
        if (some and not all_of_them) or not keep.any():
            break
        before += len(parts.starts)
        parts = components(graph, keep)
    return component


def shortest(graph: Edges, fair: Levels, paths: PendingStates, visit: Bools, component: Nodes) -> Lasso | None:
    """Return a fair lasso with the shortest prefix and, among these, the shortest loop; None if no path reaches a fair component.

    `component` is the number of each node's fair component, or -1; the loop has to visit a node of `visit`. Among equally short lassos it
    takes the one with the first entry.
    """
    for distance in range(len(paths.levels) - 1):
        codes = paths.at(distance)
        nodes = codes[codes & 1 == 1] >> 1
        homes = [int(node) for node in nodes[component[nodes] >= 0]]
        if homes:
            loop, least = shortest_cycle(graph, fair, visit, component, homes)
            edges = _prefix(graph, paths, loop.home, distance)
            path = (graph.source(edges[0]) if edges else loop.home, *(int(graph.targets[e]) for e in edges + loop.edges))
            return Lasso(path, tuple(int(graph.labels[e]) for e in edges + loop.edges), distance, least)
    return None


def _prefix(graph: Edges, paths: PendingStates, node: int, distance: int) -> list[int]:
    """Return the edges of the path by which the search first reached the node with a pending obligation."""
    edges: list[int] = []
    pending = 1
    for at in range(distance, 0, -1):
        ways = 1 << pending
        if pending and paths.arises[node] and (paths.at(at) == 2 * node).any():
            ways = 3
        codes = paths.at(at - 1)
        step = compile_routine(find_step)(*array_addresses(graph.offsets, graph.targets, codes), len(codes), node, ways)
        assert step >= 0, "no step leads to a node of the queue"
        edge, pending = divmod(step, 2)
        edges.append(edge)
        node = graph.source(edge)
    return edges[::-1]


@routine
def walk_waiting(offsets: int, targets: int, arises: int, goal: int, seen: int, reached: int, queue: int, levels: int, starts: int) -> int:
    """Fill the queue and the levels of `PendingStates` and return the number of levels."""
    head, tail, distance = 0, 0, 0
    for first in range(starts):
        tail = meet(first, arises, seen, reached, queue, tail)
    while head < tail:
        put(levels, distance, head)
        distance += 1
        end = tail
        while head < end:
            code = load(queue + 4 * head, 4)
            head += 1
            for e in range(get(offsets, code >> 1), get(offsets, (code >> 1) + 1)):
                target = int32(targets, e)
                if not code & 1:
                    tail = meet(target, arises, seen, reached, queue, tail)
                elif not byte(goal, target):
                    tail = wait(target, reached, queue, tail)
    put(levels, distance, tail)
    return distance


@routine
def meet(node: int, arises: int, seen: int, reached: int, queue: int, tail: int) -> int:
    """Add a node to the queue without a pending obligation, unless it is there, and with one that arises in it. Returns the queue's end."""
    if byte(seen, node):
        return tail
    put_byte(seen, node, 1)
    put_int32(queue, tail, 2 * node)
    return wait(node, reached, queue, tail + 1) if byte(arises, node) else tail + 1


@routine
def wait(node: int, reached: int, queue: int, tail: int) -> int:
    """Add a node with a pending obligation to the queue, unless it is there. Returns the queue's end."""
    if byte(reached, node):
        return tail
    put_byte(reached, node, 1)
    put_int32(queue, tail, 2 * node + 1)
    return tail + 1


@routine
def find_step(offsets: int, targets: int, codes: int, many: int, node: int, ways: int) -> int:
    """Return twice the first edge from a code's node to the given node, plus 1 for a code with a pending obligation; else -1.

    `ways` selects codes: 1 those without a pending obligation, 2 those with one, 3 both.
    """
    for k in range(many):
        code = load(codes + 4 * k, 4)
        if ways >> (code & 1) & 1:
            for e in range(get(offsets, code >> 1), get(offsets, (code >> 1) + 1)):
                if int32(targets, e) == node:
                    return 2 * e + (code & 1)
    return -1


@routine
def tarjan(
    offsets: int, targets: int, alive: int, number: int, path: int, edge: int, low: int, order: int, starts: int, size: int, total: int
) -> int:
    """Fill `order`, `starts` and `part` of `Components`; `number` is `part`. Returns the number of components. `total` nodes are alive.

    `number` is 0 for a node not visited, and -1 - k once component k is complete. `path` has the nodes on the path and `edge` the next edge
    of each, counted from its first. `low` is the smallest number that each node reaches. `order` has complete components from the front,
    and nodes of incomplete ones from the back.
    """
    count, ordered, parts, top = 0, 0, 0, total
    for root in range(size):
        if not byte(alive, root) or int32(number, root) != 0:
            continue
        depth, entering = 0, root
        while True:
            if entering >= 0:
                count += 1
                put_int32(number, entering, count)
                put_int32(path, depth, entering)
                put_int32(edge, depth, 0)
                put_int32(low, depth, count)
                depth += 1
                top -= 1
                put_int32(order, top, entering)
                entering = -1
            v = int32(path, depth - 1)
            least = int32(low, depth - 1)
            begin, end = get(offsets, v), get(offsets, v + 1)
            e = begin + int32(edge, depth - 1)
            while e < end:
                w = int32(targets, e)
                e += 1
                if byte(alive, w):
                    seen = int32(number, w)
                    if seen == 0:
                        entering = w
                        break
                    if seen > 0 and seen < least:
                        least = seen
            put_int32(edge, depth - 1, e - begin)
            put_int32(low, depth - 1, least)
            if entering >= 0:
                continue
            depth -= 1
            if least == int32(number, v):
                parts += 1
                while True:
                    w = int32(order, top)
                    top += 1
                    put_int32(number, w, -parts)
                    put_int32(order, ordered, w)
                    ordered += 1
                    if w == v:
                        break
                put_int32(starts, parts, ordered)
            if depth == 0:
                break
            if least < int32(low, depth - 1):
                put_int32(low, depth - 1, least)
    return parts


@routine
def judge_components(
    offsets: int, targets: int, labels: int, fair: int, order: int, starts: int, part: int, visit: int, component: int, keep: int,
    enabled: int, taken: int, touched: int, first: int, last: int, before: int,
) -> int:  # fmt: skip
    """Mark the fair ones of the components `first` to `last` - 1 in `component`, by their numbers plus `before`.

    Return whether any is fair.

    `keep` receives the nodes to search again. For each label, `enabled` counts the nodes where it is enabled, and `taken` is whether it is
    taken. Both are 0 before and after the call. `touched` has room for all labels.
    """
    some = 0
    for k in range(first, last):
        begin, end = int32(starts, k), int32(starts, k + 1)
        several, dead, split = 0, 1, 0
        for j in range(begin, end):
            node = int32(order, j)
            if byte(visit, node):
                dead = 0
            for e in range(get(offsets, node), get(offsets, node + 1)):
                label = int32(labels, e)
                if byte(fair, label) != 0:
                    if get(enabled, label) == 0:
                        put_int32(touched, several, label)
                        several += 1
                    put(enabled, label, get(enabled, label) + 1)
                    if int32(part, int32(targets, e)) == -1 - k:
                        put_byte(taken, label, 1)
        for j in range(several):
            label = int32(touched, j)
            if not byte(taken, label):
                if byte(fair, label) == STRONG:
                    split = 1
                elif get(enabled, label) == end - begin:
                    dead = 1
        if not dead:
            for j in range(begin, end):
                node = int32(order, j)
                if split:
                    put_byte(keep, node, 1)
                    for e in range(get(offsets, node), get(offsets, node + 1)):
                        label = int32(labels, e)
                        if byte(fair, label) == STRONG and not byte(taken, label):
                            put_byte(keep, node, 0)
                            break
                else:
                    put_int32(component, node, before + k)
            if not split:
                some = 1
        for j in range(several):
            put(enabled, int32(touched, j), 0)
            put_byte(taken, int32(touched, j), 0)
    return some
