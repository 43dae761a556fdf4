"""`rocketproof validate --against`: in which programs two releases differ, each made small, with the rule that decides what differs.

The same programs run on one target and then on the other, so that one broker runs at a time. What differs is repeated and made smaller in
rounds: smaller programs of all differences run together on the one target and then on the other, and the smallest that still
shows each is where the next round goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts

from ...brokers.deployment import TargetError, ValidationTarget
from ...brokers.runs.runner import Bounds
from ...judging.reference.comparison import FieldDifference
from ...programs.parts import Capability
from ...programs.program import Program, ProgramOptions, generate
from ...programs.settings import STARTED
from ...programs.shrink import simpler_steps
from ...programs.vocabulary import Step
from ...reports.exitcode import exit_code
from ..report import HISTORIES, prepare
from ..validate import CTRL_C
from .causes import Cause, cause_of
from .edges import EDGES, edges, left_out
from .pairs import compare
from .smaller import plain, steps_of
from .staging import Progress, ReleaseRun, Stage
from .switching import RecordedProgram
from .witnesses import witnesses

SCHEMA, VERSION = "rocketproof-differences", 1
REPORT: Final = "differences.json"
ROUNDS: Final = 4
"""How often smaller programs are tried."""
MOST: Final = 20
"""Differences whose programs are made smaller, the most frequent ones."""
PORTION: Final = 250
"""Programs that both targets have performed before anybody asks whether what was seen is enough."""
TRIED, TRIED_ALONE = 16, 4
"""Smaller programs of one difference in a round, and of those for which a broker may have to be started anew."""


@dataclass(frozen=True)
class AgainstRequest:
    """What to do: programs on the target `first`, and on `second`, which is compared with it. `until`: a difference that is enough, whose
    program alone is made smaller then, whatever time is left. `plain`: programs are drawn by chance alone."""

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
    """What two targets do otherwise: the smallest program so far, in how many it was seen, and whether it came again, None where its
    program was not done again. `also`: what else differs by the same cause; `at`: the programs up to the first one that showed it."""

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
        """All that the smallest program shows."""
        one, other = self.histories
        return {self.cause.about, *(cause_of(each, one.history).about for each in compare(one.history, other.history))}

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
            "histories": [str(one.path.relative_to(folder)) for one in self.histories],
        }


@dataclass
class AgainstReport(ReleaseRun):
    """What was found."""

    first: str
    second: str
    differing: list[Differing] = field(default_factory=list)
    enough: Differing | None = None
    """The difference that was waited for, which may be told under another one with the same cause."""
    seen: float | None = None
    """Seconds until then."""

    @property
    def exit_code(self) -> int:
        """1 if they differ, 3 if what differed did not come again, or a limit ended it before anything did."""
        shown = [one for one in self.differing if one.again is not False]
        return exit_code(findings=shown, undecided=self.stopped or self.differing)

    def data(self, folder: Path) -> dict[str, Any]:
        """The JSON document."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            **self.record(),
            "against": self.first,
            "target": self.second,
            "differences": [one.data(folder) for one in self.differing],
            "exit": self.exit_code,
        }


def against(request: AgainstRequest, progress: Progress = lambda what, done, all_: None) -> AgainstReport:
    """Do it; what was recorded stays in the folder. Raises TargetError where a target cannot be set up, InputError."""
    began = time.monotonic()
    prepare(request.folder)
    bounds = Bounds(request.workers, None, request.seconds)
    both = tuple(
        Stage(target, request.folder / HISTORIES / name, request.seed, bounds)
        for name, target in (("against", request.first), ("target", request.second))
    )
    made = AgainstReport(request.first.name, request.second.name, seed=request.seed)
    try:
        _search(made, both, request, progress)
        if made.enough is not None:
            bounds.seconds, made.seen = None, time.monotonic() - began
        _make_smaller(made, both, request, progress)
    except KeyboardInterrupt:
        interrupts.heard()
        made.stopped = CTRL_C
    except TargetError as problem:
        if not made.programs:
            raise
        made.stopped = str(problem)
    if bounds.over and not made.stopped:
        made.stopped = f"--time {request.seconds:g}"
    made.differing = together(made.differing)
    made.seconds = time.monotonic() - began
    return made


def _search(made: AgainstReport, both: Sequence[Stage], request: AgainstRequest, progress: Progress) -> None:
    """Fill the report: what differs."""
    found: dict[Cause, Differing] = {}
    for portion in _portions(_programs(request), PORTION if request.until is not None else 0):
        for program, pair in _performed(both, portion, progress):
            made.programs += 1
            made.requests += sum(len(one.history.exchanges) for one in pair)
            made.compared += all(one.tells for one in pair)
            for difference in _differences(pair):
                _note(found, Differing(cause_of(difference, pair[0].history), 1, program, difference, pair, at=made.programs))
        if request.until is not None:
            made.enough = min(filter(request.until, found.values()), key=lambda one: one.at, default=None)
        if both[0].bounds.over or made.enough is not None:
            break
    made.differing = sorted(found.values(), key=lambda one: -one.count)


def _make_smaller(made: AgainstReport, both: Sequence[Stage], request: AgainstRequest, progress: Progress) -> None:
    """Fill the report with smaller programs: of what was waited for, or of all."""
    wanted = made.differing[:MOST] if made.enough is None else [made.enough]
    for number in range(request.rounds):
        if both[0].bounds.over or not _round(both, wanted, number, progress, request.until if made.enough is not None else None):
            return


