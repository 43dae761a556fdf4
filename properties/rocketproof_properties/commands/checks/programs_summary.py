"""Print the results of programs: expected verdicts as counts, each unexpected verdict as a row of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...reports.output import Page
from . import show
from .matrix import CheckReport
from .rows import VerdictRow

_EXPECTED = {
    "violated": "known violations, each shown by a program",
    "holds": "states that can be reached, each reached",
    "unknown": "properties that should hold, none broken",
}


@dataclass(frozen=True)
class TestRun:
    """A test run: `each` programs in every instance of the specification and in every condition of messages."""

    profile: str
    each: int
    instances: int
    conditions: int
    seed: int
    stopped: bool


def render(report: CheckReport, ran: TestRun, *, every: bool) -> None:
    """Print the results: the whole matrix with `every`, else the rows that differ and counts of the others."""
    page = Page()
    if every:
        show.print_report(report, page=page)
    else:
        print_summary(report, ran.profile, page)
        page.line(show.closing(report), "bold")
        page.line("every verdict: --all, or as data --json FILE", "dim")
    up_to = "up to " if ran.stopped else ""
    parts = f"{ran.instances} instances and {ran.conditions} conditions of messages"
    where = f"{up_to}{ran.each} programs with seed {ran.seed} in each of {parts}"
    steps = "see above what the specification does not allow" if report.problems else "every step was one that the specification allows"
    page.line(f"{where}: {steps}")


def print_summary(report: CheckReport, profile: str, page: Page) -> None:
    """Print the rows that differ, counts of the others, undecided rows, actions that never happened, and problems."""
    differ = [row for row in report.rows if show.mark(row) == "!"]
    if differ:
        show.print_matrix(differ, page)
        show.print_witnesses(differ, page)
        page.line()
    page.line(f"{profile}, as expected:")
    for verdict, description in _EXPECTED.items():
        matching = [row for row in report.rows if row.agrees and row.expected == verdict]
        if matching:
            page.line(f"  {len(matching):4} {description}{_longest(matching)}", "green")
    _print_undecided([row for row in report.rows if row.agrees is None], page)
    show.print_coverage(report, page, guards=False)
    show.print_unseen(report.coverage, page)
    show.print_problems(report, (), page)


def _longest(rows: Sequence[VerdictRow]) -> str:
    lengths = [row.length for row in rows if row.length is not None]
    return f" ({min(lengths)} to {max(lengths)} steps)" if lengths else ""


def _print_undecided(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print, per reason, how many properties are not broken so far, and the ids of what was not shown so far with their counts."""
    for reason in dict.fromkeys(row.reason for row in rows):
        stopped = show.STOPPED.get(reason, reason)
        safe = sum(row.expected == "unknown" for row in rows if row.reason == reason)
        ids = [row.id for row in rows if row.reason == reason and row.expected != "unknown"]
        listed = ", ".join(f"{id_} ({count})" if (count := ids.count(id_)) > 1 else id_ for id_ in dict.fromkeys(ids))
        if safe:
            page.line(f"? {safe:4} {_EXPECTED['unknown']} so far: {stopped}", "bold yellow")
        if ids:
            page.wrapped(f"? {len(ids):4} not shown so far, {stopped}: {listed}", "bold yellow", indent=7)
