"""Paths from the initial state that together take every transition of a graph.

A path takes an untaken transition of its state, or else goes to the nearest state that has one. It ends when no such state is within the
remaining length. This is the greedy form of the Chinese postman's tour: optimal tours need flows, and here they would be little shorter.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

from .statespace import StateGraph

Path = tuple[int, ...]
"""The numbers of a path's edges."""


def cover(graph: StateGraph, chance: random.Random, longest: int) -> Iterator[Path]:
    """Yield paths of at most `longest` edges that take every edge that is within that distance. Deterministic for `chance`'s seed."""
    left = [chance.sample(edges, len(edges)) for edges in graph.leaving]
    for edges in left:  # loops first: they take no way back
        edges.sort(key=lambda number: graph.edges[number].source != graph.edges[number].target, reverse=True)
    while True:
        path: list[int] = []
        state = 0
        while len(path) < longest:
            way = _to_untaken(graph, left, state, longest - len(path) - 1)
            if way is None:
                break
            path += way
            state = graph.edges[way[-1]].target if way else state
            taken = left[state].pop()
            path.append(taken)
            state = graph.edges[taken].target
        if not path:
            return
        yield tuple(path)


def _to_untaken(graph: StateGraph, left: list[list[int]], state: int, most: int) -> list[int] | None:
    """Return a shortest way of at most `most` edges to a state with an untaken edge; None if there is none."""
    before: dict[int, int] = {state: -1}
    queue = deque([(state, 0)])
    while queue:
        at, length = queue.popleft()
        if left[at]:
            way: list[int] = []
            while before[at] >= 0:
                way.append(before[at])
                at = graph.edges[before[at]].source
            return way[::-1]
        if length < most:
            for number in graph.leaving[at]:
                target = graph.edges[number].target
                if target not in before:
                    before[target] = number
                    queue.append((target, length + 1))
    return None
