"""The shortest fair closed walk from a node inside its component, over the plain arrays of `edges`.

A walk is fair if it meets three demands. Each weakly fair label is taken or is disabled at a node of the walk. Each strongly fair label
that is enabled at a node is taken. The walk visits a node of `visit`. The demands met so far are a few bits, and the search runs in the
graph of nodes with these bits. If that graph is too large, a short walk goes from each demand to the nearest unmet demand. Its length may
then not be minimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..routines import compile_routine, get, put, routine
from .edges import STRONG, WEAK, Bools, Edges, Levels, Long, Nodes, array_addresses, byte, int32, put_byte, put_int32

_MOST, _ALL = 1 << 18, 1 << 21  # maximum of places searched from one node, and in total


@dataclass(frozen=True)
class Cycle:
    """Edges that lead from `home` back to it; none if staying is fair."""

    home: int
    edges: list[int]


def shortest_cycle(graph: Edges, fair: Levels, visit: Bools, component: Nodes, homes: Sequence[int]) -> tuple[Cycle, bool]:
    """Return a fair cycle from one of the nodes, and whether it is certainly a shortest cycle.

    All nodes are in fair components, whose numbers are in `component`. Among equally short cycles the first node's is returned.
    """
    for home in homes:
        if visit[home] and not fair[graph.enabled(home)].any():
            return Cycle(home, []), True
    best, least, spent = None, True, 0
    parts: dict[int, _Component] = {}
    for home in homes:
        part = parts.get(int(component[home]))
        if part is None:
            part = parts[int(component[home])] = _Component.of(graph, fair, component, home)
        bits = _DemandBits.of(graph, fair, part, home)
        size = len(part.nodes) << bits.count
        most = 1 << 62 if best is None else len(best.edges)
        if size <= _MOST and spent + size <= _ALL:
            spent += size
            edges = _shortest_edges(graph, visit, part, bits, home, most)
            if edges is not None:
                best = Cycle(home, edges)
        else:
            least = False
            edges = _short_walk(graph, fair, visit, component, home) if best is None else None
            if edges is not None:
                best = Cycle(home, edges)
    assert best is not None, "the component is not fair"
    return best, least or len(best.edges) == 2  # no cycle is shorter: a step that changes nothing is no edge


@dataclass(frozen=True, eq=False)
class _Component:
    """A component: its nodes, the position of each node of the graph among them or -1, and the strongly fair labels enabled in it."""

    nodes: Nodes
    place: Nodes
    strong: Nodes

    @staticmethod
    def of(graph: Edges, fair: Levels, component: Nodes, home: int) -> _Component:
        nodes = np.flatnonzero(component == component[home]).astype(np.int32)
        place = np.full(graph.size, -1, np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        enabled = np.zeros(len(fair), np.bool_)
        compile_routine(mark_enabled)(*array_addresses(graph.offsets, graph.labels, nodes, enabled), len(nodes))
        return _Component(nodes, place, np.flatnonzero(enabled & (fair == STRONG)).astype(np.int32))


@dataclass(frozen=True, eq=False)
class _DemandBits:
    """The bits of each label's demands; `count` is the number of bits, and bit 0 is for `visit`.

    `weak`: the demand of a weakly fair label is met. `owed`: a strongly fair label was enabled. `taken`: a strongly fair label was taken.
    """

    count: int
    weak: Long
    owed: Long
    taken: Long
    strong: int

    @staticmethod
    def of(graph: Edges, fair: Levels, part: _Component, home: int) -> _DemandBits:
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
        return _DemandBits(min(at, 62), weak, owed, taken, len(part.strong))


def _shortest_edges(graph: Edges, visit: Bools, part: _Component, bits: _DemandBits, home: int, most: int) -> list[int] | None:
    """Return the edges of a shortest fair cycle from `home`; None if none has fewer than `most`."""
    size = len(part.nodes) << bits.count
    parent, by, queue = np.full(size, -2, np.int32), np.empty(size, np.int64), np.empty(size, np.int32)
    arrays = array_addresses(
        graph.offsets, graph.targets, graph.labels, visit, part.nodes, part.place, bits.weak, bits.owed, bits.taken, parent, by, queue
    )
    at = compile_routine(search_cycle)(*arrays, len(bits.weak), bits.count, bits.strong, home, most)
    if at < 0:
        return None
    edges: list[int] = []
    while parent[at] >= 0:
        edges.append(int(by[at]))
        at = parent[at]
    return edges[::-1]


def _short_walk(graph: Edges, fair: Levels, visit: Bools, component: Nodes, home: int) -> list[int]:
    """Return the edges of a short fair closed walk from `home` inside its component, always to the nearest unmet demand."""
    weak = np.zeros(len(fair), np.bool_)
    weak[graph.enabled(home)] = True
    weak &= fair == WEAK
    strong = np.zeros(len(fair), np.bool_)
    taken = np.zeros(len(fair), np.bool_)
    seen, parent, last = np.full(graph.size, -1, np.int32), np.empty(graph.size, np.int64), np.empty(1, np.int64)
    queue = np.empty(int(np.count_nonzero(component == component[home])), np.int32)

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
        visits = unseen & visit
        arrays = array_addresses(graph.offsets, graph.targets, graph.labels, component, weak, strong, visits, seen, parent, queue, last)
        node = compile_routine(find_nearest)(*arrays, len(fair), at, goal, search)
        search += 1
        assert node >= 0, "the component is not fair"
        piece = [] if last[0] < 0 else [int(last[0])]
        while node != at:
            piece.append(int(parent[node]))
            node = graph.source(piece[-1])
        for edge in reversed(piece):
            label, at = graph.labels[edge], int(graph.targets[edge])
            taken[label] = True
            weak[label] = strong[label] = False
            enter(at)
            walk.append(edge)


@routine
def mark_enabled(offsets: int, labels: int, nodes: int, enabled: int, many: int) -> int:
    """Mark the labels that are enabled at some of the `many` nodes."""
    for k in range(many):
        node = int32(nodes, k)
        for e in range(get(offsets, node), get(offsets, node + 1)):
            put_byte(enabled, int32(labels, e), 1)
    return 0


@routine
def search_cycle(
    offsets: int, targets: int, labels: int, visit: int, nodes: int, place: int, weak: int, owed: int, taken: int, parent: int, by: int,
    queue: int, many: int, bits: int, strong: int, home: int, most: int,
) -> int:  # fmt: skip
    """Find a shortest fair cycle from `home`. Returns its last place, or -1 if it does not have fewer edges than `most`.

    A place is a node's position in its component followed by the bits of the demands met. It is the index into `parent` and `by` and the
    element of `queue`. `parent` has the place before, -1 at the start and -2 for a place not reached; `by` has the edge from there. There
    are `many` labels.
    """
    every = 0
    for label in range(many):
        every = every | get(weak, label)
    ones, low = (1 << strong) - 1, bits - 2 * strong
    head, tail, depth, level = 0, 1, 0, 1
    begin = int32(place, home) << bits | demands(home, offsets, labels, visit, weak, owed, every)
    put_int32(queue, 0, begin)
    put_int32(parent, begin, -1)
    while head < tail and depth + 1 < most:
        at = int32(queue, head)
        head += 1
        node = int32(nodes, at >> bits)
        before = at & (1 << bits) - 1
        for e in range(get(offsets, node), get(offsets, node + 1)):
            target, label = int32(targets, e), int32(labels, e)
            if int32(place, target) < 0:
                continue
            mask = before | get(weak, label) | get(taken, label) | demands(target, offsets, labels, visit, weak, owed, every)
            to = int32(place, target) << bits | mask
            if int32(parent, to) != -2:
                continue
            put_int32(parent, to, at)
            put(by, to, e)
            if target == home and mask & (every | 1) == every | 1 and (mask >> low) & ones & ~(mask >> low + strong) == 0:
                return to
            put_int32(queue, tail, to)
            tail += 1
        if head == level:
            level = tail
            depth += 1
    return -1


@routine
def demands(node: int, offsets: int, labels: int, visit: int, weak: int, owed: int, every: int) -> int:
    """Return the bits that a visit of the node sets.

    They are the bits of `visit`, of weakly fair labels that are disabled, and of strongly fair labels owed.
    """
    here, mask = 0, byte(visit, node)
    for e in range(get(offsets, node), get(offsets, node + 1)):
        here = here | get(weak, int32(labels, e))
        mask = mask | get(owed, int32(labels, e))
    return mask | every & ~here


@routine
def find_nearest(
    offsets: int, targets: int, labels: int, component: int, weak: int, strong: int, visit: int, seen: int, parent: int, queue: int,
    edge: int, many: int, start: int, goal: int, search: int,
) -> int:  # fmt: skip
    """Search the component of `start` for the nearest node that meets a demand; -1 if there is none.

    The node sought is `goal`. If `goal` is -1, the node has an edge whose label is demanded, has a label of `weak` disabled, or is in
    `visit`. `edge` receives the edge if one is found, else -1. There are `many` labels.
    """
    open_weak = 0
    for label in range(many):
        open_weak += byte(weak, label)
    home, head, tail = int32(component, start), 0, 1
    put(edge, 0, -1)
    put_int32(queue, 0, start)
    put_int32(seen, start, search)
    while head < tail:
        node = int32(queue, head)
        head += 1
        begin, end = get(offsets, node), get(offsets, node + 1)
        if node == goal:
            return node
        if goal < 0:
            if byte(visit, node):
                return node
            still = 0
            for e in range(begin, end):
                still += byte(weak, int32(labels, e))
            if still < open_weak:
                return node
            for e in range(begin, end):
                label = int32(labels, e)
                if (byte(weak, label) or byte(strong, label)) and int32(component, int32(targets, e)) == home:
                    put(edge, 0, e)
                    return node
        for e in range(begin, end):
            target = int32(targets, e)
            if int32(component, target) == home and int32(seen, target) != search:
                put_int32(seen, target, search)
                put(parent, target, e)
                put_int32(queue, tail, target)
                tail += 1
    return -1
