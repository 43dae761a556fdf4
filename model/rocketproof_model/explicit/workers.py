"""The results of a search's workers: counts, new states, and for each property the smallest state that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..language import Expr, Property
from ..routines import address, addresses
from . import loops
from .kernel import Kernel, mask_words
from .table import StateTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

ROOM = 1 << 16  # new states of one array of a worker


class Claims:
    """Formulas that a function of the kernel evaluates. Each is true where its property is decided: violated, or shown reachable."""

    def __init__(self, properties: list[Property], width: int, levels_back: int) -> None:
        self.properties = properties
        self.formulas: list[Expr] = [p.formula if p.kind == "reachable" else ~p.formula for p in properties]
        self.width = width  # states per finding: 2 for a step
        self.levels_back = levels_back  # levels between the finding's first state and the level under construction
        self.open = np.ones(max(len(properties), 1), dtype=np.int64)
        self.first: dict[Property, tuple[int, tuple[int, ...]]] = {}  # level and words

    def masks(self) -> Words:
        return np.zeros(mask_words(self.formulas), dtype=np.int64)


class WorkerTally:
    """One worker's answers for one group of claims. `block` holds their addresses for the loops."""

    def __init__(self, claims: Claims, words: int) -> None:
        many = max(len(claims.properties), 1)
        self.masks, self.open = claims.masks(), claims.open
        self.hits = np.zeros(many, dtype=np.int64)
        self.best = np.full(many * claims.width * words, -1, dtype=np.int64)
        self.block = addresses(self.masks, len(self.masks), self.open, self.hits, self.best)


class WorkerResult:
    """The counts of one worker or one task (places in `own` as in loops), and the smallest state with a fault."""

    def __init__(self, kernel: Kernel, groups: list[Claims]) -> None:
        words = kernel.layout.words
        self.own = np.zeros(3, dtype=np.int64)
        self.counts = np.zeros(max(len(kernel.model.actions), 1), dtype=np.int64)
        self.cover = np.zeros(kernel.cover_words, dtype=np.int64)
        self.tallies = [WorkerTally(claims, words) for claims in groups]
        self.fault = np.full(words, -1, dtype=np.int64)

    def add(self, other: WorkerResult) -> None:
        """Add the counts of another result, but not its smallest states."""
        self.own += other.own
        self.counts += other.counts
        self.cover |= other.cover
        for mine, theirs in zip(self.tallies, other.tallies, strict=True):
            mine.hits += theirs.hits

    def numbers(self) -> dict[str, list[int]]:
        """Return the counts that `add` adds, as numbers for a file."""
        arrays = {"own": self.own, "counts": self.counts, "cover": self.cover}
        arrays |= {f"hits {k}": tally.hits for k, tally in enumerate(self.tallies)}
        return {name: array.tolist() for name, array in arrays.items()}

    def recall(self, numbers: dict[str, list[int]]) -> None:
        """Replace the counts by those that `numbers` returned."""
        self.own[:], self.counts[:], self.cover[:] = numbers["own"], numbers["counts"], numbers["cover"]
        for k, tally in enumerate(self.tallies):
            tally.hits[:] = numbers[f"hits {k}"]

    @property
    def transitions(self) -> int:
        """The number of generated states, including the initial one."""
        return int(self.own[loops.TRANSITIONS]) + 1

    @property
    def deadlocks(self) -> int:
        return int(self.own[loops.DEADLOCKS])


class Worker:
    """The arrays that a thread writes: its result, and room for new states. `block` has the loops' arguments.

    `spare` are arrays that are free for new states; workers may share the list.
    """

    def __init__(
        self, kernel: Kernel, consts: Words, seen: WorkerResult, block: int = 1, spare: list[Words] | None = None, room: int = 1
    ) -> None:
        self.result, self.consts = seen, consts
        self.words, self.room = kernel.layout.words, room
        self.spare: list[Words] = [] if spare is None else spare
        most = max(kernel.max_successors, 1)
        self.out = np.empty(block * most * self.words, dtype=np.int64)
        self.tags = np.empty(most, dtype=np.int64)
        self.hashes = np.empty(block * most, dtype=np.int64)
        self.pair = np.empty(2 * self.words, dtype=np.int64)
        self.fresh = self._array()
        self.parts: list[Words] = []
        self.frontier: Words | None = None
        self.whole = False
        self.error: BaseException | None = None
        self.status = loops.DONE
        self.block = np.zeros(loops.WORDS, dtype=np.int64)
        self.block[loops.SUCC : loops.BLOCK + 1] = addresses(kernel.succ, 0, kernel.ends, kernel.steps, kernel.canon, consts, block)
        self.block[loops.FRESH : loops.ROOM + 1] = addresses(self.fresh, 0, room)
        self.block[loops.OUT : loops.GROUPS] = addresses(
            self.out, self.tags, self.hashes, self.pair, seen.own, seen.counts, seen.cover, seen.fault
        )
        groups = [tally.block for tally in seen.tallies]
        if groups:
            self.block[loops.GROUPS :] = np.concatenate(groups)

    def _array(self) -> Words:
        try:
            return self.spare.pop()
        except IndexError:
            return np.empty(self.room * self.words, dtype=np.int64)

    @property
    def busy(self) -> bool:
        """Whether the worker has states that are not fully expanded."""
        return self.frontier is not None

    def take(self, frontier: Words, first: int, last: int) -> None:
        """Set the states `first` to `last` - 1 of `frontier` as those to expand."""
        self.frontier, self.whole = frontier, last - first == len(frontier) // self.words
        block = self.block  # indexing with a list would cost ten times as much
        block[loops.FRONTIER], block[loops.NEXT], block[loops.LAST] = address(frontier), first, last

    def leave(self) -> None:
        """Release the expanded states; an array that the worker expanded as a whole becomes spare."""
        done, self.frontier = self.frontier, None
        if done is not None and isinstance(done.base, np.ndarray) and len(done.base) == len(self.fresh) and self.whole:
            self.spare.append(done.base)

    def use(self, table: StateTable, shared: Words, limit: int, level: int, check: int) -> None:
        """Set the table, the level of new states, the maximum of states that `shared` counts, and the formulas for new states."""
        block = self.block
        block[loops.TABLE], block[loops.SHARED_AT] = address(table.block), address(shared)
        block[loops.LIMIT], block[loops.LEVEL], block[loops.CHECK] = limit, level, check

    def flush(self) -> None:
        """Move the new states to `parts`, so that the queue has room again."""
        n = int(self.block[loops.FRESH_COUNT])
        if 4 * n < self.room:
            if n:
                self.parts.append(self.fresh[: n * self.words].copy())
        else:
            full, self.fresh = self.fresh, self._array()
            self.parts.append(full[: n * self.words])
            self.block[loops.FRESH] = address(self.fresh)
        self.block[loops.FRESH_COUNT] = 0

    def forget(self) -> int:
        """Drop the new states since the last flush and return their number."""
        n = int(self.block[loops.FRESH_COUNT])
        self.block[loops.FRESH_COUNT] = 0
        return n

    def bytes(self) -> int:
        """Return the bytes of the arrays, except those of new states."""
        return self.out.nbytes + self.tags.nbytes + self.hashes.nbytes
