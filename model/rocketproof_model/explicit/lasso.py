"""Fair lassos of a labelled graph: the algorithms below `liveness`, over plain arrays and without any model.

A node may always stay where it is, so every strongly connected component counts, also one of a single node without an
edge. Staying is no step: an edge from a node to itself is left out when the edges are made, so its label is neither enabled
nor taken by it, as TLA+ reads fairness (WF_vars, SF_vars). A component is fair if each weakly fair label is disabled at one of
its nodes or taken inside it, and each strongly fair label is disabled at all of them or taken inside it. A component that
fails for weak fairness holds no fair cycle at all; one that fails for strong fairness may hold one among the nodes where that
label is disabled, so these are searched again (Streett). Each such round takes a strongly fair label away, so there are at
most as many rounds as these labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

UNFAIR, WEAK, STRONG = 0, 1, 2
Bools = NDArray[np.bool_]
Nodes = NDArray[np.int32]
Long = NDArray[np.int64]
Levels = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges grouped by source: those of node s are `offsets[s]:offsets[s + 1]` of `targets` and `labels`.

    A node has at most one edge of each label, and none to itself; the label is enabled at the node if it has one. The first `starts`
    nodes are where paths begin.
    """

    offsets: Long
    targets: Nodes
    labels: Nodes
    starts: int = 1

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of(size: int, sources: NDArray[Any], targets: NDArray[Any], labels: NDArray[Any], starts: int = 1) -> Edges:
        """Group edges by source, without those from a node to itself; those of one source keep their order."""
        moving = sources != targets
        if not moving.all():
            sources, targets, labels = sources[moving], targets[moving], labels[moving]
        offsets = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
        if len(sources) and np.any(sources[1:] < sources[:-1]):
            order = np.argsort(sources, kind="stable")
            targets, labels = targets[order], labels[order]
        return Edges(offsets, targets.astype(np.int32, copy=False), labels.astype(np.int32, copy=False), starts)

    def enabled(self, node: int) -> Nodes:
        """The labels of the node's edges."""
        return self.labels[self.offsets[node] : self.offsets[node + 1]]

    def source(self, edge: int) -> int:
        return int(np.searchsorted(self.offsets, edge, side="right")) - 1


@dataclass(frozen=True, eq=False)
class Components:
    """Strongly connected components: number k holds the nodes `order[starts[k]:starts[k + 1]]`."""

    order: Nodes
    starts: Long


@dataclass(frozen=True, eq=False)
class Waiting:
    """Where an obligation can be pending, found breadth first.

    `order` holds the nodes that a path reaches with the obligation still pending, nearest first, and `depth` their
    distances. `parent` has an edge for each node without (first half) and with (second half) a pending obligation, -1
    for the initial node, -2 where the obligation arose and -3 where no path leads.
    """

    order: Nodes
    depth: Nodes
    parent: Long


@dataclass(frozen=True)
class Lasso:
    """Nodes and the labels of the edges between them; the last node is the node at `loop`, where the cycle begins.

    If `loop` is the last position, the lasso stays at that node for ever.
    """

    nodes: tuple[int, ...]
    labels: tuple[int, ...]
    loop: int


def waiting(graph: Edges, formula: Bools, goal: Bools) -> Waiting:
    """Nodes reachable through a node of the formula and from there through nodes without the goal only."""
    return Waiting(*_waiting(graph.offsets, graph.targets, formula & ~goal, goal, graph.starts))


def components(graph: Edges, alive: Bools) -> Components:
    """Strongly connected components of the nodes that are `alive`."""
    return Components(*_tarjan(graph.offsets, graph.targets, alive))


def fair_nodes(graph: Edges, fair: Levels, first: Components, *, all_of_them: bool = True) -> Nodes:
    """For each node the number of the fair component it is in, or -1; `fair` gives each label's level.

    `first` are the components to start from. Without `all_of_them` it stops at the first round that finds one.
    """
    found = np.full(graph.size, -1, np.int32)
    parts, number = first, 0
    while len(parts.order):
        keep = np.zeros(graph.size, np.bool_)
        before = number
        number = _judge(graph.offsets, graph.targets, graph.labels, fair, parts.order, parts.starts, found, keep, number)
        if (number > before and not all_of_them) or not keep.any():
            break
        parts = components(graph, keep)
    return found


