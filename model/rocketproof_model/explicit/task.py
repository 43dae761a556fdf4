"""What a search is asked to do, what bounds it, and why it ended."""

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
OVER = ("", DECIDED, MODEL_ERROR)  # reasons after which nobody goes on
_REPORT = 0.5  # seconds between two reports


@dataclass(frozen=True)
class Tuning:
    """Sizes that change speed and memory but no result: see kernel.build and layout; `homes` is of the first table, `run_block` are the
    states of a block in a file of runs."""

    unroll: int = kernel.UNROLL
    word_bits: int = WORD_BITS
    homes: int = 1 << 13
    block: int = BLOCK
    run_block: int = RUN_BLOCK


@dataclass
class SearchTask:
    """`reason` is empty as long as nothing ends the search before all is seen."""

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
        """Whether there is a reason to end; sets it."""
        if not self.reason:
            if interrupted:
                self.reason = INTERRUPTED
            elif self.watch.expired:
                self.reason = TIME
            elif self.limits.states is not None and states > self.limits.states:
                self.reason = STATES
        return bool(self.reason)

    def settled(self) -> bool:
        """The same, if it is that enough is decided."""
        if self.enough is not None and self.enough(self.account.decided):
            self.reason = DECIDED
        return bool(self.reason)

    def tell(self, sizes: Sequence[int], states: int) -> None:
        if self.report is not None and self.watch.seconds - self.reported >= _REPORT:
            self.reported = self.watch.seconds
            self.report(Progress("explicit", len(sizes), states, sizes[-1] if sizes else 0, self.watch.seconds))


@dataclass(frozen=True)
class SearchState:
    """What a search has found: what the workers saw, the states of each level and of all; at most so many bytes of memory and of files it
    took. `table` is None where it does not have all states."""

    seen: list[WorkerResult]
    sizes: list[int]
    states: int
    memory: int
    disk: int
    table: StateTable | None
