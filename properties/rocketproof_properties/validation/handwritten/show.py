"""Print the trials of a program: the table of its requests and responses, the broken rules, and the table of releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.shown import one_line

from ...catalogue.rules import rules
from ...judging.verdicts import JUDGES, ProgramFinding
from ...programs.vocabulary import Step
from ...reports.output import Page, TableRow, counted
from ...reports.text import shortened
from .condition import ANY_BROKEN, ShowCondition
from .releases import NOT, SHOWS, UNKNOWN, BisectResult, ReleaseRow
from .trial import ProgramTrial, TrialOutcome

_VALUE: Final = 60
_MOST: Final = 3
_LEAST, _RESPONSE = 24, 46
"""The least width of a request, and the width that the judges and the response get."""
_STEPS: Final = 40
"""Of a longer program, only the steps near a broken rule and the last ones are printed."""
_STYLES: Final = {SHOWS: "red", UNKNOWN: "yellow", NOT: ""}


def request_text(step: Step) -> str:
    """Return a step in one line: its name, and the arguments that the program gives."""
    name, args = step
    if name == "time":
        return f"wait {args.get('millis', 0) / 1000:g} s"
    return one_line(" ".join((name, *(f"{key}={_value(value)}" for key, value in args.items()))))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}={_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return shortened(str(value).lower() if isinstance(value, bool) else str(value), _VALUE)


def render_run(name: str, profile: str, groups: Sequence[TrialOutcome], condition: ShowCondition, kept: Path | None) -> None:
    """Print each distinct outcome of the trials: its table, its broken rules, and whether it shows the problem."""
    page, total = Page(), sum(group.times for group in groups)
    times = f", {counted(total, 'run')}" if total > 1 else ""
    page.line(f"{name}, judged by {profile}{times}", "bold")
    for number, group in enumerate(groups, 1):
        if len(groups) > 1:
            page.line(f"\noutcome {number}: {group.times} of {counted(total, 'run')}", "bold")
        _render_trial(group, condition, page)
    if kept is not None:
        page.line(f"history: {kept}")


def _render_trial(group: TrialOutcome, condition: ShowCondition, page: Page) -> None:
    trial = group.trial
    page.line()
    _table(trial, page)
    if trial.stopped:
        page.wrapped(f"the run stopped: {trial.stopped}", "bold red")
    for finding in trial.broken:
        _render_broken(finding, trial, page)
    for reason in trial.undecided:
        page.wrapped(f"not decided: {reason}", "bold yellow")
    if not trial.broken and not trial.stopped:
        page.line(f"\nno broken rule; judged by {', '.join(trial.judged.by) or 'no judge'}", "" if trial.undecided else "bold green")
    if condition is not ANY_BROKEN:
        sentences = {True: "it shows the problem", False: "it does not show the problem", None: "undecided whether it shows the problem"}
        page.wrapped(f"{sentences[group.shows]}: {condition.text}", "bold")


def _table(trial: ProgramTrial, page: Page) -> None:
    """Print a row per step: number, step, the judges that differ, and the response."""
    rows, width = [], max(_LEAST, page.width - _RESPONSE)
    last = len(trial.answers)
    near = {n for finding in trial.broken if finding.seq >= 0 for n in _near(trial.step_of(finding.seq))}
    for answer in trial.answers:
        if last > _STEPS and answer.number not in near and 5 < answer.number <= last - 5:
            continue
        judges = trial.judges(answer.number)
        verdict = _verdict(judges)
        style = "red" if "differs" in judges.values() else ""
        cells = (str(answer.number), shortened(request_text(answer.step), width), verdict)
        rows.append(TableRow(cells, answer.text, style))
    page.table(rows, ("no", "request", "judges", "response"), right=(0,), indent=0)
    if len(rows) < last:
        page.line(f"{last - len(rows)} further steps are not shown; --json has all")


def _near(number: int) -> range:
    return range(number - 2, number + 3)


def _verdict(judges: Mapping[Any, str]) -> str:
    """Return the judges that differ, or that all agree. A judge that did not judge the step is left out."""
    differ = [judge for judge in JUDGES if judges[judge] == "differs"]
    if differ:
        return f"{', '.join(differ)} differs"
    agree = [judge for judge in JUDGES if judges[judge] == "agrees"]
    return "agree" if len(agree) == len(JUDGES) else " ".join(_SHORT[judge] for judge in agree)


_SHORT: Final = {"specification": "spec", "claims": "claims", "reference": "reference"}


def _render_broken(finding: ProgramFinding, trial: ProgramTrial, page: Page) -> None:
    number = trial.step_of(finding.seq)
    at = f"step {number}, " if number else ""
    known = f" (known: {finding.reason or 'in this release'})" if finding.known else ""
    page.line()
    page.wrapped(f"broken: {at}{finding.judge}, {finding.property}{known}", "bold yellow" if finding.known else "bold red")
    page.wrapped(one_line(trial_text(finding.text, trial)), first="  ", indent=4)
    if finding.sentence:
        page.wrapped(f"{finding.guard}: {finding.sentence}", first="  ", indent=4)
    for rule in finding.rules[:_MOST]:
        sentence = rules()[rule].sentence if rule in rules() else ""
        page.wrapped(f"{rule}: {sentence}" if sentence else rule, first="  ", indent=4)


def trial_text(text: str, trial: ProgramTrial) -> str:
    """Return a text with the names of the program's file."""
    return trial.names.bare(text) if trial.names.prefix else text