def shortest(graph: Edges, fair: Levels, paths: Waiting, found: Nodes) -> Lasso | None:
    """A fair lasso with the shortest prefix, given the fair components; None if no path reaches any.

    Of several entries at that distance it takes the first where staying is fair, else the first.
    """
    inside = found[paths.order] >= 0
    if not inside.any():
        return None
    first = int(np.argmax(inside))
    level = np.flatnonzero(inside & (paths.depth == paths.depth[first]))
    staying = (int(k) for k in level if not _demands(graph, fair, int(paths.order[k])))
    entry = int(paths.order[next(staying, first)])
    return _lasso(graph, fair, found, entry, _prefix(graph, paths, entry))


def _demands(graph: Edges, fair: Levels, node: int) -> bool:
    return bool(fair[graph.enabled(node)].any())


def _prefix(graph: Edges, paths: Waiting, node: int) -> list[int]:
    edges: list[int] = []
    at = node + graph.size
    while True:
        edge = int(paths.parent[at])
        if edge == -1:
            return edges[::-1]
        if edge == -2:
            at -= graph.size
        else:
            edges.append(edge)
            at = graph.source(edge) + (graph.size if at >= graph.size else 0)


def _lasso(graph: Edges, fair: Levels, found: Nodes, entry: int, prefix: list[int]) -> Lasso:
    edges = prefix + _cycle(graph, fair, found, entry)
    nodes = (graph.source(edges[0]) if edges else entry, *(int(graph.targets[e]) for e in edges))
    return Lasso(nodes, tuple(int(graph.labels[e]) for e in edges), len(prefix))


def _cycle(graph: Edges, fair: Levels, found: Nodes, home: int) -> list[int]:
    """Edges of a short fair closed walk from `home` inside its component: always to the nearest thing still demanded."""
    weak = np.zeros(len(fair), np.bool_)
    weak[graph.enabled(home)] = True
    weak &= fair == WEAK
    strong = np.zeros(len(fair), np.bool_)
    taken = np.zeros(len(fair), np.bool_)
    seen, parent = np.full(graph.size, -1, np.int32), np.empty(graph.size, np.int64)
    queue = np.empty(int(np.count_nonzero(found == found[home])), np.int32)

    def visit(node: int) -> None:
        here = np.zeros(len(fair), np.bool_)
        here[graph.enabled(node)] = True
        np.logical_and(weak, here, out=weak)
        np.logical_or(strong, here & (fair == STRONG) & ~taken, out=strong)

    visit(home)
    walk: list[int] = []
    at, search = home, 0
    while True:
        goal = home if not (weak.any() or strong.any()) else -1
        if at == goal:
            return walk
        node, last = _nearest(graph.offsets, graph.targets, graph.labels, found, at, goal, weak, strong, search, seen, parent, queue)
        search += 1
        assert node >= 0, "the component is not fair"
        piece = [] if last < 0 else [int(last)]
        while node != at:
            piece.append(int(parent[node]))
            node = graph.source(piece[-1])
        for edge in reversed(piece):
            label, at = graph.labels[edge], int(graph.targets[edge])
            taken[label] = True
            weak[label] = strong[label] = False
            visit(at)
            walk.append(edge)


@compiled
def _waiting(offsets: Long, targets: Nodes, pending: Bools, goal: Bools, starts: int) -> tuple[Nodes, Nodes, Long]:
    n = goal.size
    parent = np.full(2 * n, -3, np.int64)
    depth = np.zeros(2 * n, np.int32)
    queue = np.empty(2 * n, np.int64)
    order = np.empty(n, np.int32)
    head = tail = count = 0
    for first in range(starts):
        parent[first] = -1
        queue[tail] = first
        tail += 1
        if pending[first]:
            parent[first + n] = -2
            queue[tail] = first + n
            tail += 1
    while head < tail:
        at = queue[head]
        head += 1
        shift = n if at >= n else 0
        node = at - shift
        if shift:
            order[count] = node
            count += 1
        for e in range(offsets[node], offsets[node + 1]):
            target = targets[e]
            if shift and goal[target]:
                continue
            to = target + shift
            if parent[to] == -3:
                parent[to] = e
                depth[to] = depth[at] + 1
                queue[tail] = to
                tail += 1
                if not shift and pending[target] and parent[to + n] == -3:
                    parent[to + n] = -2
                    depth[to + n] = depth[to]
                    queue[tail] = to + n
                    tail += 1
    order = order[:count].copy()
    return order, depth[order + n], parent


