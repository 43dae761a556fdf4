"""What is printed of a run of mutants: a line for each, and what to do about those that no test noticed."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from .. import output
from .campaign import Report


def print_mutants(report: Report, console: Console | None = None) -> None:
    """Print what came of each mutant, what to do about those that no test noticed, and a closing line."""
    console = console or output.stdout()
    width = output.width_of(console)
    signs = {"killed": " ", "equivalent": " ", "survived": "!", "undecided": "?"}
    styles = {"killed": "green", "equivalent": "green", "survived": "bold red", "undecided": "bold yellow"}
    for row in report.rows:
        line = Text(f"{signs[row.verdict]} {row.id:<6} {row.verdict:<11}", styles[row.verdict])
        told = row.killed_by or row.equivalent or row.sentence
        console.print(line.append(f"{row.seconds:6.1f} s  {told}", "default"))
    left = [row for row in report.rows if row.verdict in ("survived", "undecided")]
    if left:
        console.print(Text("\nNot noticed:"))
    for row in left:
        words = f"{row.id}: {row.sentence}; {row.nearest_miss}"
        console.print(output.wrapped(words, width, "  ", "    "))
    survived = [row for row in left if row.verdict == "survived"]
    if survived:
        console.print(
            Text(f"\nTo run tests with the first of them: pytest -p rocketproof_properties.patches.plugin --mutant {survived[0].id}")
        )
    counts = {verdict: sum(1 for row in report.rows if row.verdict == verdict) for verdict in signs}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    total = f"{len(report.rows)} mutant{'' if len(report.rows) == 1 else 's'}"
    console.print(Text(f"{total}: {said}{stopped}, {report.seconds:.1f} s", "bold"))
