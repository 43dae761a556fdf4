"""Shrink recorded programs on a target, which runs each candidate, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rocketproof_protocol.shown import json_text

from ...brokers.runs.runner import Runner
from ...programs.program import Program
from ...programs.shrink import shrink, simpler_steps
from ...programs.vocabulary import Step
from ...reports.choices import InputError
from .staging import Progress, Stage
from .switching import RecordedProgram

Key = TypeVar("Key")
Shows = Callable[[RecordedProgram], bool]


def smallest(runner: Runner, first: RecordedProgram, shows: Shows, seconds: float) -> RecordedProgram:
    """Return the smallest program found in this time that still shows what `first` shows; `first` itself if it is not reproduced."""
    end = time.monotonic() + seconds

    def attempt(steps: Sequence[Step]) -> RecordedProgram | None:
        if not steps or time.monotonic() > end or runner.bounds.over:
            return None
        again = RecordedProgram.read(runner.perform(replace(first.program, steps=tuple(steps))))
        return again if again.is_comparable and shows(again) else None

    reproduced = attempt(first.program.steps)
    return first if reproduced is None else shrink(reproduced.program.steps, reproduced, attempt, simpler=simpler_steps)[1]


def all_smallest(
    stage: Stage, to_shrink: Mapping[Key, tuple[RecordedProgram, Shows]], seconds: float, progress: Progress
) -> dict[Key, RecordedProgram]:
    """Shrink each program for `seconds`. Raises TargetError."""
    result: dict[Key, RecordedProgram] = {}
    programs = {number: (key, replace(recorded.program, number=number)) for number, (key, (recorded, _)) in enumerate(to_shrink.items(), 1)}
    for runner, group in stage.runners([program for _, program in programs.values()]):
        for program in group:
            key = programs[program.number][0]
            recorded, shows = to_shrink[key]
            progress("making smaller program", len(result) + 1, len(to_shrink))
            result[key] = smallest(runner, recorded, shows, seconds)
    return result


def steps_of(program: Program) -> list[list[object]]:
    """Return a program's steps as JSON values."""
    return [[name, dict(args)] for name, args in program.steps]


def plain(value: Any) -> Any:
    """Return a value as a JSON value; bytes are described by their number."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, dict | str | int | float | bool) or value is None else str(value)


def write_report(path: Path, data: Mapping[str, Any]) -> None:
    """Write a report next to its histories. Raises InputError if it cannot be written."""
    try:
        path.write_text(json_text(data, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise InputError(
            f"the report cannot be written to {path} ({error.strerror}); free some space there or give another folder"
        ) from None