def together(differing: Sequence[Differing]) -> list[Differing]:
    """One difference for each cause: those whose smallest programs show something in common have one. The smallest one stands for them."""
    groups: list[tuple[set[str], list[Differing]]] = []
    for one in differing:
        shown, members = set(one.shown), [one]
        for group in [group for group in groups if group[0] & shown]:
            groups.remove(group)
            shown |= group[0]
            members += group[1]
        groups.append((shown, members))
    found = []
    for shown, members in groups:
        first = min((one for one in members if one.again), key=lambda one: one.size, default=members[0])
        count = sum(one.count for one in members)
        found.append(replace(first, count=count, also=tuple(sorted(shown - {first.cause.about}))))
    return sorted(found, key=lambda one: -one.count)


def _programs(request: AgainstRequest) -> list[Program]:
    """General ones, those that tell switches, those that leave out fields, and batches of every size, numbered."""
    offers = request.first.offers & request.second.offers
    configure, start = Capability.CONFIGURE in offers, Capability.START in offers
    possible = {"configure": configure, "start": start, "concurrent": False, "drawn": False, "plain": request.plain}
    general = generate(ProgramOptions(request.first.profile, request.programs, request.seed, **possible))
    made = [*general, *witnesses(len(general) + 1, configure=configure, start=start)]
    made += left_out(max(8, request.programs // 8), request.seed, len(made) + 1)
    return [*made, *(edges(max(8, request.programs // 25), request.seed, len(made) + 1) if start else ())]


def _portions(programs: Sequence[Program], size: int) -> Iterator[Sequence[Program]]:
    """All at once for a size of 0, else so many at a time; those that need brokers of their own come last."""
    if not size:
        yield programs
        return
    ordered = sorted(programs, key=lambda one: (one.source == EDGES, one.needs if one.needs in STARTED else ""))
    for at in range(0, len(ordered), size):
        yield ordered[at : at + size]


def _performed(
    both: Sequence[Stage], programs: Sequence[Program], progress: Progress
) -> Iterator[tuple[Program, tuple[RecordedProgram, RecordedProgram]]]:
    """Each program with its two histories, as far as both were recorded."""
    one, other = (stage.record(programs, progress) for stage in both)
    for program in programs:
        if program.number in one and program.number in other:
            yield program, (one[program.number], other[program.number])


def _differences(pair: tuple[RecordedProgram, RecordedProgram]) -> list[FieldDifference]:
    one, other = pair
    return compare(one.history, other.history) if one.tells and other.tells else []


def _note(found: dict[Cause, Differing], new: Differing) -> None:
    """Keep the smallest program of a cause, and count."""
    known = found.get(new.cause)
    if known is None or new.size < known.size:
        at, count = (known.at, known.count) if known is not None else (new.at, 0)
        found[new.cause] = replace(new, count=new.count + count, at=at)
    else:
        known.count += 1


def _round(
    both: Sequence[Stage], differing: Sequence[Differing], number: int, progress: Progress, until: Callable[[Differing], bool] | None = None
) -> bool:
    """Try smaller programs of each, in the first round also itself; whether one became smaller. `until`: what a smaller one has to show,
    where it is more than the same difference."""
    programs: list[Program] = []
    of: dict[int, Differing] = {}
    themselves: set[int] = set()
    for one in differing:
        tried = _smaller(one.program)
        if not number:
            tried.insert(0, one.program.steps)
            themselves.add(len(programs) + 1)
        for steps in tried:
            programs.append(replace(one.program, number=len(programs) + 1, steps=tuple(steps)))
            of[len(programs)] = one
    smaller = False
    shown: set[int] = set()
    repeated: set[int] = set()
    for program, pair in _performed(both, programs, progress):
        one = of[program.number]
        if program.number in themselves and all(each.tells for each in pair):
            repeated.add(id(one))
        causes = ((each, cause_of(each, pair[0].history)) for each in _differences(pair))
        alike = (replace(one, cause=cause, program=program, difference=each, histories=pair) for each, cause in causes)
        same = next((each for each in alike if each.cause.about == one.cause.about and (until is None or until(each))), None)
        if same is None:
            continue
        shown.add(id(one))
        if pair[0].size < one.size:
            one.cause, one.program, one.difference, one.histories = same.cause, program, same.difference, pair
            smaller = True
    for one in differing:
        if id(one) in shown:
            one.again = True
        elif id(one) in repeated:
            one.again = False
    return smaller


def _smaller(program: Program) -> list[Sequence[Step]]:
    """Some smaller programs, the smallest first: single steps, beginnings, without a step, with simpler steps."""
    steps = program.steps
    found: list[Sequence[Step]] = []
    if len(steps) > 1:
        found += [(one,) for one in steps]
        found += [steps[: len(steps) // 2], steps[len(steps) // 2 :]]
        found += [(*steps[:at], *steps[at + 1 :]) for at in range(len(steps))]
    if len(steps) <= 3:
        found += [(*steps[:at], simpler, *steps[at + 1 :]) for at, one in enumerate(steps) for simpler in simpler_steps(one)]
    different = list({repr(one): one for one in found}.values())
    return different[: TRIED_ALONE if program.source == EDGES else TRIED]
