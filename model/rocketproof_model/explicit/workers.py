"""What the workers of a search write: counts, new states, and for each property the smallest state that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..language import Expr, Property
from ..routines import address, addresses
from . import kernel, loops
from .table import StateTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

ROOM = 1 << 16  # new states that a worker puts into one array


class Claims:
    """Formulas that one kernel function answers, each true where its property is decided: refuted, or shown reachable."""

    def __init__(self, properties: list[Property], width: int, behind: int) -> None:
        self.properties = properties
        self.formulas: list[Expr] = [p.formula if p.kind == "reachable" else ~p.formula for p in properties]
        self.width = width  # states in what is kept: 2 for a step
        self.behind = behind  # levels from the (first) state that is kept to the one under construction
        self.open = np.ones(max(len(properties), 1), dtype=np.int64)
        self.first: dict[Property, tuple[int, tuple[int, ...]]] = {}  # level and words

    def masks(self) -> Words:
        return np.zeros(kernel.mask_words(self.formulas), dtype=np.int64)


class WorkerTally:
    """One worker's answers for one group of claims. `block` tells the loops where they are."""

    def __init__(self, claims: Claims, words: int) -> None:
        many = max(len(claims.properties), 1)
        self.masks, self.open = claims.masks(), claims.open
        self.hits = np.zeros(many, dtype=np.int64)
        self.best = np.full(many * claims.width * words, -1, dtype=np.int64)
        self.block = addresses(self.masks, len(self.masks), self.open, self.hits, self.best)


class WorkerResult:
    """What one worker or one task saw: numbers (places in `own` as in loops), and the least state with a fault."""

    def __init__(self, made: kernel.Kernel, groups: list[Claims]) -> None:
        words = made.layout.words
        self.own = np.zeros(3, dtype=np.int64)
        self.counts = np.zeros(max(len(made.model.actions), 1), dtype=np.int64)
        self.cover = np.zeros(made.cover_words, dtype=np.int64)
        self.tallies = [WorkerTally(claims, words) for claims in groups]
        self.fault = np.full(words, -1, dtype=np.int64)

    def add(self, other: WorkerResult) -> None:
        """Add what the other one counted; not its least states."""
        self.own += other.own
        self.counts += other.counts
        self.cover |= other.cover
        for mine, its in zip(self.tallies, other.tallies, strict=True):
            mine.hits += its.hits

    def numbers(self) -> dict[str, list[int]]:
        """What `add` adds, as numbers that can be written."""
        arrays = {"own": self.own, "counts": self.counts, "cover": self.cover}
        arrays |= {f"hits {k}": tally.hits for k, tally in enumerate(self.tallies)}
        return {name: array.tolist() for name, array in arrays.items()}

    def recall(self, numbers: dict[str, list[int]]) -> None:
        """Take in what `numbers` gave, in place of what was seen."""
        self.own[:], self.counts[:], self.cover[:] = numbers["own"], numbers["counts"], numbers["cover"]
        for k, tally in enumerate(self.tallies):
            tally.hits[:] = numbers[f"hits {k}"]

    @property
    def transitions(self) -> int:
        """All generated states, the initial one included."""
        return int(self.own[loops.TRANSITIONS]) + 1

    @property
    def deadlocks(self) -> int:
        return int(self.own[loops.DEADLOCKS])


class Worker:
    """What one thread writes: what it saw, and room for new states. `block` is what the loops are told.

    `spare` are arrays for new states that nobody needs any more; workers may share it.
    """

    def __init__(
        self, made: kernel.Kernel, consts: Words, seen: WorkerResult, block: int = 1, spare: list[Words] | None = None, room: int = 1
    ) -> None:
        self.seen, self.consts = seen, consts
        self.words, self.room = made.layout.words, room
        self.spare: list[Words] = [] if spare is None else spare
        most = max(made.most, 1)
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
        self.block[loops.SUCC : loops.BLOCK + 1] = addresses(made.succ, 0, made.ends, made.steps, made.canon, consts, block)
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
        """Whether states were given to it that it has not expanded to their end."""
        return self.frontier is not None

    def take(self, frontier: Words, first: int, last: int) -> None:
        """Give it the states from first to last - 1 to expand."""
        self.frontier, self.whole = frontier, last - first == len(frontier) // self.words
        block = self.block  # an index that is a list costs ten times as much
        block[loops.FRONTIER], block[loops.NEXT], block[loops.LAST] = address(frontier), first, last

    def leave(self) -> None:
        """What it was given is done; an array that it had as a whole can take new states."""
        done, self.frontier = self.frontier, None
        if done is not None and isinstance(done.base, np.ndarray) and len(done.base) == len(self.fresh) and self.whole:
            self.spare.append(done.base)

    def use(self, table: StateTable, shared: Words, limit: int, level: int, check: int) -> None:
        """Let it enter states into a table, at a level, until `shared` counts more than a limit; `check` is asked about new states."""
        block = self.block
        block[loops.TABLE], block[loops.SHARED_AT] = address(table.block), address(shared)
        block[loops.LIMIT], block[loops.LEVEL], block[loops.CHECK] = limit, level, check

    def flush(self) -> None:
        """Put the new states aside, so that the queue has room again."""
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
        """Leave out the new states since the last flush; how many they were."""
        n = int(self.block[loops.FRESH_COUNT])
        self.block[loops.FRESH_COUNT] = 0
        return n

    def bytes(self) -> int:
        """Of its arrays, those with new states left out."""
        return self.out.nbytes + self.tags.nbytes + self.hashes.nbytes
