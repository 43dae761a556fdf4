"""Print known bugs as a list or with all details, and the results of searches for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...catalogue.rules import rules
from ...reports.output import Page, TableRow, counted
from .bugs import Bug

if TYPE_CHECKING:
    from .search import BugSearch

_FOUND: Final[Mapping[str, str]] = {
    "search": "by the programs of a validation",
    "against": "by the programs of a validation, beside the release that has it not",
    "faults": "by a validation with faults ({}) under load",
    "witness": "by a witness of the model that a validation replays",
    "script": "by a script that is written for it, or not yet",
}


def print_list(bugs: Sequence[Bug]) -> None:
    """Print one row per bug with its releases, how it is found and its cause, and a line with their number."""
    page = Page()
    page.table((TableRow((bug.id, bug.bad, bug.good or "open", bug.how), bug.cause) for bug in bugs), indent=0)
    page.line(
        f"\n{counted(len(bugs), 'bug')}: last release that has it, first one that has not, how it is found; rocketproof zoo ID --on bad"
    )


def print_bugs(bugs: Sequence[Bug]) -> None:
    """Print for each bug its cause, issue, releases, how it is found, and the properties and rules that it violates."""
    page = Page()
    for bug in bugs:
        page.wrapped(bug.cause, first=f"{bug.id}  ", indent=len(bug.id) + 2)
        rows = [("issue", bug.issue), ("has it", f"{bug.bad} and before"), ("has it not", bug.good or "no release yet")]
        rows += [("found", _FOUND[bug.how].format(", ".join(bug.faults)))]
        page.table(TableRow(row) for row in rows)
        for id_ in bug.breaks:
            page.wrapped(rules()[id_].sentence if id_ in rules() else "", first=f"  breaks {id_}  ", indent=4)


def print_search(result: BugSearch) -> None:
    """Print whether the search has shown the bug, why it is incomplete, its shortest program, other findings, and the report folder."""
    page = Page()
    if result.stopped:
        page.line(f"stopped: {result.stopped}", "bold yellow")
    if result.undecided:
        page.line(
            f"{counted(result.undecided, 'verdict')} not decided; rocketproof validate --again {result.folder} --states 1000000",
            "bold yellow",
        )
    shown = result.first or "not seen"
    done = counted(result.programs, "round" if result.bug.faults else "program")
    if result.witnesses and not result.programs:
        done = counted(result.witnesses, "witness", "witnesses")
    page.line(f"{result.bug.id} on {result.release}: {shown} in {done}, {result.seconds:.1f} s", "bold")
    if result.steps is not None:
        page.line(f"the shortest program that shows it: {counted(result.steps, 'step')}")
    if result.others:
        page.wrapped(", ".join(result.others), first="other findings: ", indent=2)
    page.line(f"report: {result.folder}")
