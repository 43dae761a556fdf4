"""One file of recorded answers judged by the specification: a history of clients, or a recording of single cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocketproof_traces.checker import histories, recordings
from rocketproof_traces.checker.histories import HistoryVerdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import is_history, read

from ..reports.choices import InputError


def judge_file(
    file: Path,
    profile: str,
    limit: int | None = None,
    report: Callable[[int, int], None] | None = None,
    seconds: float | None = None,
) -> HistoryVerdict | Judgement:
    """Judge a file by a profile that there is. `report(done, all)` is called on the way; `seconds` bound the computing after the last
    answer that was explained. Raises RocketproofError for what is no history."""
    if not file.is_file():
        raise InputError(f"{file} is no file; give a history or a recording")
    if not is_history(file):
        return recordings.judge_recording(file, profile, limit or recordings.LIMIT, report, seconds)
    header, lines = read(file)
    events = list(lines)
    try:
        return histories.judge_history(header, events, profile, limit or histories.LIMIT, report, seconds=seconds)
    except TraceError as error:
        raise TraceError(f"{file}: {error.place}", error.problem, error.remedy) from None


__all__ = ["judge_file"]
