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
from .edges import Bools, Codes, Edges, Levels, Long, Nodes
from .threads import in_pieces


@dataclass(frozen=True, eq=False)
class Components:
    """Strongly connected components: number k holds the nodes `order[starts[k]:starts[k + 1]]`, whose `part` is -1 - k.

    The `part` of a node that is in none is 0.
    """

    order: Nodes
    starts: Nodes
    part: Nodes


@dataclass(frozen=True, eq=False)
class Parts:
    """The components to search for fair cycles, by so many threads, and the nodes of which such a cycle has to visit one."""

    components: Components
    visit: Bools
    workers: int = 1


@dataclass(frozen=True, eq=False)
class Waiting:
    """Where an obligation can be pending, found breadth first.

    `queue` holds twice the number of each node that a path reaches without a pending obligation, and one more where it reaches
    it with one, in the order in which they were found; those at distance d from place `levels[d]` to `levels[d + 1]`. An obligation arises
    in the nodes of `arises`, and may be pending in those of `reached`.
    """

    queue: Codes
    levels: Long
    arises: Bools
    reached: Bools

    def at(self, distance: int) -> Codes:
        """The part of the queue at this distance."""
        found: Codes = self.queue[self.levels[distance] : self.levels[distance + 1]]
        return found


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
    arises = formula & ~goal
    queue, levels, reached = _waiting(graph.offsets, graph.targets, arises, goal, graph.starts)
    return Waiting(queue, levels, arises, reached)


def components(graph: Edges, alive: Bools) -> Components:
    """Strongly connected components of the nodes that are `alive`."""
    return Components(*_tarjan(graph.offsets, graph.targets, alive))


def fair_nodes(graph: Edges, fair: Levels, first: Parts, *, all_of_them: bool = True) -> Nodes:
    """For each node the number of the fair component it is in, or -1; `fair` gives each label's level.

    `first` are the components to start from; one is fair only if it has a node to visit.
    Without `all_of_them` it stops at the first round that finds one.
    """
    found = np.full(graph.size, -1, np.int32)
    parts, before = first.components, 0
    while len(parts.order):
        keep = np.zeros(graph.size, np.bool_)

        def judge(begin: int, end: int, parts: Components = parts, keep: Bools = keep, before: int = before) -> bool:
            given = graph.offsets, graph.targets, graph.labels, fair, parts.order, parts.starts, parts.part, first.visit
            return bool(_judge(*given, begin, end, found, keep, before))

        some = any(in_pieces(judge, len(parts.starts) - 1, first.workers))
        if (some and not all_of_them) or not keep.any():
            break
        before += len(parts.starts)
        parts = components(graph, keep)
    return found


def shortest(graph: Edges, fair: Levels, paths: Waiting, visit: Bools, found: Nodes) -> Lasso | None:
    """A fair lasso with the shortest prefix, and of these one with the shortest loop; None if no path reaches a fair component.

    `found` are the fair components, `visit` the nodes of which the loop has to visit one. Of equal ones it takes that with the first entry.
    """
    for distance in range(len(paths.levels) - 1):
        codes = paths.at(distance)
        nodes = codes[codes & 1 == 1] >> 1
        homes = [int(node) for node in nodes[found[nodes] >= 0]]
        if homes:
            loop, least = shortest_cycle(graph, fair, visit, found, homes)
            edges = _prefix(graph, paths, loop.home, distance)
            path = (graph.source(edges[0]) if edges else loop.home, *(int(graph.targets[e]) for e in edges + loop.edges))
            return Lasso(path, tuple(int(graph.labels[e]) for e in edges + loop.edges), distance, least)
    return None


def _prefix(graph: Edges, paths: Waiting, node: int, distance: int) -> list[int]:
    """The edges of the path by which the search first came to the node with a pending obligation."""
    edges: list[int] = []
    pending = 1
    for far in range(distance, 0, -1):
        ways = [pending]
        if pending and paths.arises[node] and (paths.at(far) == 2 * node).any():
            ways = [1, 0]
        found = [(*_finder(graph.offsets, graph.targets, paths.at(far - 1), node, way), way) for way in ways]
        _, edge, pending = min(one for one in found if one[0] >= 0)
        edges.append(int(edge))
        node = graph.source(edges[-1])
    return edges[::-1]


