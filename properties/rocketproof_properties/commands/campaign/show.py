"""Print a campaign: the findings, the coverage, and a closing line."""

from __future__ import annotations

import shlex

from ...reports.output import Page, TableRow, counted
from ..checks.show import print_unseen
from .run import CampaignResult
from .totals import CampaignFinding

SHOWN = 20  # maximum number of steps printed per program
NAMED = 4  # maximum number of actions listed that never happened in a part


def render(done: CampaignResult) -> None:
    """Print each unexpected finding with its program, each expected violation in one line, and the coverage."""
    page = Page()
    for finding in done.unexpected:
        _print_finding(finding, page)
    _print_expected([finding for finding in done.findings if finding.is_expected()], page)
    _print_coverage(done, page)
    totals, number = done.totals, len(done.unexpected)
    ran = f"{totals.programs:,} programs, {totals.steps:,} steps, {totals.shards:,} of {done.of:,} shards in {done.seconds:.0f} s"
    verdict = f"{counted(number, 'finding')} that {'is' if number == 1 else 'are'} not expected" if number else "nothing unexpected"
    stopped = f"; stopped by {done.stopped}, the same command goes on" if done.stopped else ""
    page.line(f"\n{ran}: {verdict}{stopped}", "bold red" if number else "bold yellow" if stopped else "bold green")


def _print_expected(findings: list[CampaignFinding], page: Page) -> None:
    """Print a line for each property: its smallest program, and the number of parts that showed it."""
    if not findings:
        return
    page.line("As expected, each with the smallest program that shows it (findings.json has the others):")
    by_property: dict[str, list[CampaignFinding]] = {}
    for finding in findings:
        by_property.setdefault(finding.property, []).append(finding)
    rows = []
    for id_, same in by_property.items():
        smallest = min(same, key=lambda finding: len(finding.steps))
        parts = counted(len({finding.part for finding in same}), "part")
        rows.append(TableRow((id_, smallest.expected, counted(len(smallest.steps), "step"), parts), smallest.file))
    page.table(rows, right=(2, 3))


def _print_finding(finding: CampaignFinding, page: Page) -> None:
    name = f"{finding.property} is {'violated' if finding.expected else 'stated'}" if finding.property else "a step that is not allowed"
    page.line(f"! {name}: {finding.sentence}", "bold red")
    where = finding.condition or finding.part
    page.line(f"  {finding.profile}, {where}; seed {finding.seed}, first in program {finding.number}, in {finding.shards} shards")
    if finding.text:
        page.line("  " + finding.text.replace("\n", "\n  "))
    for number, step in enumerate(finding.steps[:SHOWN], 1):
        page.line(f"  {number:>3}. {step}")
    if len(finding.steps) > SHOWN:
        page.line(f"       and {len(finding.steps) - SHOWN} more")
    command = "pytest -p no:cacheprovider" if finding.file.endswith(".py") else "rocketproof replay"
    page.line(f"  again: {command} {shlex.quote(finding.file)}\n")


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
