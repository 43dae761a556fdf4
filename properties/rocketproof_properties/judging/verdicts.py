"""Judging many histories at once: which engine does it, what a person reads of it, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rocketproof_traces.bulk.results import Summary
from rocketproof_traces.bulk.tables import UNREADABLE
from rocketproof_traces.bulk.work import JudgingJob

from ..reports.exitcode import exit_code
from ..reports.output import Page, counted, phrases
from .engines import check_engine

Engine = Literal["local", "spark"]
SHOWN = 20
"""Findings that are printed; all are in the files."""


def run(order: JudgingJob, engine: Engine, cores: int, master: str | None = None, remote: str | None = None) -> Summary:
    """Judge what the order names. Raises InputError and TraceError."""
    check_engine(engine, master, remote)
    with phrases() as report:
        if engine == "local":
            from rocketproof_traces.bulk import local

            return local.judge(order, cores, report)
        from rocketproof_traces.spark import histories, session

        return histories.judge(session.session(master, remote, cores), order, report)


def code_of(found: Summary) -> int:
    """Return the exit code of what was judged."""
    return exit_code(findings=found.findings, undecided=found.unknown, unreadable=found.verdict == "unreadable")


def render(found: Summary, out: str) -> None:
    """Print what was judged: counts, requests out of reach, findings, the verdict."""
    page = Page()
    here = f"{Path.cwd()}/"  # files below it are shown as they were given
    page.line(f"{_by_verdict(found.histories, 'history', 'histories')}, {_by_verdict(found.parts, 'part')}")
    page.line(f"{found.events:,} events judged by {found.profile}: {found.explained:,} answers explained")
    for reason, number in found.out_of_reach.most_common():
        page.wrapped(f"out of reach: {reason}", first=f"{number:8,} ", indent=11)
    for one in found.findings[:SHOWN]:
        page.wrapped(_finding(one).replace(here, ""), "bold red")
    if len(found.findings) > SHOWN:
        page.line(f"and {len(found.findings) - SHOWN} more")
    for text in found.unknown[:SHOWN]:
        page.wrapped(f"not decided: {text}".replace(here, ""), "bold yellow")
    page.line(f"findings and verdicts are in {out}".replace(here, ""))
    words = {
        "ok": ("Ok: the specification explains all histories", "bold green"),
        "illegal": (counted(len(found.findings), "finding"), "bold red"),
        "unreadable": ("Nothing could be judged", "bold red"),
        "unknown": ("Unknown: a larger --limit or --time, or the events that are missing may decide", "bold yellow"),
    }
    page.line(*words[found.verdict])


def _by_verdict(numbers: Mapping[str, int], one: str, many: str = "") -> str:
    total = sum(numbers.values())
    listed = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(numbers.items(), key=lambda item: -item[1]))
    return f"{counted(total, one, many)} ({listed})" if total else f"no {many or one + 's'}"


def _finding(one: Mapping[str, Any]) -> str:
    """A finding as one line."""
    if one["kind"] == UNREADABLE:
        place = one["history"] if one["file"] is None else one["file"] if one["line"] is None else f"{one['file']}:{one['line']}"
        at = f", event {one['seq']}" if one["seq"] is not None else ""
        return f"not readable: {place}{at}: {one['recorded']}"
    text = f"not explained: {one['history']}, event {one['seq']} ({one['op']} of {one['process']}; {one['part']}): "
    text += f"recorded {one['recorded']}; the specification {one['specified']}"
    if not one["sentence"]:
        return text
    said = f"{one['action']} is refused by guard '{one['guard']}' ({one['sentence']})" if one["guard"] else one["sentence"]
    return f"{text}; {said} with {', '.join(f'{name} = {value}' for name, value in one['values'].items())}"


__all__ = ["Engine", "code_of", "render", "run"]
