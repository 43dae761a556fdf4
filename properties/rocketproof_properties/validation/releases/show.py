"""Print the results of `profile` and `compare`."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import Any

from rocketproof_profiles import PROFILES
from rocketproof_profiles.differing import shown

from ...programs.names import ProgramNames
from ...programs.program import Program
from ...reports.output import Page, counted
from .against import REPORT as DIFFERENCES
from .against import AgainstReport
from .profiling import REPORT, ProfileReport, ShownDifference


def render(report: ProfileReport, folder: Path) -> None:
    """Print the proposed switches with their programs, unexplained differences, and switches whose values no program distinguishes."""
    page = Page()
    base = PROFILES[report.base]
    if report.proposals:
        page.line(f"Switches that describe {report.name} otherwise than {report.base}, each with a program that shows it:")
    for change, count, example, instead in report.proposals:
        before = shown(getattr(base, change.switch))
        page.wrapped(f"\n! {change.switch}: {shown(change.value)}, not {before}, in {counted(count, 'program')}", "bold")
        if instead:
            page.wrapped("explained as well by " + ", or by ".join(str(alternative) for alternative in instead), first="    ", indent=6)
        _print_example(example, page)
    if report.unexplained:
        page.line("\nWhat no switch explains:", "bold red")
    for cause, count, example in report.unexplained:
        rules = f" ({', '.join(cause.rules)})" if cause.rules else ""
        page.wrapped(f"\n? {cause.about}{rules} in {counted(count, 'program')}", "bold red")
        _print_example(example, page)
    agreed = sorted({change.switch for change in report.agreed})
    page.wrapped(f"\n{counted(len(agreed), 'switch', 'switches')} as in {report.base}, told by a program: {', '.join(agreed) or 'none'}")
    if unseen := report.undistinguished:
        page.wrapped(f"{counted(len(unseen), 'switch', 'switches')} of which no program tells the values: {', '.join(unseen)}", "dim")
    if report.stopped:
        page.line(f"stopped: {report.stopped}", "bold yellow")
    summary = (
        f"{counted(len(report.proposals), 'switch', 'switches')} proposed, {counted(len(report.unexplained), 'difference')} unexplained"
    )
    page.line(f"\n{report.name} from {report.base}: {summary}; {report.size}", "bold")
    page.line(f"report: {folder / REPORT}; explain it again: rocketproof profile --again {shlex.quote(str(folder))}", "dim")


def render_differences(report: AgainstReport, folder: Path) -> None:
    """Print each difference of two targets with its smallest program and the deciding rules."""
    page = Page()
    for number, differing in enumerate(report.differing, 1):
        rules = f" ({', '.join(differing.cause.rules)})" if differing.cause.rules else ""
        word, style = ("? not reproduced", "bold yellow") if differing.again is False else ("! difference", "bold red")
        page.wrapped(f"{word} {number}: {differing.cause.about}{rules} in {counted(differing.count, 'program')}", style)
        if differing.also:
            page.wrapped("and by the same cause " + ", ".join(differing.also), first="    ", indent=6)
        _print_program(differing.program, page)
        names = differing.histories[0].history.names
        page.wrapped(f"{names.bare(differing.difference.where)}: {differing.difference.field}", first="    ", indent=6)
        for who, value in ((report.first, differing.difference.recorded), (report.second, differing.difference.found)):
            page.wrapped(f"{who}: {_short(value, names)}", first="      ", indent=8)
        page.line()
    if report.stopped:
        page.line(f"stopped: {report.stopped}", "bold yellow")
    summary = counted(len(report.differing), "difference") if report.differing else "no difference"
    page.line(f"{report.second} against {report.first}: {summary}; {report.size}", "bold")
    page.line(f"report: {folder / DIFFERENCES}", "dim")


def _print_example(example: ShownDifference, page: Page) -> None:
    difference, names = example.difference, example.recorded.history.names
    _print_program(example.recorded.program, page)
    page.wrapped(f"{names.bare(difference.where)}: {difference.field}", first="    ", indent=6)
    for who, value in (("release", difference.recorded), ("profile", difference.found)):
        page.wrapped(f"{who}: {_short(value, names)}", first="      ", indent=8)


def _print_program(program: Program, page: Page) -> None:
    """Print the steps of a program, and the configuration of its broker."""
    for name, args in program.steps:
        text = ", ".join(f"{key}={value!r}" for key, value in args.items())
        page.line("    " + textwrap.shorten(f"{name}({text})", page.width - 4, placeholder="…"), "dim")
    if program.needs:
        page.line(f"    on a broker with {program.needs}")


def _short(value: Any, names: ProgramNames) -> str:
    return textwrap.shorten(names.bare(str(value)), 300, placeholder="…")
