"""What is printed of the bugs: a line for each, all that is known of some, and what a search on a release has come to."""

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
    """A line for each bug."""
    page = Page()
    page.table((TableRow((one.id, one.bad, one.good or "open", one.how), one.cause) for one in bugs), indent=0)
    page.line(
        f"\n{counted(len(bugs), 'bug')}: last release that has it, first one that has not, how it is found; rocketproof zoo ID --on bad"
    )


def print_bugs(bugs: Sequence[Bug]) -> None:
    """All that is known of each."""
    page = Page()
    for one in bugs:
        page.wrapped(one.cause, first=f"{one.id}  ", indent=len(one.id) + 2)
        rows = [("issue", one.issue), ("has it", f"{one.bad} and before"), ("has it not", one.good or "no release yet")]
        rows += [("found", _FOUND[one.how].format(", ".join(one.faults)))]
        page.table(TableRow(row) for row in rows)
        for id_ in one.breaks:
            page.wrapped(rules()[id_].sentence if id_ in rules() else "", first=f"  breaks {id_}  ", indent=4)


def print_search(found: BugSearch) -> None:
    """What a search has come to, in a line."""
    page = Page()
    if found.stopped:
        page.line(f"stopped: {found.stopped}", "bold yellow")
    if found.undecided:
        page.line(
            f"{counted(found.undecided, 'verdict')} not decided; rocketproof validate --again {found.folder} --states 1000000",
            "bold yellow",
        )
    seen = found.first or "not seen"
    done = counted(found.programs, "round" if found.bug.faults else "program")
    if found.witnesses and not found.programs:
        done = counted(found.witnesses, "witness", "witnesses")
    page.line(f"{found.bug.id} on {found.release}: {seen} in {done}, {found.seconds:.1f} s", "bold")
    if found.steps is not None:
        page.line(f"the shortest program that shows it: {counted(found.steps, 'step')}")
    if found.others:
        page.wrapped(", ".join(found.others), first="other findings: ", indent=2)
    page.line(f"report: {found.folder}")
