"""Print a run of the specification's mutants: counts by verdict, what noticed them, and each that survived."""

from __future__ import annotations

from collections import Counter

from rocketproof_properties.reports.output import Page, counted

from .notice import IMPLEMENTATION, TYPES
from .results import ARGUED, EQUAL, NOTICED, STUTTERS, SURVIVED, UNDECIDED, UNREACHABLE, SpecificationReport, SpecificationResult

_WORDS = {
    NOTICED: "",
    EQUAL: "the same value in every state that the types and the invariants allow, by proof",
    UNREACHABLE: "other in no reachable state of any instance",
    STUTTERS: "only further steps that change nothing, or lead where others lead",
    ARGUED: "other, and no rule of the described system says which",
    SURVIVED: "nothing notices them",
    UNDECIDED: "the run ended before",
}
_STYLES = {SURVIVED: "bold red", UNDECIDED: "bold yellow"}
_BY = {IMPLEMENTATION: "the implementation does otherwise", TYPES: "a value leaves its type, and the search ends"}


def print_mutants(report: SpecificationReport, *, every: bool) -> None:
    """Print the counts and the mutants that survived; with `every` one line per mutant."""
    page = Page()
    page.verdicts([(row.verdict, row.by, _text(row)) for row in report.rows], _WORDS, _STYLES, every=every)
    by = Counter(_BY.get(row.by, row.by) for row in report.rows if row.verdict == NOTICED)
    if by:
        page.wrapped("; ".join(f"{noticed_by} {number:,}" for noticed_by, number in by.most_common()), first="\nNoticed by: ")
    survived = [row for row in report.rows if row.verdict == SURVIVED]
    if survived:
        page.line("\nSurvived:")
    for row in survived:
        page.wrapped(row.id, first="  ", indent=4)
    if report.deviations:
        page.line("\nThe implementation deviates from the specification itself:", "bold red")
    for text in report.deviations:
        page.wrapped(" ".join(text.split()), first="  ", indent=4)
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    share = f"{100 * report.accounted:.1f} % of the decided ones did not survive"
    page.line(f"\n{counted(len(report.rows), 'mutant')}, {share}{stopped}, {report.seconds:.1f} s", "bold")


def _text(row: SpecificationResult) -> str:
    return f"{row.id}; {': '.join(part for part in (row.where, row.how) if part)}" if row.where or row.how else row.id
