"""A campaign for people: what was found, what was covered, and a closing line."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from .run import Done
from .totals import Found

SHOWN = 20  # steps of a program that are printed
NAMED = 4  # actions that never happened in a part


def render(done: Done, console: Console | None = None) -> None:
    """Print what was not due with its program, what was due in a line each, and the coverage."""
    console = console or Console(highlight=False)
    for found in done.unexpected:
        _print_finding(found, console)
    _print_due([found for found in done.found if found.is_due()], console)
    _print_coverage(done, console)
    totals = done.totals
    said = f"{totals.programs:,} programs, {totals.steps:,} steps, {totals.shards:,} of {done.of:,} shards in {done.seconds:.0f} s"
    number = len(done.unexpected)
    told = f"{number} finding{'s' * (number != 1)} that {'is' if number == 1 else 'are'} not expected" if number else "nothing unexpected"
    stopped = f"; stopped by {done.stopped}, the same command goes on" if done.stopped else ""
    console.print(Text(f"\n{said}: {told}{stopped}", "bold red" if number else "bold yellow" if stopped else "bold green"), soft_wrap=True)


def _print_due(due: list[Found], console: Console) -> None:
    """A line for each property: its smallest program, and in how many parts it was shown."""
    if due:
        console.print(Text("As expected, each with the smallest program that shows it (findings.json has the others):"))
    smallest: dict[str, Found] = {}
    for found in due:
        known = smallest.setdefault(found.property, found)
        if len(found.steps) < len(known.steps):
            smallest[found.property] = found
    for id_, found in smallest.items():
        parts = len({one.part for one in due if one.property == id_})
        steps = f"{len(found.steps):>3} step{'s' if len(found.steps) != 1 else ' '}"
        line = f"  {id_:<10} {found.expected:<9} {steps}  {parts:>2} part{'s' if parts > 1 else ' '}  {found.file}"
        console.print(Text(line), soft_wrap=True)


def _print_finding(found: Found, console: Console) -> None:
    name = f"{found.property} is {'violated' if found.expected else 'stated'}" if found.property else "a step that is not allowed"
    console.print(Text(f"! {name}: {found.sentence}", "bold red"), soft_wrap=True)
    place = (
        f"{found.profile}, {found.condition or found.part}; seed {found.seed}, first in program {found.number}, in {found.shards} shards"
    )
    console.print(Text(f"  {place}"), soft_wrap=True)
    if found.text:
        console.print(Text("  " + found.text.replace("\n", "\n  ")), soft_wrap=True)
    for number, step in enumerate(found.steps[:SHOWN], 1):
        console.print(Text(f"  {number:>3}. {step}"), soft_wrap=True)
    if len(found.steps) > SHOWN:
        console.print(Text(f"       and {len(found.steps) - SHOWN} more"))
    command = "pytest -p no:cacheprovider" if found.file.endswith(".py") else "rocketproof replay"
    console.print(Text(f"  again: {command} {shlex.quote(found.file)}\n"), soft_wrap=True)


def _print_coverage(done: Done, console: Console) -> None:
    made = done.totals.coverage
    if not any(coverage.taken for coverage in made.values()):
        return
    console.print(Text("\nActions that happened, and guards that said both yes and no:"))
    for scope, coverage in sorted(made.items()):
        if coverage.taken:
            both = sum(true and false for true, false in coverage.guards.values())
            never = [action for action, _ in coverage.never()]
            named = ", ".join(never if len(never) <= NAMED else [*never[: NAMED - 1], f"{len(never) - NAMED + 1} more"])
            happened = sum(map(bool, coverage.taken.values()))
            line = f"  {scope:<14} {happened:>3} of {len(coverage.taken):>3} actions, {both:>3} of {len(coverage.guards):>3} guards"
            console.print(Text(f"{line}{f'; never: {named}' if named else ''}"), soft_wrap=True)
