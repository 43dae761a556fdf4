"""What the workers of a search write: counts, new states, and for each property the smallest state that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..language import Expr, Property
from . import kernel, loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]


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


class Tally:
    """One worker's answers for one group of claims."""

    def __init__(self, claims: Claims, words: int) -> None:
        many = max(len(claims.properties), 1)
        self.masks = claims.masks()
        self.hits = np.zeros(many, dtype=np.int64)
        self.best = np.full(many * claims.width * words, -1, dtype=np.int64)


class Seen:
    """What one worker or one task saw: numbers (places in `own` as in loops), and the least state with a fault."""

    def __init__(self, made: kernel.Kernel, groups: list[Claims]) -> None:
        words = made.layout.words
        self.own = np.zeros(4, dtype=np.int64)
        self.counts = np.zeros(max(len(made.model.actions), 1), dtype=np.int64)
        self.cover = np.zeros(made.cover_words, dtype=np.int64)
        self.tallies = [Tally(claims, words) for claims in groups]
        self.fault = np.full(words, -1, dtype=np.int64)

    def add(self, other: Seen) -> None:
        """Add what the other one counted; not its least states."""
        self.own += other.own
        self.counts += other.counts
        self.cover |= other.cover
        for mine, its in zip(self.tallies, other.tallies, strict=True):
            mine.hits += its.hits

    @property
    def transitions(self) -> int:
        """All generated states, the initial one included."""
        return int(self.own[loops.TRANSITIONS]) + 1

    @property
    def deadlocks(self) -> int:
        return int(self.own[loops.DEADLOCKS])


class Worker:
    """What one thread writes: what it saw, and room for new states."""

    def __init__(self, made: kernel.Kernel, groups: list[Claims], block: int) -> None:
        self.seen = Seen(made, groups)
        words, most = made.layout.words, max(made.most, 1)
        self.words, self.block = words, block
        self.room = max(2 * block * most, 1 << 15)
        self.out = np.empty(block * most * words, dtype=np.int64)
        self.tags = np.empty(most, dtype=np.int64)
        self.hashes = np.empty(block * most, dtype=np.int64)
        self.pair = np.empty(2 * words, dtype=np.int64)
        self.fresh = np.empty(self.room * words, dtype=np.int64)
        self.parts: list[Words] = []
        self.status = loops.DONE
        self.error: BaseException | None = None

    def flush(self) -> None:
        """Put the new states aside, so that the queue has room again."""
        n = int(self.seen.own[loops.FRESH]) * self.words
        if n:
            self.parts.append(self.fresh[:n].copy())
            self.seen.own[loops.FRESH] = 0

    def bytes(self) -> int:
        arrays = (self.out, self.tags, self.hashes, self.fresh)
        return sum(a.nbytes for a in arrays) + sum(p.nbytes for p in self.parts)
