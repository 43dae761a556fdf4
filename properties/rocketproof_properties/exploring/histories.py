"""Histories to explore: one of clients, or a recording of single requests, each `cfg` of which is a history of one client."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from rocketproof_traces import history
from rocketproof_traces.checker.histories import Verdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.explorer.document import CommandLine
from rocketproof_traces.explorer.history import of_history
from rocketproof_traces.explorer.opened import History, Progress
from rocketproof_traces.history import Event, Header, recordings

from ..judging.onefile import judge_file

Documents = dict[str, dict[str, Any]]


def of_file(path: Path, profile: str, report: Progress, title: str = "") -> History:
    """A history judged by a profile; of a recording the first `cfg` that is not explained, else the first. Raises RocketproofError."""

    def progress(done: int, everything: int) -> None:
        report(f"judging answer {done} of {everything}")

    found = documents(path, judge_file(path, profile, report=progress))
    shown = next((made for made in found.values() if made["refusal"] is not None), next(iter(found.values())))
    return History({**shown, "title": title} if title else shown)


def documents(path: Path, judged: Verdict | Judgement) -> Documents:
    """The documents of a judged file, by the names that their pages should have."""
    profile = judged.profile
    commands = (
        CommandLine("judge it again", f"rocketproof judge {shlex.quote(str(path))} --profile {profile}"),
        CommandLine("open it again", f"rocketproof explore {shlex.quote(str(path))} --profile {profile}"),
    )
    stem = re.sub(r"\.(ndjson|jsonl)(\.\w+)?$", "", path.name)
    if isinstance(judged, Verdict):
        header, lines = history.read(path)
        return {stem: of_history(header, list(lines), judged, path.name, commands)}
    origins, events = recordings.histories(path)
    by_cfg: dict[str, list[Event]] = {}
    for cfg, event in events:
        by_cfg.setdefault(cfg, []).append(event)
    made: Documents = {}
    for cfg, verdict in judged.histories.items():
        made[f"{stem}-{cfg}"] = of_history(Header(origins[cfg]), by_cfg[cfg], verdict, f"{path.name}, {cfg}", commands)
    return made


__all__ = ["documents", "of_file"]
