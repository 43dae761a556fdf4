"""Histories to explore: one of clients, or a recording of single requests, each `cfg` of which is a history of one client."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rocketproof_traces import history
from rocketproof_traces.checker.histories import Verdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.explorer.document import CommandLine
from rocketproof_traces.explorer.history import of_history
from rocketproof_traces.explorer.opened import History, Progress
from rocketproof_traces.history import Event, Header, recordings

from ..choices import InputError
from ..judging.onefile import judge_file

Documents = dict[str, dict[str, Any]]


def of_file(path: Path, profile: str, report: Progress, title: str = "", around: int | None = None) -> History:
    """A history judged by a profile; of a recording the first `cfg` that is not explained, else the first. Of one that is too long for a
    page what lies around an event. Raises RocketproofError."""

    def progress(done: int, everything: int) -> None:
        report(f"judging answer {done} of {everything}")

    found = documents(path, judge_file(path, profile, report=progress), around)
    shown = next((made for made in found.values() if made["refusal"] is not None), next(iter(found.values())))
    return History({**shown, "title": title} if title else shown)


def documents(path: Path, judged: Verdict | Judgement, around: int | None = None) -> Documents:
    """The documents of a judged file, by the names that their pages should have. Raises InputError if it has no event `around`."""
    profile = judged.profile
    commands = (
        CommandLine("judge it again", f"rocketproof judge {shlex.quote(str(path))} --profile {profile}"),
        CommandLine("open it again", f"rocketproof explore {shlex.quote(str(path))} --profile {profile}"),
    )

    def document(title: str, header: Header, events: Sequence[Event], verdict: Verdict) -> dict[str, Any]:
        if around is not None and not (events and events[0].seq <= around <= events[-1].seq):
            has = f"events {events[0].seq} to {events[-1].seq}" if events else "no events"
            raise InputError(f"--around {around}: {title} has {has}; give the number of one of them")
        return of_history(header, events, verdict, title, commands, around=around)

    stem = re.sub(r"\.(ndjson|jsonl)(\.\w+)?$", "", path.name)
    if isinstance(judged, Verdict):
        header, lines = history.read(path)
        return {stem: document(path.name, header, list(lines), judged)}
    origins, events = recordings.histories(path)
    by_cfg: dict[str, list[Event]] = {}
    for cfg, event in events:
        by_cfg.setdefault(cfg, []).append(event)
    judgements = judged.histories.items()
    return {f"{stem}-{cfg}": document(f"{path.name}, {cfg}", Header(origins[cfg]), by_cfg[cfg], one) for cfg, one in judgements}


__all__ = ["documents", "of_file"]
