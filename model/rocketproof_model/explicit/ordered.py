"""Sets of states in ascending order, and their encoding in files: each state is stored as its difference from the previous state.

States are compared word by word, and the choice of the first word matters. If its value only grows during an execution, like the number
of messages sent, the states near a search's last level are adjacent. The blocks with older states then need not be read.

The encoding of a state starts with the words that are equal in the previous state and the first word that differs: each is a difference in
groups of seven bits, one byte per group. The later words are in no order. For each of them, a mask byte marks the bytes that differ, and
these bytes follow. A state of few bits thus takes two or three bytes, and a state of several words little more than its changes. The
decoder expects bytes that `encoded` made; callers check them first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..routines import GIVEN, address, compile_routine, get, load, put, routine, store, unrolled
from .loops import keep, same

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .layout import Layout

    Words = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

WIDTH = GIVEN
PLACE: tuple[int, ...] = ()  # the words in the order in which they are compared
CODED = 9  # maximum of bytes of an encoded word
_BLOCKS = 1024  # of a sample


class StateOrder:
    """The order of the states of one layout that compares the word `leading` first. Arrays of states are flat."""

    def __init__(self, layout: Layout, leading: int = 0) -> None:
        self.words, self.leading = layout.words, leading
        self.place = _places(layout.words, leading)
        used = [1] * self.words
        for word, shift, mask in zip(layout.slot_word, layout.slot_shift, layout.slot_mask, strict=True):
            used[word] = max(used[word], int(shift) + int(mask).bit_length())
        size = [-(-bits // 8) for bits in used]  # bytes of each word
        self._digits = np.array([8 * k + byte for k in reversed(self.place) for byte in range(size[k])], dtype=np.int64)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., int]:
        return compile_routine(function, WIDTH=self.words, PLACE=self.place)

    def count(self, states: Words) -> int:
        return len(states) // self.words

    def key(self, state: tuple[int, ...]) -> tuple[int, ...]:
        """Return the key that states are compared by."""
        return tuple(state[k] for k in self.place)

    def sorted(self, states: Words, other: Words) -> Words:
        """Return the distinct states in order. Overwrites both arrays, which have equal lengths."""
        counts = np.zeros(256, dtype=np.int64)
        sort = compile_routine(sort_states, WIDTH=self.words)
        if sort(address(states), self.count(states), address(other), address(counts), address(self._digits), len(self._digits)):
            states = other
        return states[: compile_routine(distinct, WIDTH=self.words)(address(states), self.count(states)) * self.words]

    def merged(self, parts: list[Words]) -> Words:
        """Return the distinct states of all parts in order; each part is in order. Empties the list of parts."""
        while len(parts) > 1:
            left, right = parts.pop(0), parts.pop(0)
            into = np.empty(len(left) + len(right), dtype=np.int64)
            count = self._compiled(merge)(address(left), self.count(left), address(right), self.count(right), address(into))
            parts.append(into[: count * self.words])
        return parts.pop() if parts else np.empty(0, dtype=np.int64)

    def encoded(self, states: Words) -> Bytes:
        """Return the encoding of states in order."""
        out, zeros = np.empty(len(states) * CODED, dtype=np.uint8), np.zeros(self.words, dtype=np.int64)
        return out[: self._compiled(encode)(address(states), self.count(states), address(zeros), address(out))]

    def decoded(self, coded: Bytes, count: int) -> Words:
        """Return the `count` states that `encoded` made these bytes of."""
        states, zeros = np.empty(count * self.words, dtype=np.int64), np.zeros(self.words, dtype=np.int64)
        self._compiled(decode)(address(coded), count, address(zeros), address(states))
        return states

    def mark(self, states: Words, first: int, last: int, coded: Bytes, count: int, marks: Bytes) -> None:
        """Set the marks of the states `first` to `last` - 1 that are among the `count` encoded states."""
        state = np.zeros(self.words, dtype=np.int64)
        self._compiled(mark_known)(address(coded), count, address(state), address(states), first, last, address(marks))

    def unmarked(self, states: Words, marks: Bytes) -> Words:
        """Return the states without a mark, in the same memory."""
        return states[: compile_routine(unmarked, WIDTH=self.words)(address(states), self.count(states), address(marks)) * self.words]

    def places(self, states: Words, wanted: Words) -> list[int]:
        """Return the number of smaller states for each of the wanted states; both arrays are in order."""
        result = np.empty(self.count(wanted), dtype=np.int64)
        self._compiled(places)(address(states), self.count(states), address(wanted), len(result), address(result))
        return [int(place) for place in result]


def _places(words: int, leading: int) -> tuple[int, ...]:
    return (leading, *(k for k in range(words) if k != leading))


def leading_word(states: Words, new: int, words: int) -> int:
    """Return the best leading word for a sample of a search's states whose last `new` states are of the last level.

    The fewest blocks of older states then contain the place of a new state.
    """
    rows = states.reshape(-1, words)
    known = len(rows) - new
    block = max(1, known // _BLOCKS)
    hit = []
    for leading in range(words):
        order = np.lexsort([rows[:, k] for k in reversed(_places(words, leading))])
        isnew = order >= known
        hit.append(len(np.unique(np.cumsum(~isnew)[isnew] // block)))
    return hit.index(min(hit))


@routine
def sort_states(rows: int, total: int, other: int, counts: int, digits: int, passes: int) -> int:
    """Sort states by the bytes at the given offsets, one pass per offset, and skip bytes that are equal in all states.

    Returns 1 if the result is in `other`, else 0.
    """
    swapped = 0
    for turn in range(passes):
        for digit in range(256):
            put(counts, digit, 0)
        place = rows + get(digits, turn)
        for i in range(total):
            digit = load(place + i * 8 * WIDTH, 1)
            put(counts, digit, get(counts, digit) + 1)
        if total > 0 and get(counts, load(place, 1)) < total:
            before = 0
            for digit in range(256):
                many = get(counts, digit)
                put(counts, digit, before)
                before = before + many
            for i in range(total):
                digit = load(place + i * 8 * WIDTH, 1)
                at = get(counts, digit)
                put(counts, digit, at + 1)
                for k in unrolled(WIDTH):
                    put(other, at * WIDTH + k, get(rows, i * WIDTH + k))
            rows, other = other, rows
            swapped = 1 - swapped
    return swapped


@routine
def distinct(rows: int, total: int) -> int:
    """Move the first of equal states to the front and return their number."""
    count = 0
    for i in range(total):
        if count == 0 or not same(rows, (count - 1) * WIDTH, rows, i * WIDTH):
            keep(rows + i * 8 * WIDTH, rows + count * 8 * WIDTH, WIDTH)
            count = count + 1
    return count


@routine
def merge(left: int, left_count: int, right: int, right_count: int, into: int) -> int:
    """Write the distinct states of two arrays of distinct states in order, and return their number."""
    end, last, start = left + left_count * 8 * WIDTH, right + right_count * 8 * WIDTH, into
    while left < end and right < last:
        first = below(left, right)
        equal = 0
        if not first:
            equal = same(left, 0, right, 0)
        if first or equal:
            keep(left, into, WIDTH)
            left = left + 8 * WIDTH
            right = right + equal * 8 * WIDTH
        else:
            keep(right, into, WIDTH)
            right = right + 8 * WIDTH
        into = into + 8 * WIDTH
    while left < end:
        keep(left, into, WIDTH)
        left, into = left + 8 * WIDTH, into + 8 * WIDTH
    while right < last:
        keep(right, into, WIDTH)
        right, into = right + 8 * WIDTH, into + 8 * WIDTH
    return (into - start) // (8 * WIDTH)


@routine
def encode(rows: int, total: int, before: int, out: int) -> int:
    """Write the encoding of states, the first relative to the state at `before`, and return the number of bytes."""
    at = out
    for i in range(total):
        state = rows + i * 8 * WIDTH
        apart = 0
        for turn in unrolled(WIDTH):
            k = PLACE[turn]
            if apart == 0:
                left = get(state, k) - get(before, k)
                apart = left
                while left > 127:
                    store(at, 1, left | 128)
                    left = left >> 7
                    at = at + 1
                store(at, 1, left)
                at = at + 1
            else:
                left = get(state, k) ^ get(before, k)
                mask_at, mask = at, 0
                at = at + 1
                for byte in unrolled(8):
                    differs = left >> 8 * byte & 255
                    store(at, 1, differs)
                    at = at + (differs != 0)
                    mask = mask | (differs != 0) << byte
                store(mask_at, 1, mask)
        before = state
    return at - out


@routine
def next_state(at: int, before: int, state: int) -> int:
    """Decode the state that follows the state at `before` and return the address of the next encoding."""
    apart = 0
    for turn in unrolled(WIDTH):
        k = PLACE[turn]
        if apart == 0:
            byte = load(at, 1)
            at = at + 1
            value, shift = byte & 127, 7
            while byte > 127:
                byte = load(at, 1)
                at = at + 1
                value = value | (byte & 127) << shift
                shift = shift + 7
            apart = value
            put(state, k, get(before, k) + value)
        else:
            mask, value = load(at, 1), 0
            at = at + 1
            for byte_ in unrolled(8):
                if mask >> byte_ & 1:
                    value = value | load(at, 1) << 8 * byte_
                    at = at + 1
            put(state, k, get(before, k) ^ value)
    return at


@routine
def decode(coded: int, total: int, before: int, rows: int) -> int:
    for i in range(total):
        state = rows + i * 8 * WIDTH
        coded = next_state(coded, before, state)
        before = state
    return 0


@routine
def below(left: int, right: int) -> int:
    """Return whether the first state is smaller than the second."""
    for turn in unrolled(WIDTH):
        k = PLACE[turn]
        if get(left, k) != get(right, k):
            return get(left, k) < get(right, k)
    return 0


@routine
def place_of(rows: int, low: int, total: int, state: int) -> int:
    """Return the first place from `low` on whose state is not smaller: doubling steps, then bisection."""
    if low >= total or not below(rows + low * 8 * WIDTH, state):
        return low
    step = 1
    while low + step < total and below(rows + (low + step) * 8 * WIDTH, state):
        low = low + step
        step = step * 2
    high = low + step if low + step < total else total
    while high - low > 1:
        middle = low + high >> 1
        if below(rows + middle * 8 * WIDTH, state):
            low = middle
        else:
            high = middle
    return high


@routine
def places(rows: int, total: int, wanted: int, many: int, result: int) -> int:
    at = 0
    for w in range(many):
        at = place_of(rows, at, total, wanted + w * 8 * WIDTH)
        put(result, w, at)
    return 0


@routine
def mark_known(coded: int, count: int, state: int, rows: int, first: int, last: int, marks: int) -> int:
    """Mark the states that are among the encoded ones in one pass over both. `state` is a buffer for one state, filled with zeros."""
    for _ in range(count):
        coded = next_state(coded, state, state)
        first = place_of(rows, first, last, state)
        if first == last:
            return 0
        if same(rows, first * WIDTH, state, 0):
            store(marks + first, 1, 1)
            first = first + 1
    return 0


@routine
def unmarked(rows: int, total: int, marks: int) -> int:
    """Move the states without a mark to the front; how many there are."""
    count = 0
    for i in range(total):
        if load(marks + i, 1) == 0:
            keep(rows + i * 8 * WIDTH, rows + count * 8 * WIDTH, WIDTH)
            count = count + 1
    return count
