"""Labelled edges between numbered nodes as arrays, and the levels of fairness of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..routines import address, load, routine, store

UNFAIR, WEAK, STRONG = 0, 1, 2
Bools = NDArray[np.bool_]
Nodes = NDArray[np.int32]
Codes = NDArray[np.uint32]
Long = NDArray[np.int64]
Levels = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges grouped by source: those of node s are `offsets[s]:offsets[s + 1]` of `targets` and `labels`.

    A node has at most one edge per label, and none to itself. A label is enabled at a node that has an edge with it. Paths begin in the
    first `starts` nodes.
    """

    offsets: Long
    targets: Nodes
    labels: Nodes
    starts: int = 1

    def __post_init__(self) -> None:
        kinds = [array.dtype for array in (self.offsets, self.targets, self.labels)]
        assert kinds == [np.int64, np.int32, np.int32], f"routines read these arrays by their types, and they are {kinds}"

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of(size: int, sources: NDArray[Any], targets: NDArray[Any], labels: NDArray[Any], starts: int = 1) -> Edges:
        """Group edges by source, without edges from a node to itself. Edges of one source keep their order."""
        moving = sources != targets
        if not moving.all():
            sources, targets, labels = sources[moving], targets[moving], labels[moving]
        offsets = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
        if len(sources) and np.any(sources[1:] < sources[:-1]):
            order = np.argsort(sources, kind="stable")
            targets, labels = targets[order], labels[order]
        return Edges(offsets, targets.astype(np.int32, copy=False), labels.astype(np.int32, copy=False), starts)

    def enabled(self, node: int) -> Nodes:
        """Return the labels of the node's edges."""
        return self.labels[self.offsets[node] : self.offsets[node + 1]]

    def source(self, edge: int) -> int:
        return int(np.searchsorted(self.offsets, edge, side="right")) - 1


def array_addresses(*arrays: NDArray[Any]) -> list[int]:
    """Return the addresses of arrays for a routine, which requires contiguous arrays. The caller keeps the arrays alive."""
    assert all(array.flags.c_contiguous for array in arrays), "a routine reads an array that has gaps"
    return [address(array) for array in arrays]


@routine
def byte(base: int, index: int) -> int:
    """Return an element of Bools or Levels."""
    return load(base + index, 1)


@routine
def put_byte(base: int, index: int, value: int) -> int:
    store(base + index, 1, value)
    return 0


@routine
def int32(base: int, index: int) -> int:
    """Return an element of Nodes, with its sign."""
    return (load(base + 4 * index, 4) ^ 1 << 31) - (1 << 31)


@routine
def put_int32(base: int, index: int, value: int) -> int:
    """Write an element of Nodes or Codes."""
    store(base + 4 * index, 4, value)
    return 0
