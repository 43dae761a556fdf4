"""`rocketproof compare`: find programs in which two releases differ, shrink them, and name the deciding rule.

The same programs run on one target and then on the other, so that only one broker runs at a time. Programs with differences are repeated
and shrunk in rounds. In each round, smaller programs of all differences run together on one target and then on the other. The next round
continues from the smallest program that still shows each difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts

from ...brokers.deployment import TargetError, ValidationTarget
from ...brokers.runs.runner import Bounds
from ...judging.reference.comparison import FieldDifference
from ...programs.parts import Capability
from ...programs.program import Program, ProgramOptions, generate, others
from ...programs.selections import EDGES, LEFT_OUT
from ...programs.settings import STARTED
from ...programs.shrink import simpler_steps, smaller_forms
from ...reports.exitcode import exit_code
from ..report import HISTORIES, prepare
from ..validate import CTRL_C
from .causes import Cause, cause_of
from .pairs import compare
from .smaller import plain, steps_of
from .staging import Progress, ReleaseRun, Stage
from .switching import RecordedProgram
from .witnesses import witnesses

SCHEMA, VERSION = "rocketproof-differences", 1
REPORT: Final = "differences.json"
ROUNDS: Final = 4
"""Number of rounds of shrinking."""
MOST: Final = 20
"""Maximum number of differences whose programs are shrunk, the most frequent first."""
PORTION: Final = 250
"""Number of programs that both targets run before `until` is checked."""
TRIED, TRIED_ALONE = 16, 4
"""Maximum number of smaller programs per difference and round; fewer for programs that may need a new broker each."""


@dataclass(frozen=True)
class AgainstRequest:
    """The programs run on the target `first`, and on `second`, which is compared with it.

    `until` selects a difference that ends the search; only its program is shrunk then, without a time limit. `plain`: programs are drawn at
    random only.
    """

    first: ValidationTarget
    second: ValidationTarget
    folder: Path
    programs: int = 300
    seed: int = 0
    workers: int = 4
    seconds: float | None = None
    rounds: int = ROUNDS
    plain: bool = False
    until: Callable[[Differing], bool] | None = None


@dataclass
class Differing:
    """A difference between two targets: its smallest program so far, and in how many programs it was seen.

    `again`: whether it was reproduced, None if its program was not repeated. `also`: other differences with the same cause. `at`: number of
    programs up to the first that showed it.
    """

    cause: Cause
    count: int
    program: Program
    difference: FieldDifference
    histories: tuple[RecordedProgram, RecordedProgram]
    again: bool | None = None
    also: tuple[str, ...] = ()
    at: int = 0

    @property
    def shown(self) -> set[str]:
        """Everything that the smallest program shows."""
        first, second = self.histories
        return {self.cause.about, *(cause_of(difference, first.history).about for difference in compare(first.history, second.history))}

    @property
    def size(self) -> tuple[int, int]:
        return self.histories[0].size

    def data(self, folder: Path) -> dict[str, Any]:
        return {
            "about": self.cause.about,
            "also": list(self.also),
            "rules": list(self.cause.rules),
            "programs": self.count,
            "again": self.again,
            "steps": steps_of(self.program),
            "needs": self.program.needs,
            "where": self.difference.where,
            "against": plain(self.difference.recorded),
            "target": plain(self.difference.found),
            "histories": [str(recorded.path.relative_to(folder)) for recorded in self.histories],
        }


@dataclass
class AgainstReport(ReleaseRun):
    """The result of a comparison."""

    first: str
    second: str
    differing: list[Differing] = field(default_factory=list)
    enough: Differing | None = None
    """The difference that ended the search. In the report it may be listed under another difference with the same cause."""
    seen: float | None = None
    """Seconds until then."""

    @property
    def exit_code(self) -> int:
        """1 if they differ, 3 if differences were not reproduced, or a limit ended the search before any difference."""
        shown = [difference for difference in self.differing if difference.again is not False]
        return exit_code(findings=shown, undecided=self.stopped or self.differing)

    def data(self, folder: Path) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            **self.record(),
            "against": self.first,
            "target": self.second,
            "differences": [difference.data(folder) for difference in self.differing],
            "exit": self.exit_code,
        }


def against(request: AgainstRequest, progress: Progress = lambda what, done, all_: None) -> AgainstReport:
    """Compare the targets. The histories stay in the folder. Raises TargetError if a target cannot be set up, InputError."""
    began = time.monotonic()
    prepare(request.folder)
    bounds = Bounds(request.workers, None, request.seconds)
    stages = tuple(
        Stage(target, request.folder / HISTORIES / name, request.seed, bounds)
        for name, target in (("against", request.first), ("target", request.second))
    )
    report = AgainstReport(request.first.name, request.second.name, seed=request.seed)
    try:
        _search(report, stages, request, progress)
        if report.enough is not None:
            bounds.seconds, report.seen = None, time.monotonic() - began
        _make_smaller(report, stages, request, progress)
    except KeyboardInterrupt:
        interrupts.heard()
        report.stopped = CTRL_C
    except TargetError as problem:
        if not report.programs:
            raise
        report.stopped = str(problem)
    if bounds.over and not report.stopped:
        report.stopped = f"--time {request.seconds:g}"
    report.differing = together(report.differing)
    report.seconds = time.monotonic() - began
    return report


def _search(report: AgainstReport, stages: Sequence[Stage], request: AgainstRequest, progress: Progress) -> None:
    """Fill the report with the differences."""
    by_cause: dict[Cause, Differing] = {}
    for portion in _portions(_programs(request), PORTION if request.until is not None else 0):
        for program, pair in _performed(stages, portion, progress):
            report.programs += 1
            report.requests += sum(len(recorded.history.exchanges) for recorded in pair)
            report.compared += all(recorded.is_comparable for recorded in pair)
            for difference in _differences(pair):
                _note(by_cause, Differing(cause_of(difference, pair[0].history), 1, program, difference, pair, at=report.programs))
        if request.until is not None:
            report.enough = min(filter(request.until, by_cause.values()), key=lambda differing: differing.at, default=None)
        if stages[0].bounds.over or report.enough is not None:
            break
    report.differing = sorted(by_cause.values(), key=lambda differing: -differing.count)


def _make_smaller(report: AgainstReport, stages: Sequence[Stage], request: AgainstRequest, progress: Progress) -> None:
    """Shrink the programs of all differences, or of the difference that ended the search."""
    differences = report.differing[:MOST] if report.enough is None else [report.enough]
    for number in range(request.rounds):
        if stages[0].bounds.over or not _round(stages, differences, number, progress, request.until if report.enough is not None else None):
            return


def together(differing: Sequence[Differing]) -> list[Differing]:
    """Merge differences with one cause: those whose smallest programs have a difference in common. The smallest one represents them."""
    groups: list[tuple[set[str], list[Differing]]] = []
    for difference in differing:
        shown, members = set(difference.shown), [difference]
        for group in [group for group in groups if group[0] & shown]:
            groups.remove(group)
            shown |= group[0]
            members += group[1]
        groups.append((shown, members))
    merged = []
    for shown, members in groups:
        first = min((difference for difference in members if difference.again), key=lambda difference: difference.size, default=members[0])
        count = sum(difference.count for difference in members)
        merged.append(replace(first, count=count, also=tuple(sorted(shown - {first.cause.about}))))
    return sorted(merged, key=lambda difference: -difference.count)


def _programs(request: AgainstRequest) -> list[Program]:
    """Return the numbered programs: general ones, programs that distinguish switches, programs with missing fields, and batches of every
    size.
    """
    offers = request.first.offers & request.second.offers
    configure, start = Capability.CONFIGURE in offers, Capability.START in offers
    possible = {"configure": configure, "start": start, "concurrent": False, "drawn": False, "plain": request.plain}
    general = generate(ProgramOptions(request.first.profile, request.programs, request.seed, **possible))
    programs = [*general, *witnesses(len(general) + 1, configure=configure, start=start)]
    programs += others(LEFT_OUT, max(8, request.programs // 8), request.seed, len(programs) + 1)
    return [*programs, *(others(EDGES, max(8, request.programs // 25), request.seed, len(programs) + 1) if start else ())]


def _portions(programs: Sequence[Program], size: int) -> Iterator[Sequence[Program]]:
    """Yield all programs for a size of 0, else `size` at a time. Programs that need their own brokers are last."""
    if not size:
        yield programs
        return
    ordered = sorted(programs, key=lambda program: (program.source == EDGES, program.needs if program.needs in STARTED else ""))
    for at in range(0, len(ordered), size):
        yield ordered[at : at + size]


def _performed(
    stages: Sequence[Stage], programs: Sequence[Program], progress: Progress
) -> Iterator[tuple[Program, tuple[RecordedProgram, RecordedProgram]]]:
    """Yield each program with its two histories, if both were recorded."""
    first, second = (stage.record(programs, progress) for stage in stages)
    for program in programs:
        if program.number in first and program.number in second:
            yield program, (first[program.number], second[program.number])


def _differences(pair: tuple[RecordedProgram, RecordedProgram]) -> list[FieldDifference]:
    first, second = pair
    return compare(first.history, second.history) if first.is_comparable and second.is_comparable else []


def _note(by_cause: dict[Cause, Differing], new: Differing) -> None:
    """Keep the smallest program of a cause, and count."""
    known = by_cause.get(new.cause)
    if known is None or new.size < known.size:
        at, count = (known.at, known.count) if known is not None else (new.at, 0)
        by_cause[new.cause] = replace(new, count=new.count + count, at=at)
    else:
        known.count += 1


def _round(
    stages: Sequence[Stage],
    differing: Sequence[Differing],
    number: int,
    progress: Progress,
    until: Callable[[Differing], bool] | None = None,
) -> bool:
    """Try smaller programs of each difference, and in the first round the program itself.

    Return whether one became smaller. `until`: what a smaller program must show in addition to the difference.
    """
    programs: list[Program] = []
    difference_of: dict[int, Differing] = {}
    themselves: set[int] = set()
    for target in differing:
        tried = list(islice(smaller_forms(target.program.steps, simpler_steps), TRIED_ALONE if target.program.source == EDGES else TRIED))
        if not number:
            tried.insert(0, target.program.steps)
            themselves.add(len(programs) + 1)
        for steps in tried:
            programs.append(replace(target.program, number=len(programs) + 1, steps=tuple(steps)))
            difference_of[len(programs)] = target
    smaller = False
    shown: set[int] = set()
    repeated: set[int] = set()
    for program, pair in _performed(stages, programs, progress):
        target = difference_of[program.number]
        if program.number in themselves and all(other.is_comparable for other in pair):
            repeated.add(id(target))
        causes = ((other, cause_of(other, pair[0].history)) for other in _differences(pair))
        candidates = (replace(target, cause=cause, program=program, difference=other, histories=pair) for other, cause in causes)
        same = next((other for other in candidates if other.cause.about == target.cause.about and (until is None or until(other))), None)
        if same is None:
            continue
        shown.add(id(target))
        if pair[0].size < target.size:
            target.cause, target.program, target.difference, target.histories = same.cause, program, same.difference, pair
            smaller = True
    for target in differing:
        if id(target) in shown:
            target.again = True
        elif id(target) in repeated:
            target.again = False
    return smaller
