"""`rocketproof test`: run programs of the specification on the implementation, in every case of the catalogue.

The catalogue has no complete set of verdicts for some profiles. Such a profile is tested with the verdicts of P49, which it refines, and
with its own verdicts where it has some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocketproof_model.result import Limits
from rocketproof_profiles import PROFILES

from ...catalogue.claim import SEEDS
from ...catalogue.source import ModelSource
from ...conformance.stateful import engine
from ...conformance.stateful.follow import ConformanceError
from ...reports.choices import known
from . import matrix, memory, programs_summary, witnessfiles
from .plan import CheckRequest, CheckTask, plan
from .show import RunLine

BASE = "P49"
COMMAND = "test"
"""The name under which failures are remembered."""


def tasks(profile: str) -> tuple[CheckTask, ...]:
    """Return the tasks of the stateful engine: every property of states and histories in every case of the profile."""
    from ...catalogue.table import CASES

    named = any(case.profile == profile for case in CASES)
    own = plan(CheckRequest(profiles=(profile,), engine="stateful")).tasks if named else ()
    if profile in SEEDS:
        return own
    derived = plan(CheckRequest(profiles=(BASE,), engine="stateful")).tasks
    overridden = {(task.claim, task.condition) for task in own}
    inherited = [replace(t, source=replace(t.source, profile=profile)) for t in derived if (t.claim, t.condition) not in overridden]
    return (*inherited, *own)


def run(
    *, profile: str, programs: int, seed: int, workers: int, seconds: float | None = None
) -> tuple[matrix.CheckReport, programs_summary.TestRun]:
    """Run about `programs` programs, divided among the instances of the specification. Return the verdicts, and what was run.

    Each condition of programs of messages gets the same number as an instance, in addition to `programs`.
    """
    profile = known("profile", profile, PROFILES)
    chosen = tasks(profile)
    folder = witnessfiles.DEFAULT_FOLDER
    units = matrix.units(chosen, folder)
    instances = sum(not unit.source.is_messages for unit in units)
    settings = matrix.Settings(
        seconds=seconds,
        memory=matrix.default_memory(),
        workers=workers,
        seed=seed,
        programs=max(1, -(-programs // instances)),
        fair=True,
        witnesses=folder,
        first=memory.read(COMMAND),
    )
    with RunLine() as line:
        report = matrix.run(chosen, line, settings)
        stopped = report.interrupted or (seconds is not None and report.exit_code == 3)
        never = [] if stopped else [gap.action for gap in report.gaps if gap.missing == "action"]
        reached, problems = _reach(never, chosen)
    report.gaps = [gap for gap in report.gaps if gap.action not in reached]
    report.covered = {label: (happened + len(reached), of) for label, (happened, of) in report.covered.items()}
    report.problems += problems
    memory.keep(COMMAND, chosen, report.rows, settings.first, report.broken)
    return report, programs_summary.TestRun(profile, settings.programs, instances, len(units) - instances, seed, stopped)


def _reach(actions: list[str], chosen: Sequence[CheckTask]) -> tuple[set[str], list[str]]:
    """Perform each action that no program reached, by the shortest path of a search, in the first source that has it.

    Return the performed actions, and a problem for each other action.
    """
    sources = list(dict.fromkeys(task.source for task in chosen if not task.source.is_messages))
    done: set[str] = set()
    problems = []
    for name in actions:
        try:
            if any(_covers(source, name) for source in sources):
                done.add(name)
            else:
                problems.append(f"{name} never ran, though the profile's switches allow it; give more --programs")
        except ConformanceError as finding:
            problems.append(finding.text)
    return done, problems


def _covers(source: ModelSource, name: str) -> bool:
    subject = source.subject()
    known = any(action.name == name for action in subject.instance.model.actions)
    return known and engine.cover(source, subject, name, Limits(states=engine.LONGER)) is not None
