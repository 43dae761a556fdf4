"""Documents for the explorer: the histories of a judged file. A recording contains one history per `cfg`."""

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
from rocketproof_traces.explorer.opened import OpenedDocument, Progress
from rocketproof_traces.history import Event, Header, recordings

from ..reports.choices import InputError
from .onefile import judge_file


class JudgedFile(NamedTuple):
    """A history with its verdict. `stem` is the file name of its page without suffix."""

    stem: str
    title: str
    header: Header
    events: Sequence[Event]
    verdict: HistoryVerdict


def of_file(path: Path, profile: str, report: Progress, title: str = "", around: int | None = None) -> OpenedDocument:
    """Judge a file under a profile and return the history to open.

    A recording opens at its first `cfg` that is not explained, otherwise at its first. A long history is cut to the events `around` a
    number. Raises RocketproofError, also if no event has that number.
    """

    def progress(done: int, everything: int) -> None:
        report(f"judging answer {done} of {everything}")

    histories = _histories(path, judge_file(path, profile, report=progress))
    shown = next((judged for judged in histories if judged.verdict.findings), histories[0])
    events = shown.events
    if around is not None and not (events and events[0].seq <= around <= events[-1].seq):
        has = f"events {events[0].seq} to {events[-1].seq}" if events else "no events"
        raise InputError(f"--around {around}: {shown.title} has {has}; give the number of one of them")
    document = of_history(shown.header, events, shown.verdict, title or shown.title, _commands(path, profile), around=around)
    return OpenedDocument(document)


def documents(path: Path, judged: HistoryVerdict | Judgement) -> dict[str, dict[str, Any]]:
    """Return the documents of a judged file by the file names of their pages, without suffix."""
    commands = _commands(path, judged.profile)
    return {each.stem: of_history(each.header, each.events, each.verdict, each.title, commands) for each in _histories(path, judged)}


def _commands(path: Path, profile: str) -> tuple[CommandLine, CommandLine]:
    return (
        CommandLine("judge it again", f"rocketproof judge {shlex.quote(str(path))} --profile {profile}"),
        CommandLine("open it again", f"rocketproof explore {shlex.quote(str(path))} --profile {profile}"),
    )


def _histories(path: Path, judged: HistoryVerdict | Judgement) -> list[JudgedFile]:
    """Return the history in a judged file, or all histories in a recording."""
    stem = re.sub(r"\.(ndjson|jsonl)(\.\w+)?$", "", path.name)
    if isinstance(judged, HistoryVerdict):
        header, lines = history.read(path)
        return [JudgedFile(stem, path.name, header, list(lines), judged)]
    by_cfg = recordings.by_cfg(path)
    judgements = judged.histories.items()
    return [JudgedFile(f"{stem}-{cfg}", f"{path.name}, {cfg}", *by_cfg[cfg], verdict) for cfg, verdict in judgements]


__all__ = ["documents", "of_file"]
