"""`rocketproof test`: programs of the specification on the implementation, in every case of the catalogue.

A profile that the catalogue does not judge throughout is tested under the verdicts of P49, which it refines, and under its own
where it has one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rocketproof_profiles import PROFILES

from .. import matrix, output, store
from ..catalogue.claim import SEEDS
from ..choices import known
from ..plan import Request, Task, plan

BASE = "P49"


def tasks(profile: str) -> tuple[Task, ...]:
    """Every property of the states and of histories in every case of the profile, for the stateful engine."""
    from ..catalogue import CASES

    named = any(case.profile == profile for case in CASES)
    own = plan(Request(profiles=(profile,), engine="stateful")).tasks if named else ()
    if profile in SEEDS:
        return own
    derived = plan(Request(profiles=(BASE,), engine="stateful")).tasks
    known_better = {(task.claim, task.condition) for task in own}
    taken = [replace(t, source=replace(t.source, profile=profile)) for t in derived if (t.claim, t.condition) not in known_better]
    return (*taken, *own)


def command(*, profile: str, programs: int, seed: int, workers: int, seconds: float | None = None, json: Path | None = None) -> int:
    """Run about `programs` programs, shared by the specification's instances; print the matrix and give its exit code.

    Each condition of programs of messages gets as many as an instance gets, on top of them.
    """
    chosen = tasks(known("profile", profile, PROFILES))
    folder = store.DEFAULT_FOLDER
    instances = sum(not unit.source.is_messages for unit in matrix.units(chosen, folder))
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
