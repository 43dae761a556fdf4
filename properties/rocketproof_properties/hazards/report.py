"""What a reader sees of the gallery: one hazard with its steps, or a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from .. import output
from ..catalogue import CASES
from ..patches.table import ROWS
from ..rules import rules
from .gallery import PerformedHazard
from .story import Fact, StoryStep


def print_stories(found: Sequence[PerformedHazard], console: Console | None = None) -> None:
    """Print hazards one after the other."""
    console = console or output.stdout()
    width = min(output.width_of(console), 120)
    for number, performed in enumerate(found):
        if number:
            console.print()
        _print_story(performed, console, width)


def _print_story(performed: PerformedHazard, console: Console, width: int) -> None:
    """What happens step by step, why, and what of the project belongs to it."""
    one = performed.hazard
    console.print(_behind(f"{one.id}  ", f"{one.title} ({performed.profile})", width, "bold"))
    for number, step in enumerate(performed.steps, 1):
        console.print()
        console.print(_behind(f"{number:>3}  ", step.text, width))
        for line in _facts(step, width):
            console.print(line)
    if performed.finding:
        console.print(_behind("  !  ", performed.finding, width, "bold red"))
    for paragraph in one.about:
        console.print()
        console.print(output.wrapped(paragraph, width))
    console.print()
    for kind, ids in _belongings(performed).items():
        for id_, sentence in ids.items():
            console.print(_behind(f"{kind:<9} {id_:<7} ", sentence, width, "dim"))
    console.print(Text(_closing(performed), "bold"))


def print_list(found: Sequence[PerformedHazard], left_out: int = 0, console: Console | None = None) -> None:
    """Print a line for each hazard, marked `!` if it is not as described, and how many there are."""
    console = console or output.stdout()
    width = output.width_of(console)
    for performed in found:
        sign, style = ("!", "bold red") if performed.finding else (" ", "")
        line = f"{performed.hazard.title}{f' ({performed.finding})' if performed.finding else ''}"
        console.print(_behind(f"{sign} {performed.hazard.id}  {performed.profile:<5} ", line, width, style))
    counts = {
        "shown": sum(1 for performed in found if performed.shown),
        "not as described": sum(1 for performed in found if performed.finding),
        "left out, as the profile does not show them": left_out,
    }
    summary = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    console.print(Text(f"{summary}; {sum(performed.seconds for performed in found):.1f} s", "bold"))
    console.print(Text("rocketproof hazard ID shows one of them step by step"))


def _facts(step: StoryStep, width: int) -> Iterator[Text]:
    side = max((len(fact.what) for fact in step.facts), default=0)
    for fact in step.facts:
        yield _behind(f"       {fact.what:<{min(side, 45)}}  ", fact.found, width, "cyan")


def _behind(head: str, text: str, width: int, style: str = "") -> Text:
    """The text behind its head, its further lines under its first; without a text the head alone."""
    return output.wrapped(text, width, head, " " * min(len(head), 45), style) if text else Text(head.rstrip(), style)


def _belongings(performed: PerformedHazard) -> dict[str, dict[str, str]]:
    """The rules, properties and mutants of a hazard, each with its sentence."""
    one = performed.hazard
    sentences = {case.property: case.sentence for case in reversed(CASES)}
    return {
        "rule": {id_: rules()[id_].sentence for id_ in one.rules},
        "property": {id_: sentences.get(id_, "") for id_ in one.properties},
        "mutant": {row.id: row.sentence for row in ROWS if one.id in row.killers},
    }


def _closing(performed: PerformedHazard) -> str:
    facts: list[Fact] = [fact for step in performed.steps for fact in step.facts]
    if performed.finding:
        return f"{performed.hazard.id} is not as described in {performed.profile}: see the line with !"
    return f"{performed.hazard.id} is shown in {performed.profile}: {len(facts)} facts as described, {performed.seconds:.2f} s"
