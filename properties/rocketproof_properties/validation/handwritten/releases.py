"""Perform a program on releases, and find the first that shows a problem and the first that does not.

Every release is started once for a program. Several programs with equal setups share its brokers. The history is kept below
`.rocketproof/bisect` and judged again when the program is asked for again, so that another condition, or another range, needs no broker.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rocketproof_profiles.releases import nearest_profile, startable, version_key

from ...brokers.apache import Apache
from ...brokers.deployment import TargetError, ValidationTarget
from ...judging.verdicts import ProgramFinding
from ...programs.names import is_system_topic
from ...programs.vocabulary import ENDS_PROCESS
from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from ...reports.files import write_json
from ..validate import Progress
from .answers import differences
from .condition import ANY_BROKEN, ShowCondition, of_property
from .programfile import ProgramFile
from .trial import ProgramTrial, RecordedTrial, read_trial, record, record_together

FOLDER: Final = Path(".rocketproof") / "bisect"
_INDEX: Final = "trials.json"
_VERSION: Final = 1
PerformOn = Callable[[ProgramFile, str, Path, int], Sequence[ProgramTrial | RecordedTrial]]
"""Performs a program on a release as often as stated, with histories in a folder. The trials are judged after they are kept."""
SHOWS, NOT, UNKNOWN = "yes", "no", "unknown"
_OBSERVE: Final = frozenset({"max_offset", "min_offset", "pull", "stats", "question", "checked"})
_CHANGE_BROKERS: Final = frozenset({*ENDS_PROCESS, "configure", "question", "checked"})


@dataclass(frozen=True)
class TriedRelease:
    """The trials of a program on a release. `problem`: why there are none, "" if there are some. `cached`: no broker was started."""

    release: str
    profile: str
    trials: Sequence[ProgramTrial] = ()
    problem: str = ""
    cached: bool = False

    @property
    def broken(self) -> list[ProgramFinding]:
        """The broken rules of all trials, one for each property."""
        return [*{finding.property: finding for trial in self.trials for finding in trial.broken}.values()]


@dataclass(frozen=True)
class ReleaseRow:
    """A row of the result. `shows`: yes, no, or unknown. `shown`: the number of trials that show it. `differs`: from the release before."""

    tried: TriedRelease
    shows: str
    shown: int
    differs: Sequence[str]

    def data(self) -> dict[str, Any]:
        return {
            "release": self.tried.release,
            "profile": self.tried.profile,
            "shows": self.shows,
            "shown": self.shown,
            "times": len(self.tried.trials),
            "differs": list(self.differs),
            "broken": [
                {"judge": each.judge, "property": each.property, "known": each.known, "text": each.text} for each in self.tried.broken
            ],
            "problem": self.tried.problem,
            "cached": self.tried.cached,
        }


@dataclass(frozen=True)
class BisectResult:
    """The releases in order, and what they were asked for. `binary`: releases between the tried ones are assumed to be like them."""

    program: ProgramFile
    condition: ShowCondition
    rows: Sequence[ReleaseRow]
    binary: bool = False

    @property
    def first(self) -> str:
        """The first release that shows the problem, "" if none does."""
        return next((row.tried.release for row in self.rows if row.shows == SHOWS), "")

    @property
    def last(self) -> str:
        """The last release that shows it."""
        return next((row.tried.release for row in reversed(self.rows) if row.shows == SHOWS), "")

    @property
    def without(self) -> str:
        """The first later release that does not show it, "" if there is none."""
        releases = [row.tried.release for row in self.rows]
        after = self.rows[releases.index(self.first) :] if self.first else ()
        return next((row.tried.release for row in after if row.shows == NOT), "")

    @property
    def shown(self) -> str:
        """The releases that show it, as ranges of tried releases, such as `4.9.4 to 5.0.0, 5.2.0`; "" if none does."""
        return ranges((row.tried.release for row in self.rows), {row.tried.release for row in self.rows if row.shows == SHOWS})

    @property
    def undecided(self) -> list[str]:
        return [row.tried.release for row in self.rows if row.shows == UNKNOWN]

    @property
    def exit_code(self) -> int:
        return exit_code(findings=bool(self.first), undecided=self.undecided)

    def data(self) -> dict[str, Any]:
        return {
            "program": self.program.path,
            **self.program.data(),
            "condition": self.condition.text,
            "binary": self.binary,
            "releases": [row.data() for row in self.rows],
            "first": self.first,
            "last": self.last,
            "without": self.without,
            "exit": self.exit_code,
        }


def ranges(tried: Iterable[str], shown: Container[str]) -> str:
    """Return the `shown` releases as ranges of successive `tried` ones, such as `4.9.4 to 5.0.0, 5.2.0`; "" if there are none."""
    groups = [[*group] for is_shown, group in groupby(tried, lambda release: release in shown) if is_shown]
    return ", ".join(each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in groups)


def releases_between(first: str, last: str) -> list[str]:
    """Return the releases of the table from one to another, including these two. Raises InputError if there are none."""
    for release in (first, last):
        if not version_key(release):
            raise InputError(f"{release} is not a release; give one such as 4.9.4")
    known = {version_key(release): release for release in startable()}
    known |= {version_key(release): known.get(version_key(release), release) for release in (first, last)}
    result = [release for key, release in sorted(known.items()) if version_key(first) <= key <= version_key(last)]
    if not result:
        raise InputError(f"--from {first} --to {last}: there is no release between these; give the earlier one to --from")
    return result


def bisect(
    program: ProgramFile,
    releases: Sequence[str],
    condition: ShowCondition,
    *,
    times: int | None = None,
    folder: Path = FOLDER,
    again: bool = False,
    binary: bool = False,
    profile: str | None = None,
    progress: Progress = lambda what, done, all_: None,
    try_release: PerformOn | None = None,
) -> BisectResult:
    """Perform the program on the releases, or with `binary` on as few as needed if each shows it from one release on, or up to one.

    `times`: runs on each release; None: as the program's file states. `again`: start brokers also where a result is kept. `try_release`
    performs it on a release; the default starts it.
    """
    times = times or program.times
    perform_on = try_release or _perform
    done: dict[str, TriedRelease] = {}

    def tried(release: str) -> TriedRelease:
        if release not in done:
            progress(f"release {release}", len(done) + 1, len(releases))
            done[release] = _tried(program, release, times, folder, profile, perform_on, again=again)
        return done[release]

    if binary:
        _halve(releases, lambda release: _shown(tried(release), condition)[0])
    else:
        for release in releases:
            tried(release)
    in_order = [done[release] for release in releases if release in done]
    return BisectResult(program, condition, _rows(in_order, condition), binary)


def perform_on_releases(
    programs: Sequence[ProgramFile],
    releases: Sequence[str],
    *,
    times: int | None = None,
    folder: Path = FOLDER,
    again: bool = False,
    progress: Progress = lambda what, done, all_: None,
    target_of: Callable[[str], ValidationTarget] = Apache,
) -> None:
    """Perform several programs on all releases and keep the results, so that `bisect` of each starts no broker.

    Programs with equal setups share the brokers of a release. A program that restarts brokers or observes their own topics has brokers of
    its own. A release that does not start is left to `bisect`, which reports it.
    """
    groups = _groups(programs)
    for number, release in enumerate(releases, 1):
        progress(f"release {release}", number, len(releases))
        for group in groups:
            todo = [each for each in group if again or _kept(_place(folder, each, times or each.times, release)) is None]
            if not todo:
                continue
            with tempfile.TemporaryDirectory(prefix="rocketproof-") as work, suppress(TargetError):
                for program, trials in record_together(todo, target_of(release), Path(work), times):
                    _keep(_place(folder, program, times or program.times, release), trials)


def _groups(programs: Sequence[ProgramFile]) -> list[list[ProgramFile]]:
    """Return the programs that may share brokers."""
    groups: dict[str, list[ProgramFile]] = {}
    for number, program in enumerate(programs):
        setup = json.dumps([program.given, dict(program.running)], sort_keys=True)
        groups.setdefault(f"{setup} {number}" if _has_brokers_of_its_own(program) else setup, []).append(program)
    return list(groups.values())


def _has_brokers_of_its_own(program: ProgramFile) -> bool:
    """Return whether the program changes brokers for others, or depends on what others leave."""
    observed = {str(args.get("topic", "")) for name, args in program.steps if name in _OBSERVE}
    changed = any(name in _CHANGE_BROKERS for name, _ in program.steps)
    return changed or program.brokers > 1 or any(is_system_topic(topic) for topic in observed)


def first_problem(rows: Sequence[TriedRelease]) -> ShowCondition:
    """Return the condition for a program without one: the first broken rule; if no release breaks one, the first difference."""
    broken = next((each.property for row in rows for each in row.broken), None)
    if broken is not None:
        return of_property(broken)
    before = next((row for row in rows if row.trials), None)
    if before is None:
        return ANY_BROKEN
    answers = before.trials[0].answers
    return ShowCondition(f"a response differs from that of {before.release}", lambda found, _: bool(differences(answers, found)))


def with_first_problem(result: BisectResult) -> BisectResult:
    """Return the result for the first problem that its releases show."""
    tried = [row.tried for row in result.rows]
    condition = first_problem(tried)
    return BisectResult(result.program, condition, _rows(tried, condition), result.binary)


def _halve(releases: Sequence[str], shown: Callable[[str], str]) -> None:
    """Try the ends and then middles, until neighbours differ."""
    low, high = 0, len(releases) - 1
    first, last = shown(releases[low]), shown(releases[high])
    if first == last or UNKNOWN in (first, last):
        return
    while high - low > 1:
        middle = (low + high) // 2
        if shown(releases[middle]) == last:
            high = middle
        else:
            low = middle


def _rows(tried: Sequence[TriedRelease], condition: ShowCondition) -> list[ReleaseRow]:
    rows: list[ReleaseRow] = []
    before: TriedRelease | None = None
    for release in tried:
        shows, shown = _shown(release, condition)
        differs = differences(before.trials[0].answers, release.trials[0].answers) if before is not None and release.trials else []
        rows.append(ReleaseRow(release, shows, shown, differs))
        before = release if release.trials else before
    return rows


def _shown(release: TriedRelease, condition: ShowCondition) -> tuple[str, int]:
    """Return whether one of the trials shows it, and how many do."""
    found = [trial.shows(condition) for trial in release.trials]
    if any(found):
        return SHOWS, sum(each is True for each in found)
    return (UNKNOWN if not found or None in found else NOT), 0


# Results that are kept


def _tried(
    program: ProgramFile,
    release: str,
    times: int,
    folder: Path,
    profile: str | None,
    perform_on: PerformOn,
    *,
    again: bool,
) -> TriedRelease:
    judged_by = profile or nearest_profile(release)
    place = _place(folder, program, times, release)
    if not again and (kept := _kept(place)) is not None:
        trials = [read_trial(program, place / row["history"], row["seqs"], judged_by, row["stopped"]) for row in kept]
        return TriedRelease(release, judged_by, trials, cached=True)
    with tempfile.TemporaryDirectory(prefix="rocketproof-") as work:
        try:
            recorded = perform_on(program, release, Path(work), times)
        except TargetError as problem:
            return TriedRelease(release, judged_by, problem=str(problem))
        _keep(place, recorded)
    return TriedRelease(
        release, judged_by, [read_trial(program, place / each.history.name, each.seqs, judged_by, each.stopped) for each in recorded]
    )


def _perform(program: ProgramFile, release: str, folder: Path, times: int) -> Sequence[RecordedTrial]:
    return record(program, Apache(release), folder, times=times)


def _place(folder: Path, program: ProgramFile, times: int, release: str) -> Path:
    return folder / _digest(program, times) / release


def _digest(program: ProgramFile, times: int) -> str:
    data = json.dumps({**program.data(), "times": times, "version": _VERSION}, sort_keys=True)
    return f"{Path(program.path).stem}-{hashlib.sha256(data.encode()).hexdigest()[:12]}"


def _kept(place: Path) -> Sequence[Mapping[str, Any]] | None:
    try:
        rows = json.loads((place / _INDEX).read_text("utf-8"))["trials"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if isinstance(rows, list) and rows and all((place / row["history"]).is_file() for row in rows) else None


def _keep(place: Path, trials: Sequence[ProgramTrial | RecordedTrial]) -> None:
    """Copy the histories, and write the index last, so that an interrupted copy is not used."""
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for trial in trials:
            shutil.copy(trial.history, place / trial.history.name)
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror}); run the command in a folder that you may write to") from None
    rows = [{"history": each.history.name, "seqs": [list(mine) for mine in each.seqs], "stopped": each.stopped} for each in trials]
    write_json(place / _INDEX, {"trials": rows})
