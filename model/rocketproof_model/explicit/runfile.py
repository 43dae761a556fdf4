"""Runs of states in a file, one after another. A run is a set of states in order (see `ordered`), in blocks that can be read separately.

A block has a head, its first state unencoded, and the encoding of all its states. The first states are the index of a run. Checksums of
heads and first states are verified when the file is opened, and the checksum of the encoding when a block is first read. Several threads
may read at once.
"""

from __future__ import annotations

import errno
import os
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .ordered import StateOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

STATES = 1 << 16  # states of a block
_HEAD = np.dtype([("states", "<u4"), ("bytes", "<u4"), ("sum", "<u4"), ("own", "<u4")])  # `own` is the checksum of head and first state
_TOGETHER = 1 << 22  # bytes of blocks per read


def _head(states: int, size: int, sum_: int, first: bytes) -> bytes:
    """Return the head of a block, followed by its first state."""
    own = zlib.crc32(np.array([(states, size, sum_, 0)], dtype=_HEAD).tobytes() + first)
    return np.array([(states, size, sum_, own)], dtype=_HEAD).tobytes() + first


class DamagedRunError(Exception):
    """The file differs from what was written."""


@dataclass
class Block:
    """A block of a run: `at` is the byte at which its encoding begins, `first` its first state."""

    at: int
    size: int
    states: int
    sum: int
    first: tuple[int, ...]
    checked: bool


class SortedRun:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.states = 0
        self.end = 0  # the byte after the run


