"""Shortest paths from one state of an explored graph, if need be without some of its actions."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..result import Move
from ..routines import address, compile_routine, get, load, put, routine
from .graph import Graph


class Paths:
    """From state 0, which is initial, to each state, by the first of the shortest ways; `without` names actions that are not taken."""

    def __init__(self, graph: Graph, without: Collection[str] = ()) -> None:
        self.graph = graph
        barred = [k for k, action in enumerate(graph.kernel.model.actions) if action.name in without]
        open_ = ~np.isin(graph.actions(), barred) if barred else np.ones(len(graph.source), dtype=np.bool_)
        self._by = np.full(len(graph.states), -1, dtype=np.int64)
        queue = np.empty(len(graph.states), dtype=np.int64)
        compile_routine(walk)(*map(address, (graph.first, graph.target, open_, queue, self._by)))

    def to(self, state: int) -> tuple[Move, ...] | None:
        """The moves to a state, by its number; None if no way leads there."""
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
    """Breadth first from state 0: of each state that is met the edge that led there. `target` has 32 bits, `open_` 8."""
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
