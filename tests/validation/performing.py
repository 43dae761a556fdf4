"""A program that is performed on running brokers and judged by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation.validate import mark


def profile_of(running: Deployment) -> str:
    """Return the profile of an in-process target, which is named after it."""
    return running.name.partition(":")[2]


def performed(running: Deployment, folder: Path, *steps: Step) -> Path:
    """Return the history of the program on an in-process target named after the profile."""
    runner = Runner(running, folder, {"profile": profile_of(running)}, Bounds(2), mark())
    try:
        return runner.perform(Program(1, "", steps))
    finally:
        runner.close()


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], Iterable[dict[str, Any]]]) -> None:
    """Replace the events of a history by what `change` makes of them, and number them again."""
    header, *events = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    numbered = [{**event, "seq": number} if "seq" in event else event for number, event in enumerate(change(events))]
    path.write_text("".join(json.dumps(event) + "\n" for event in (header, *numbered)), "utf-8")


def judged(running: Deployment, folder: Path, *steps: Step) -> JudgedProgram:
    """Judge the program under the profile of an in-process target."""
    return judge_file(performed(running, folder, *steps), profile_of(running))
