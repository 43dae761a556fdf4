"""The task of a search: its claims, its limits, and the reason why it ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..language import Property
from ..result import INTERRUPTED, MODEL_ERROR, STATES, TIME, Limits, Progress, Report, Watch
from . import kernel
from .account import BLOCK, Account
from .checkpoint import SearchCheckpoint
from .layout import WORD_BITS
from .runfile import STATES as RUN_BLOCK
from .workers import WorkerResult

if TYPE_CHECKING:
    from .table import StateTable

Enough = Callable[[Collection[Property]], bool]
"""Whether a search may end when these properties are decided."""
DECIDED = "decided"
OVER = ("", DECIDED, MODEL_ERROR)  # reasons after which no search resumes
_REPORT = 0.5  # seconds between two reports


@dataclass(frozen=True)
class Tuning:
    """Sizes that change speed and memory but no result.

    For `unroll` and `word_bits` see `kernel.build` and `layout`. `homes` is the size of the first table and `block` the states that a
    worker takes at once. `run_block` is the states of a block in a file of runs.
    """

    unroll: int = kernel.UNROLL
    word_bits: int = WORD_BITS
    homes: int = 1 << 13
    block: int = BLOCK
    run_block: int = RUN_BLOCK


@dataclass
class SearchTask:
    """A search's claims, limits and settings. `reason` is empty until something ends the search early."""

    account: Account
    limits: Limits
    watch: Watch
    report: Report | None
    enough: Enough | None
    workers: int
    tuning: Tuning
    checkpoint: SearchCheckpoint | None
    reason: str = ""
    reported: float = field(default=0.0, init=False)

    def limited(self, states: int, interrupted: bool) -> bool:
        """Return whether the search should end, and set the reason."""
        if not self.reason:
            if interrupted:
                self.reason = INTERRUPTED
            elif self.watch.expired:
                self.reason = TIME
            elif self.limits.states is not None and states > self.limits.states:
                self.reason = STATES
        return bool(self.reason)

    def enough_decided(self) -> bool:
        """Return whether the search should end, and set the reason if enough is decided."""
        if self.enough is not None and self.enough(self.account.decided):
            self.reason = DECIDED
        return bool(self.reason)

    def report_progress(self, sizes: Sequence[int], states: int) -> None:
        if self.report is not None and self.watch.seconds - self.reported >= _REPORT:
            self.reported = self.watch.seconds
            self.report(Progress("explicit", len(sizes), states, sizes[-1] if sizes else 0, self.watch.seconds))


@dataclass(frozen=True)
class SearchState:
    """The result of a search: the workers' results, the states of each level and in total, and the peak bytes of memory and of files.

    `table` is None if it does not contain all states.
    """

    results: list[WorkerResult]
    sizes: list[int]
    states: int
    memory: int
    disk: int
    table: StateTable | None
