"""Histories to explore: one of clients, or a recording of single requests, each `cfg` of which is a history of one client."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rocketproof_traces import history
from rocketproof_traces.checker.histories import HistoryVerdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.explorer.document import CommandLine
from rocketproof_traces.explorer.history import of_history
from rocketproof_traces.explorer.opened import OpenedHistory, Progress
from rocketproof_traces.history import Event, Header, recordings

from ..reports.choices import InputError
from .onefile import judge_file


class JudgedFile(NamedTuple):
    """A history with its verdict: the name that its page should have, its title, and what the document is made of."""

    stem: str
    title: str
    header: Header
    events: Sequence[Event]
    verdict: HistoryVerdict


def of_file(path: Path, profile: str, report: Progress, title: str = "", around: int | None = None) -> OpenedHistory:
    """A history judged by a profile; of a recording the first `cfg` that is not explained, else the first. Of one that is too long for a
    page what lies around an event. Raises RocketproofError, also if there is no such event."""

    def progress(done: int, everything: int) -> None:
        report(f"judging answer {done} of {everything}")

    found = _histories(path, judge_file(path, profile, report=progress))
    shown = next((one for one in found if one.verdict.findings), found[0])
    events = shown.events
    if around is not None and not (events and events[0].seq <= around <= events[-1].seq):
        has = f"events {events[0].seq} to {events[-1].seq}" if events else "no events"
        raise InputError(f"--around {around}: {shown.title} has {has}; give the number of one of them")
    made = of_history(shown.header, events, shown.verdict, title or shown.title, _commands(path, profile), around=around)
    return OpenedHistory(made)


def documents(path: Path, judged: HistoryVerdict | Judgement) -> dict[str, dict[str, Any]]:
    """The documents of a judged file, by the names that their pages should have."""
    commands = _commands(path, judged.profile)
    return {one.stem: of_history(one.header, one.events, one.verdict, one.title, commands) for one in _histories(path, judged)}


def _commands(path: Path, profile: str) -> tuple[CommandLine, CommandLine]:
    return (
        CommandLine("judge it again", f"rocketproof judge {shlex.quote(str(path))} --profile {profile}"),
        CommandLine("open it again", f"rocketproof explore {shlex.quote(str(path))} --profile {profile}"),
    )


def _histories(path: Path, judged: HistoryVerdict | Judgement) -> list[JudgedFile]:
    """The history of a judged file, or those of a recording."""
    stem = re.sub(r"\.(ndjson|jsonl)(\.\w+)?$", "", path.name)
    if isinstance(judged, HistoryVerdict):
        header, lines = history.read(path)
        return [JudgedFile(stem, path.name, header, list(lines), judged)]
    origins, events = recordings.histories(path)
    by_cfg: dict[str, list[Event]] = {}
    for cfg, event in events:
        by_cfg.setdefault(cfg, []).append(event)
    judgements = judged.histories.items()
    return [JudgedFile(f"{stem}-{cfg}", f"{path.name}, {cfg}", Header(origins[cfg]), by_cfg[cfg], one) for cfg, one in judgements]


__all__ = ["documents", "of_file"]
