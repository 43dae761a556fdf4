"""Runs of a distributed search: sets of states as rows, ordered by their hashes.

Two runs are compared in one pass over both, so neither has to fit a table. States with equal hashes are adjacent, in any order. Hashes are
compared as signed words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..routines import GIVEN, address, compile_routine, get, put, routine, unrolled
from .loops import hash_of, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Words = NDArray[np.int64]

WIDTH = GIVEN
_FAN = 3  # a run is merged with the run before it unless that is at least this many times as long


def run_of(rows: Words, width: int) -> Words:
    """Return the distinct rows as a run. `rows` is flat, with `width` words per row."""
    total = len(rows) // width
    rows, hashes = np.ascontiguousarray(rows), np.empty(total, dtype=np.int64)
    compile_routine(_hashes, WIDTH=width)(address(rows), total, address(hashes))
    order = np.argsort(hashes)
    hashes, rows = hashes[order], rows.reshape(-1, width)[order].ravel()
    return rows[: compile_routine(_distinct, WIDTH=width)(address(rows), address(hashes), total) * width]


def unseen(run: Words, seen: Sequence[Words], width: int) -> Words:
    """Return the states of a run that none of the other runs contains."""
    rows, unseen_ = run, compile_routine(_unseen, WIDTH=width)
    for other in seen:
        rows = rows.copy()
        rows = rows[: unseen_(address(rows), len(rows) // width, address(other), len(other) // width) * width]
    return rows


def merged(left: Words, right: Words, width: int) -> Words:
    """Return the run of all states of two disjoint runs."""
    into = np.empty(len(left) + len(right), dtype=np.int64)
    merge = compile_routine(_merged, WIDTH=width)
    merge(address(left), len(left) // width, address(right), len(right) // width, address(into))
    return into


def borders(run: Words, shards: int, width: int) -> list[int]:
    """Return the place in a run at which each shard's states begin, and the end of the last shard. Shards are equal ranges of hashes."""
    ends = [-(1 << 63) + (k << 64) // shards for k in range(1, shards)]
    first = compile_routine(_beyond, WIDTH=width)
    return [0, *(first(address(run), len(run) // width, 0, end) for end in ends), len(run) // width]


def tail(lengths: Sequence[int]) -> int:
    """Return how many of the last runs to merge, so that there are few runs and no state is merged often; 1 means none.

    `lengths` are the lengths of a set's runs, the newest last.
    """
    count, length = 1, lengths[-1]
    while count < len(lengths) and lengths[-count - 1] < _FAN * length:
        count += 1
        length += lengths[-count]
    return count


@routine
def _hashes(rows: int, total: int, into: int) -> int:
    for i in range(total):
        put(into, i, hash_of(rows, i * WIDTH))
    return 0


@routine
def _move(rows: int, at: int, into: int, to: int) -> int:
    for k in unrolled(WIDTH):
        put(into, to * WIDTH + k, get(rows, at * WIDTH + k))
    return 0


@routine
def _distinct(rows: int, hashes: int, total: int) -> int:
    """Move the first of equal rows to the front and return their number."""
    count = 0
    for i in range(total):
        k, hash_ = count - 1, get(hashes, i)
        while k >= 0 and get(hashes, k) == hash_ and not same(rows, k * WIDTH, rows, i * WIDTH):
            k = k - 1
        if k < 0 or get(hashes, k) != hash_:
            _move(rows, i, rows, count)
            put(hashes, count, hash_)
            count = count + 1
    return count


@routine
def _beyond(run: int, total: int, low: int, wanted: int) -> int:
    """Return the first place from `low` on whose hash is not smaller than `wanted`: doubling steps, then bisection."""
    if low >= total or hash_of(run, low * WIDTH) >= wanted:
        return low
    step = 1
    while low + step < total and hash_of(run, (low + step) * WIDTH) < wanted:
        low = low + step
        step = step * 2
    high = low + step if low + step < total else total
    while high - low > 1:
        middle = low + high >> 1
        if hash_of(run, middle * WIDTH) < wanted:
            low = middle
        else:
            high = middle
    return high


@routine
def _unseen(rows: int, total: int, run: int, length: int) -> int:
    """Move the rows that the run lacks to the front and return their number."""
    at, count = 0, 0
    for i in range(total):
        wanted = hash_of(rows, i * WIDTH)
        at = _beyond(run, length, at, wanted)
        k = at
        while k < length and hash_of(run, k * WIDTH) == wanted and not same(run, k * WIDTH, rows, i * WIDTH):
            k = k + 1
        if k == length or hash_of(run, k * WIDTH) != wanted:
            _move(rows, i, rows, count)
            count = count + 1
    return count


@routine
def _merged(left: int, left_total: int, right: int, right_total: int, into: int) -> int:
    i, j = 0, 0
    while i < left_total and j < right_total:
        if hash_of(left, i * WIDTH) <= hash_of(right, j * WIDTH):
            _move(left, i, into, i + j)
            i = i + 1
        else:
            _move(right, j, into, i + j)
            j = j + 1
    while i < left_total:
        _move(left, i, into, i + j)
        i = i + 1
    while j < right_total:
        _move(right, j, into, i + j)
        j = j + 1
    return 0
