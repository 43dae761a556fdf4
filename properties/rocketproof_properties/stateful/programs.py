"""`rocketproof test`: programs of the specification on the implementation, in every case of the catalogue.

A profile for which the catalogue names no verdicts is tested under those of P49, which it refines.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rocketproof_profiles import PROFILES

from .. import matrix, output, store
from ..choices import known
from ..plan import Request, Task, plan

BASE = "P49"


def tasks(profile: str) -> tuple[Task, ...]:
    """Every property of the states in every case of the profile, for the stateful engine."""
    from ..catalogue import CASES

    named = any(case.profile == profile for case in CASES)
    found = plan(Request(profiles=(profile if named else BASE,), engine="stateful")).tasks
    return tuple(replace(task, source=replace(task.source, profile=profile)) for task in found)


def command(*, profile: str, programs: int, seed: int, workers: int, seconds: float | None = None, json: Path | None = None) -> int:
    """Run about `programs` programs, shared by the cases; print the matrix and give its exit code."""
    chosen = tasks(known("profile", profile, PROFILES))
    folder = store.DEFAULT_FOLDER
    instances = len(matrix.units(chosen, folder))
    settings = matrix.Settings(
        seconds=seconds,
        memory=matrix.default_memory(),
        workers=workers,
        seed=seed,
        programs=max(1, -(-programs // instances)),
        witnesses=folder,
    )
    with output.ProgressLine() as line:
        report = matrix.run(chosen, line, settings)
    if json is not None:
        store.write_json(json, (row.record() for row in report.rows))
    missing = [gap for gap in report.gaps if gap.missing == "action"]
    report.problems += [f"{gap.profile}: {gap.action} never ran, though its switches allow it; give more --programs" for gap in missing]
    output.print_report(report, ())
    return report.exit_code
