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

import numpy as np

from ..compiled import compiled
from .cycles import shortest_cycle
from .edges import Bools, Edges, Levels, Long, Nodes


@dataclass(frozen=True, eq=False)
class Components:
    """Strongly connected components: number k holds the nodes `order[starts[k]:starts[k + 1]]`."""

    order: Nodes
    starts: Long


@dataclass(frozen=True, eq=False)
class Parts:
    """The components to search for fair cycles, and the nodes of which such a cycle has to visit one."""

    components: Components
    visit: Bools


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

    If `loop` is the last position, the lasso stays at that node for ever. `least`: no fair loop behind so short a prefix is shorter.
    """

    nodes: tuple[int, ...]
    labels: tuple[int, ...]
    loop: int
    least: bool


def waiting(graph: Edges, formula: Bools, goal: Bools) -> Waiting:
    """Nodes reachable through a node of the formula and from there through nodes without the goal only."""
    return Waiting(*_waiting(graph.offsets, graph.targets, formula & ~goal, goal, graph.starts))


def components(graph: Edges, alive: Bools) -> Components:
    """Strongly connected components of the nodes that are `alive`."""
    return Components(*_tarjan(graph.offsets, graph.targets, alive))


def fair_nodes(graph: Edges, fair: Levels, first: Parts, *, all_of_them: bool = True) -> Nodes:
    """For each node the number of the fair component it is in, or -1; `fair` gives each label's level.

    `first` are the components to start from; one is fair only if it has a node to visit.
    Without `all_of_them` it stops at the first round that finds one.
    """
    found = np.full(graph.size, -1, np.int32)
    parts, number = first.components, 0
    while len(parts.order):
        keep = np.zeros(graph.size, np.bool_)
        before = number
        number = _judge(graph.offsets, graph.targets, graph.labels, fair, parts.order, parts.starts, first.visit, found, keep, number)
        if (number > before and not all_of_them) or not keep.any():
            break
        parts = components(graph, keep)
    return found


def shortest(graph: Edges, fair: Levels, paths: Waiting, visit: Bools, found: Nodes) -> Lasso | None:
    """A fair lasso with the shortest prefix, and of these one with the shortest loop; None if no path reaches a fair component.

    `found` are the fair components, `visit` the nodes of which the loop has to visit one. Of equal ones it takes that with the first entry.
    """
    inside = found[paths.order] >= 0
    if not inside.any():
        return None
    first = int(np.argmax(inside))
    level = np.flatnonzero(inside & (paths.depth == paths.depth[first]))
    loop, least = shortest_cycle(graph, fair, visit, found, [int(paths.order[k]) for k in level])
    edges = _prefix(graph, paths, loop.home)
    nodes = (graph.source(edges[0]) if edges else loop.home, *(int(graph.targets[e]) for e in edges + loop.edges))
    return Lasso(nodes, tuple(int(graph.labels[e]) for e in edges + loop.edges), len(edges), least)


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
    offsets: Long,
    targets: Nodes,
    labels: Nodes,
    fair: Levels,
    order: Nodes,
    starts: Long,
    visit: Bools,
    found: Nodes,
    keep: Bools,
    number: int,
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
        dead = True
        for j in range(starts[k], starts[k + 1]):
            dead &= not visit[order[j]]
            for e in range(offsets[order[j]], offsets[order[j] + 1]):
                label = labels[e]
                if fair[label] != 0:
                    if enabled[label] == 0:
                        touched[several] = label
                        several += 1
                    enabled[label] += 1
                    if part[targets[e]] == k:
                        taken[label] = True
        split = False
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
