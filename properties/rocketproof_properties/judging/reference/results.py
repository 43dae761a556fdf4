"""A replayed recording as a run from which reports are written: one result per case, computed from the JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...reports.exitcode import exit_code
from ...reports.results import Outcome, Result, Run, lines

_ID: Final = "recording"
_SENTENCE: Final = "the implementation answers and stores what the recorded broker did"


def run(cases: Sequence[Mapping[str, Any]], subject: str, profile: str, *, stopped: bool = False) -> Run:
    """Return the run of a recording's cases as in `test --recording --json`. `stopped`: Ctrl-C ended it before the last case."""
    results = tuple(_result(case, profile) for case in cases)
    code = exit_code(findings=any(result.outcome == "differs" for result in results), undecided=stopped)
    return Run("test", subject, results, code, profile, stopped="Ctrl-C" if stopped else "")


def read(data: Any) -> Run | None:
    """Return the run that `test --recording --json` wrote into `data`, None for other data."""
    if not isinstance(data, list) or not data or not all(isinstance(row, dict) and {"cfg", "case", "alike"} <= row.keys() for row in data):
        return None
    return run(data, "", "")


def _result(case: Mapping[str, Any], profile: str) -> Result:
    outcome: Outcome = "ok" if case["alike"] else "accepted" if case["exception"] else "differs"
    fields = [
        f"{difference['field']}: recorded {difference['recorded']!r}, found {difference['found']!r}" for difference in case["differences"]
    ]
    return Result(
        _ID, _SENTENCE, outcome, "alike" if case["alike"] else "different", "alike", profile,
        about=f"{case['cfg']}-{case['n']} {case['case']}",
        message=case["exception"] or "; ".join(fields[:2]), details="" if case["alike"] else lines(fields),
    )  # fmt: skip