@compiled
def _waiting(offsets: Long, targets: Nodes, arises: Bools, goal: Bools, starts: int) -> tuple[Codes, Long, Bools]:
    n = goal.size
    seen = np.zeros(n, np.bool_)
    reached = np.zeros(n, np.bool_)
    queue = np.empty(2 * n, np.uint32)  # memory that is never written takes none
    levels = np.empty(2 * n + 1, np.int64)
    head = tail = distance = 0
    for first in range(starts):
        seen[first] = True
        queue[tail] = 2 * first
        tail += 1
        if arises[first]:
            reached[first] = True
            queue[tail] = 2 * first + 1
            tail += 1
    while head < tail:
        levels[distance] = head
        distance += 1
        end = tail
        while head < end:
            node = np.int64(queue[head] >> 1)
            waits = queue[head] & 1 == 1
            head += 1
            for e in range(offsets[node], offsets[node + 1]):
                target = targets[e]
                if waits:
                    if not (goal[target] or reached[target]):
                        reached[target] = True
                        queue[tail] = 2 * target + 1
                        tail += 1
                elif not seen[target]:
                    seen[target] = True
                    queue[tail] = 2 * target
                    tail += 1
                    if arises[target] and not reached[target]:
                        reached[target] = True
                        queue[tail] = 2 * target + 1
                        tail += 1
    levels[distance] = tail
    return queue[:tail], levels[: distance + 1].copy(), reached


@compiled
def _finder(offsets: Long, targets: Nodes, codes: Codes, node: int, way: int) -> tuple[int, int]:
    """The first of the codes with this last bit from whose node an edge leads to the given one, and that edge; -1 if there is none."""
    for k in range(codes.size):
        if codes[k] & 1 == way:
            at = np.int64(codes[k] >> 1)
            for e in range(offsets[at], offsets[at + 1]):
                if targets[e] == node:
                    return k, e
    return -1, -1


@compiled
def _tarjan(offsets: Long, targets: Nodes, alive: Bools) -> tuple[Nodes, Nodes, Nodes]:
    n = alive.size
    total = 0
    for v in range(n):
        total += alive[v]
    number = np.zeros(n, np.int32)  # 0 not seen, -1 - k once component k is complete
    path = np.empty(total, np.int32)  # of each node on the path the next edge, behind the first one, and the least number that it reaches
    edge = np.empty(total, np.int32)
    low = np.empty(total, np.int32)
    order = np.empty(total, np.int32)  # complete components from the front, nodes of others from the back
    starts = np.empty(total + 1, np.int32)
    starts[0] = 0
    count = found = parts = 0
    top = total
    for root in range(n):
        if not alive[root] or number[root] != 0:
            continue
        depth = 0
        entering = root
        while True:
            if entering >= 0:
                count += 1
                number[entering] = count
                path[depth] = entering
                edge[depth] = 0
                low[depth] = count
                depth += 1
                top -= 1
                order[top] = entering
                entering = -1
            v = path[depth - 1]
            least = low[depth - 1]
            begin, end = offsets[v], offsets[v + 1]
            e = begin + edge[depth - 1]
            while e < end:
                w = targets[e]
                e += 1
                if alive[w]:
                    if number[w] == 0:
                        entering = w
                        break
                    if 0 < number[w] < least:
                        least = number[w]
            edge[depth - 1] = e - begin
            low[depth - 1] = least
            if entering >= 0:
                continue
            depth -= 1
            if least == number[v]:
                parts += 1
                while True:
                    w = order[top]
                    top += 1
                    number[w] = -parts
                    order[found] = w
                    found += 1
                    if w == v:
                        break
                starts[parts] = found
            if depth == 0:
                break
            if least < low[depth - 1]:
                low[depth - 1] = least
    return order, starts[: parts + 1], number


@compiled
def _judge(
    offsets: Long,
    targets: Nodes,
    labels: Nodes,
    fair: Levels,
    order: Nodes,
    starts: Nodes,
    part: Nodes,
    visit: Bools,
    first: int,
    last: int,
    found: Nodes,
    keep: Bools,
    before: int,
) -> bool:
    """Of the components first to last - 1 mark in `found` those that are fair, by their numbers and those `before`, and in `keep` what
    remains to be searched; whether any is fair."""
    enabled = np.zeros(fair.size, np.int64)
    taken = np.zeros(fair.size, np.bool_)
    touched = np.empty(fair.size, np.int32)
    some = False
    for k in range(first, last):
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
                    if part[targets[e]] == -1 - k:
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
                found[order[j]] = before + k
            some = True
        for j in range(several):
            enabled[touched[j]] = 0
            taken[touched[j]] = False
    return some
