"""Every case of the catalogue on the simulated cluster: the verdict of the stateful engine is the expected one."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from rocketproof_model.result import Coverage
from rocketproof_properties.commands.checks import matrix, programs
from rocketproof_properties.commands.checks.decide import decide
from rocketproof_properties.commands.checks.plan import CheckTask
from rocketproof_properties.commands.checks.units import Budget, Unit, UnitResult
from rocketproof_spec import FAULTS

PROFILES = ("P40", "P45", "P49", "P494")
USUAL = "P49"
"""The profile of the default tests, which take the first case of each scope. Profiles and settings differ in switches, whose tests in
tests/impl and tests/recordings run in each profile."""
PROGRAMS = 6
SELDOM = {"deletions": {"AUX-99", "REA-165"}}
"""By scope, what few programs show, and the search's shortest program cannot: it deletes a topic while its queue is being filled, which the
cluster never does."""


FAULT_PROFILES = dict.fromkeys(FAULTS, ("P49",)) | {"answers": ("P45", "P49"), "registrations": ("P494",)}
"""Where the profiles' switches make a difference; the other profiles would run the same code again."""


def _tasks() -> Iterator[CheckTask]:
    for profile in PROFILES:
        for task in programs.tasks(profile):
            if task.kind != "history" and profile in FAULT_PROFILES.get(task.source.scope, PROFILES):
                yield task


TASKS = tuple(_tasks())


def _key(unit: Unit) -> str:
    source = unit.source
    return " ".join([source.profile, source.scope, *(f"{k}={v}" for k, v in source.given)])


@cache
def _units(folder: str = ".") -> dict[str, Unit]:
    """Units by name, a profile at a time: profiles that agree in the specification's switches differ in the implementation."""
    from pathlib import Path

    found = {}
    for profile in PROFILES:
        for unit in matrix.units([t for t in TASKS if t.source.profile == profile], Path(folder)):
            found[_key(unit)] = unit
    return found


def _ids(unit: Unit) -> set[str]:
    return {task.property for task in unit.tasks}


def _cases() -> Iterator[Any]:
    usual: set[str] = set()
    for name, unit in _units().items():
        marks = [pytest.mark.behaviour(*sorted(_ids(unit)))]
        scope = unit.source.scope
        if unit.source.profile != USUAL or scope in usual:
            marks.append(pytest.mark.slow)
        else:
            usual.add(scope)
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [*_cases()])
def test_verdicts(name: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    answer: UnitResult = decide(_units()[name], Budget(programs=PROGRAMS, seed=7), lambda progress: None)
    assert answer.problems == []
    for row in answer.rows.values():
        seldom = row.id in SELDOM.get(_units()[name].source.scope, ()) and row.verdict == "unknown"
        assert row.agrees or seldom, f"{row.id} ({row.condition}): {row.verdict} {row.reason}, expected {row.expected}"
    assert isinstance(answer.coverage, Coverage)
