"""Runs: sets of states as rows in the order of their hashes, which is how a search keeps them in files.

Two runs are compared by walking along both, so neither has to fit a table. States with equal hashes stand side by side
in any order. Hashes are compared as signed words.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..compiled import compiled
from .atomics import address, get, put
from .loops import hashed, keep, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_FAN = 3  # a run is merged with the one before it unless that is so many times as long


def run_of(rows: Words, width: int) -> Words:
    """The distinct ones of these rows (flat, `width` words each) as a run."""
    total = len(rows) // width
    hashes = np.empty(total, dtype=np.int64)
    _hashes(rows, total, width, hashes)
    order = np.argsort(hashes)
    hashes, rows = hashes[order], rows.reshape(-1, width)[order].ravel()
    return rows[: _distinct(rows, hashes, total, width) * width]


def unseen(run: Words, seen: Sequence[Words], width: int) -> Words:
    """The states of a run that stand in none of the others."""
    rows = run
    for other in seen:
        rows = rows.copy()
        rows = rows[: _unseen(rows, len(rows) // width, other, len(other) // width, width) * width]
    return rows


def merged(one: Words, other: Words, width: int) -> Words:
    """The run of all states of two runs that have none in common."""
    into = np.empty(len(one) + len(other), dtype=np.int64)
    _merged(one, len(one) // width, other, len(other) // width, into, width)
    return into


def borders(run: Words, shards: int, width: int) -> list[int]:
    """Where each shard's states begin in a run, in states, and where the last one's end: shards are equal ranges of hashes."""
    ends = [-(1 << 63) + (k << 64) // shards for k in range(1, shards)]
    return [0, *(int(_first(run, len(run) // width, width, end)) for end in ends), len(run) // width]


def tail(lengths: Sequence[int]) -> int:
    """How many of the last runs to merge, so that there are few runs and no state is merged often; 1 is none.

    `lengths` are those of a set's runs, the newest last.
    """
    many, length = 1, lengths[-1]
    while many < len(lengths) and lengths[-many - 1] < _FAN * length:
        many += 1
        length += lengths[-many]
    return many


@compiled
def _hashes(rows, total, width, into):
    rows_at = address(rows)
    for i in range(total):
        into[i] = hashed(rows_at, i * width, width)


@compiled
def _distinct(rows, hashes, total, width):
    """Move the first of equal rows to the front; how many there are."""
    rows_at, kept = address(rows), 0
    for i in range(total):
        k = kept - 1
        while k >= 0 and hashes[k] == hashes[i] and not same(rows_at, k * width, rows_at, i * width, width):
            k -= 1
        if k < 0 or hashes[k] != hashes[i]:
            keep(rows_at, i * width, rows_at, kept * width, width)
            hashes[kept] = hashes[i]
            kept += 1
    return kept


@compiled
def _beyond(run_at, total, width, low, wanted):
    """The first place from `low` on with no lesser hash than wanted: steps that double, then halves."""
    if low >= total or hashed(run_at, low * width, width) >= wanted:
        return low
    step = 1
    while low + step < total and hashed(run_at, (low + step) * width, width) < wanted:
        low += step
        step *= 2
    high = min(low + step, total)
    while high - low > 1:
        middle = (low + high) // 2
        if hashed(run_at, middle * width, width) < wanted:
            low = middle
        else:
            high = middle
    return high


@compiled
def _first(run, total, width, wanted):
    return _beyond(address(run), total, width, 0, wanted)


@compiled
def _unseen(rows, total, run, length, width):
    """Move the rows that the run lacks to the front; how many there are."""
    rows_at, run_at, at, kept = address(rows), address(run), 0, 0
    for i in range(total):
        wanted = hashed(rows_at, i * width, width)
        at = _beyond(run_at, length, width, at, wanted)
        k = at
        while k < length and hashed(run_at, k * width, width) == wanted and not same(run_at, k * width, rows_at, i * width, width):
            k += 1
        if k == length or hashed(run_at, k * width, width) != wanted:
            keep(rows_at, i * width, rows_at, kept * width, width)
            kept += 1
    return kept


@compiled
def _merged(one, one_total, other, other_total, into, width):
    one_at, other_at, into_at = address(one), address(other), address(into)
    i, j = 0, 0
    while i < one_total and j < other_total:
        if hashed(one_at, i * width, width) <= hashed(other_at, j * width, width):
            keep(one_at, i * width, into_at, (i + j) * width, width)
            i += 1
        else:
            keep(other_at, j * width, into_at, (i + j) * width, width)
            j += 1
    for k in range(i * width, one_total * width):
        put(into_at, j * width + k, get(one_at, k))
    for k in range(j * width, other_total * width):
        put(into_at, i * width + k, get(other_at, k))
