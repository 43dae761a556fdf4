"""The explored graph as arrays: states in a fixed order, and edges with their action instances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..interpreter import State
from ..language import Action
from ..result import Move
from ..routines import address, compile_routine
from .kernel import Kernel
from .numbering import count_edges, number_states, write_edges
from .ordered import StateOrder
from .table import split
from .threads import in_pieces
from .workers import Worker, WorkerResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK, _MOST = 16, 1 << 15  # states whose targets are looked up together, and targets, unless one state has more


@dataclass(frozen=True, eq=False)
class Graph:
    """States level by level, ordered by their words within a level; level 0 has the initial states.

    `states` is (n, W) packed words. The edges of state i are `first[i]` to `first[i + 1]` - 1, in the order of instances. Edge e leads to
    state `target[e]` by instance `instance[e]`. Level k begins at state `level[k]`.
    """

    kernel: Kernel
    states: NDArray[np.int64]
    level: NDArray[np.int64]
    first: NDArray[np.int64]
    target: NDArray[np.int32]
    instance: NDArray[np.int32]

    @cached_property
    def source(self) -> NDArray[np.int32]:
        """The state that each edge leaves."""
        return np.repeat(np.arange(len(self.states), dtype=np.int32), np.diff(self.first))

    def state(self, number: int) -> State:
        """Return the codes of one state, one per slot."""
        return self.kernel.layout.unpack(self.states[number])

    def codes(self) -> NDArray[np.int64]:
        """Return the codes of all states, (n, slots)."""
        return self.kernel.layout.unpack_many(self.states)

    def path(self, number: int) -> tuple[tuple[Move, ...], tuple[State, ...]]:
        """Return the moves and states of a shortest path to a state, through the smallest predecessor at each level."""
        moves: list[Move] = []
        states = [self.state(number)]
        while number >= self.level[1]:
            edge = int(np.flatnonzero(self.target == number)[0])  # edges are ordered by their sources, these by their levels
            number = int(self.source[edge])
            moves.append(self.move(edge))
            states.append(self.state(number))
        return tuple(reversed(moves)), tuple(reversed(states))

    def move(self, edge: int) -> Move:
        """Return the action instance of an edge."""
        return self.kernel.move(int(self.instance[edge]))

    def actions(self) -> NDArray[np.int64]:
        """Return the position of each edge's action in `model.actions`."""
        return self.kernel.action_of(self.instance)

    def of(self, action: Action) -> NDArray[np.bool_]:
        """Return which edges are instances of an action."""
        chosen: NDArray[np.bool_] = self.actions() == self.kernel.model.actions.index(action)
        return chosen


def explored_graph(
    kernel: Kernel, consts: NDArray[np.int64], flat: NDArray[np.int64], sizes: list[int], *, staying: bool, workers: int
) -> Graph:
    """Number the states and compute their successors again. Edges from a state to itself are left out unless `staying`.

    `flat` has the levels of these sizes one after another; it becomes the graph's array. Memory per state: 8 bytes a word, 8 for the place
    of its edges, and 6 to 12 until the edges are written. Memory per edge: 8 bytes.
    """
    width = kernel.layout.words
    level, total = np.cumsum([0, *sizes]), sum(sizes)
    order, levels = StateOrder(kernel.layout), split(flat, sizes, width)

    def sort(number: int, _: int) -> None:
        states = levels[number]
        states[:] = order.sorted(states, np.empty_like(states))

    in_pieces(sort, len(levels), workers, 1)
    slots = np.zeros(1 << max(4, (total + total // 2).bit_length()), dtype=np.uint32)
    mask = len(slots) - 1
    compile_routine(number_states, WIDTH=width)(address(flat), total, address(slots), mask)
    first = np.zeros(total + 1, dtype=np.int64)
    count, write = (compile_routine(routine, WIDTH=width, STAYING=int(staying)) for routine in (count_edges, write_edges))

    def counted(begin: int, end: int) -> None:
        worker = Worker(kernel, consts, WorkerResult(kernel, []))
        worker.take(flat, 0, total)
        count(address(worker.block), begin, end, address(worker.tags), address(first) + 8)

    def written(begin: int, end: int) -> None:
        worker, tags = (
            Worker(kernel, consts, WorkerResult(kernel, []), block),
            np.empty(block * max(kernel.max_successors, 1), dtype=np.int64),
        )
        worker.take(flat, 0, total)
        at = address(slots), mask, int(first[begin]), address(target), address(instance)
        last = write(address(worker.block), begin, end, block, address(tags), *at)
        assert last == first[end], "a state has not the edges that were counted"

    block = max(1, min(_BLOCK, _MOST // max(kernel.max_successors, 1)))
    in_pieces(counted, total, workers)
    np.cumsum(first, out=first)
    target, instance = np.empty(int(first[-1]), dtype=np.int32), np.empty(int(first[-1]), dtype=np.int32)
    in_pieces(written, total, workers)
    return Graph(kernel, flat.reshape(-1, width), level.astype(np.int64), first, target, instance)
