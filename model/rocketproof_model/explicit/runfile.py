"""Runs of states in a file, one after the other: each a set in order (see `ordered`), in blocks that are read by themselves.

A block has a head, the first of its states as it is, and the bytes of all of them. The first states are what is known of a run without
reading it. Heads and first states have checksums that are compared when the file is opened; that of the bytes is compared when a block is
first read. Threads may read at once.
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

STATES = 1 << 16  # of a block
_HEAD = np.dtype([("states", "<u4"), ("bytes", "<u4"), ("sum", "<u4"), ("own", "<u4")])  # `own` is the checksum of head and first state
_TOGETHER = 1 << 22  # bytes of blocks that are read at once


def _head(states: int, size: int, sum_: int, first: bytes) -> bytes:
    """The head of a block and its first state."""
    own = zlib.crc32(np.array([(states, size, sum_, 0)], dtype=_HEAD).tobytes() + first)
    return np.array([(states, size, sum_, own)], dtype=_HEAD).tobytes() + first


class DamagedRunError(Exception):
    """The file is not as it was written."""


@dataclass
class Block:
    """`at` is where its bytes begin; `first` its first state."""

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
        self.end = 0  # the byte behind it


class RunFile:
    """A file of runs, of which the last may be under construction. OSError where the system has no room, or beyond `most` bytes."""

    def __init__(self, path: Path, order: StateOrder, most: Callable[[], int | None] = lambda: None, states: int = STATES) -> None:
        self.path, self.order, self.most, self.block = path, order, most, states
        self.runs: list[SortedRun] = []
        self.end = 0
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a run, behind all that there are."""
        self.runs.append(SortedRun())
        self.runs[-1].end = self.end

    def append(self, states: Words) -> None:
        """Add states, in order and behind all that are there, to the last run."""
        run, words = self.runs[-1], self.order.words
        for first in range(0, self.order.count(states), self.block):
            rows = states[first * words : (first + self.block) * words]
            coded = self.order.encoded(rows)
            count, sum_ = self.order.count(rows), zlib.crc32(coded.data)
            head = _head(count, len(coded), sum_, rows[:words].astype("<i8").tobytes())
            most = self.most()
            if most is not None and self.end + len(head) + len(coded) > most:
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
        """Keep so many runs."""
        del self.runs[runs:]
        self.end = self.runs[-1].end if runs else 0
        os.ftruncate(self.descriptor, self.end)

    def sync(self) -> None:
        os.fsync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)

    # -- reading ------------------------------------------------------------------------------------------------------

    def recall(self, sizes: Sequence[int], ends: Sequence[int]) -> None:
        """Find the runs that a file has: their states and where they end. Raises DamagedError."""
        words, at = self.order.words, 0
        for size, end in zip(sizes, ends, strict=True):
            self.begin()
            run = self.runs[-1]
            while at < end:
                head = os.pread(self.descriptor, _HEAD.itemsize + 8 * words, at)
                if len(head) < _HEAD.itemsize + 8 * words:
                    raise DamagedRunError
                at += len(head)
                count, many, sum_, _ = (int(value) for value in np.frombuffer(head, _HEAD, 1)[0])
                first = tuple(np.frombuffer(head, "<i8", words, _HEAD.itemsize).tolist())
                if head != _head(count, many, sum_, head[_HEAD.itemsize :]) or not count:
                    raise DamagedRunError
                run.blocks.append(Block(at, many, count, sum_, first, False))
                run.states, at = run.states + count, at + many
            if run.states != size or at != end:
                raise DamagedRunError
            self.end = run.end = end
        os.ftruncate(self.descriptor, self.end)

    def _coded(self, blocks: Sequence[Block]) -> Iterator[tuple[Block, NDArray[np.uint8]]]:
        """The bytes of blocks that follow each other in the file. Raises DamagedError."""
        start, end = blocks[0].at, blocks[-1].at + blocks[-1].size
        data = os.pread(self.descriptor, end - start, start)
        for block in blocks:
            coded = np.frombuffer(data, dtype=np.uint8)[block.at - start : block.at - start + block.size]
            if len(coded) < block.size or (not block.checked and zlib.crc32(coded.data) != block.sum):
                raise DamagedRunError
            block.checked = True
            yield block, coded

    def read(self, block: Block) -> Words:
        """The states of a block. Raises DamagedError."""
        ((_, coded),) = self._coded([block])
        return self.order.decoded(coded, block.states)

    def between(self, run: SortedRun, low: tuple[int, ...] | None, high: tuple[int, ...] | None) -> Iterator[Words]:
        """The states of a run from `low` on that come before `high`; None is no bound."""
        first = max(0, self._block_at(run, low) - 1) if low is not None else 0
        last = self._block_at(run, high) if high is not None else len(run.blocks)
        for block in run.blocks[first:last]:
            states = self.read(block)
            start, end = (None if at is None else self._place(states, at) for at in (low, high))
            yield states[start:end]

    def _block_at(self, run: SortedRun, state: tuple[int, ...]) -> int:
        """The first block of a run that begins with this state or one behind it."""
        key = self.order.key
        return bisect_left(run.blocks, key(state), key=lambda block: key(block.first))

    def _place(self, states: Words, wanted: tuple[int, ...]) -> int:
        return self.order.places(states, np.array(wanted, dtype=np.int64))[0] * self.order.words

    def unknown(self, states: Words, map_: Callable[..., Iterable[object]] = map) -> Words:
        """Those of some states in order that stand in no run, in the same memory; `map_` may do pieces side by side."""
        marks = np.zeros(self.order.count(states), dtype=np.uint8)

        def mark(piece: list[tuple[Block, int, int]]) -> None:
            for (_, first, last), (block, coded) in zip(piece, self._coded([block for block, _, _ in piece]), strict=True):
                self.order.mark(states, first, last, coded, block.states, marks)

        for _ in map_(mark, list(self._asked(states))):
            pass
        return self.order.unmarked(states, marks)

    def _asked(self, states: Words) -> Iterator[list[tuple[Block, int, int]]]:
        """Blocks that may have some of the states, and which: pieces that follow each other in the file."""
        piece: list[tuple[Block, int, int]] = []
        total, behind = self.order.count(states), -1
        for run in self.runs:
            firsts = np.array([block.first for block in run.blocks], dtype=np.int64).ravel()
            places = [*self.order.places(states, firsts), total]
            for block, (first, last) in zip(run.blocks, pairwise(places), strict=True):
                if first == last:
                    continue
                if piece and (block.at != behind or block.at + block.size - piece[0][0].at > _TOGETHER):
                    yield piece
                    piece = []
                piece.append((block, first, last))
                behind = block.at + block.size + _HEAD.itemsize + 8 * self.order.words
        if piece:
            yield piece
