"""Print a run of generated changes: counts by verdict and part, what noticed them, and which remain."""

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
    """Print the counts and the changes that survived or were not reached; with `every` one line per change."""
    page = Page()
    page.verdicts([(row.verdict, row.by, _text(row)) for row in report.rows], _WORDS, _STYLES, every=every)
    for part in dict.fromkeys(row.part for row in report.rows):
        counts = Counter(row.verdict for row in report.rows if row.part == part)
        page.wrapped(", ".join(f"{counts[verdict]} {verdict}" for verdict in _WORDS if counts[verdict]), first=f"{part}: ", indent=4)
    by = Counter(row.by for row in report.rows if row.verdict == NOTICED)
    if by:
        page.wrapped("; ".join(f"{property_} {number:,}" for property_, number in by.most_common(20)), first="\nNoticed by: ")
    for verdict, head in ((SURVIVED, "Survived"), (UNREACHED, "Not reached")):
        rows = [row for row in report.rows if row.verdict == verdict]
        if rows and not every:
            page.line(f"\n{head}:")
            for row in rows:
                page.wrapped(row.id, first="  ", indent=4)
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    share = f", {100 * report.share:.1f} % of those that the wire may show are noticed" if report.share is not None else ""
    page.line(f"\n{counted(len(report.rows), 'change')}{share}{stopped}, {report.seconds:.1f} s", "bold")


def _text(row: GeneratedResult) -> str:
    return f"{row.id}; {row.how}" if row.how else row.id
