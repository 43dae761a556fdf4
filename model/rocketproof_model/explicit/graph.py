"""The explored graph as arrays: states in a fixed order, edges with the action instance that makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..interpreter import State
from ..language import Action
from ..result import Move
from ..routines import address, compile_routine
from . import loops
from .kernel import Kernel
from .workers import Seen, Worker

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PIECE = 1 << 16  # states between two looks at Ctrl-C


@dataclass(frozen=True, eq=False)
class Graph:
    """States level by level, inside a level by their words; those of level 0 are the initial ones.

    `states` is (n, W) packed words. Edge e leads from state `source[e]` to `target[e]` by instance `instance[e]`; edges are
    ordered by source, then by instance, so the edges of state i are `first[i]` up to `first[i + 1]`. Level k begins at
    state `level[k]`.
    """

    kernel: Kernel
    states: NDArray[np.int64]
    level: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    instance: NDArray[np.int32]
    first: NDArray[np.int64]

    def state(self, number: int) -> State:
        """The codes of one state, one a slot."""
        return self.kernel.layout.unpack(self.states[number])

    def codes(self) -> NDArray[np.int64]:
        """The codes of all states, (n, slots)."""
        return self.kernel.layout.unpack_many(self.states)

    def path(self, number: int) -> tuple[tuple[Move, ...], tuple[State, ...]]:
        """Moves and states of a shortest path to a state, through the smallest predecessor at each level."""
        moves: list[Move] = []
        states = [self.state(number)]
        while number >= self.level[1]:
            edge = int(np.flatnonzero(self.target == number)[0])  # edges are ordered by their sources, these by their levels
            number = int(self.source[edge])
            moves.append(self.move(edge))
            states.append(self.state(number))
        return tuple(reversed(moves)), tuple(reversed(states))

    def move(self, edge: int) -> Move:
        """The action instance of one edge."""
        return self.kernel.move(int(self.instance[edge]))

    def actions(self) -> NDArray[np.int64]:
        """The position of each edge's action in `model.actions`."""
        return self.kernel.action_of(self.instance)

    def of(self, action: Action) -> NDArray[np.bool_]:
        """Which edges are instances of an action."""
        found: NDArray[np.bool_] = self.actions() == self.kernel.model.actions.index(action)
        return found


def explored_graph(kernel: Kernel, consts: NDArray[np.int64], levels: list[NDArray[np.int64]], transitions: int) -> Graph:
    """Number the states of all levels and ask for their successors again."""
    width = kernel.layout.words
    ordered = [_sorted(level.reshape(-1, width)) for level in levels]
    states = np.ascontiguousarray(np.concatenate(ordered))
    flat, total = states.ravel(), len(states)
    slots = np.zeros(1 << max(4, (2 * total).bit_length()), dtype=np.int64)
    mask = len(slots) - 1
    number = compile_routine(loops.number_states, WIDTH=width)
    number(address(flat), total, address(slots), mask)
    arrays = [np.empty(transitions, dtype=np.int32) for _ in range(3)]
    source, target, instance = arrays
    worker, write, at = Worker(kernel, consts, Seen(kernel, [])), compile_routine(loops.write_edges, WIDTH=width), 0
    worker.take(flat, 0, total)
    for begin in range(0, total, _PIECE):
        end = min(begin + _PIECE, total)
        at = write(address(worker.block), begin, end, address(slots), mask, at, *map(address, arrays))
    level = np.cumsum([0] + [len(rows) for rows in ordered])
    first = np.searchsorted(source, np.arange(total + 1))
    return Graph(kernel, states, level.astype(np.int64), source, target, instance, first.astype(np.int64))


def _sorted(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[np.lexsort(rows.T[::-1])]
