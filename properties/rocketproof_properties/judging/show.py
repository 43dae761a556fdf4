"""What is printed of a judged recording or history: what the specification explains, and the first thing that it does not."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rocketproof_traces.checker.histories import Verdict
from rocketproof_traces.checker.recordings import Judgement

from .. import output


def print_judgement(found: Judgement, console: Console | None = None) -> None:
    """Print what a judgement counted and the first case that nothing explains."""
    console = console or output.stdout()
    width = output.width_of(console)
    console.print(Text(f"{found.cases} cases judged by {found.profile}: {found.explained} explained"))
    for reason, number in found.out_of_reach.items():
        console.print(output.wrapped(f"{number:6} out of reach: {reason}", width, then=" " * 9))
    if found.unexplained:
        console.print(output.wrapped(f"first not explained: {found.unexplained[0]}", width, then="  ", style="bold red"))
        console.print(Text(f"{len(found.unexplained)} not explained", "bold"))
    for text in found.unknown:
        console.print(output.wrapped(f"not decided: {text}", width, then="  ", style="bold yellow"))


def print_verdict(found: Verdict, console: Console | None = None) -> None:
    """Print what the specification says of a history: what it explains, and of each part the first event that it does not."""
    console = console or output.stdout()
    width = output.width_of(console)

    def lines(text: str, style: str = "", indent: str = "  ") -> None:
        console.print(output.wrapped(text, width, then=indent, style=style))

    counted = f"{found.events} events in {found.parts} part{'' if found.parts == 1 else 's'} judged by {found.profile}"
    lines(f"{counted}: {found.explained} answers explained")
    for reason, number in found.out_of_reach.items():
        lines(f"{number:6} out of reach: {reason}", indent=" " * 9)
    for one in found.findings:
        lines(f"not explained: {one}", "bold red")
        before = len(one.prefix)
        explained = "1 answer of this part before it is" if before == 1 else f"{before} answers of this part before it are"
        lines(f"  the {explained} explained", indent="    ")
    for text in found.unknown:
        lines(f"not decided: {text}", "bold yellow")
    words = {"ok": ("Ok: the specification explains the history", "bold green"), "illegal": ("Illegal", "bold red")}
    text, style = words.get(found.verdict, ("Unknown: a larger --limit may decide", "bold yellow"))
    console.print(Text(f"{text}{', stopped by Ctrl-C' if found.interrupted else ''}", style))
