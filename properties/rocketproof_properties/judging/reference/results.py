"""A replayed recording as a run that reports are written from: a result for each case, made of the JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...reports.exitcode import exit_code
from ...reports.results import Outcome, Result, Run, lines

_ID: Final = "recording"
_SENTENCE: Final = "the implementation answers and stores what the recorded broker did"


def run(cases: Sequence[Mapping[str, Any]], subject: str, profile: str, *, stopped: bool = False) -> Run:
    """The cases of a recording as `test --recording --json` has them. `stopped`: Ctrl-C ended it before the last one."""
    results = tuple(_result(one, profile) for one in cases)
    code = exit_code(findings=any(one.outcome == "differs" for one in results), undecided=stopped)
    return Run("test", subject, results, code, profile, stopped="Ctrl-C" if stopped else "")


def read(data: Any) -> Run | None:
    """The run of which `test --recording --json` wrote this, None if it is none."""
    if not isinstance(data, list) or not data or not all(isinstance(row, dict) and {"cfg", "case", "alike"} <= row.keys() for row in data):
        return None
    return run(data, "", "")


def _result(one: Mapping[str, Any], profile: str) -> Result:
    outcome: Outcome = "ok" if one["alike"] else "accepted" if one["exception"] else "differs"
    fields = [f"{each['field']}: recorded {each['recorded']!r}, found {each['found']!r}" for each in one["differences"]]
    return Result(
        _ID, _SENTENCE, outcome, "alike" if one["alike"] else "different", "alike", profile, about=f"{one['cfg']}-{one['n']} {one['case']}",
        message=one["exception"] or "; ".join(fields[:2]), details="" if one["alike"] else lines(fields),
    )  # fmt: skip
