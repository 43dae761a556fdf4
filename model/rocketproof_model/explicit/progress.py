"""The checkpoint of a search in memory: the record of each level, and how a later search resumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import loops
from .account import Account
from .checkpoint import LevelRecord, SearchCheckpoint
from .table import StateTable
from .workers import Worker, WorkerResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_SPARE = 1.1  # room of the table relative to the number of restored states


class SearchProgress:
    """Connects one search with its checkpoint."""

    def __init__(self, checkpoint: SearchCheckpoint, record: LevelRecord | None, account: Account, table: StateTable) -> None:
        self.checkpoint, self.record, self.account, self.table = checkpoint, record, account, table
        self.question = account.question
        self.last: tuple[int, dict[str, list[int]], list[tuple[int, int, int, list[int]]]] | None = None  # levels, totals, findings

    @property
    def sizes(self) -> list[int]:
        """The numbers of states of the levels that an earlier search left."""
        return [] if self.record is None else list(self.record.sizes)

    def restore(self, worker: Worker, shared: Words, grow: Callable[[int], bool]) -> list[Words]:
        """Enter the states of an earlier search into the table.

        Return the level to expand next, or [] if the table cannot grow to hold the states.

        Raises RocketproofError if the file of states is damaged.
        """
        record, total = self.record, sum(self.sizes)
        if record is None or not grow(int(total * _SPARE)):
            return []
        for level, size in enumerate(record.sizes):
            new = 0
            worker.use(self.table, shared, 0, level, 0)
            for states in self.checkpoint.level(record, level):
                entered = False
                while not entered:
                    entered = self.account.enter(worker, self.table, states)
                    new += worker.forget()
                    if not entered and not grow(0):
                        return []
            if new != size:
                raise self.checkpoint.damaged()
        shared[loops.COUNT] = total
        self.account.recall(record.first)
        worker.result.recall(record.seen)
        return list(self.checkpoint.level(record, len(record.sizes) - 1))

    def mark(self, sizes: list[int], frontier: Sequence[Words], seen: Sequence[WorkerResult]) -> None:
        """Record the progress before the last level is expanded. Raises OSError if the disk is full."""
        self.last = len(sizes), self.account.total(seen).numbers(), self.account.findings()
        if len(self.checkpoint.sums) < len(sizes):
            self.checkpoint.append(frontier)
        if self.checkpoint.due:
            self.save(sizes)

    def save(self, sizes: list[int]) -> None:
        """Save what `mark` recorded last. Raises OSError if the disk is full."""
        if self.last is not None:
            levels, seen, first = self.last
            if len(self.checkpoint.sums) < levels:  # writing the last level was interrupted
                self.checkpoint.append(self.table.levels(sizes, levels - 1, levels))
            sums = self.checkpoint.sums[:levels]
            self.checkpoint.save(LevelRecord(self.question, self.account.words, sizes[:levels], sums, seen, first))
