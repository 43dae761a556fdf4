"""A campaign for people: what was found, what was covered, and a closing line."""

from __future__ import annotations

import shlex

from ...reports.output import Page, TableRow, counted
from ..checks.show import print_unseen
from .run import CampaignResult
from .totals import CampaignFinding

SHOWN = 20  # steps of a program that are printed
NAMED = 4  # actions that never happened in a part


def render(done: CampaignResult) -> None:
    """Print what was not expected with its program, what was expected in a line each, and the coverage."""
    page = Page()
    for found in done.unexpected:
        _print_finding(found, page)
    _print_expected([found for found in done.found if found.is_expected()], page)
    _print_coverage(done, page)
    totals, number = done.totals, len(done.unexpected)
    ran = f"{totals.programs:,} programs, {totals.steps:,} steps, {totals.shards:,} of {done.of:,} shards in {done.seconds:.0f} s"
    came = f"{counted(number, 'finding')} that {'is' if number == 1 else 'are'} not expected" if number else "nothing unexpected"
    stopped = f"; stopped by {done.stopped}, the same command goes on" if done.stopped else ""
    page.line(f"\n{ran}: {came}{stopped}", "bold red" if number else "bold yellow" if stopped else "bold green")


def _print_expected(found: list[CampaignFinding], page: Page) -> None:
    """A line for each property: its smallest program, and in how many parts it was shown."""
    if not found:
        return
    page.line("As expected, each with the smallest program that shows it (findings.json has the others):")
    by_property: dict[str, list[CampaignFinding]] = {}
    for one in found:
        by_property.setdefault(one.property, []).append(one)
    rows = []
    for id_, same in by_property.items():
        smallest = min(same, key=lambda one: len(one.steps))
        parts = counted(len({one.part for one in same}), "part")
        rows.append(TableRow((id_, smallest.expected, counted(len(smallest.steps), "step"), parts), smallest.file))
    page.table(rows, right=(2, 3))


def _print_finding(found: CampaignFinding, page: Page) -> None:
    name = f"{found.property} is {'violated' if found.expected else 'stated'}" if found.property else "a step that is not allowed"
    page.line(f"! {name}: {found.sentence}", "bold red")
    where = found.condition or found.part
    page.line(f"  {found.profile}, {where}; seed {found.seed}, first in program {found.number}, in {found.shards} shards")
    if found.text:
        page.line("  " + found.text.replace("\n", "\n  "))
    for number, step in enumerate(found.steps[:SHOWN], 1):
        page.line(f"  {number:>3}. {step}")
    if len(found.steps) > SHOWN:
        page.line(f"       and {len(found.steps) - SHOWN} more")
    command = "pytest -p no:cacheprovider" if found.file.endswith(".py") else "rocketproof replay"
    page.line(f"  again: {command} {shlex.quote(found.file)}\n")


def _print_coverage(done: CampaignResult, page: Page) -> None:
    rows = []
    for scope, coverage in sorted(done.totals.coverage.items()):
        if not coverage.taken:
            continue
        both = sum(true and false for true, false in coverage.guards.values())
        never = [action for action, _ in coverage.never()]
        named = ", ".join(never if len(never) <= NAMED else [*never[: NAMED - 1], f"{len(never) - NAMED + 1} more"])
        actions = f"{sum(map(bool, coverage.taken.values()))} of {len(coverage.taken)} actions"
        cells = (scope, actions, f"{both} of {len(coverage.guards)} guards")
        rows.append(TableRow(cells, f"never: {named}" if named else ""))
    if rows:
        page.line("\nActions that happened, and guards that said both yes and no:")
        page.table(rows, right=(1, 2))
        print_unseen(done.totals.coverage, page)
