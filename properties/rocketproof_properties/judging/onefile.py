"""Judge one file of recorded responses by the specification: a history of clients, or a recording of single cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rocketproof_traces.checker import histories, recordings
from rocketproof_traces.checker.histories import HistoryVerdict
from rocketproof_traces.checker.recordings import Judgement
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.common.outcomes import NOTHING_JUDGED, JudgingOutcome
from rocketproof_traces.history import is_history, read

from ..reports.choices import InputError


def judge_file(
    file: Path,
    profile: str,
    limit: int | None = None,
    report: Callable[[int, int], None] | None = None,
    seconds: float | None = None,
) -> HistoryVerdict | Judgement:
    """Judge a file under an existing profile.

    `report(done, all)` is called with the progress. `seconds` limits the search after the last explained response. A file without an answer
    that could be judged is undecided. Raises RocketproofError for a file that is not a history.
    """
    if not file.is_file():
        raise InputError(f"{file} is no file; give a history or a recording")
    if not is_history(file):
        return recordings.judge_recording(file, profile, limit or recordings.LIMIT, report, seconds)
    header, lines = read(file)
    events = list(lines)
    try:
        verdict = histories.judge_history(header, events, profile, limit or histories.LIMIT, report, seconds=seconds)
    except TraceError as error:
        raise TraceError(f"{file}: {error.place}", error.problem, error.remedy) from None
    if verdict.verdict is JudgingOutcome.EXPLAINED and not verdict.explained:
        return replace(verdict, verdict=JudgingOutcome.UNDECIDED, unknown=(NOTHING_JUDGED,))
    return verdict


__all__ = ["judge_file"]
