"""Print the verdict on a recording or a history: what the specification explains, and the first event it does not explain."""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_traces.checker.histories import HistoryVerdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.common.outcomes import NOTHING_JUDGED

from ..reports.output import Page, counted


def print_judgement(judgement: Judgement) -> None:
    """Print the counts of a judgement and the first unexplained case."""
    page = Page()
    page.line(f"{judgement.cases} cases judged by {judgement.profile}: {judgement.explained} explained")
    _print_out_of_reach(judgement.out_of_reach, page)
    if judgement.unexplained:
        page.wrapped(f"first not explained: {judgement.unexplained[0]}", "bold red")
        page.line(f"{len(judgement.unexplained)} not explained", "bold")
    for text in judgement.unknown:
        page.wrapped(f"not decided: {text}", "bold yellow")
    if judgement.interrupted:
        page.line("Stopped by Ctrl-C; the same command judges all", "bold yellow")


def print_verdict(verdict: HistoryVerdict) -> None:
    """Print how much of a history the specification explains, and the first unexplained event of each part."""
    page = Page()
    events = f"{verdict.events} events in {counted(verdict.parts, 'part')}"
    page.wrapped(f"{events} judged by {verdict.profile}: {verdict.explained} answers explained")
    _print_out_of_reach(verdict.out_of_reach, page)
    for event in verdict.findings:
        page.wrapped(f"not explained: {event}", "bold red")
        before = len(event.prefix)
        explained = f"{counted(before, 'answer')} of this part before it {'is' if before == 1 else 'are'}"
        page.wrapped(f"the {explained} explained", first="  ", indent=4)
    for text in verdict.unknown:
        page.wrapped(f"not decided: {text}", "bold yellow")
    words = {"ok": ("Ok: the specification explains the history", "bold green"), "illegal": ("Illegal", "bold red")}
    undecided = "Unknown" if NOTHING_JUDGED in verdict.unknown else "Unknown: a larger --limit or --time may decide"
    text, style = words.get(verdict.verdict, (undecided, "bold yellow"))
    page.line(f"{text}{', stopped by Ctrl-C' if verdict.interrupted else ''}", style)


def _print_out_of_reach(reasons: Mapping[str, int], page: Page) -> None:
    for reason, number in reasons.items():
        page.wrapped(f"out of reach: {reason}", first=f"{number:6} ", indent=9)
