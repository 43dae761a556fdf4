"""The states in which two instances of one kernel differ: an action has different steps there.

An action's effect depends only on the variables that it reads, so one state per combination of their values is enough. In practice a few
hundred of a million states remain. A mutant is compared with the model in all of them in less than a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..language import Action, Instance, Variable, walk
from ..result import Move
from ..routines import address, addresses, call, compile_routine, get, put, routine
from .graph import Graph
from .layout import Layout
from .loops import WIDTH, hash_of, same, successors

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Places in the block of `first_difference`.
SUCC, ONE, OTHER, STATES, MOST, OUTS, TAGS, COUNTS, COVER = range(9)


@lru_cache(maxsize=256)
def read_by(action: Action) -> frozenset[Variable]:
    """Return the variables from which an action's guards, values and places are computed.

    With all its mutants an action is a large term.
    """
    terms = [guard.condition for guard in action.guards]
    for update in action.updates:
        terms += [update.when, update.value, *update.target.args[1:]]
    return frozenset(e.args[0] for e in walk(*terms) if e.op == "ref")


def representatives(graph: Graph, variables: Iterable[Variable]) -> NDArray[np.int64]:
    """Return the numbers of the first state of each set of states that agree in these variables, in the graph's order."""
    states, layout = graph.states, graph.kernel.layout
    masked = np.ascontiguousarray(states & mask_of(layout, variables)).ravel()
    slots = np.zeros(1 << max(4, (2 * len(states)).bit_length()), dtype=np.int64)
    numbers = np.empty(len(states), dtype=np.int64)
    put_distinct = compile_routine(distinct, WIDTH=layout.words)
    return numbers[: put_distinct(address(masked), len(states), address(slots), len(slots) - 1, address(numbers))].copy()


def mask_of(layout: Layout, variables: Iterable[Variable]) -> NDArray[np.int64]:
    """Return the bits in which these variables are packed, with the bit that is always set, so that no row is zero."""
    mask = np.zeros(layout.words, dtype=np.int64)
    mask[0] = 1 << layout.present
    for variable in variables:
        for slot in range(variable.first, variable.first + variable.size):
            mask[layout.slot_word[slot]] |= layout.slot_mask[slot] << layout.slot_shift[slot]
    return mask


@dataclass(frozen=True)
class StepDifference:
    """A step with different results: `one` and `other` are the packed states after it, None if that instance does not allow the step."""

    move: Move
    one: tuple[int, ...] | None
    other: tuple[int, ...] | None


class Differences:
    """The differences of instances of one model from a reference instance, in the states of its graph."""

    def __init__(self, graph: Graph, reference: Instance) -> None:
        self.graph, self.reference = graph, graph.kernel.consts(reference)
        kernel = graph.kernel
        self._width, self._most = kernel.layout.words, max(kernel.max_successors, 1)
        self._outs = np.empty(2 * self._most * self._width, dtype=np.int64)
        self._tags = np.empty(2 * self._most, dtype=np.int64)
        self._counts = np.zeros(max(len(kernel.model.actions), 1), dtype=np.int64)
        self._cover = np.zeros(kernel.cover_words, dtype=np.int64)
        self._chosen: dict[str, NDArray[np.int64]] = {}

    def compared(self, action: Action) -> NDArray[np.int64]:
        """Return the numbers of the states in which the action is compared, one of all that agree in what it reads."""
        if action.name not in self._chosen:
            self._chosen[action.name] = representatives(self.graph, read_by(action))
        return self._chosen[action.name]

    def alike(self, state: int, action: Action, most: int) -> list[int]:
        """Return the numbers of at most `most` states, evenly spread, that agree with this state in what the action reads."""
        states, mask = self.graph.states, mask_of(self.graph.kernel.layout, read_by(action))
        words = [states[:, word] & mask[word] == states[state, word] & mask[word] for word in np.flatnonzero(mask)]
        numbers = np.flatnonzero(np.logical_and.reduce(words))
        return [int(k) for k in dict.fromkeys(numbers[np.linspace(0, len(numbers) - 1, most).astype(np.int64)].tolist())]

    def states(self, other: Instance, action: Action) -> Iterator[int]:
        """Yield the numbers of the states in which the instances differ, in the graph's order, if they differ in this action only."""
        kernel, chosen = self.graph.kernel, self.compared(action)
        rows, consts, at = np.ascontiguousarray(self.graph.states[chosen]), kernel.consts(other), -1
        block = addresses(kernel.succ, self.reference, consts, rows, self._most, self._outs, self._tags, self._counts, self._cover)
        find = compile_routine(first_difference, WIDTH=self._width)
        while (at := find(address(block), at + 1, len(rows))) >= 0:
            yield int(chosen[at])

    def steps(self, other: Instance, state: int) -> list[StepDifference]:
        """Return the differing steps from a state; none if the other instance has no value there, which is an error of its model."""
        kernel = self.graph.kernel
        ours, theirs = self._steps(self.reference, state), self._steps(kernel.consts(other), state)
        if ours is None or theirs is None:
            return []
        return [
            StepDifference(kernel.move(tag), ours.get(tag), theirs.get(tag))
            for tag in sorted(ours | theirs)
            if ours.get(tag) != theirs.get(tag)
        ]

    def reached(self, state: int, action: str) -> set[tuple[int, ...]]:
        """Return the packed states to which the reference instance leads from a state by an action."""
        steps = self._steps(self.reference, state) or {}
        return {reached for tag, reached in steps.items() if self.graph.kernel.move(tag).action == action}

    def _steps(self, consts: NDArray[np.int64], state: int) -> dict[int, tuple[int, ...]] | None:
        """Map each instance number to the state that it leads to; None if the kernel meets a fault."""
        row = np.ascontiguousarray(self.graph.states[state])
        n = successors(self.graph.kernel.succ, row, consts, self._outs, self._tags, self._counts, self._cover)
        width = self._width
        return None if n < 0 else {int(self._tags[k]): tuple(self._outs[k * width : (k + 1) * width].tolist()) for k in range(n)}


@routine
def distinct(states: int, total: int, slots: int, slot_mask: int, numbers: int) -> int:
    """Write the numbers of the first of equal rows to `numbers`, in order, and return their count. `slots` hold numbers + 1."""
    many = 0
    for i in range(total):
        slot = hash_of(states, i * WIDTH) & slot_mask
        while get(slots, slot) != 0 and not same(states, (get(slots, slot) - 1) * WIDTH, states, i * WIDTH):
            slot = slot + 1 & slot_mask
        if get(slots, slot) == 0:
            put(slots, slot, i + 1)
            put(numbers, many, i)
            many = many + 1
    return many


@routine
def equal_words(left: int, right: int, words: int) -> int:
    for k in range(words):
        if get(left, k) != get(right, k):
            return 0
    return 1


@routine
def first_difference(p: int, begin: int, total: int) -> int:
    """Return the first of the states from `begin` on whose successors differ; -1 if there is none."""
    most, counts, cover = get(p, MOST), get(p, COUNTS), get(p, COVER)
    outs, tags = get(p, OUTS), get(p, TAGS)
    more_outs, more_tags = outs + 8 * most * WIDTH, tags + 8 * most
    for i in range(begin, total):
        state = get(p, STATES) + i * 8 * WIDTH
        n = call(get(p, SUCC), state, get(p, ONE), outs, tags, counts, cover)
        m = call(get(p, SUCC), state, get(p, OTHER), more_outs, more_tags, counts, cover)
        if n != m:
            return i
        if n > 0:
            if not equal_words(tags, more_tags, n):
                return i
            if not equal_words(outs, more_outs, n * WIDTH):
                return i
    return -1
