"""Smaller programs that show the same on one target, which performs each of them, within a time."""

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
    """The smallest program found in this time that still shows what `first` does; `first` itself if it does not come again."""
    end = time.monotonic() + seconds

    def tried(steps: Sequence[Step]) -> RecordedProgram | None:
        if not steps or time.monotonic() > end or runner.bounds.over:
            return None
        again = RecordedProgram.read(runner.perform(replace(first.program, steps=tuple(steps))))
        return again if again.tells and shows(again) else None

    found = tried(first.program.steps)
    return first if found is None else shrink(found.program.steps, found, tried, simpler=simpler_steps)[1]


def all_smallest(
    stage: Stage, wanted: Mapping[Key, tuple[RecordedProgram, Shows]], seconds: float, progress: Progress
) -> dict[Key, RecordedProgram]:
    """The smallest program of each, which gets so many seconds. Raises TargetError."""
    found: dict[Key, RecordedProgram] = {}
    programs = {number: (key, replace(one.program, number=number)) for number, (key, (one, _)) in enumerate(wanted.items(), 1)}
    for runner, group in stage.runners([program for _, program in programs.values()]):
        for program in group:
            key = programs[program.number][0]
            one, shows = wanted[key]
            progress("making smaller program", len(found) + 1, len(wanted))
            found[key] = smallest(runner, one, shows, seconds)
    return found


def steps_of(program: Program) -> list[list[object]]:
    """A program's steps as JSON has them."""
    return [[name, dict(args)] for name, args in program.steps]


def plain(value: Any) -> Any:
    """A value as JSON has it; bytes by their number."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, dict | str | int | float | bool) or value is None else str(value)


def write_report(path: Path, data: Mapping[str, Any]) -> None:
    """Write a report beside its histories. Raises InputError if it cannot be written."""
    try:
        path.write_text(json_text(data, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise InputError(
            f"the report cannot be written to {path} ({error.strerror}); free some space there or give another folder"
        ) from None
