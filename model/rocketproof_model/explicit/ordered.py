"""Sets of states in ascending order, and how files hold them: each state as what tells it from the one before.

States are compared word by word, and it matters which word leads: where one holds what only grows, such as messages sent, the states that
are near a search's last level stand together, and the blocks of a file with older ones need not be read. Of a state the words that
are equal to those of the one before, and the first that is not, are differences of a byte or more with seven bits each; of the words
behind, which are in no order, the bytes that differ, after a byte that says which these are. So a state of few bits takes two or three
bytes, and one of several words hardly more than what changes. Whoever decodes has checked that the bytes are those that were encoded.
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
CODED = 9  # bytes that a word takes at most
_BLOCKS = 1024  # of a sample


class StateOrder:
    """The order of the states of one layout in which one word leads. Arrays of states are flat."""

    def __init__(self, layout: Layout, leading: int = 0) -> None:
        self.words, self.leading = layout.words, leading
        self.place = _places(layout.words, leading)
        used = [1] * self.words
        for word, shift, mask in zip(layout.slot_word, layout.slot_shift, layout.slot_mask, strict=True):
            used[word] = max(used[word], int(shift) + int(mask).bit_length())
        ever = [-(-bits // 8) for bits in used]  # bytes of each word
        self._digits = np.array([8 * k + byte for k in reversed(self.place) for byte in range(ever[k])], dtype=np.int64)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., int]:
        return compile_routine(function, WIDTH=self.words, PLACE=self.place)

    def count(self, states: Words) -> int:
        return len(states) // self.words

    def key(self, state: tuple[int, ...]) -> tuple[int, ...]:
        """What states are compared by."""
        return tuple(state[k] for k in self.place)

    def sorted(self, states: Words, other: Words) -> Words:
        """The distinct ones of these states in order. Both arrays, which are equally long, are written to."""
        counts = np.zeros(256, dtype=np.int64)
        sort = compile_routine(sort_states, WIDTH=self.words)
        if sort(address(states), self.count(states), address(other), address(counts), address(self._digits), len(self._digits)):
            states = other
        return states[: compile_routine(distinct, WIDTH=self.words)(address(states), self.count(states)) * self.words]

    def merged(self, parts: list[Words]) -> Words:
        """The distinct states of all parts, each of which is in order, in order. The parts are used up."""
        while len(parts) > 1:
            one, other = parts.pop(0), parts.pop(0)
            into = np.empty(len(one) + len(other), dtype=np.int64)
            count = self._compiled(merge)(address(one), self.count(one), address(other), self.count(other), address(into))
            parts.append(into[: count * self.words])
        return parts.pop() if parts else np.empty(0, dtype=np.int64)

    def encoded(self, states: Words) -> Bytes:
        """The bytes of states in order."""
        out, zeros = np.empty(len(states) * CODED, dtype=np.uint8), np.zeros(self.words, dtype=np.int64)
        return out[: self._compiled(encode)(address(states), self.count(states), address(zeros), address(out))]

    def decoded(self, coded: Bytes, count: int) -> Words:
        """The states that `encoded` has made these bytes of."""
        states, zeros = np.empty(count * self.words, dtype=np.int64), np.zeros(self.words, dtype=np.int64)
        self._compiled(decode)(address(coded), count, address(zeros), address(states))
        return states

    def mark(self, states: Words, first: int, last: int, coded: Bytes, count: int, marks: Bytes) -> None:
        """Set the marks of those of the states first to last - 1 that are among the encoded ones."""
        state = np.zeros(self.words, dtype=np.int64)
        self._compiled(mark_known)(address(coded), count, address(state), address(states), first, last, address(marks))

    def unmarked(self, states: Words, marks: Bytes) -> Words:
        """Those without a mark, in the same memory."""
        return states[: compile_routine(unmarked, WIDTH=self.words)(address(states), self.count(states), address(marks)) * self.words]

    def places(self, states: Words, wanted: Words) -> list[int]:
        """For each of the wanted states, which are in order too, the number of states below it."""
        found = np.empty(self.count(wanted), dtype=np.int64)
        self._compiled(places)(address(states), self.count(states), address(wanted), len(found), address(found))
        return [int(place) for place in found]


def _places(words: int, leading: int) -> tuple[int, ...]:
    return (leading, *(k for k in range(words) if k != leading))


def leading_word(states: Words, new: int, words: int) -> int:
    """The word that leads best, by a sample of a search's states of which the last `new` are of its last level: in whose order the
    fewest blocks of older states have a new one among them."""
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
    """Sort by the bytes at so many offsets of a state, one after the other, without those that are equal in all states; 1 if the result is
    in `other`."""
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
    """Move the first of equal states to the front; how many there are."""
    kept = 0
    for i in range(total):
        if kept == 0 or not same(rows, (kept - 1) * WIDTH, rows, i * WIDTH):
            keep(rows + i * 8 * WIDTH, rows + kept * 8 * WIDTH, WIDTH)
            kept = kept + 1
    return kept


@routine
def merge(one: int, ones: int, other: int, others: int, into: int) -> int:
    """Write the distinct states of two arrays of distinct ones in order; how many there are."""
    end, last, start = one + ones * 8 * WIDTH, other + others * 8 * WIDTH, into
    while one < end and other < last:
        first = below(one, other)
        equal = 0
        if not first:
            equal = same(one, 0, other, 0)
        if first or equal:
            keep(one, into, WIDTH)
            one = one + 8 * WIDTH
            other = other + equal * 8 * WIDTH
        else:
            keep(other, into, WIDTH)
            other = other + 8 * WIDTH
        into = into + 8 * WIDTH
    while one < end:
        keep(one, into, WIDTH)
        one, into = one + 8 * WIDTH, into + 8 * WIDTH
    while other < last:
        keep(other, into, WIDTH)
        other, into = other + 8 * WIDTH, into + 8 * WIDTH
    return (into - start) // (8 * WIDTH)


@routine
def encode(rows: int, total: int, before: int, out: int) -> int:
    """Write the states' bytes, the first as if that at `before` preceded it; how many they are."""
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
                said, mask = at, 0
                at = at + 1
                for byte in unrolled(8):
                    differs = left >> 8 * byte & 255
                    store(at, 1, differs)
                    at = at + (differs != 0)
                    mask = mask | (differs != 0) << byte
                store(said, 1, mask)
        before = state
    return at - out


@routine
def next_state(at: int, before: int, state: int) -> int:
    """Write the state after the one at `before`; where the next one's bytes are."""
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
def below(one: int, other: int) -> int:
    """Whether the state at one address comes before that at the other."""
    for turn in unrolled(WIDTH):
        k = PLACE[turn]
        if get(one, k) != get(other, k):
            return get(one, k) < get(other, k)
    return 0


@routine
def place_of(rows: int, low: int, total: int, state: int) -> int:
    """The first place from `low` on with no lesser state: steps that double, then halves."""
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
def places(rows: int, total: int, wanted: int, many: int, found: int) -> int:
    at = 0
    for w in range(many):
        at = place_of(rows, at, total, wanted + w * 8 * WIDTH)
        put(found, w, at)
    return 0


@routine
def mark_known(coded: int, count: int, state: int, rows: int, first: int, last: int, marks: int) -> int:
    """Walk along both; `state` is all zero, and has room for one."""
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
    kept = 0
    for i in range(total):
        if load(marks + i, 1) == 0:
            keep(rows + i * 8 * WIDTH, rows + kept * 8 * WIDTH, WIDTH)
            kept = kept + 1
    return kept
