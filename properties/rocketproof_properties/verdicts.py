"""Judging many histories at once: which engine does it, what a person reads of it, and the exit code."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from rocketproof_traces.bulk.results import Summary
from rocketproof_traces.bulk.tables import UNREADABLE
from rocketproof_traces.bulk.work import Order

from .engines import check_engine

Engine = Literal["local", "spark"]
SHOWN = 20
"""Findings that are printed; all are in the files."""
EXIT = {"ok": 0, "illegal": 1, "unreadable": 2, "unknown": 3}


def run(order: Order, engine: Engine, cores: int, master: str | None = None, remote: str | None = None) -> Summary:
    """Judge what the order names. Raises InputError and TraceError."""
    check_engine(engine, master, remote)
    if engine == "local":
        from rocketproof_traces.bulk import local

        return local.judge(order, cores, _tell)
    from rocketproof_traces.spark import histories, session

    return histories.judge(session.session(master, remote, cores), order, _tell)


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")


def render(found: Summary, out: str, console: Console | None = None) -> None:
    """Print what was judged: counts, requests out of reach, findings, the verdict."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    here = f"{Path.cwd()}/"  # files below it are shown as they were given

    def lines(text: str, style: str = "", indent: str = "  ") -> None:
        text = text.replace(here, "")
        console.print(Text("\n".join(textwrap.wrap(text, width, subsequent_indent=indent)), style), soft_wrap=True)

    lines(f"{_counted(found.histories, 'history', 'histories')}, {_counted(found.parts, 'part', 'parts')}")
    lines(f"{found.events:,} events judged by {found.profile}: {found.explained:,} answers explained")
    for reason, number in found.out_of_reach.most_common():
        lines(f"{number:8,} out of reach: {reason}", indent=" " * 11)
    for one in found.findings[:SHOWN]:
        lines(_finding(one), "bold red")
    if len(found.findings) > SHOWN:
        lines(f"and {len(found.findings) - SHOWN} more")
    for text in found.unknown[:SHOWN]:
        lines(f"not decided: {text}", "bold yellow")
    lines(f"findings and verdicts are in {out}")
    words = {
        "ok": ("Ok: the specification explains all histories", "bold green"),
        "illegal": (f"{len(found.findings):,} finding{'s' * (len(found.findings) != 1)}", "bold red"),
        "unreadable": ("Nothing could be judged", "bold red"),
        "unknown": ("Unknown: a larger --limit or the events that are missing may decide", "bold yellow"),
    }
    console.print(Text(*words[found.verdict]), soft_wrap=True)


def _counted(by_verdict: Mapping[str, int], one: str, many: str) -> str:
    total = sum(by_verdict.values())
    said = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(by_verdict.items(), key=lambda item: -item[1]))
    return f"{total:,} {one if total == 1 else many} ({said})" if total else f"no {many}"


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


__all__ = ["EXIT", "Engine", "render", "run"]
