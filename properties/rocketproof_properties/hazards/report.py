"""What a reader sees of the gallery: one hazard with its steps, or a line for each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ..catalogue import CASES
from ..patches.table import ROWS
from ..rules import rules
from .gallery import Told
from .story import Fact, Step


def print_stories(found: Sequence[Told], console: Console | None = None) -> None:
    """Print hazards one after the other."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 120)
    for number, told in enumerate(found):
        if number:
            console.print()
        _print_story(told, console, width)


def _print_story(told: Told, console: Console, width: int) -> None:
    """What happens step by step, why, and what of the project belongs to it."""
    one = told.hazard
    console.print(Text(_wrapped(f"{one.id}  ", f"{one.title} ({told.profile})", width)), style="bold", soft_wrap=True)
    for number, step in enumerate(told.steps, 1):
        console.print(Text("\n" + _wrapped(f"{number:>3}  ", step.text, width)), soft_wrap=True)
        for line in _facts(step, width):
            console.print(line, soft_wrap=True)
    if told.finding:
        console.print(Text(_wrapped("  !  ", told.finding, width), "bold red"), soft_wrap=True)
    for paragraph in one.about:
        console.print(Text("\n" + _wrapped("", paragraph, width)), soft_wrap=True)
    console.print()
    for kind, ids in _belongings(told).items():
        for id_, sentence in ids.items():
            console.print(Text(_wrapped(f"{kind:<9} {id_:<7} ", sentence, width), "dim"), soft_wrap=True)
    console.print(Text(_closing(told), "bold"), soft_wrap=True)


def print_list(found: Sequence[Told], left_out: int = 0, console: Console | None = None) -> None:
    """Print a line for each hazard, marked `!` if it is not as told, and how many there are."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    for told in found:
        sign, style = ("!", "bold red") if told.finding else (" ", "")
        line = f"{told.hazard.title}{f' ({told.finding})' if told.finding else ''}"
        console.print(Text(_wrapped(f"{sign} {told.hazard.id}  {told.profile:<5} ", line, width), style), soft_wrap=True)
    counts = {
        "shown": sum(1 for told in found if told.shown),
        "not as told": sum(1 for told in found if told.finding),
        "left out, as the profile does not show them": left_out,
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    console.print(Text(f"{said}; {sum(told.seconds for told in found):.1f} s", "bold"), soft_wrap=True)
    console.print(Text("rocketproof hazard ID shows one of them step by step"), soft_wrap=True)


def _facts(step: Step, width: int) -> Iterator[Text]:
    side = max((len(fact.what) for fact in step.facts), default=0)
    for fact in step.facts:
        yield Text(_wrapped(f"       {fact.what:<{min(side, 45)}}  ", fact.found, width), "cyan")


def _wrapped(head: str, text: str, width: int) -> str:
    """The text behind its head, its further lines under its first; without a text the head alone."""
    if not text:
        return head.rstrip()
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * min(len(head), 45), break_long_words=False)


def _belongings(told: Told) -> dict[str, dict[str, str]]:
    """The rules, properties and mutants of a hazard, each with its sentence."""
    one = told.hazard
    sentences = {case.property: case.sentence for case in reversed(CASES)}
    return {
        "rule": {id_: rules()[id_].sentence for id_ in one.rules},
        "property": {id_: sentences.get(id_, "") for id_ in one.properties},
        "mutant": {row.id: row.sentence for row in ROWS if one.id in row.killers},
    }


def _closing(told: Told) -> str:
    facts: list[Fact] = [fact for step in told.steps for fact in step.facts]
    if told.finding:
        return f"{told.hazard.id} is not as told in {told.profile}: see the line with !"
    return f"{told.hazard.id} is shown in {told.profile}: {len(facts)} facts as told, {told.seconds:.2f} s"
