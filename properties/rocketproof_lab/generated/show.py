"""What is printed of a run of generated changes: how many came to what, by part of the system, what noticed them, and what is left."""

from __future__ import annotations

from collections import Counter

from rocketproof_properties.reports.output import Page, counted

from .results import EQUIVALENT, NOTICED, SURVIVED, UNDECIDED, UNREACHED, UNSEEN, GeneratedReport, GeneratedResult

_WORDS = {
    NOTICED: "a program found something",
    EQUIVALENT: "the same behaviour, for a reason",
    UNSEEN: "nothing that goes over the wire can show them, for a reason",
    UNREACHED: "no program goes through them",
    SURVIVED: "programs went through them and found nothing",
    UNDECIDED: "the run ended before",
}
_STYLES = {SURVIVED: "bold red", UNREACHED: "bold red", UNDECIDED: "bold yellow"}


def print_changes(report: GeneratedReport, *, every: bool) -> None:
    """Print the numbers and what survived or was not reached; with `every` a line for each change."""
    page = Page()
    page.verdicts([(row.verdict, row.by, _said(row)) for row in report.rows], _WORDS, _STYLES, every=every)
    for part in dict.fromkeys(row.part for row in report.rows):
        mine = Counter(row.verdict for row in report.rows if row.part == part)
        page.wrapped(", ".join(f"{mine[verdict]} {verdict}" for verdict in _WORDS if mine[verdict]), first=f"{part}: ", indent=4)
    by = Counter(row.by for row in report.rows if row.verdict == NOTICED)
    if by:
        page.wrapped("; ".join(f"{what} {number:,}" for what, number in by.most_common(20)), first="\nNoticed by: ")
    for verdict, head in ((SURVIVED, "Survived"), (UNREACHED, "Not reached")):
        left = [row for row in report.rows if row.verdict == verdict]
        if left and not every:
            page.line(f"\n{head}:")
            for row in left:
                page.wrapped(row.id, first="  ", indent=4)
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    share = f", {100 * report.share:.1f} % of those that the wire may show are noticed" if report.share is not None else ""
    page.line(f"\n{counted(len(report.rows), 'change')}{share}{stopped}, {report.seconds:.1f} s", "bold")


def _said(row: GeneratedResult) -> str:
    return f"{row.id}; {row.how}" if row.how else row.id
