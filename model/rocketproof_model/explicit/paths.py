"""Shortest paths from one state of an explored graph, optionally without some actions."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..result import Move
from ..routines import address, compile_routine, get, load, put, routine
from .graph import Graph


class Paths:
    """The first shortest path from state 0, an initial state, to each state. Actions named in `without` are not taken."""

    def __init__(self, graph: Graph, without: Collection[str] = ()) -> None:
        self.graph = graph
        barred = [k for k, action in enumerate(graph.kernel.model.actions) if action.name in without]
        allowed = ~np.isin(graph.actions(), barred) if barred else np.ones(len(graph.source), dtype=np.bool_)
        self._by = np.full(len(graph.states), -1, dtype=np.int64)
        queue = np.empty(len(graph.states), dtype=np.int64)
        compile_routine(walk)(*map(address, (graph.first, graph.target, allowed, queue, self._by)))

    def to(self, state: int) -> tuple[Move, ...] | None:
        """Return the moves to the state with this number; None if no path leads to it."""
        moves = []
        while state:
            edge = int(self._by[state])
            if edge < 0:
                return None
            moves.append(self.graph.move(edge))
            state = int(self.graph.source[edge])
        return tuple(reversed(moves))


@routine
def walk(first: int, target: int, open_: int, queue: int, by: int) -> int:
    """Search breadth first from state 0 and store in `by` the edge by which each state was reached.

    `target` has 32-bit elements, `open_` bytes.
    """
    begin, end = 0, 1
    put(queue, 0, 0)
    while begin < end:
        state = get(queue, begin)
        begin = begin + 1
        for edge in range(get(first, state), get(first, state + 1)):
            to = load(target + 4 * edge, 4)
            if load(open_ + edge, 1) and to != 0 and get(by, to) < 0:
                put(by, to, edge)
                put(queue, end, to)
                end = end + 1
    return end
