"""The output of the gallery: one hazard with its steps, or a line per hazard."""

from __future__ import annotations

from collections.abc import Sequence

from ..catalogue.mutants import ROWS
from ..catalogue.rules import rules
from ..catalogue.table import CASES
from ..reports.output import Page, TableRow
from .gallery import PerformedHazard
from .scenario import Fact


def print_hazards(results: Sequence[PerformedHazard]) -> None:
    """Print hazards one after the other."""
    page = Page()
    for number, performed in enumerate(results):
        if number:
            page.line()
        _print_hazard(performed, page)


def _print_hazard(performed: PerformedHazard, page: Page) -> None:
    """Print the steps, the explanation, and the rules, properties and mutants that belong to the hazard."""
    hazard = performed.hazard
    page.wrapped(f"{hazard.title} ({performed.profile})", "bold", first=f"{hazard.id}  ", indent=8)
    for number, step in enumerate(performed.steps, 1):
        page.line()
        page.wrapped(step.text, first=f"{number:>3}  ", indent=5)
        page.table((TableRow((fact.what,), fact.found, "cyan") for fact in step.facts), indent=7)
    if performed.finding:
        page.wrapped(performed.finding, "bold red", first="  !  ", indent=5)
    for paragraph in hazard.about:
        page.line()
        page.wrapped(paragraph, indent=0)
    page.line()
    rows = [(kind, id_, sentence) for kind, ids in _belongings(performed).items() for id_, sentence in ids.items()]
    page.table((TableRow((kind, id_), sentence, "dim") for kind, id_, sentence in rows), indent=0)
    page.line(_closing(performed), "bold")


def print_list(results: Sequence[PerformedHazard], left_out: int = 0) -> None:
    """Print a line for each hazard, marked `!` if it is not as described, and the totals."""
    page = Page()
    rows = []
    for performed in results:
        line = f"{performed.hazard.title}{f' ({performed.finding})' if performed.finding else ''}"
        mark, style = ("!", "bold red") if performed.finding else (" ", "")
        rows.append(TableRow((performed.hazard.id, performed.profile), line, style, mark))
    page.table(rows, indent=0)
    counts = {
        "shown": sum(1 for performed in results if performed.shown),
        "not as described": sum(1 for performed in results if performed.finding),
        "left out, as the profile does not show them": left_out,
    }
    summary = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    page.line(f"{summary}; {sum(performed.seconds for performed in results):.1f} s", "bold")
    page.line("rocketproof hazard ID shows one of them step by step")


def _belongings(performed: PerformedHazard) -> dict[str, dict[str, str]]:
    """Return the rules, properties and mutants of a hazard with their sentences."""
    hazard = performed.hazard
    sentences = {case.property: case.sentence for case in reversed(CASES)}
    return {
        "rule": {id_: rules()[id_].sentence for id_ in hazard.rules},
        "property": {id_: sentences.get(id_, "") for id_ in hazard.properties},
        "mutant": {row.id: row.sentence for row in ROWS if hazard.id in row.killers},
    }


def _closing(performed: PerformedHazard) -> str:
    facts: list[Fact] = [fact for step in performed.steps for fact in step.facts]
    if performed.finding:
        return f"{performed.hazard.id} is not as described in {performed.profile}: see the line with !"
    return f"{performed.hazard.id} is shown in {performed.profile}: {len(facts)} facts as described, {performed.seconds:.2f} s"
