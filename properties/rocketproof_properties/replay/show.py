"""What is printed of a replayed recording: the cases in which the implementation answers otherwise."""

from __future__ import annotations

import json
import textwrap

from rich.console import Console
from rich.text import Text

from .. import output
from .recording import Outcome, Report

CASES = 10
"""Cases that differ and are shown without `--all`."""


def print_replay(found: Report, every: bool = False, console: Console | None = None) -> None:
    """Print the first recorded cases that came out differently, or `every` one, those that may with the reason, and a closing line."""
    console = console or output.stdout()
    width = output.width_of(console)
    unlike = [one for one in found.outcomes if not one.same]
    for one in unlike if every else unlike[:CASES]:
        console.print(_outcome(one, width))
    if len(unlike) > CASES and not every:
        console.print(Text(f"and {len(unlike) - CASES} more cases: --all shows them, --json FILE has them", "dim"))
    said = f"{len(found.outcomes)} cases compared under {found.profile}: {found.same} alike, {len(found.excepted)} excepted, "
    console.print(Text(f"{said}{len(found.different)} different", "bold"))


def _outcome(one: Outcome, width: int) -> Text:
    sign, style = ("?", "yellow") if one.exception else ("!", "bold red")
    line = Text(f"{sign} {one.case.label}", style)
    for difference in one.differences:
        line.append(f"\n    {difference.field}", "default")
        recorded, found = _shown(difference.recorded), _shown(difference.found)
        start = next((at for at, (a, b) in enumerate(zip(recorded, found, strict=False)) if a != b), 0)
        for what, text in (("recorded", recorded), ("found", found)):
            line.append(f"\n      {what:<9}{_cut(text, start, width - 15)}", "dim")
    for what, text in (("rules", ", ".join(one.rules)), ("excepted", one.exception)):
        if text:
            line.append(f"\n    {what:<9}  " + "\n".join(textwrap.wrap(text, width - 15, subsequent_indent=" " * 15)), "dim")
    return line


def _shown(value: object) -> str:
    """A value on one line."""
    text = "null" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _cut(text: str, start: int, width: int) -> str:
    """A part of a text that shows what is at `start`."""
    if len(text) <= width:
        return text
    first = max(0, min(start - width // 3, len(text) - width))
    cut = text[first : first + width]
    return ("..." + cut[3:] if first else cut)[: width - 3] + ("..." if first + width < len(text) else cut[-3:])
