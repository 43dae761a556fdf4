"""Trial over the wire: run the programs that reach a mutant on the changed implementation until one finds something.

With the cover, the programs of the transition cover follow if the generated programs found nothing.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from rocketproof_properties.brokers import guardian
from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.programs.program import Program

from ..forks import ForkedTask, needs_fork, run_forked
from ..results import EQUIVALENT, NOTICED, SURVIVED, UNDECIDED, UNREACHED, UNSEEN, MutantOutcome, ResultFormat
from ..runner import RunLimits
from .baseline import baseline, is_of_cover, perform
from .reasons import argued
from .switched import WireMutant
from .target import Forked

AT_A_TIME: Final = 8
"""Number of concurrent programs, and the same number of programs that let time pass."""
LONGEST: Final = 240.0
"""Time limit in seconds for the programs of one mutant. With 90 s, 10 % of them did not end on a machine with a load of 14 to 27."""
BEYOND: Final = 60.0
"""Seconds after the time limits of its programs at which a trial is aborted."""
PROGRAMS: Final = "programs"
COVER: Final = "cover"
_TEXT: Final = 300
"""Maximum number of characters saved of a finding's text."""
FORMAT: Final = ResultFormat(
    option="--generated",
    noun="change",
    schema="rocketproof-generated-changes",
    rows="changes",
    columns={name: name for name in ("id", "part", "module", "kind", "verdict", "by", "with", "how", "worth", "programs", "seconds")},
    words={
        NOTICED: "a program found something",
        EQUIVALENT: "the same behaviour, for a reason",
        UNSEEN: "nothing that goes over the wire can show them, for a reason",
        UNREACHED: "no program goes through them",
        SURVIVED: "programs went through them and found nothing",
        UNDECIDED: "the run ended before",
    },
    styles={SURVIVED: "bold red", UNREACHED: "bold red", UNDECIDED: "bold yellow"},
)


class TrialByWire:
    """Tries mutants with at most `programs` programs of a seed and, with `cover`, those of the transition cover.

    Outcomes have these further columns. `worth`: number of programs that reach the mutant. `programs`: number of judged programs. `with`:
    the programs that noticed the mutant (`programs`, `cover`), or "".
    """

    format = FORMAT

    def __init__(self, profile: str, programs: int, seed: int, *, cover: bool = False) -> None:
        self._profile, self._programs, self._seed, self._cover = profile, programs, seed, cover
        self.options: Mapping[str, Any] = {"profile": profile, "programs": programs, "seed": seed, "cover": cover}
        self._argued: dict[str, tuple[MutantOutcome, MutantOutcome]] = {}

    def run(self, mutants: Sequence[WireMutant], limits: RunLimits) -> None:
        """Try the mutants. Raises InputError if the programs find something without a change, and TargetError if they end early."""
        needs_fork()
        with guardian.temporary_folder() as folder:
            base = baseline(self._profile, self._programs, self._seed, limits.progress, cover=self._cover)
            tasks = []
            # In random order, so that the share of a run that ends early is that of all modules. Those that need no trial are the last.
            for mutant in sorted(random.Random(self._seed).sample(mutants, len(mutants)), key=self._is_argued):
                if programs := base.programs_for(mutant):
                    tasks.append(ForkedAttempt(mutant, programs, self._profile, folder))
                else:
                    limits.add(_undecided(mutant, UNREACHED))
            unreached = len(mutants) - len(tasks)
            with closing(run_forked(tasks, limits.workers, limits.deadline)) as ended:
                for done, task in enumerate(ended, unreached + 1):
                    limits.add(task.outcome)
                    limits.progress("changes", done, len(mutants))

    def _is_argued(self, mutant: WireMutant) -> bool:
        """Return whether nothing has to notice the mutant."""
        return argued(replace(_undecided(mutant), verdict=SURVIVED), mutant, self._profile).verdict != SURVIVED

    def final(self, mutant: WireMutant, outcome: MutantOutcome | None, stopped: str) -> MutantOutcome:
        """Return the outcome with the reason why nothing has to notice the mutant, if it needs one and one exists."""
        del stopped
        if outcome is None:
            return _undecided(mutant)
        known = self._argued.get(mutant.id)  # a report is made after each outcome, and each has all of them
        if known is None or known[0] is not outcome:
            known = self._argued[mutant.id] = outcome, argued(outcome, mutant, self._profile)
        return known[1]

    def deviations(self) -> None:
        """Return None: programs that find something without a change end the run."""


