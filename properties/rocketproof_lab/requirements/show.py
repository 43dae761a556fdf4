"""Print rules and their evidence: a table of sections with the gaps, or all places that contain an id."""

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


def print_requirements(requirements: Sequence[Requirement], every: bool = False) -> None:
    """Print how many rules of each section are covered, then every gap, or with `every` each rule with its places, tests and actions."""
    page = Page()
    total = Counter(requirement.status for requirement in requirements)
    heads = {status: head for status, head in _HEADS.items() if total[status]}
    rows = []
    for section in sections():
        count = Counter(requirement.status for requirement in requirements if requirement.rule.section == section.id)
        rows.append(TableRow((f"{section.id} {section.title}", str(count.total()), *(str(count[status] or "") for status in heads))))
    page.table(rows, ("section", "rules", *heads.values()), right=range(1, 2 + len(heads)), indent=0)
    page.line()
    for requirement in requirements:
        if every or requirement.is_gap:
            _print_requirement(requirement, every, page)
    page.line(f"{len(requirements)} rules: {', '.join(f'{total[status]} {status}' for status in heads)}", "bold")


def _print_requirement(requirement: Requirement, every: bool, page: Page) -> None:
    mark, style = ("!", "bold red") if requirement.is_gap else (" ", "green")
    words = f"{requirement.rule.sentence} ({requirement.reason})" if requirement.reason else requirement.rule.sentence
    page.table([TableRow((f"{requirement.rule.id:<6}",), words, style, mark)], indent=0)
    evidence = {
        "code": requirement.implementation,
        "model": requirement.model,
        "failed": requirement.failed,
        "test": requirement.tests if every else (),
    }
    for name, places in evidence.items():
        for place in places:
            page.line(f"{'':<10}{name:<7}{place}", "dim")


def print_entries(entries: Sequence[IdReferences]) -> None:
    """Print each id with its sentence and one line per place, in a form that a terminal or an editor can open. A mutant has its killers."""
    page = Page()
    for number, entry in enumerate(entries):
        if number:
            page.line()
        section = f" ({entry.section})" if entry.section else ""
        page.wrapped(f"{entry.id}  {entry.sentence}{section}", indent=len(entry.id) + 2)
        for id_, sentence in entry.killers.items():
            page.wrapped(f"{id_}  {sentence}", first=f"  {'killer':<9} ", indent=12)
        for kind in KINDS:
            for reference in entry.of(kind):
                line = Text(f"  {_WORDS[kind]:<9} {reference.file}:{reference.line}").append(f"  {reference.name}", "cyan")
                fits = len(line) + 2 + len(reference.sentence) <= page.width
                page.line(line.append(f"  {reference.sentence}", "dim") if reference.sentence and fits else line)
                if reference.sentence and not fits:
                    page.wrapped(reference.sentence, "dim", first=" " * 12, indent=12)
