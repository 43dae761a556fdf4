"""What programs and replays of witnesses came to, for people.

Hundreds of verdicts as expected are counted; one that is not stands in its row of the matrix.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from .. import output
from ..checks import show
from ..checks.matrix import Report
from ..checks.rows import Row
from .replay import Replayed

_EXPECTED = {
    "violated": "known violations, each shown by a program",
    "holds": "states that can be reached, each reached",
    "unknown": "properties that should hold, none broken",
}


@dataclass(frozen=True)
class Ran:
    """A run: `each` programs in each of so many instances of the specification and conditions of messages."""

    profile: str
    each: int
    instances: int
    conditions: int
    seed: int
    stopped: bool


def render(report: Report, ran: Ran, *, every: bool) -> None:
    """Print what came out: with `every` the whole matrix, else what differs, and how much is as expected."""
    console = output.stdout()
    if every:
        show.print_report(report, console=console)
    else:
        width = output.width_of(console)
        for line in summary(report, ran.profile, width):
            console.print(line)
        console.print(show.closing(report), style="bold")
        console.print(Text("every verdict: --all, or as data --json FILE", "dim"))
    up_to = "up to " if ran.stopped else ""
    parts = f"{ran.instances} instances and {ran.conditions} conditions of messages"
    where = f"{up_to}{ran.each} programs with seed {ran.seed} in each of {parts}"
    steps = "see above what the specification does not allow" if report.problems else "every step was one that the specification allows"
    console.print(f"{where}: {steps}")


def summary(report: Report, profile: str, width: int) -> Iterable[Text]:
    """The rows that differ, counts of the others, what was not decided, what no program did, and problems."""
    differ = [row for row in report.rows if show.mark(row) == "!"]
    if differ:
        yield from show.matrix_lines(differ, width)
        yield from show.witness_lines(differ)
        yield Text("")
    yield Text(f"{profile}, as expected:")
    for verdict, said in _EXPECTED.items():
        alike = [row for row in report.rows if row.agrees and row.expected == verdict]
        if alike:
            yield Text(f"  {len(alike):4} {said}{_longest(alike)}", "green")
    yield from _undecided([row for row in report.rows if row.agrees is None], width)
    yield from show.coverage_lines(report, width, guards=False)
    yield from show.problem_lines(report, (), width)


def _longest(rows: Sequence[Row]) -> str:
    lengths = [row.length for row in rows if row.length is not None]
    return f" ({min(lengths)} to {max(lengths)} steps)" if lengths else ""


def _undecided(rows: Sequence[Row], width: int) -> Iterable[Text]:
    """For each reason how many properties were not broken so far, and the ids of what was not shown so far (and in how many cases)."""
    for reason in dict.fromkeys(row.reason for row in rows):
        stopped = show.STOPPED.get(reason, reason)
        safe = sum(row.expected == "unknown" for row in rows if row.reason == reason)
        ids = [row.id for row in rows if row.reason == reason and row.expected != "unknown"]
        listed = ", ".join(f"{id_} ({count})" if (count := ids.count(id_)) > 1 else id_ for id_ in dict.fromkeys(ids))
        if safe:
            yield Text(f"? {safe:4} {_EXPECTED['unknown']} so far: {stopped}", "bold yellow")
        if ids:
            words = textwrap.wrap(f"? {len(ids):4} not shown so far, {stopped}: {listed}", width, subsequent_indent=" " * 7)
            yield Text("\n".join(words), "bold yellow")


def performed(number: int, label: str) -> None:
    """One step of a replay that the implementation did as the model does."""
    output.stdout().print(Text(f"{number:>4}  {label}"))


def render_replayed(found: Replayed) -> None:
    """How a replay ended."""
    console = output.stdout()
    claim, steps = found.witness.property, len(found.witness)
    if found.finding is not None:
        for line in found.finding.text.splitlines():
            console.print(Text(line))
        console.print(f"The implementation left the model after {found.done} of {steps} steps.", style="bold")
    elif not found.shown:
        console.print(f"All {steps} steps agree, but the implementation does not show what the witness shows of {claim.id}.", style="bold")
    else:
        said = (
            "reaches it too"
            if claim.kind == "reachable"
            else "violates it too"
            if claim.kind in ("always", "step")
            else "goes the same way"
        )
        console.print(f"All {steps} steps agree: {claim.id} ({claim.sentence}); the implementation {said}.", style="bold")