def _undecided(mutant: WireMutant, verdict: Literal["undecided", "unreached"] = UNDECIDED) -> MutantOutcome:
    labels = {"part": mutant.part, "module": mutant.module, "kind": mutant.kind}
    return MutantOutcome(mutant.id, verdict, more={**labels, "with": "", "worth": 0, "programs": 0})


@dataclass(eq=False)
class ForkedAttempt(ForkedTask):
    """A trial of one mutant in a forked process. `folder`: for its temporary files."""

    mutant: WireMutant
    programs: Sequence[Program]
    profile: str
    folder: Path

    def __post_init__(self) -> None:
        self.outcome = _undecided(self.mutant)

    def patience(self) -> float:
        return LONGEST * len(self._stages) + BEYOND

    def receive(self, message: MutantOutcome) -> None:
        self.outcome = message

    def broke(self, how: Literal["hung", "lost"], seconds: float) -> None:
        del seconds
        if how == "lost":
            self.outcome = replace(self.outcome, how="the process that tried it has ended")
        else:
            text = f"it did not end within {self.patience():g} s"
            self.outcome = replace(self.outcome, verdict=NOTICED, by="target", how=text)

    def work(self, send: Callable[[Any], None]) -> None:
        tempfile.tempdir = str(self.folder)
        send(self.attempt())

    @property
    def _stages(self) -> dict[str, Sequence[Program]]:
        """The programs of the trial by their origin, in the order of the trial."""
        found = {
            PROGRAMS: [program for program in self.programs if not is_of_cover(program)],
            COVER: [program for program in self.programs if is_of_cover(program)],
        }
        return {name: programs for name, programs in found.items() if programs}

    def attempt(self) -> MutantOutcome:
        """Return the outcome of the mutant: that of the first programs that notice it, else undecided if one of them is."""
        began = time.monotonic()
        outcomes = list[MutantOutcome]()
        for name, programs in self._stages.items():
            outcomes.append(self._attempt(name, programs))
            if outcomes[-1].verdict == NOTICED:
                break
        judged = sum(each.more["programs"] for each in outcomes)
        outcome = next((each for each in reversed(outcomes) if each.verdict != SURVIVED), outcomes[-1])
        return replace(outcome, more={**outcome.more, "programs": judged}, seconds=time.monotonic() - began)

    def _attempt(self, name: str, programs: Sequence[Program]) -> MutantOutcome:
        """Return the outcome with these programs."""
        outcome = replace(self.outcome, verdict=SURVIVED, more={**self.outcome.more, "worth": len(self.programs)})
        noticed = replace(outcome, verdict=NOTICED, more={**outcome.more, "with": name})
        target = Forked(self.profile, self.mutant.ready())
        try:
            with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
                report = perform(target, Path(folder) / "run", programs, AT_A_TIME, LONGEST, lambda what, done, of: None)
        except TargetError as problem:
            return replace(noticed, by="target", how=str(problem)[:_TEXT])
        finally:
            target.end()
        verdicts = [finding.verdict for finding in report.findings] + [each for judged in report.judged for each in judged.unconfirmed]
        if verdicts:
            outcome = replace(noticed, by=verdicts[0].property, how=verdicts[0].text[:_TEXT])
        elif report.stopped.startswith("--time"):
            how = f"only {len(report.judged)} of {len(programs)} programs within {LONGEST:g} s"
            outcome = replace(outcome, verdict=UNDECIDED, how=how)
        elif report.undecided and not report.stopped:
            how = f"{report.undecided[0].what}: {report.undecided[0].reason}"[:_TEXT]
            outcome = replace(outcome, verdict=UNDECIDED, how=how)
        elif report.stopped:
            outcome = replace(noticed, by="target", how=report.stopped[:_TEXT])
        return replace(outcome, more={**outcome.more, "programs": len(report.judged)})