# Releases


def render_releases(result: BisectResult) -> None:
    """Print a row per release, and the first release that shows the problem."""
    page = Page()
    page.wrapped(f"{result.program.path}: {result.condition.text}", "bold")
    rows = [_release_row(row) for row in result.rows]
    page.table(rows, ("release", "profile", "shows", "differs from the one before, broken rules"), indent=0)
    page.line()
    for line, style in _summary(result):
        page.wrapped(line, style)


def render_programs(results: Sequence[BisectResult]) -> None:
    """Print a row per program: the releases that show its problem, and the broken rules of the last of these."""
    page = Page()
    rows = []
    for result in results:
        last = next((row.tried for row in reversed(result.rows) if row.shows == SHOWS), None)
        cells = (Path(result.program.path).stem, result.shown or "none", ", ".join(result.undecided) or "-")
        broken = dict.fromkeys(each.property for each in last.broken) if last is not None else {}
        rows.append(TableRow(cells, ", ".join(broken) or "-", "red" if result.first else "yellow" if result.undecided else ""))
    page.table(rows, ("program", "shown by", "undecided", "broken in the last of these"), indent=0)


def _release_row(row: ReleaseRow) -> TableRow:
    tried = row.tried
    shows = row.shows if len(tried.trials) < 2 or row.shows == UNKNOWN else f"{row.shown} of {len(tried.trials)}"
    if tried.problem:
        return TableRow((tried.release, tried.profile, shows), f"did not run: {one_line(tried.problem)}", "yellow")
    more = len(row.differs) - _MOST
    words = [*row.differs[:_MOST], *([f"{more} more"] if more > 0 else [])]
    kinds = Counter(f"{each.property}{' (known)' if each.known else ''}" for each in tried.broken)
    words += [f"broken: {', '.join(kinds)}"] if kinds else []
    words += [f"stopped: {one_line(trial.stopped)}" for trial in tried.trials[-1:] if trial.stopped]
    return TableRow((tried.release, tried.profile, shows), "; ".join(words), _STYLES[row.shows])


def _summary(result: BisectResult) -> list[tuple[str, str]]:
    """Return the lines below the table with their styles."""
    lines: list[tuple[str, str]] = []
    tried = [row.tried.release for row in result.rows]
    if result.first:
        earliest = " (the earliest tried)" if result.first == tried[0] else ""
        lines.append((f"first release that shows it: {result.first}{earliest}", "bold red"))
        lines.append((f"first later release that does not: {result.without or 'none'}", "bold"))
        if result.without and tried.index(result.last) > tried.index(result.without):
            lines.append((f"last release that shows it: {result.last}; it comes and goes", "bold"))
    elif not result.undecided:
        lines.append(("no release shows it", "bold green"))
    if result.undecided:
        lines.append((f"undecided: {', '.join(result.undecided)}", "bold yellow"))
    if result.binary:
        lines.append(("--binary: the releases between these are assumed to be like their neighbours", "yellow"))
    return lines
