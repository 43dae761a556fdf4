"""The shortest fair closed walk from a node inside its component, over the plain arrays of `edges`.

A walk is fair if each weakly fair label is disabled at one of its nodes or taken, each strongly fair one that is enabled at one of
them taken, and a node of `visit` on it. What of this a walk has done so far is a few bits; the walk is shortest in the graph of nodes
with such bits. Where that graph would be too large, a short walk is taken from one demand to the nearest next one, without the promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..routines import compile_routine, get, put, routine
from .edges import STRONG, WEAK, Bools, Edges, Levels, Long, Nodes, byte, given, int32, put_byte, put_int32

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
        enabled = np.zeros(len(fair), np.bool_)
        compile_routine(mark_enabled)(*given(graph.offsets, graph.labels, nodes, enabled), len(nodes))
        return _Part(nodes, place, np.flatnonzero(enabled & (fair == STRONG)).astype(np.int32))


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
    size = len(part.nodes) << bits.count
    parent, by, queue = np.full(size, -2, np.int32), np.empty(size, np.int64), np.empty(size, np.int32)
    arrays = given(
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


def _some(graph: Edges, fair: Levels, visit: Bools, found: Nodes, home: int) -> list[int]:
    """Edges of a short fair closed walk from `home` inside its component: always to the nearest thing still demanded."""
    weak = np.zeros(len(fair), np.bool_)
    weak[graph.enabled(home)] = True
    weak &= fair == WEAK
    strong = np.zeros(len(fair), np.bool_)
    taken = np.zeros(len(fair), np.bool_)
    seen, parent, last = np.full(graph.size, -1, np.int32), np.empty(graph.size, np.int64), np.empty(1, np.int64)
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
        visits = unseen & visit
        arrays = given(graph.offsets, graph.targets, graph.labels, found, weak, strong, visits, seen, parent, queue, last)
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
    """Find a shortest fair cycle from `home`: where it ends, or -1 if it has not fewer edges than `most`.

    A place in `parent`, `by` and `queue` is a node's place in its component, and behind it the bits of what was done. `parent` has the
    place before, -1 where the search begins and -2 where it never was; `by` has the edge from there. There are `many` labels.
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
    """The bits that a visit of the node sets: that of `visit`, of weakly fair labels that are disabled, and of strongly fair ones owed."""
    here, mask = 0, byte(visit, node)
    for e in range(get(offsets, node), get(offsets, node + 1)):
        here = here | get(weak, int32(labels, e))
        mask = mask | get(owed, int32(labels, e))
    return mask | every & ~here


@routine
def find_nearest(
    offsets: int, targets: int, labels: int, found: int, weak: int, strong: int, visit: int, seen: int, parent: int, queue: int, edge: int,
    many: int, start: int, goal: int, search: int,
) -> int:  # fmt: skip
    """Search the component of `start` for the nearest node sought; -1 if there is none. `edge` takes the edge, if one is sought, else -1.

    Sought is the node `goal`, or, if that is -1, an edge whose label is demanded, a node where a label of `weak` is disabled, or one
    of `visit`. There are `many` labels.
    """
    open_weak = 0
    for label in range(many):
        open_weak += byte(weak, label)
    home, head, tail = int32(found, start), 0, 1
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
                if (byte(weak, label) or byte(strong, label)) and int32(found, int32(targets, e)) == home:
                    put(edge, 0, e)
                    return node
        for e in range(begin, end):
            target = int32(targets, e)
            if int32(found, target) == home and int32(seen, target) != search:
                put_int32(seen, target, search)
                put(parent, target, e)
                put_int32(queue, tail, target)
                tail += 1
    return -1
