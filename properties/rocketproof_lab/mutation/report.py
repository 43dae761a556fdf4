"""Print a run of mutants: the counts or one line per mutant, what noticed them, and which remain."""

from __future__ import annotations

from collections import Counter

from rocketproof_properties.reports.output import Page, TableRow, counted

from .results import NOTICED, SURVIVED, UNREACHED, MutantOutcome, MutationReport

_MARKS = {"survived": "!", "undecided": "?"}
_MOST = 20
"""Maximum number of properties listed with what they noticed in the implementation."""


def print_report(report: MutationReport, *, every: bool = False) -> None:
    """Print a run: for tests each mutant and how to continue with survivors, otherwise the counts by verdict and the survivors.

    With `every`, print one line per mutant.
    """
    page = Page()
    form = report.format
    if not form.schema:
        _print_each(page, report)
        share = ": " + ", ".join(f"{report.counts[verdict]} {verdict}" for verdict in form.words if report.counts[verdict])
    else:
        _print_counts(page, report, every=every)
        page.line()
        noticed = None if report.share is None else f"{100 * report.share:.1f} % of those that the wire may show are noticed"
        text = noticed if report.deviations is None else f"{100 * report.accounted:.1f} % of the decided ones did not survive"
        share = f", {text}" if text else ""
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    page.line(f"{counted(len(report.rows), form.noun)}{share}{stopped}, {report.seconds:.1f} s", "bold")


def _print_each(page: Page, report: MutationReport) -> None:
    """Print each mutant tried by tests, why each remaining one was not noticed, and the command that runs its tests."""
    styles = report.format.styles
    page.table(
        (
            TableRow(
                (row.id, row.verdict, f"{row.seconds:.1f} s"),
                row.by or row.more["equivalent"] or row.more["sentence"],
                styles[row.verdict],
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
        page.wrapped(f"{row.id}: {row.more['sentence']}; {row.how}", first="  ", indent=4)
    survived = [row for row in unnoticed if row.verdict == SURVIVED]
    if survived:
        page.line(f"\nTo run tests with the first of them: pytest -p rocketproof_lab.mutation.plugin --mutant {survived[0].id}")


def _print_counts(page: Page, report: MutationReport, *, every: bool) -> None:
    """Print the counts by verdict, for the implementation also by part, what noticed the mutants, the survivors and the deviations."""
    form, of_specification = report.format, report.deviations is not None
    page.verdicts([(row.verdict, row.by, _text(row)) for row in report.rows], form.words, form.styles, every=every)
    for part in () if of_specification else dict.fromkeys(row.more["part"] for row in report.rows):
        counts: Counter[str] = Counter(row.verdict for row in report.rows if row.more["part"] == part)
        page.wrapped(", ".join(f"{counts[verdict]} {verdict}" for verdict in form.words if counts[verdict]), first=f"{part}: ", indent=4)
    by = Counter(form.by.get(row.by, row.by) for row in report.rows if row.verdict == NOTICED)
    if by:
        most = by.most_common(None if of_specification else _MOST)
        page.wrapped("; ".join(f"{noticed_by} {number:,}" for noticed_by, number in most), first="\nNoticed by: ")
    for verdict, head in ((SURVIVED, "Survived"), (UNREACHED, "Not reached")) if of_specification or not every else ():
        rows = [row for row in report.rows if row.verdict == verdict]
        if rows:
            page.line(f"\n{head}:")
        for row in rows:
            page.wrapped(row.id, first="  ", indent=4)
    if report.deviations:
        page.line("\nThe implementation deviates from the specification itself:", "bold red")
        for deviation in report.deviations:
            page.wrapped(" ".join(deviation.split()), first="  ", indent=4)


def _text(row: MutantOutcome) -> str:
    observed = ": ".join(part for part in (row.where, row.how) if part)
    return f"{row.id}; {observed}" if observed else row.id
