"""The shortest fair closed walk from a node inside its component, over the plain arrays of `edges`.

A walk is fair if each weakly fair label is disabled at one of its nodes or taken, each strongly fair one that is enabled at one of
them taken, and a node of `visit` on it. What of this a walk has done so far is a few bits; the walk is shortest in the graph of nodes
with such bits. Where that graph would be too large, a short walk is taken from one demand to the nearest next one, without the promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..compiled import compiled
from .edges import STRONG, WEAK, Bools, Edges, Levels, Long, Nodes

_MOST, _ALL = 1 << 18, 1 << 21  # nodes with bits that are looked at from one node, and from all together


@dataclass(frozen=True)
class Cycle:
    """Edges that lead from `home` back to it; none where staying is fair."""

    home: int
    edges: list[int]


def shortest_cycle(graph: Edges, fair: Levels, visit: Bools, found: Nodes, homes: Sequence[int]) -> tuple[Cycle, bool]:
    """A fair cycle from one of the nodes, all of which are in fair components `found`; whether it is certainly a shortest one.

    Of equal ones it is that of the first node.
    """
    for home in homes:
        if visit[home] and not fair[graph.enabled(home)].any():
            return Cycle(home, []), True
    best, least, spent = None, True, 0
    parts: dict[int, _Part] = {}
    for home in homes:
        part = parts.get(int(found[home]))
        if part is None:
            part = parts[int(found[home])] = _Part.of(graph, fair, found, home)
        bits = _Bits.of(graph, fair, part, home)
        size = len(part.nodes) << bits.count
        most = 1 << 62 if best is None else len(best.edges)
        if size <= _MOST and spent + size <= _ALL:
            spent += size
            edges = _fewest(graph, visit, part, bits, home, most)
            if edges is not None:
                best = Cycle(home, edges)
        else:
            least = False
            edges = _some(graph, fair, visit, found, home) if best is None else None
            if edges is not None:
                best = Cycle(home, edges)
    assert best is not None, "the component is not fair"
    return best, least or len(best.edges) == 2  # a step that changes nothing is no edge


@dataclass(frozen=True, eq=False)
class _Part:
    """A component: its nodes, for each node of the graph its place among them or -1, and the strongly fair labels enabled in it."""

    nodes: Nodes
    place: Nodes
    strong: Nodes

    @staticmethod
    def of(graph: Edges, fair: Levels, found: Nodes, home: int) -> _Part:
        nodes = np.flatnonzero(found == found[home]).astype(np.int32)
        place = np.full(graph.size, -1, np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        return _Part(nodes, place, _labels_of(graph.offsets, graph.labels, nodes, fair == STRONG))


@dataclass(frozen=True, eq=False)
class _Bits:
    """How many bits there are, and the bit of each label: weakly fair and not yet treated so, owed, taken. The first is that of `visit`."""

    count: int
    weak: Long
    owed: Long
    taken: Long
    strong: int

    @staticmethod
    def of(graph: Edges, fair: Levels, part: _Part, home: int) -> _Bits:
        here = graph.enabled(home)
        weak, owed, taken = (np.zeros(len(fair), np.int64) for _ in range(3))
        at = 1
        for label in here[fair[here] == WEAK]:
            weak[label] = 1 << min(at, 62)
            at += 1
        for bits in (owed, taken):
            for label in part.strong:
                bits[label] = 1 << min(at, 62)
                at += 1
        return _Bits(min(at, 62), weak, owed, taken, len(part.strong))


def _fewest(graph: Edges, visit: Bools, part: _Part, bits: _Bits, home: int, most: int) -> list[int] | None:
    """The edges of a shortest fair cycle from `home`, None if none has fewer than `most`."""
    edges = _search(
        graph.offsets, graph.targets, graph.labels, visit, part.place, bits.weak, bits.owed, bits.taken, bits.count, bits.strong, home,
        len(part.nodes), most,
    )  # fmt: skip
    return None if len(edges) and edges[0] < 0 else [int(e) for e in edges[::-1]]


def _some(graph: Edges, fair: Levels, visit: Bools, found: Nodes, home: int) -> list[int]:
    """Edges of a short fair closed walk from `home` inside its component: always to the nearest thing still demanded."""
    weak = np.zeros(len(fair), np.bool_)
    weak[graph.enabled(home)] = True
    weak &= fair == WEAK
    strong = np.zeros(len(fair), np.bool_)
    taken = np.zeros(len(fair), np.bool_)
    seen, parent = np.full(graph.size, -1, np.int32), np.empty(graph.size, np.int64)
    queue = np.empty(int(np.count_nonzero(found == found[home])), np.int32)

    unseen = True

    def enter(node: int) -> None:
        nonlocal unseen
        unseen = unseen and not visit[node]
        here = np.zeros(len(fair), np.bool_)
        here[graph.enabled(node)] = True
        np.logical_and(weak, here, out=weak)
        np.logical_or(strong, here & (fair == STRONG) & ~taken, out=strong)

    enter(home)
    walk: list[int] = []
    at, search = home, 0
    while True:
        goal = home if not (weak.any() or strong.any() or unseen) else -1
        if at == goal:
            return walk
        node, last = _nearest(
            graph.offsets, graph.targets, graph.labels, found, at, goal, weak, strong, unseen & visit, search, seen, parent, queue
        )
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
            enter(at)
            walk.append(edge)


@compiled
def _labels_of(offsets: Long, labels: Nodes, nodes: Nodes, wanted: Bools) -> Nodes:
    """The wanted labels that are enabled at some of the nodes."""
    seen = np.zeros(wanted.size, np.bool_)
    for node in nodes:
        for e in range(offsets[node], offsets[node + 1]):
            seen[labels[e]] |= wanted[labels[e]]
    return np.flatnonzero(seen).astype(np.int32)


@compiled
def _search(
    offsets: Long, targets: Nodes, labels: Nodes, visit: Bools, place: Nodes, weak: Long, owed: Long, taken: Long, bits: int, strong: int,
    home: int, nodes: int, most: int,
) -> Long:  # fmt: skip
    """Edges of the shortest fair cycle, last one first; a -1 if it has not fewer than `most`."""
    every = np.int64(0)
    for label in range(weak.size):
        every |= weak[label]
    need = every | 1
    ones = (np.int64(1) << strong) - 1
    low = bits - 2 * strong
    size = nodes << bits
    parent = np.full(size, -2, np.int32)
    by = np.empty(size, np.int64)
    queue = np.empty(size, np.int32)
    head, tail, depth, level = 0, 1, 0, 1
    here = np.int64(0)
    mask = np.int64(visit[home])
    for e in range(offsets[home], offsets[home + 1]):
        here |= weak[labels[e]]
        mask |= owed[labels[e]]
    mask |= every & ~here
    queue[0] = (place[home] << bits) | mask
    parent[queue[0]] = -1
    node_of = np.empty(nodes, np.int32)
    for node in range(place.size):
        if place[node] >= 0:
            node_of[place[node]] = node
    while head < tail and depth + 1 < most:
        at = queue[head]
        head += 1
        node = node_of[at >> bits]
        before = np.int64(at) & ((np.int64(1) << bits) - 1)
        for e in range(offsets[node], offsets[node + 1]):
            target = targets[e]
            if place[target] < 0:
                continue
            label = labels[e]
            mask = before | weak[label] | taken[label] | np.int64(visit[target])
            here = np.int64(0)
            for f in range(offsets[target], offsets[target + 1]):
                here |= weak[labels[f]]
                mask |= owed[labels[f]]
            mask |= every & ~here
            to = (place[target] << bits) | mask
            if parent[to] != -2:
                continue
            parent[to] = at
            by[to] = e
            if target == home and mask & need == need and (mask >> low) & ones & ~(mask >> (low + strong)) == 0:
                edges = np.empty(depth + 1, np.int64)
                for k in range(depth + 1):
                    edges[k] = by[to]
                    to = parent[to]
                return edges
            queue[tail] = to
            tail += 1
        if head == level:
            level = tail
            depth += 1
    return np.full(1, -1, np.int64)


@compiled
def _nearest(
    offsets: Long, targets: Nodes, labels: Nodes, found: Nodes, start: int, goal: int, weak: Bools, strong: Bools,
    visit: Bools, search: int, seen: Nodes, parent: Long, queue: Nodes,
) -> tuple[int, int]:  # fmt: skip
    """Search the component of `start`: the nearest node and, if an edge is what was sought, that edge (else -1).

    Sought is the node `goal`, or, if that is -1, an edge whose label is demanded, a node where a label of `weak` is disabled, or one
    of `visit`.
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
            if visit[node]:
                return node, -1
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
