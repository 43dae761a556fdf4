"""A search with its states in files: delayed duplicate detection, level by level.

Every level is a run in a file (see `runfile`). The successors of the last one go through a table of bounded size, which drops most
that were seen; the others are candidates. When the table is full, or the level is done, they are sorted; what stands in no run is the next
level, and only then is it asked about. Sorted candidates that are not all of a level wait in a second file, and are then taken a range
of states at a time. So memory holds the table and as many candidates as it has room for, and every level costs one reading of those
blocks of the file where a candidate might be.

The file of levels is the checkpoint: what the record says of it is there, whatever happens (see checkpoint). The same states are found in
the same levels as in memory, so counts, coverage and witnesses are the same. Stern and Dill (1998) have the idea of a table that is
compared with files once a level, Korf (2003) its name.
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
from .crew import Crew
from .ordered import CODED, StateOrder, leading_word
from .runfile import DamagedRunError, RunFile
from .table import TableLayout
from .task import SearchState, SearchTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

Bound = tuple[int, ...] | None
_SAMPLE = 1 << 16  # states by which the order in the files is chosen


class External:
    """Goes on from a record (None is nothing) of the task's checkpoint, whose limits say how many bytes its files may have."""

    def __init__(self, task: SearchTask, record: LevelRecord | None) -> None:
        assert task.checkpoint is not None
        self.task, self.account, self.checkpoint = task, task.account, task.checkpoint
        self.words, self.record = self.account.words, record
        self.crew = Crew(self.account, task.tuning.homes, task.workers, task.tuning.block)
        self.order = StateOrder(self.account.made.layout, self._leading())
        block = task.tuning.run_block
        self.levels = RunFile(self.checkpoint.runs, self.order, lambda: self._left(self.candidates), block)
        self.candidates = RunFile(self.checkpoint.candidates, self.order, lambda: self._left(self.levels), block)
        self.raw = 0  # bytes of the levels that an earlier search has left as they were
        self.sizes: list[int] = []
        self.new = 0  # states of the level under construction
        self.last: LevelRecord | None = None
        self.peak = self.most = 0  # bytes of memory and of files

    def _left(self, other: RunFile) -> int | None:
        most = self.task.limits.disk
        self.most = max(self.most, self.raw + self.levels.end + self.candidates.end)
        return None if most is None else most - self.raw - other.end

    def _leading(self) -> int:
        """The word that leads the order of states in the files: where they are made, one for which few old blocks are read."""
        record = self.record
        if record is None or record.ends:
            return 0 if record is None else record.leading
        sample = self.checkpoint.sample(record, _SAMPLE)
        states = len(sample) // self.words
        return leading_word(sample, states * record.sizes[-1] // sum(record.sizes), self.words)

    # -- from and to the checkpoint -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Take over what there is, or enter the initial states."""
        record, seen = self.record, self.crew.workers[0].seen
        if record is None:
            self.levels.cut(0)
            start = self.account.start()
            seen.own[loops.TRANSITIONS] += self.order.count(start) - 1  # a Seen counts one initial state
            self.levels.begin()
            self._enter(self._sorted([start]))
            self.account.note(0, self.crew.seen())
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
        """Make runs of the levels that a search in memory has left."""
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
        """Before a level is expanded: what the next search would go on from."""
        account = self.account
        seen = account.total(self.crew.seen()).numbers()
        self.last = LevelRecord(
            account.question, self.words, list(self.sizes), [], seen, account.findings(), self._ends(), self.order.leading
        )
        if self.checkpoint.due:
            self._save(self.last)

    def _save(self, record: LevelRecord) -> None:
        self.checkpoint.save(record, self.levels.sync)

    def keep(self) -> None:
        """Keep what the next search goes on from."""
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
        """Search until all is seen, or there is a reason not to. RocketproofError for damaged files."""
        with ThreadPoolExecutor(len(self.crew.workers)) as pool:
            self.map = map if self.crew.alone else pool.map
            try:
                self._begin()
                self._levels()
            except KeyboardInterrupt:
                interrupts.heard()
                self.task.reason = INTERRUPTED
                self.crew.halt()
                self.account.note(len(self.sizes), self.crew.seen())
            except MemoryError:
                self.task.reason = MEMORY
            except OSError:
                self.task.reason = DISK
            except DamagedRunError:
                raise self.checkpoint.damaged(self.levels.path.name) from None

    def found(self) -> SearchState:
        states = sum(self.sizes) + self.new
        self._left(self.candidates)  # what an earlier search has written counts too
        return SearchState(self.crew.seen(), self.sizes, states, self.peak, self.most, None)

    def _levels(self) -> None:
        while self.levels.runs[-1].states:
            self.sizes.append(self.levels.runs[-1].states)
            self.new = 0
            if self.account.fault(self.crew.seen()) is not None:
                return
            self._mark()
            if self.task.settled() or self._limited() or not self._expand():
                return
            self.levels.begin()
            self._settle()
            self.account.note(len(self.sizes), self.crew.seen())
            self._tell()

    def _expand(self) -> bool:
        """Expand the last level; False if the search is to stop."""
        run = self.levels.runs[-1]
        self.crew.give(map(self.levels.read, run.blocks), run.states, at_once=False)
        while not self.crew.sweep(0, 0, self.crew.table.shape.capacity, self._idle):
            if self._limited():
                self.account.note(len(self.sizes), self.crew.seen())
                return False
            if not self.crew.grow(0, 1, self._fits):
                self._spill(self._sorted(self.crew.parts()))
                self.crew.forget()
        return True

    def _spill(self, states: Words) -> None:
        """Put sorted candidates aside."""
        if len(states):
            self.candidates.begin()
            self.candidates.append(states)

    def _settle(self) -> None:
        """Of all candidates, enter those that are new."""
        states = self._sorted(self.crew.parts())
        if not self.candidates.runs:
            self._enter(states)
            return
        self._spill(states)
        del states
        for low, high in self._ranges():
            self._enter(self._merged([list(self.candidates.between(run, low, high)) for run in self.candidates.runs]))
            self._tell()
        self.candidates.cut(0)

    def _ranges(self) -> Iterator[tuple[Bound, Bound]]:
        """Divide all candidates, so that of each range there are not many more than the table has room for."""
        runs = self.candidates.runs
        firsts = sorted((block.first for run in runs for block in run.blocks), key=self.order.key)
        step = max(1, self.crew.table.shape.capacity // self.candidates.block - len(runs))
        bounds: list[Bound] = [None, *dict.fromkeys(firsts[step::step]), None]
        yield from pairwise(bounds)

    def _enter(self, states: Words) -> None:
        """Add those of some sorted states that no run has to the last run, and ask about them."""
        states = self.levels.unknown(states, self.map)
        count, many = self.order.count(states), len(self.crew.workers)
        ends = [count * k // many * self.words for k in range(many + 1)]
        parts = [states[start:end] for start, end in pairwise(ends)]
        for _ in self.map(self.account.ask, parts, self.crew.seen()):
            pass
        self.new += count
        self.levels.append(states)

    def _merged(self, runs: list[list[Words]]) -> Words:
        """The distinct states of runs in parts, in order. The parts are used up."""
        self._bytes(2 * sum(part.nbytes for parts in runs for part in parts))
        whole = []
        for parts in runs:
            if parts:
                whole.append(np.concatenate(parts))
                parts.clear()
        return self.order.merged(whole)

    def _sorted(self, parts: list[Words]) -> Words:
        """The distinct states of all parts, in order. The parts are used up."""
        self.crew.spare.clear()
        states, at = np.empty(sum(map(len, parts)), dtype=np.int64), 0
        self._bytes(2 * states.nbytes)
        while parts:
            part = parts.pop()
            states[at : at + len(part)] = part
            at += len(part)
        return self.order.sorted(states, np.empty_like(states))

    # -- limits -------------------------------------------------------------------------------------------------------

    def _fits(self, shape: TableLayout) -> bool:
        """Whether there is memory for such a table beside as many candidates, once as they are and once for sorting them."""
        memory = self.task.limits.memory
        buffers = (len(self.crew.workers) + 2) * self.levels.block * self.words * (8 + CODED)
        candidates = 16 * self.words * shape.capacity
        return memory is None or shape.bytes + candidates + buffers + sum(w.bytes() for w in self.crew.workers) <= memory

    def _bytes(self, more: int = 0) -> None:
        """Remember the most that all arrays take."""
        self.peak = max(self.peak, self.crew.bytes() + more)

    def _limited(self) -> bool:
        self._bytes()
        return self.task.limited(sum(self.sizes), self.crew.interrupted)

    def _idle(self) -> bool:
        self._tell()
        return self._limited()

    def _tell(self) -> None:
        self.task.tell(self.sizes, sum(self.sizes) + self.new)

    # -- witnesses ----------------------------------------------------------------------------------------------------

    def predecessors(self, level: int, wanted: list[Packed]) -> dict[Packed, Packed]:
        with ThreadPoolExecutor(len(self.crew.workers)) as pool:
            found: dict[Packed, Packed] = {}
            for some in pool.map(lambda block: self.account.predecessors(self.levels.read(block), wanted), self.levels.runs[level].blocks):
                for state, parent in some.items():
                    found[state] = min(parent, found.get(state, parent))
            return found
