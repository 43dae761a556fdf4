"""What is printed of a judged recording or history: what the specification explains, and the first thing that it does not."""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_traces.checker.histories import HistoryVerdict
from rocketproof_traces.checker.recordings import Judgement

from ..reports.output import Page, counted


def print_judgement(found: Judgement) -> None:
    """Print what a judgement counted and the first case that nothing explains."""
    page = Page()
    page.line(f"{found.cases} cases judged by {found.profile}: {found.explained} explained")
    _print_out_of_reach(found.out_of_reach, page)
    if found.unexplained:
        page.wrapped(f"first not explained: {found.unexplained[0]}", "bold red")
        page.line(f"{len(found.unexplained)} not explained", "bold")
    for text in found.unknown:
        page.wrapped(f"not decided: {text}", "bold yellow")
    if found.interrupted:
        page.line("Stopped by Ctrl-C; the same command judges all", "bold yellow")


def print_verdict(found: HistoryVerdict) -> None:
    """Print what the specification says of a history: what it explains, and of each part the first event that it does not."""
    page = Page()
    events = f"{found.events} events in {counted(found.parts, 'part')}"
    page.wrapped(f"{events} judged by {found.profile}: {found.explained} answers explained")
    _print_out_of_reach(found.out_of_reach, page)
    for one in found.findings:
        page.wrapped(f"not explained: {one}", "bold red")
        before = len(one.prefix)
        explained = f"{counted(before, 'answer')} of this part before it {'is' if before == 1 else 'are'}"
        page.wrapped(f"the {explained} explained", first="  ", indent=4)
    for text in found.unknown:
        page.wrapped(f"not decided: {text}", "bold yellow")
    words = {"ok": ("Ok: the specification explains the history", "bold green"), "illegal": ("Illegal", "bold red")}
    text, style = words.get(found.verdict, ("Unknown: a larger --limit or --time may decide", "bold yellow"))
    page.line(f"{text}{', stopped by Ctrl-C' if found.interrupted else ''}", style)


def _print_out_of_reach(reasons: Mapping[str, int], page: Page) -> None:
    for reason, number in reasons.items():
        page.wrapped(f"out of reach: {reason}", first=f"{number:6} ", indent=9)
