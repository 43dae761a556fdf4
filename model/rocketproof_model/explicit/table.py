"""The table of seen states: exact, compact, and told apart by level, so that a search keeps no state twice.

A state's first word is mixed by a function that can be undone, so that the bucket where a state lies tells the hash's first bits and only
the rest is stored (Cleary 1984). The bucket's number grows with the hash: table and hashes are in the same order, wherever the table
ends. With n homes the hash's first 32 bits a give the home a * n >> 32; what is below that product's point, without the bits that n
makes superfluous, tells a from its neighbours at home.

A bucket is a few cache lines: entries from its front; from its back one byte of control (entries in use, whether states of it lie
further on, and a lock), then a byte of each entry, the tag, by which one instruction finds those that may be equal. An entry holds, from
the lowest bit: the hash's other bits, how many buckets from home it lies, and its state's level; then the state's other words, bytes
that are never used left out. Entries are never removed or changed, so who reads needs no lock: an entry counts once the control byte
says so. Who writes locks the state's home, and a bucket further on while writing there.

The table grows in its place: from the last bucket down every state moves to a higher address. All states that move beyond what has not
moved yet can do so at once, in ranges of buckets that threads share out, as long as no two of them come near each other.
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

LOAD = 0.8  # part of the entries that may be taken before the table grows
_FAR_BITS = 6
_SHARED = 56  # bits of a first word up to which hashes have whole bytes: layouts share routines, and an entry is a byte longer at most
_LINE = 64
_FEWEST = 7  # entries of a bucket, which takes as many lines as that needs
_ASIDE = 1024  # buckets that move last when the table grows, as their states may move to a lower address
_APART = 2 * FAR + 4  # buckets between two from which states cannot move to the same one, as each lies, before and after, near its home
_SHARE = 1 << 12  # buckets that are worth a thread
_LEAST_GROWTH = 1.2  # of the table's bytes; with _ASIDE it keeps what moves from what has not yet
_HUGE = 1 << 21  # bytes of a huge page
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0  # a flag of mmap that Python does not name: what is not written counts for nothing


def constants(layout: Layout) -> dict[str, Constant]:
    """What the routines need to know of a layout when they are compiled."""
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
    """How a table with so many homes is laid out.

    A bucket of `size` bytes has `slots` entries of `rest` bytes, and as many tags. Of an entry `fixed` bytes are the hash's other bits,
    from bit `shift` on the distance from home, from bit `level` on the level.
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
        """States above which the table is to grow."""
        return int(self.homes * self.slots * LOAD)

    @property
    def levels(self) -> int:
        """Levels that an entry can tell."""
        return 1 << 8 * self.fixed - self.level

    @staticmethod
    def of(key: int, others: int, homes: int, levels: int) -> TableLayout | None:
        """For a hash of `key` bits beside `others` bytes; None if an entry's first part would exceed a word."""
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
    """The seen states of one search; its memory grows by `grow` alone. `block` is what routines are told of it."""

    def __init__(self, layout: Layout, homes: int) -> None:
        self.constants = constants(layout)
        self.width = layout.words
        self.key, self.others = int(str(self.constants["KEY"])), sum(self._bytes()[1:])
        self.shape = self._shaped(homes, 1)
        self.memory = room(self.shape.bytes)
        self.block = _block(self.shape, self.memory)

    def _bytes(self) -> tuple[int, ...]:
        found = self.constants["BYTES"]
        assert isinstance(found, tuple)
        return found

    def _shaped(self, homes: int, levels: int) -> TableLayout:
        shape = TableLayout.of(self.key, self.others, homes, levels)
        while shape is None:
            homes *= 2
            shape = TableLayout.of(self.key, self.others, homes, levels)
        return shape

    @property
    def bytes(self) -> int:
        return self.shape.bytes

    def larger(self, states: int, levels: int) -> TableLayout:
        """The shape with room for so many states and levels, of at least so many bytes as growing in place needs."""
        # Some levels are kept in reserve, so that a table is not laid out anew for each.
        levels = 4 * max(levels, 4)
        shape = self._shaped(max(self.shape.homes, int(states / LOAD / self.shape.slots)), levels)
        while shape.capacity < states or shape.bytes < _LEAST_GROWTH * self.shape.bytes:
            more = max(states / max(shape.capacity, 1), _LEAST_GROWTH * self.shape.bytes / shape.bytes)
            shape = self._shaped(int(shape.homes * more) + 1, levels)
        return shape

    def grow(self, shape: TableLayout, workers: int = 1) -> None:
        """Lay the table out anew, by so many threads; MemoryError if there is no memory, and then nothing has changed. A table half
        moved is none: Ctrl-C waits."""
        old, was, memory = self.block.copy(), self.shape, self.memory
        if shape.bytes > len(memory):
            memory = room(shape.bytes)
            memory[: was.bytes] = self.memory[: was.bytes]
        old[AT] = address(memory)
        new = _block(shape, memory)
        compiled = compile_routine(move_table, ALONE=1, **self.constants)

        def move(buckets: range) -> bool:
            pocket, state = np.zeros(was.size // 8, dtype=np.int64), np.zeros(self.width, dtype=np.int64)
            return bool(compiled(address(old), address(new), buckets.start, buckets.stop, address(pocket), address(state)))

        aside = min(_ASIDE, was.buckets)
        kept = memory[: aside * was.size].copy()
        with uninterrupted(), ThreadPoolExecutor(workers) as pool:
            memory[: aside * was.size] = 0
            done = all(all(pool.map(move, step)) for step in _steps(was, shape, aside, workers))
            old[AT] = address(kept)
            done = done and move(range(aside))
            assert done, "a table that has grown has no room"
            self.memory, self.shape, self.block[:] = memory, shape, new

    def clear(self) -> None:
        """Forget all states."""
        self.memory[: self.shape.bytes] = 0

    def levels(self, sizes: list[int], first: int, last: int) -> list[Words]:
        """The states of levels first to last - 1, which have these sizes."""
        return split(self.gathered(sizes, first, last), sizes[first:last], self.width)

    def gathered(self, sizes: list[int], first: int, last: int) -> Words:
        """The same, one level after the other in one array."""
        ends = np.concatenate([[0], np.cumsum(sizes[first:last])]).astype(np.int64)
        out = np.empty(int(ends[-1]) * self.width, dtype=np.int64)
        places, state = ends.copy(), np.zeros(self.width, dtype=np.int64)
        collect = compile_routine(collect_levels, **self.constants)
        collect(address(self.block), self.shape.buckets, first, last, address(places), address(out), address(state))
        assert (places[:-1] == ends[1:]).all(), "the table has lost states"
        return out


def _steps(old: TableLayout, new: TableLayout, first: int, workers: int) -> Iterator[list[range]]:
    """The old buckets from `first` on, in the order in which their states move: those of a step at once, each range by a thread."""
    last = old.buckets
    while workers > 1:
        # From this bucket on states move beyond all that has not moved yet, though they may lie FAR behind their homes.
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
    """The levels of states that lie in one array, one after the other."""
    ends = [width * end for end in accumulate(sizes, initial=0)]
    return [states[a:b] for a, b in pairwise(ends)]


def _block(shape: TableLayout, memory: NDArray[np.uint8]) -> Words:
    values = [address(memory), shape.homes, shape.log, shape.size, shape.slots, shape.rest, shape.fixed, shape.shift, shape.level]
    return np.array(values, dtype=np.int64)


def physical_memory() -> int:
    """Bytes of memory that the machine has; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return 0


def room(size: int) -> NDArray[np.uint8]:
    """Zeros, at least so many, and where the system allows it as many as there is memory: pages are taken once they are written."""
    try:
        made = mmap.mmap(-1, max(size, physical_memory()) + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except (OSError, ValueError, AttributeError):
        return np.zeros(size, dtype=np.uint8)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        made.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(made, dtype=np.uint8)
    return whole[-address(whole) % _HUGE :]
