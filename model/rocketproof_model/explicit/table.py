"""The table of seen states: exact, compact, and grouped by level. A search needs no second copy of a state.

An invertible function mixes a state's first word into a hash. The number of the state's home bucket determines the first bits of the hash,
so an entry stores only the remaining bits (Cleary 1984). Bucket numbers grow with hashes, so tables of different sizes hold the states in
the same order. With n homes, the first 32 bits a of a hash select the home a * n >> 32. The product's bits below that point distinguish a
from other hashes with the same home; bits that n makes superfluous are dropped.

A bucket has a few cache lines. Its entries start at its front. Its last byte is a control byte: the number of used entries, a flag that
states continue in the next bucket, and a lock. Before the control byte there is one tag byte per entry; one instruction finds the tags that
match. An entry holds, from the lowest bit: the remaining bits of the hash, the distance in buckets from the home bucket, and the state's
level. The state's other words follow, without the bytes that are never used. Entries are never removed or changed, so readers need no lock:
an entry is valid once the control byte counts it. A writer locks the state's home bucket, and a later bucket while it writes there.

The table grows in place: every state moves to a higher address, starting with the last bucket. States whose new address is beyond all
states that have not moved yet can move at the same time. Threads share these ranges of buckets, with gaps that keep two threads out of the
same bucket.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..interrupts import uninterrupted
from ..routines import Constant, address, compile_routine
from .buckets import AT, FAR, collect_levels, move_table
from .layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

LOAD = 0.8  # share of the entries that may be used before the table grows
_FAR_BITS = 6
_SHARED = 56  # hashes up to this many bits are rounded up to whole bytes: more layouts share routines, at the cost of a byte per entry
_LINE = 64
_FEWEST = 7  # minimum of entries of a bucket; it decides how many cache lines a bucket has
_ASIDE = 1024  # buckets that move last when the table grows: their states may move to a lower address
_APART = 2 * FAR + 4  # distance of buckets whose states never move to the same bucket: a state is within FAR of its home before and after
_SHARE = 1 << 12  # minimum of buckets for which a thread is started
_LEAST_GROWTH = 1.2  # minimum growth of the table's bytes; with _ASIDE it keeps moved states away from those not moved yet
_HUGE = 1 << 21  # bytes of a huge page
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0  # MAP_NORESERVE, which Python does not name: unwritten pages reserve no memory


def constants(layout: Layout) -> dict[str, Constant]:
    """Return the constants of a layout that the table's routines are compiled with."""
    used = [0] * layout.words
    for word, shift, mask in zip(layout.slot_word, layout.slot_shift, layout.slot_mask, strict=True):
        used[word] = max(used[word], int(shift) + int(mask).bit_length())
    if used[0] <= _SHARED:
        used[0] += -used[0] % 8
    key = max(used[0], 16 if layout.words == 1 else 40)
    high, mask = min(key, 32), (1 << key) - 1
    factors = 0x9E3779B97F4A7C15 & mask, 0xBF58476D1CE4E5B9 & mask
    return {
        "WIDTH": layout.words, "KEY": key, "HIGH": high, "LOW": key - high, "HALF": (key + 1) // 2, "PRESENT": 1 << layout.present,
        "MASK": mask, "HIGH_MASK": (1 << high) - 1, "LOW_MASK": (1 << key - high) - 1, "FACTOR": factors[0], "OTHER": factors[1],
        "UNDO": pow(factors[0], -1, mask + 1), "UNDO_OTHER": pow(factors[1], -1, mask + 1), "FOLD": 0x9E3779B97F4A7C15,
        "BYTES": tuple(max(1, -(-bits // 8)) for bits in used),
    }  # fmt: skip


@dataclass(frozen=True)
class TableLayout:
    """The layout of a table with `homes` home buckets.

    A bucket of `size` bytes has `slots` entries of `rest` bytes and a tag for each. The first `fixed` bytes of an entry hold the remaining
    bits of the hash. From bit `shift` on they hold the distance from home, from bit `level` on the level.
    """

    homes: int
    log: int
    size: int
    slots: int
    rest: int
    fixed: int
    shift: int
    level: int

    @property
    def buckets(self) -> int:
        return self.homes + FAR + 1

    @property
    def bytes(self) -> int:
        return self.buckets * self.size

    @property
    def capacity(self) -> int:
        """The number of states above which the table should grow."""
        return int(self.homes * self.slots * LOAD)

    @property
    def levels(self) -> int:
        """The number of levels that an entry can represent."""
        return 1 << 8 * self.fixed - self.level

    @staticmethod
    def of(key: int, others: int, homes: int, levels: int) -> TableLayout | None:
        """Return the layout for a hash of `key` bits and `others` further bytes per state.

        Returns None if an entry's first part would exceed a word.
        """
        log = min(homes.bit_length() - 1, min(key, 32))
        shift = max(key - log - 8, 0)
        fixed = max(1, -(-(shift + _FAR_BITS + levels.bit_length()) // 8))
        if fixed > 8:
            return None
        rest = fixed + others
        lines = next(n for n in range(1, 1 << 16) if (n * _LINE - 1) // (rest + 1) >= _FEWEST)
        slots = min(15, (lines * _LINE - 1) // (rest + 1))
        return TableLayout(homes, log, lines * _LINE, slots, rest, fixed, shift, shift + _FAR_BITS)


class StateTable:
    """The seen states of one search. Only `grow` changes its memory. `block` is the description of the table that the routines read."""

    def __init__(self, layout: Layout, homes: int) -> None:
        self.constants = constants(layout)
        self.width = layout.words
        self.key, self.others = int(str(self.constants["KEY"])), sum(self._bytes()[1:])
        self.shape = self._shape(homes, 1)
        self.memory = allocate(self.shape.bytes)
        self.block = _block(self.shape, self.memory)

    def _bytes(self) -> tuple[int, ...]:
        sizes = self.constants["BYTES"]
        assert isinstance(sizes, tuple)
        return sizes

    def _shape(self, homes: int, levels: int) -> TableLayout:
        shape = TableLayout.of(self.key, self.others, homes, levels)
        while shape is None:
            homes *= 2
            shape = TableLayout.of(self.key, self.others, homes, levels)
        return shape

    @property
    def bytes(self) -> int:
        return self.shape.bytes

    def larger(self, states: int, levels: int) -> TableLayout:
        """Return a layout with room for the states and levels that is large enough for growing in place."""
        # Room for further levels, so that a new level does not always need a new layout.
        levels = 4 * max(levels, 4)
        shape = self._shape(max(self.shape.homes, int(states / LOAD / self.shape.slots)), levels)
        while shape.capacity < states or shape.bytes < _LEAST_GROWTH * self.shape.bytes:
            factor = max(states / max(shape.capacity, 1), _LEAST_GROWTH * self.shape.bytes / shape.bytes)
            shape = self._shape(int(shape.homes * factor) + 1, levels)
        return shape

    def grow(self, shape: TableLayout, workers: int = 1) -> None:
        """Move the table to a larger layout, with this many threads. Ctrl-C waits until the move is complete.

        Raises MemoryError if there is no memory; the table is then unchanged.
        """
        old, old_shape, memory = self.block.copy(), self.shape, self.memory
        if shape.bytes > len(memory):
            memory = allocate(shape.bytes)
            memory[: old_shape.bytes] = self.memory[: old_shape.bytes]
        old[AT] = address(memory)
        new = _block(shape, memory)
        compiled = compile_routine(move_table, ALONE=1, **self.constants)

        def move(buckets: range) -> bool:
            pocket, state = np.zeros(old_shape.size // 8, dtype=np.int64), np.zeros(self.width, dtype=np.int64)
            return bool(compiled(address(old), address(new), buckets.start, buckets.stop, address(pocket), address(state)))

        aside = min(_ASIDE, old_shape.buckets)
        saved = memory[: aside * old_shape.size].copy()
        with uninterrupted(), ThreadPoolExecutor(workers) as pool:
            memory[: aside * old_shape.size] = 0
            done = all(all(pool.map(move, step)) for step in _steps(old_shape, shape, aside, workers))
            old[AT] = address(saved)
            done = done and move(range(aside))
            assert done, "a table that has grown has no room"
            self.memory, self.shape, self.block[:] = memory, shape, new

    def clear(self) -> None:
        """Remove all states."""
        self.memory[: self.shape.bytes] = 0

    def levels(self, sizes: list[int], first: int, last: int) -> list[Words]:
        """Return the states of levels `first` to `last` - 1; `sizes` are the numbers of states of all levels."""
        return split(self.gathered(sizes, first, last), sizes[first:last], self.width)

    def gathered(self, sizes: list[int], first: int, last: int) -> Words:
        """Return the states of levels `first` to `last` - 1 in one array, level after level."""
        ends = np.concatenate([[0], np.cumsum(sizes[first:last])]).astype(np.int64)
        out = np.empty(int(ends[-1]) * self.width, dtype=np.int64)
        places, state = ends.copy(), np.zeros(self.width, dtype=np.int64)
        collect = compile_routine(collect_levels, **self.constants)
        collect(address(self.block), self.shape.buckets, first, last, address(places), address(out), address(state))
        assert (places[:-1] == ends[1:]).all(), "the table has lost states"
        return out


def _steps(old: TableLayout, new: TableLayout, first: int, workers: int) -> Iterator[list[range]]:
    """Yield the order in which the old buckets from `first` on move. The ranges of a step move at the same time, one thread per range."""
    last = old.buckets
    while workers > 1:
        # States from this bucket on move beyond all that have not moved yet, even those that are FAR buckets after their homes.
        free = -(-last * old.size * old.homes // (new.size * new.homes)) + _APART
        share = (last - free) // workers
        if free < first or share < _SHARE:
            break
        ends = [free + share * k for k in range(workers)] + [last]
        seams = ends[1:-1]
        yield [range(a, b - _APART if b in seams else b) for a, b in pairwise(ends)]
        yield from ([range(b - _APART, b)] for b in seams)
        last = free
    yield [range(first, last)]


def split(states: Words, sizes: list[int], width: int) -> list[Words]:
    """Split an array that holds the states of several levels, one level after another."""
    ends = [width * end for end in accumulate(sizes, initial=0)]
    return [states[a:b] for a, b in pairwise(ends)]


def _block(shape: TableLayout, memory: NDArray[np.uint8]) -> Words:
    values = [address(memory), shape.homes, shape.log, shape.size, shape.slots, shape.rest, shape.fixed, shape.shift, shape.level]
    return np.array(values, dtype=np.int64)


def physical_memory() -> int:
    """Return the bytes of memory of the machine; 0 if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return 0


def allocate(size: int) -> NDArray[np.uint8]:
    """Return an array of at least `size` zero bytes.

    If the system allows it, the array is as large as the machine's memory: pages are allocated when they are written.
    """
    try:
        mapping = mmap.mmap(-1, max(size, physical_memory()) + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except (OSError, ValueError, AttributeError):
        return np.zeros(size, dtype=np.uint8)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        mapping.madvise(mmap.MADV_HUGEPAGE)
    buffer = np.frombuffer(mapping, dtype=np.uint8)
    return buffer[-address(buffer) % _HUGE :]