class RunFile:
    """A file of runs; the last run may be under construction.

    Methods raise OSError if the disk is full or the file would exceed `limit` bytes.
    """

    def __init__(self, path: Path, order: StateOrder, limit: Callable[[], int | None] = lambda: None, states: int = STATES) -> None:
        self.path, self.order, self.limit, self.block = path, order, limit, states
        self.runs: list[SortedRun] = []
        self.end = 0
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a run at the end of the file."""
        self.runs.append(SortedRun())
        self.runs[-1].end = self.end

    def append(self, states: Words) -> None:
        """Append states to the last run. They are in order and greater than all states of the run."""
        run, words = self.runs[-1], self.order.words
        for first in range(0, self.order.count(states), self.block):
            rows = states[first * words : (first + self.block) * words]
            coded = self.order.encoded(rows)
            count, sum_ = self.order.count(rows), zlib.crc32(coded.data)
            head = _head(count, len(coded), sum_, rows[:words].astype("<i8").tobytes())
            limit = self.limit()
            if limit is not None and self.end + len(head) + len(coded) > limit:
                raise OSError(errno.ENOSPC, "the files may not be larger")
            self._write(head, self.end)
            self._write(coded.data, self.end + len(head))
            run.blocks.append(Block(self.end + len(head), len(coded), count, sum_, tuple(rows[:words].tolist()), True))
            self.end += len(head) + len(coded)
            run.states, run.end = run.states + count, self.end

    def _write(self, data: bytes | memoryview, at: int) -> None:
        left = memoryview(data)
        while left:
            done = os.pwrite(self.descriptor, left, at)
            left, at = left[done:], at + done

    def cut(self, runs: int) -> None:
        """Keep the first `runs` runs and drop the others."""
        del self.runs[runs:]
        self.end = self.runs[-1].end if runs else 0
        os.ftruncate(self.descriptor, self.end)

    def sync(self) -> None:
        os.fsync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)

    # -- reading ------------------------------------------------------------------------------------------------------

    def recall(self, sizes: Sequence[int], ends: Sequence[int]) -> None:
        """Read the runs of an existing file from their numbers of states and their ends. Raises DamagedRunError."""
        words, at = self.order.words, 0
        for size, end in zip(sizes, ends, strict=True):
            self.begin()
            run = self.runs[-1]
            while at < end:
                head = os.pread(self.descriptor, _HEAD.itemsize + 8 * words, at)
                if len(head) < _HEAD.itemsize + 8 * words:
                    raise DamagedRunError
                at += len(head)
                count, size_, sum_, _ = (int(value) for value in np.frombuffer(head, _HEAD, 1)[0])
                first = tuple(np.frombuffer(head, "<i8", words, _HEAD.itemsize).tolist())
                if head != _head(count, size_, sum_, head[_HEAD.itemsize :]) or not count:
                    raise DamagedRunError
                run.blocks.append(Block(at, size_, count, sum_, first, False))
                run.states, at = run.states + count, at + size_
            if run.states != size or at != end:
                raise DamagedRunError
            self.end = run.end = end
        os.ftruncate(self.descriptor, self.end)

    def _coded(self, blocks: Sequence[Block]) -> Iterator[tuple[Block, NDArray[np.uint8]]]:
        """Yield the encodings of consecutive blocks. Raises DamagedRunError."""
        start, end = blocks[0].at, blocks[-1].at + blocks[-1].size
        data = os.pread(self.descriptor, end - start, start)
        for block in blocks:
            coded = np.frombuffer(data, dtype=np.uint8)[block.at - start : block.at - start + block.size]
            if len(coded) < block.size or (not block.checked and zlib.crc32(coded.data) != block.sum):
                raise DamagedRunError
            block.checked = True
            yield block, coded

    def read(self, block: Block) -> Words:
        """Return the states of a block. Raises DamagedRunError."""
        ((_, coded),) = self._coded([block])
        return self.order.decoded(coded, block.states)

    def between(self, run: SortedRun, low: tuple[int, ...] | None, high: tuple[int, ...] | None) -> Iterator[Words]:
        """Yield the states of a run from `low` to below `high`; None is no bound."""
        first = max(0, self._block_at(run, low) - 1) if low is not None else 0
        last = self._block_at(run, high) if high is not None else len(run.blocks)
        for block in run.blocks[first:last]:
            states = self.read(block)
            start, end = (None if at is None else self._place(states, at) for at in (low, high))
            yield states[start:end]

    def _block_at(self, run: SortedRun, state: tuple[int, ...]) -> int:
        """Return the first block of a run whose first state is not smaller than `state`."""
        key = self.order.key
        return bisect_left(run.blocks, key(state), key=lambda block: key(block.first))

    def _place(self, states: Words, wanted: tuple[int, ...]) -> int:
        return self.order.places(states, np.array(wanted, dtype=np.int64))[0] * self.order.words

    def unknown(self, states: Words, map_: Callable[..., Iterable[object]] = map) -> Words:
        """Return the states, given in order, that no run contains; reuses their memory. `map_` may process pieces in parallel."""
        marks = np.zeros(self.order.count(states), dtype=np.uint8)

        def mark(piece: list[tuple[Block, int, int]]) -> None:
            for (_, first, last), (block, coded) in zip(piece, self._coded([block for block, _, _ in piece]), strict=True):
                self.order.mark(states, first, last, coded, block.states, marks)

        for _ in map_(mark, list(self._candidate_blocks(states))):
            pass
        return self.order.unmarked(states, marks)

    def _candidate_blocks(self, states: Words) -> Iterator[list[tuple[Block, int, int]]]:
        """Yield pieces of consecutive blocks that may contain some of the states, with the range of states for each block."""
        piece: list[tuple[Block, int, int]] = []
        total, next_at = self.order.count(states), -1
        for run in self.runs:
            firsts = np.array([block.first for block in run.blocks], dtype=np.int64).ravel()
            places = [*self.order.places(states, firsts), total]
            for block, (first, last) in zip(run.blocks, pairwise(places), strict=True):
                if first == last:
                    continue
                if piece and (block.at != next_at or block.at + block.size - piece[0][0].at > _TOGETHER):
                    yield piece
                    piece = []
                piece.append((block, first, last))
                next_at = block.at + block.size + _HEAD.itemsize + 8 * self.order.words
        if piece:
            yield piece
