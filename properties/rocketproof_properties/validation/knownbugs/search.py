"""Search for a bug by validating a release: with general programs, settings and restarts, with the model's witnesses, or with the machine
faults that the bug needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rocketproof_profiles.releases import nearest_profile

from ...brokers.apache import Apache
from ...conformance.witnesses.known import WITNESSES
from ...judging.verdicts import JudgedProgram
from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from ..faults.found import FaultTests
from ..releases.against import AgainstReport, AgainstRequest, Differing, against
from ..report import ValidationReport
from ..validate import SHRINK, Progress, ValidationRequest, validate
from .bugs import Bug

On = Literal["bad", "good"]


@dataclass(frozen=True)
class BugSearch:
    """The result of a search.

    - `first`: the property of the finding, or the hazard of the witness, that shows the bug; None if nothing does. `others`: further
      findings.
    - `programs` and `seconds`: up to the first program that shows it; with faults, the number of rounds.
    - `witnesses`: the number of replayed witnesses.
    - `steps`: the length of the shortest program found that shows it, None if none was searched for.
    - `stopped`: the reason of an early end, "" for none. `undecided`: number of verdicts that a judge left open.
    """

    bug: Bug
    on: On
    release: str
    first: str | None
    others: tuple[str, ...]
    programs: int
    seconds: float
    folder: Path
    witnesses: int = 0
    steps: int | None = None
    stopped: str = ""
    undecided: int = 0

    @property
    def agrees(self) -> bool | None:
        """Whether the bug was shown in the bad release, or not shown in the good release.

        None if the search was interrupted or left verdicts open: an incomplete search does not show that the bug is absent.
        """
        ended = self.stopped and not self.stopped.startswith("--time")
        if self.first is None and (not (self.programs or self.witnesses) or ended or self.undecided):
            return None
        return (self.first is not None) == (self.on == "bad")

    @property
    def exit_code(self) -> int:
        """0 if the result agrees with the list, 1 if not, 3 if undecided."""
        return exit_code(findings=self.agrees is False, undecided=self.agrees is None)

    def record(self) -> dict[str, Any]:
        rest = {key: value for key, value in vars(self).items() if key not in ("bug", "folder")}
        return {"id": self.bug.id, **rest, "agrees": self.agrees, "report": str(self.folder)}


def search(
    bug: Bug, on: On, folder: Path, *, programs: int, seed: int, seconds: float, progress: Progress, plain: bool = False
) -> BugSearch:
    """Search for a bug in a release, with at most this many programs and seconds. With `plain`, programs are drawn at random only.

    The judge uses the profile of the first release without the bug, or the profile that the list names. The release's own profile may
    describe the bug. Raises InputError if there is no such release or no search finds the bug, and TargetError.
    """
    release = bug.bad if on == "bad" else bug.good
    if not release:
        raise InputError(f"{bug.id} --on {on}: no release that can be started is known to be so; leave out --on to read about it")
    if bug.how == "script":
        raise InputError(f"{bug.id} is not found by programs alone; it needs a script, or a fault of the machine: rocketproof zoo {bug.id}")
    if bug.how == "against":
        both = Apache(bug.good), Apache(release)
        comparison = AgainstRequest(*both, folder, programs, seed, seconds=seconds, until=partial(_differs, bug), plain=plain)
        return compared(bug, on, release, folder, against(comparison, progress))
    target = Apache(release, profile=bug.profile or nearest_profile(bug.good or bug.bad))
    if bug.faults:
        faults = ValidationRequest(
            target,
            folder,
            0,
            seed,
            seconds=seconds,
            faults=dict.fromkeys(bug.faults, programs),
            until_fault=lambda tests: bool(_shown_by_faults(bug, tests)),
        )
        return judged(bug, on, release, folder, validate(faults, progress))
    request = ValidationRequest(
        target,
        folder,
        0 if bug.how == "witness" else programs,
        seed,
        seconds=seconds,
        shrink=SHRINK,
        plain=plain,
        audits=True,
        until=lambda judged: bool(_shown(bug, judged)),
        witnesses=[witness for witness in WITNESSES if witness.hazard in bug.shows],
    )
    return judged(bug, on, release, folder, validate(request, progress))


def _differs(bug: Bug, differing: Differing) -> bool:
    """Return whether a difference between two releases may be the bug."""
    return bug.matches(differing.cause.about, f"{differing.difference.where} {differing.cause}")


def compared(bug: Bug, on: On, release: str, folder: Path, report: AgainstReport) -> BugSearch:
    """Return the result for a bug of a comparison with the first release without it."""
    shown = report.enough
    others = tuple(dict.fromkeys(difference.cause.about for difference in report.differing if not _differs(bug, difference)))
    first, programs = (shown.cause.about, shown.at) if shown is not None else (None, report.programs)
    seconds = report.seconds if report.seen is None else report.seen
    steps = len(shown.program.steps) if shown is not None and shown.again else None
    return BugSearch(bug, on, release, first, others, programs, seconds, folder, steps=steps, stopped=report.stopped)


def _shown(bug: Bug, program: JudgedProgram) -> list[str]:
    """Return the properties by which a program may show a bug, including known violations and unconfirmed verdicts."""
    return [verdict.property for verdict in (*program.deviations, *program.unconfirmed) if bug.fits(verdict)]


def _shown_by_faults(bug: Bug, faults: FaultTests) -> list[str]:
    """Return the properties by which faults show a bug."""
    return [verdict.property for verdict in faults.verdicts if bug.fits(verdict)]


def judged(bug: Bug, on: On, release: str, folder: Path, report: ValidationReport) -> BugSearch:
    """Return the result for a bug of a validation: the first of its findings that may be the bug. Known violations count."""
    findings = [entry.verdict for entry in report.findings]
    shown = [entry.property for entry in findings if bug.fits(entry)]
    shown += [entry.property for judged_ in report.judged for entry in judged_.deviations if bug.fits(entry)]
    shown += [name for faults in report.faults for name in _shown_by_faults(bug, faults)]
    performed = [entry for entry in report.witnesses if entry.reproduced is not None]
    shown += [entry.hazard for entry in performed if entry.reproduced and entry.hazard in bug.shows]
    findings += [entry for faults in report.faults for entry in faults.verdicts if not entry.known]
    others = tuple(dict.fromkeys(entry.property for entry in findings if not bug.fits(entry)))
    first, done = shown[0] if shown else None, len(report.judged) + sum(entry.rounds for entry in report.faults)
    seconds = report.seconds if report.enough is None else report.enough
    steps = min((len(entry.program.steps) for entry in report.findings if entry.again and bug.fits(entry.verdict)), default=None)
    return BugSearch(bug, on, release, first, others, done, seconds, folder, len(performed), steps, report.stopped, len(report.undecided))
