"""A search that keeps its states in files: delayed duplicate detection, level by level.

Every level is a run in a file (see `runfile`). The successors of the last level go through a table of bounded size, which drops most states
seen before; the others are candidates. When the table is full or the level is expanded, the candidates are sorted. Those in no run form the
next level, and the formulas are evaluated only for them. Candidates that are sorted before the level is complete wait in a second file.
This file is then processed one range of states at a time. Memory thus holds the table and a table's capacity of candidates. Every level
reads once the blocks that may contain a candidate.

The file of levels is the checkpoint: whatever its record describes exists after a crash (see checkpoint). The search finds the same states
in the same levels as a search in memory, so counts, coverage and witnesses are equal. A table that is compared with files once per level is
an idea of Stern and Dill (1998); the name is by Korf (2003).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .. import interrupts
from ..result import DISK, INTERRUPTED, MEMORY
from . import loops
from .account import Packed
from .checkpoint import LevelRecord
from .ordered import CODED, StateOrder, leading_word
from .pool import SearchPool
from .runfile import Block, DamagedRunError, RunFile
from .table import TableLayout
from .task import SearchState, SearchTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

Bound = tuple[int, ...] | None
_SAMPLE = 1 << 16  # sampled states from which the order in the files is chosen


class ExternalSearch:
    """A search that resumes from a record of the task's checkpoint, or begins if the record is None.

    The task's limits bound the bytes of its files.
    """

    def __init__(self, task: SearchTask, record: LevelRecord | None) -> None:
        assert task.checkpoint is not None
        self.task, self.account, self.checkpoint = task, task.account, task.checkpoint
        self.words, self.record = self.account.words, record
        self.pool = SearchPool(self.account, task.tuning.homes, task.workers, task.tuning.block)
        self.order = StateOrder(self.account.kernel.layout, self._leading())
        block = task.tuning.run_block
        self.levels = RunFile(self.checkpoint.runs, self.order, lambda: self._left(self.candidates), block)
        self.candidates = RunFile(self.checkpoint.candidates, self.order, lambda: self._left(self.levels), block)
        self.raw = 0  # bytes of the levels that an earlier search in memory left
        self.sizes: list[int] = []
        self.new = 0  # states of the level under construction
        self.last: LevelRecord | None = None
        self.peak = self.peak_disk = 0  # bytes of memory and of files

    def _left(self, other: RunFile) -> int | None:
        limit = self.task.limits.disk
        self.peak_disk = max(self.peak_disk, self.raw + self.levels.end + self.candidates.end)
        return None if limit is None else limit - self.raw - other.end

    def _leading(self) -> int:
        """Return the word that leads the order of states in the files. For new files it is chosen so that few old blocks are read."""
        record = self.record
        if record is None or record.ends:
            return 0 if record is None else record.leading
        sample = self.checkpoint.sample(record, _SAMPLE)
        states = len(sample) // self.words
        return leading_word(sample, states * record.sizes[-1] // sum(record.sizes), self.words)

    # -- from and to the checkpoint -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Restore the earlier search, or enter the initial states."""
        record, seen = self.record, self.pool.workers[0].result
        if record is None:
            self.levels.cut(0)
            start = self.account.start()
            seen.own[loops.TRANSITIONS] += self.order.count(start) - 1  # `WorkerResult.transitions` adds one initial state
            self.levels.begin()
            self._enter(self._sorted([start]))
            self.account.note(0, self.pool.results())
            return
        self.sizes = list(record.sizes)
        self.account.recall(record.first)
        seen.recall(record.seen)
        if record.ends:
            self.levels.recall(record.sizes, record.ends)
        else:
            self._convert(record)
        self.sizes.pop()

    def _convert(self, record: LevelRecord) -> None:
        """Write the levels that a search in memory left as runs."""
        self.levels.cut(0)
        self.raw = 8 * self.words * sum(record.sizes)
        for number in range(len(record.sizes)):
            self.levels.begin()
            self.levels.append(self._sorted(list(self.checkpoint.level(record, number))))
        self._save(
            LevelRecord(record.question, record.words, record.sizes, [], record.seen, record.first, self._ends(), self.order.leading)
        )
        self.checkpoint.drop()
        self.raw = 0

    def _ends(self) -> list[int]:
        return [run.end for run in self.levels.runs[: len(self.sizes)]]

    def _mark(self) -> None:
        """Record the progress before a level is expanded."""
        account = self.account
        seen = account.total(self.pool.results()).numbers()
        self.last = LevelRecord(
            account.question, self.words, list(self.sizes), [], seen, account.findings(), self._ends(), self.order.leading
        )
        if self.checkpoint.due:
            self._save(self.last)

    def _save(self, record: LevelRecord) -> None:
        self.checkpoint.save(record, self.levels.sync)

    def keep(self) -> None:
        """Save the progress from which the next search resumes."""
        try:
            self.candidates.cut(0)
            if self.last is not None:
                self.levels.cut(len(self.last.sizes))
                self._save(self.last)
        except OSError:
            self.task.reason = DISK

    def close(self) -> None:
        self.levels.close()
        self.candidates.close()

    # -- levels -------------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Search until all states are seen or the task has a reason to end. Raises RocketproofError for damaged files."""
        with ThreadPoolExecutor(len(self.pool.workers)) as pool:
            self.map = map if self.pool.alone else pool.map
            try:
                self._begin()
                self._levels()
            except KeyboardInterrupt:
                interrupts.heard()
                self.task.reason = INTERRUPTED
                self.pool.halt()
                self.account.note(len(self.sizes), self.pool.results())
            except MemoryError:
                self.task.reason = MEMORY
            except OSError:
                self.task.reason = DISK
            except DamagedRunError:
                raise self.checkpoint.damaged(self.levels.path.name) from None

    def state(self) -> SearchState:
        states = sum(self.sizes) + self.new
        self._left(self.candidates)  # includes the files of an earlier search in the peak
        return SearchState(self.pool.results(), self.sizes, states, self.peak, self.peak_disk, None)

    def _levels(self) -> None:
        while self.levels.runs[-1].states:
            self.sizes.append(self.levels.runs[-1].states)
            self.new = 0
            if self.account.fault(self.pool.results()) is not None:
                return
            self._mark()
            if self.task.enough_decided() or self._limited() or not self._expand():
                return
            self.levels.begin()
            self._enter_candidates()
            self.account.note(len(self.sizes), self.pool.results())
            self._report_progress()

    def _expand(self) -> bool:
        """Expand the last level; False if the search should stop."""
        run = self.levels.runs[-1]
        self.pool.give(map(self.levels.read, run.blocks), run.states, at_once=False)
        while not self.pool.sweep(0, 0, self.pool.table.shape.capacity, self._idle):
            if self._limited():
                self.account.note(len(self.sizes), self.pool.results())
                return False
            if not self.pool.grow(0, 1, self._fits):
                self._spill(self._sorted(self.pool.parts()))
                self.pool.forget()
        return True

    def _spill(self, states: Words) -> None:
        """Write sorted candidates to the second file."""
        if len(states):
            self.candidates.begin()
            self.candidates.append(states)

    def _enter_candidates(self) -> None:
        """Enter the candidates that are new."""
        states = self._sorted(self.pool.parts())
        if not self.candidates.runs:
            self._enter(states)
            return
        self._spill(states)
        del states
        for low, high in self._ranges():
            self._enter(self._merged([list(self.candidates.between(run, low, high)) for run in self.candidates.runs]))
            self._report_progress()
        self.candidates.cut(0)

    def _ranges(self) -> Iterator[tuple[Bound, Bound]]:
        """Yield ranges of candidates, each with little more than the table's capacity."""
        runs = self.candidates.runs
        firsts = sorted((block.first for run in runs for block in run.blocks), key=self.order.key)
        step = max(1, self.pool.table.shape.capacity // self.candidates.block - len(runs))
        bounds: list[Bound] = [None, *dict.fromkeys(firsts[step::step]), None]
        yield from pairwise(bounds)

    def _enter(self, states: Words) -> None:
        """Append the sorted states that no run contains to the last run, and evaluate the formulas for them."""
        states = self.levels.unknown(states, self.map)
        count, workers = self.order.count(states), len(self.pool.workers)
        ends = [count * k // workers * self.words for k in range(workers + 1)]
        parts = [states[start:end] for start, end in pairwise(ends)]
        for _ in self.map(self.account.ask, parts, self.pool.results()):
            pass
        self.new += count
        self.levels.append(states)

    def _merged(self, runs: list[list[Words]]) -> Words:
        """Return the distinct states of runs, each given in parts, in order. Empties the lists of parts."""
        self._bytes(2 * sum(part.nbytes for parts in runs for part in parts))
        whole = []
        for parts in runs:
            if parts:
                whole.append(np.concatenate(parts))
                parts.clear()
        return self.order.merged(whole)

    def _sorted(self, parts: list[Words]) -> Words:
        """Return the distinct states of all parts in order. Empties the list of parts."""
        self.pool.spare.clear()
        states, at = np.empty(sum(map(len, parts)), dtype=np.int64), 0
        self._bytes(2 * states.nbytes)
        while parts:
            part = parts.pop()
            states[at : at + len(part)] = part
            at += len(part)
        return self.order.sorted(states, np.empty_like(states))

    # -- limits -------------------------------------------------------------------------------------------------------

    def _fits(self, shape: TableLayout) -> bool:
        """Return whether memory suffices for the table and as many candidates, twice because sorting needs a second array."""
        memory = self.task.limits.memory
        buffers = (len(self.pool.workers) + 2) * self.levels.block * self.words * (8 + CODED)
        candidates = 16 * self.words * shape.capacity
        return memory is None or shape.bytes + candidates + buffers + sum(w.bytes() for w in self.pool.workers) <= memory

    def _bytes(self, more: int = 0) -> None:
        """Update the peak of the bytes of all arrays; `more` are bytes about to be allocated."""
        self.peak = max(self.peak, self.pool.bytes() + more)

    def _limited(self) -> bool:
        self._bytes()
        return self.task.limited(sum(self.sizes), self.pool.interrupted)

    def _idle(self) -> bool:
        self._report_progress()
        return self._limited()

    def _report_progress(self) -> None:
        self.task.report_progress(self.sizes, sum(self.sizes) + self.new)

    # -- witnesses ----------------------------------------------------------------------------------------------------

    def predecessors(self, level: int, wanted: list[Packed]) -> dict[Packed, Packed]:
        def in_block(block: Block) -> dict[Packed, Packed]:
            return self.account.predecessors(self.levels.read(block), wanted)

        with ThreadPoolExecutor(len(self.pool.workers)) as pool:
            parents: dict[Packed, Packed] = {}
            for block_parents in pool.map(in_block, self.levels.runs[level].blocks):
                for state, parent in block_parents.items():
                    parents[state] = min(parent, parents.get(state, parent))
            return parents
