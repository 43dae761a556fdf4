"""The suite's own search for a bug: a validation of a release with its ordinary programs, settings and starts, with the model's witnesses,
or with faults of the machine under load, of the kinds that the bug takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rocketproof_profiles.releases import nearest_profile

from ...brokers.apache import Apache
from ...conformance.witnesses.known import WITNESSES
from ...judging.judging import JudgedProgram
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
    """What came of it. `first`: the property of a finding, or the hazard of a witness, that shows the bug, None where there is none;
    `others` are further findings. `programs` and `seconds` are those up to the first program that shows it, or, with faults, the rounds
    of them; `witnesses` are those that were performed. `steps`: how long the shortest program is that was found to show it, None where
    none was looked for. `stopped`: what ended it early, "" if nothing did. `undecided`: verdicts that a judge left open."""

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
        """Whether it was seen where it is, and not where it is mended; None where nobody looked: a search that ended before its programs
        or its time did, or that left verdicts open, has not shown that a bug is not there."""
        ended = self.stopped and not self.stopped.startswith("--time")
        if self.first is None and (not (self.programs or self.witnesses) or ended or self.undecided):
            return None
        return (self.first is not None) == (self.on == "bad")

    @property
    def exit_code(self) -> int:
        """0 if it is as the list says, 1 if not, 3 if nobody knows."""
        return exit_code(findings=self.agrees is False, undecided=self.agrees is None)

    def record(self) -> dict[str, Any]:
        rest = {key: value for key, value in vars(self).items() if key not in ("bug", "folder")}
        return {"id": self.bug.id, **rest, "agrees": self.agrees, "report": str(self.folder)}


def search(
    bug: Bug, on: On, folder: Path, *, programs: int, seed: int, seconds: float, progress: Progress, plain: bool = False
) -> BugSearch:
    """Look for a bug in a release, in at most so many programs and seconds; `plain` programs are drawn by chance alone. It is judged by the
    profile of the first release that has not the bug, or that which the list names: the release's own may describe it.

    Raises InputError where that has no release or no search finds it, and TargetError.
    """
    release = bug.bad if on == "bad" else bug.good
    if not release:
        raise InputError(f"{bug.id} --on {on}: no release that can be started is known to be so; leave out --on to read about it")
    if bug.how == "script":
        raise InputError(f"{bug.id} is not found by programs alone; it needs a script, or a fault of the machine: rocketproof zoo {bug.id}")
    if bug.how == "against":
        both = Apache(bug.good), Apache(release)
        asked = AgainstRequest(*both, folder, programs, seed, seconds=seconds, until=partial(_differs, bug), plain=plain)
        return compared(bug, on, release, folder, against(asked, progress))
    target = Apache(release, profile=bug.profile or nearest_profile(bug.good or bug.bad))
    if bug.faults:
        faults = ValidationRequest(
            target,
            folder,
            0,
            seed,
            seconds=seconds,
            faults=dict.fromkeys(bug.faults, programs),
            until_fault=lambda one: bool(_struck(bug, one)),
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
        witnesses=[one for one in WITNESSES if one.hazard in bug.shows],
    )
    return judged(bug, on, release, folder, validate(request, progress))


def _differs(bug: Bug, one: Differing) -> bool:
    """Whether what two releases do otherwise may be the bug."""
    return bug.matches(one.cause.about, f"{one.difference.where} {one.cause}")


def compared(bug: Bug, on: On, release: str, folder: Path, report: AgainstReport) -> BugSearch:
    """What a comparison with the first release without it says of a bug."""
    found = report.enough
    others = tuple(dict.fromkeys(one.cause.about for one in report.differing if not _differs(bug, one)))
    first, programs = (found.cause.about, found.at) if found is not None else (None, report.programs)
    seconds = report.seconds if report.seen is None else report.seen
    steps = len(found.program.steps) if found is not None and found.again else None
    return BugSearch(bug, on, release, first, others, programs, seconds, folder, steps=steps, stopped=report.stopped)


def _shown(bug: Bug, program: JudgedProgram) -> list[str]:
    """The properties by which a program may show a bug, known violations among them, and what is to come again before it counts."""
    return [one.property for one in (*program.verdicts, *program.unconfirmed) if bug.fits(one)]


def _struck(bug: Bug, faults: FaultTests) -> list[str]:
    """The properties by which faults show a bug."""
    return [one.property for one in faults.verdicts if bug.fits(one)]


def judged(bug: Bug, on: On, release: str, folder: Path, report: ValidationReport) -> BugSearch:
    """What a validation says of a bug: the first of its findings that may be it; a known violation counts, too."""
    found = [one.verdict for one in report.findings]
    shown = [one.property for one in found if bug.fits(one)]
    shown += [one.property for judged_ in report.judged for one in judged_.verdicts if bug.fits(one)]
    shown += [name for faults in report.faults for name in _struck(bug, faults)]
    performed = [one for one in report.witnesses if one.reproduced is not None]
    shown += [one.hazard for one in performed if one.reproduced and one.hazard in bug.shows]
    found += [one for faults in report.faults for one in faults.verdicts if not one.known]
    others = tuple(dict.fromkeys(one.property for one in found if not bug.fits(one)))
    first, done = shown[0] if shown else None, len(report.judged) + sum(one.rounds for one in report.faults)
    seconds = report.seconds if report.enough is None else report.enough
    steps = min((len(one.program.steps) for one in report.findings if one.again and bug.fits(one.verdict)), default=None)
    return BugSearch(bug, on, release, first, others, done, seconds, folder, len(performed), steps, report.stopped, len(report.undecided))
