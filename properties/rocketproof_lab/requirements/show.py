"""What is printed of rules and their evidence: a table of sections with the gaps, or all places that name an id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from rocketproof_properties.catalogue.rules import sections
from rocketproof_properties.reports.output import Page, TableRow

from . import Coverage, Requirement
from .references import KINDS, IdReferences, Kind

_WORDS: dict[Kind, str] = {
    "code": "code",
    "action": "model",
    "property": "property",
    "hazard": "hazard",
    "mutant": "mutant",
    "test": "test",
    "mention": "named in",
}
_HEADS: dict[Coverage, str] = {
    "covered": "covered",
    "no implementation": "no code",
    "no test": "no test",
    "failed test": "failed",
    "undecided": "undecided",
}


def print_requirements(found: Sequence[Requirement], every: bool = False) -> None:
    """Print how many rules of each section are covered, then every gap, or every rule with its places, tests and actions."""
    page = Page()
    total = Counter(one.status for one in found)
    heads = {status: head for status, head in _HEADS.items() if total[status]}
    rows = []
    for section in sections():
        count = Counter(one.status for one in found if one.rule.section == section.id)
        rows.append(TableRow((f"{section.id} {section.title}", str(count.total()), *(str(count[status] or "") for status in heads))))
    page.table(rows, ("section", "rules", *heads.values()), right=range(1, 2 + len(heads)), indent=0)
    page.line()
    for one in found:
        if every or one.is_gap:
            _print_requirement(one, every, page)
    page.line(f"{len(found)} rules: {', '.join(f'{total[status]} {status}' for status in heads)}", "bold")


def _print_requirement(one: Requirement, every: bool, page: Page) -> None:
    mark, style = ("!", "bold red") if one.is_gap else (" ", "green")
    words = f"{one.rule.sentence} ({one.reason})" if one.reason else one.rule.sentence
    page.table([TableRow((f"{one.rule.id:<6}",), words, style, mark)], indent=0)
    evidence = {"code": one.implementation, "model": one.model, "failed": one.failed, "test": one.tests if every else ()}
    for name, places in evidence.items():
        for place in places:
            page.line(f"{'':<10}{name:<7}{place}", "dim")


def print_entries(found: Sequence[IdReferences]) -> None:
    """Print each id with its sentence and a line for each place that names it, so that a terminal or an editor can open it."""
    page = Page()
    for number, entry in enumerate(found):
        if number:
            page.line()
        section = f" ({entry.section})" if entry.section else ""
        page.wrapped(f"{entry.id}  {entry.sentence}{section}", indent=len(entry.id) + 2)
        for kind in KINDS:
            for one in entry.of(kind):
                line = Text(f"  {_WORDS[kind]:<9} {one.file}:{one.line}").append(f"  {one.name}", "cyan")
                beside = len(line) + 2 + len(one.sentence) <= page.width
                page.line(line.append(f"  {one.sentence}", "dim") if one.sentence and beside else line)
                if one.sentence and not beside:
                    page.wrapped(one.sentence, "dim", first=" " * 12, indent=12)
