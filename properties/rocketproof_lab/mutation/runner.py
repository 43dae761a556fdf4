"""Try the mutants of any source: known outcomes are kept, the others come from a trial, also if the run is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from rocketproof_model import interrupts

from .forks import OutOfTime
from .mutant import Mutant
from .results import MutantOutcome, MutationReport, ResultFormat

CTRL_C: Final = "Ctrl-C"
TIME: Final = "the time limit"
Progress = Callable[[str, int, int], None]
M = TypeVar("M", bound=Mutant)
M_contra = TypeVar("M_contra", bound=Mutant, contravariant=True)


@dataclass(frozen=True)
class RunLimits:
    """What a trial may use: processes, and time until `deadline` on the monotonic clock.

    `progress` gets the activity, the number done and the total. `add` gets each outcome as soon as it is known.
    """

    workers: int
    deadline: float
    progress: Progress
    add: Callable[[MutantOutcome], None]


class MutantTrial(Protocol[M_contra]):
    """Decides whether mutants are noticed. `options`: those options of the run on which outcomes depend."""

    format: ResultFormat
    options: Mapping[str, Any]

    def run(self, mutants: Sequence[M_contra], limits: RunLimits) -> None:
        """Try the mutants. Raises OutOfTime, KeyboardInterrupt, and InputError if nothing can be tried."""

    def final(self, mutant: M_contra, outcome: MutantOutcome | None, stopped: str) -> MutantOutcome:
        """Return the outcome for the report. `outcome` is None if there is none yet; `stopped` is what ended the run early."""
        ...

    def deviations(self) -> Sequence[str] | None:
        """Return differences that the trial found without a mutant; None if it looks for none."""


class MutationRun(Generic[M]):
    """One run over mutants with a trial, on `workers` processes for at most `seconds`."""

    def __init__(
        self,
        trial: MutantTrial[M],
        *,
        workers: int,
        seconds: float | None = None,
        progress: Progress = lambda *_: None,
        known: MutationReport | None = None,
        keep: Callable[[MutationReport], None] = lambda _: None,
    ) -> None:
        self._trial = trial
        self._begun = time.monotonic()
        deadline = float("inf") if seconds is None else self._begun + seconds
        self._limits = RunLimits(workers, deadline, progress, self._add)
        self._known = known or MutationReport(trial.format)
        self._keep = keep
        self._outcomes = {row.id: row for row in self._known.rows}
        self._mutants: Sequence[M] = ()

    def report(self, mutants: Sequence[M]) -> MutationReport:
        """Try the mutants that have no known outcome, and return the report of all. `keep` gets the report after each outcome.

        Raises InputError, and what the trial raises if it cannot begin.
        """
        self._mutants = mutants
        untried = [mutant for mutant in mutants if mutant.id not in self._outcomes]
        stopped = ""
        try:
            if untried:
                self._trial.run(untried, self._limits)
        except KeyboardInterrupt:
            interrupts.heard()
            stopped = CTRL_C
        except OutOfTime:
            stopped = TIME
        return self._gathered(stopped)

    def _add(self, outcome: MutantOutcome) -> None:
        self._outcomes[outcome.id] = outcome
        self._keep(self._gathered(""))

    def _gathered(self, stopped: str) -> MutationReport:
        rows = [self._trial.final(mutant, self._outcomes.get(mutant.id), stopped) for mutant in self._mutants]
        deviations = self._trial.deviations()
        if deviations is not None:
            deviations = sorted({*deviations, *(self._known.deviations or ())})
        report = MutationReport(self._trial.format, rows, self._trial.options, deviations=deviations)
        return replace(report, stopped=stopped, seconds=time.monotonic() - self._begun)
