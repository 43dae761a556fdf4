"""Print a run of mutants: one line per mutant, and how to continue with those that no test noticed."""

from __future__ import annotations

from collections import Counter

from rocketproof_properties.reports.output import Page, TableRow, counted

from .trials import SeededReport

_STYLES = {"killed": "green", "equivalent": "green", "survived": "bold red", "undecided": "bold yellow"}
_MARKS = {"survived": "!", "undecided": "?"}


def print_mutants(report: SeededReport) -> None:
    """Print the result of each mutant, how to continue with those that no test noticed, and a closing line."""
    page = Page()
    page.table(
        (
            TableRow(
                (row.id, row.verdict, f"{row.seconds:.1f} s"),
                row.killed_by or row.equivalent or row.sentence,
                _STYLES[row.verdict],
                _MARKS.get(row.verdict, " "),
            )
            for row in report.rows
        ),
        right=(2,),
        indent=0,
    )
    unnoticed = [row for row in report.rows if row.verdict in _MARKS]
    if unnoticed:
        page.line("\nNot noticed:")
    for row in unnoticed:
        page.wrapped(f"{row.id}: {row.sentence}; {row.nearest_miss}", first="  ", indent=4)
    survived = [row for row in unnoticed if row.verdict == "survived"]
    if survived:
        page.line(f"\nTo run tests with the first of them: pytest -p rocketproof_lab.seeded.plugin --mutant {survived[0].id}")
    counts = Counter(row.verdict for row in report.rows)
    totals = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _STYLES if counts[verdict])
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    page.line(f"{counted(len(report.rows), 'mutant')}: {totals}{stopped}, {report.seconds:.1f} s", "bold")