@compiled
def _tarjan(offsets: Long, targets: Nodes, alive: Bools) -> tuple[Nodes, Long]:
    n = alive.size
    total = 0
    for v in range(n):
        total += alive[v]
    done = np.int32(2**31 - 1)
    number = np.zeros(n, np.int32)  # 0 not seen, `done` once its component is complete
    low = np.zeros(n, np.int32)
    edge = np.empty(n, np.int64)
    path = np.empty(total, np.int32)
    stack = np.empty(total, np.int32)
    order = np.empty(total, np.int32)
    starts = np.zeros(total + 1, np.int64)
    count = found = pushed = parts = 0
    for root in range(n):
        if not alive[root] or number[root] != 0:
            continue
        depth = 0
        entering = root
        while True:
            if entering >= 0:
                count += 1
                number[entering] = low[entering] = count
                edge[entering] = offsets[entering]
                path[depth] = entering
                depth += 1
                stack[pushed] = entering
                pushed += 1
                entering = -1
            v = path[depth - 1]
            end = offsets[v + 1]
            e = edge[v]
            while e < end:
                w = targets[e]
                e += 1
                if alive[w]:
                    if number[w] == 0:
                        entering = w
                        break
                    if number[w] < low[v]:
                        low[v] = number[w]
            edge[v] = e
            if entering >= 0:
                continue
            depth -= 1
            if low[v] == number[v]:
                while True:
                    pushed -= 1
                    w = stack[pushed]
                    number[w] = done
                    order[found] = w
                    found += 1
                    if w == v:
                        break
                parts += 1
                starts[parts] = found
            if depth == 0:
                break
            u = path[depth - 1]
            if low[v] < low[u]:
                low[u] = low[v]
    return order, starts[: parts + 1].copy()


@compiled
def _judge(
    offsets: Long, targets: Nodes, labels: Nodes, fair: Levels, order: Nodes, starts: Long, found: Nodes, keep: Bools, number: int
) -> int:
    """Mark fair components in `found` from `number` on, and in `keep` what remains to be searched; the next number."""
    part = np.full(found.size, -1, np.int32)
    for k in range(starts.size - 1):
        for j in range(starts[k], starts[k + 1]):
            part[order[j]] = k
    enabled = np.zeros(fair.size, np.int64)
    taken = np.zeros(fair.size, np.bool_)
    touched = np.empty(fair.size, np.int32)
    for k in range(starts.size - 1):
        size = starts[k + 1] - starts[k]
        several = 0
        for j in range(starts[k], starts[k + 1]):
            for e in range(offsets[order[j]], offsets[order[j] + 1]):
                label = labels[e]
                if fair[label] != 0:
                    if enabled[label] == 0:
                        touched[several] = label
                        several += 1
                    enabled[label] += 1
                    if part[targets[e]] == k:
                        taken[label] = True
        dead = split = False
        for j in range(several):
            label = touched[j]
            if not taken[label]:
                dead |= fair[label] == 1 and enabled[label] == size
                split |= fair[label] == 2
        if split and not dead:
            for j in range(starts[k], starts[k + 1]):
                node = order[j]
                keep[node] = True
                for e in range(offsets[node], offsets[node + 1]):
                    if fair[labels[e]] == 2 and not taken[labels[e]]:
                        keep[node] = False
                        break
        elif not dead:
            for j in range(starts[k], starts[k + 1]):
                found[order[j]] = number
            number += 1
        for j in range(several):
            enabled[touched[j]] = 0
            taken[touched[j]] = False
    return number


@compiled
def _nearest(
    offsets: Long, targets: Nodes, labels: Nodes, found: Nodes, start: int, goal: int, weak: Bools, strong: Bools,
    search: int, seen: Nodes, parent: Long, queue: Nodes,
) -> tuple[int, int]:  # fmt: skip
    """Search the component of `start`: the nearest node and, if an edge is what was sought, that edge (else -1).

    Sought is the node `goal`, or, if that is -1, an edge whose label is demanded or a node where a label of `weak` is disabled.
    """
    open_weak = 0
    for label in range(weak.size):
        open_weak += weak[label]
    head, tail = 0, 1
    queue[0] = start
    seen[start] = search
    while head < tail:
        node = queue[head]
        head += 1
        if node == goal:
            return node, -1
        if goal < 0:
            still = 0
            for e in range(offsets[node], offsets[node + 1]):
                still += weak[labels[e]]
            if still < open_weak:
                return node, -1
            for e in range(offsets[node], offsets[node + 1]):
                if (weak[labels[e]] or strong[labels[e]]) and found[targets[e]] == found[start]:
                    return node, e
        for e in range(offsets[node], offsets[node + 1]):
            target = targets[e]
            if found[target] == found[start] and seen[target] != search:
                seen[target] = search
                parent[target] = e
                queue[tail] = target
                tail += 1
    return -1, -1
