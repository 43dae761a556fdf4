"""What a reader sees of the gallery: one hazard with its steps, or a line for each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ..catalogue import CASES
from ..patches.table import ROWS
from ..rules import rules
from .gallery import PerformedHazard
from .story import Fact, StoryStep


def print_stories(found: Sequence[PerformedHazard], console: Console | None = None) -> None:
    """Print hazards one after the other."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 120)
    for number, performed in enumerate(found):
        if number:
            console.print()
        _print_story(performed, console, width)


def _print_story(performed: PerformedHazard, console: Console, width: int) -> None:
    """What happens step by step, why, and what of the project belongs to it."""
    one = performed.hazard
    console.print(Text(_wrapped(f"{one.id}  ", f"{one.title} ({performed.profile})", width)), style="bold", soft_wrap=True)
    for number, step in enumerate(performed.steps, 1):
        console.print(Text("\n" + _wrapped(f"{number:>3}  ", step.text, width)), soft_wrap=True)
        for line in _facts(step, width):
            console.print(line, soft_wrap=True)
    if performed.finding:
        console.print(Text(_wrapped("  !  ", performed.finding, width), "bold red"), soft_wrap=True)
    for paragraph in one.about:
        console.print(Text("\n" + _wrapped("", paragraph, width)), soft_wrap=True)
    console.print()
    for kind, ids in _belongings(performed).items():
        for id_, sentence in ids.items():
            console.print(Text(_wrapped(f"{kind:<9} {id_:<7} ", sentence, width), "dim"), soft_wrap=True)
    console.print(Text(_closing(performed), "bold"), soft_wrap=True)


def print_list(found: Sequence[PerformedHazard], left_out: int = 0, console: Console | None = None) -> None:
    """Print a line for each hazard, marked `!` if it is not as told, and how many there are."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    for performed in found:
        sign, style = ("!", "bold red") if performed.finding else (" ", "")
        line = f"{performed.hazard.title}{f' ({performed.finding})' if performed.finding else ''}"
        console.print(Text(_wrapped(f"{sign} {performed.hazard.id}  {performed.profile:<5} ", line, width), style), soft_wrap=True)
    counts = {
        "shown": sum(1 for performed in found if performed.shown),
        "not as told": sum(1 for performed in found if performed.finding),
        "left out, as the profile does not show them": left_out,
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    console.print(Text(f"{said}; {sum(performed.seconds for performed in found):.1f} s", "bold"), soft_wrap=True)
    console.print(Text("rocketproof hazard ID shows one of them step by step"), soft_wrap=True)


def _facts(step: StoryStep, width: int) -> Iterator[Text]:
    side = max((len(fact.what) for fact in step.facts), default=0)
    for fact in step.facts:
        yield Text(_wrapped(f"       {fact.what:<{min(side, 45)}}  ", fact.found, width), "cyan")


def _wrapped(head: str, text: str, width: int) -> str:
    """The text behind its head, its further lines under its first; without a text the head alone."""
    if not text:
        return head.rstrip()
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * min(len(head), 45), break_long_words=False)


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
        return f"{performed.hazard.id} is not as told in {performed.profile}: see the line with !"
    return f"{performed.hazard.id} is shown in {performed.profile}: {len(facts)} facts as told, {performed.seconds:.2f} s"
