"""What is printed of rules and their evidence: a table of sections with the gaps, or all places that name an id."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import output
from ..rules import sections
from . import Coverage, Requirement
from .references import KINDS, Entry, Kind

_WORDS: dict[Kind, str] = {
    "code": "code",
    "action": "model",
    "property": "property",
    "hazard": "hazard",
    "mutant": "mutant",
    "test": "test",
    "mention": "named in",
}


def print_requirements(found: Sequence[Requirement], every: bool = False, console: Console | None = None) -> None:
    """Print how many rules of each section are covered, then every gap, or every rule with its places, tests and actions."""
    console = console or output.stdout()
    width = output.width_of(console)
    heads: dict[Coverage, str] = {
        "covered": "covered",
        "no implementation": "no code",
        "no test": "no test",
        "failed test": "failed",
    }
    total = Counter(one.status for one in found)
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("section")
    for head in ("rules", *(heads[status] for status in heads if total[status])):
        table.add_column(head, justify="right", no_wrap=True)
    for section in sections():
        count = Counter(one.status for one in found if one.rule.section == section.id)
        table.add_row(f"{section.id} {section.title}", str(count.total()), *(str(count[status] or "") for status in heads if total[status]))
    console.print(table)
    for one in found:
        if every or one.is_gap:
            console.print(_requirement(one, every, width))
    said = ", ".join(f"{total[status]} {status}" for status in heads if total[status])
    console.print(Text(f"{len(found)} rules: {said}", "bold"))


def _requirement(one: Requirement, every: bool, width: int) -> Text:
    style = "bold red" if one.is_gap else "green"
    line = Text(f"{'!' if one.is_gap else ' '} {one.rule.id:<8}", style)
    side = " " * len(line.plain)
    words = f"{one.rule.sentence} ({one.reason})" if one.reason else one.rule.sentence
    line.append(f"\n{side}".join(textwrap.wrap(words, width - len(side))), "default")
    evidence = {"code": one.implementation, "model": one.model, "failed": one.failed, "test": one.tests if every else ()}
    for name, places in evidence.items():
        for place in places:
            line.append(f"\n{side}{name:<7}{place}", "dim")
    return line


def print_entries(found: Sequence[Entry], console: Console | None = None) -> None:
    """Print each id with its sentence and a line for each place that names it, so that a terminal or an editor can open it."""
    console = console or output.stdout()
    for number, entry in enumerate(found):
        if number:
            console.print()
        section = f" ({entry.section})" if entry.section else ""
        console.print(Text(entry.id, "bold").append(f"  {entry.sentence}{section}", "default"))
        for kind in KINDS:
            for one in entry.of(kind):
                line = Text(f"  {_WORDS[kind]:<9} {one.file}:{one.line}")
                line.append(f"  {one.name}", "cyan").append(f"  {one.sentence}" if one.sentence else "", "dim")
                console.print(line)
