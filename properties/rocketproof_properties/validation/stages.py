"""The order of programs: which configurations share a broker, and which programs run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..programs import settings
from ..programs.program import Program
from ..programs.settings import ENDED, FLUSHED, LARGE

FIRST: Final = 250
"""Number of programs without special settings that run before those with settings, if there are at least twice as many.

A run that ends early has then tried most settings. The rest runs last.
"""
EARLY: Final = 4
"""One in four programs that end the broker's process runs before all others. So does each such program that lets time pass."""

LONG: Final = 1000
"""Milliseconds of a wait after which a program does not run alone."""


def stages_of(groups: Mapping[str, Sequence[Program]]) -> list[dict[str, Sequence[Program]]]:
    """Return the stages, each on one target after the other: the programs of each configuration.

    The first stages have some programs with their own broker. Stages with the largest messages follow, because they take long and their
    findings should appear early.
    """
    result = [{needs: groups[needs] for needs in stage} for stage in settings.stages(groups)]
    plain = groups.get("", ())
    if len(plain) >= 2 * FIRST and len(result) > 1:
        return [*stages_of({**groups, "": plain[:FIRST]}), {"": plain[FIRST:]}]
    result.sort(key=lambda stage: not {LARGE, FLUSHED} & stage.keys())
    ending = [program for program in groups.get(ENDED, ()) if not program.waits]
    asking = [program for program in groups.get(ENDED, ()) if program.waits]
    early = len(ending) // EARLY
    if (early or asking) and "" in groups:
        late: dict[str, Sequence[Program]] = {ENDED: ending[early:]}
        result = [{ENDED: [*ending[:early], *asking]}, *(stage if ENDED not in stage else late for stage in result)]
    return [stage for stage in result if any(stage.values())]


def looks(program: Program) -> bool:
    """Return whether it reads routes of topics that its own requests may create or change.

    Concurrent programs can hide such changes (NS-03). The few that wait for LONG are not counted: alone they would take as much time as all
    others.
    """
    names = {name for name, _ in program.steps}
    waits_long = any(name == "time" and arguments.get("millis", 0) >= LONG for name, arguments in program.steps)
    return "route" in names and bool(names & {"send", "topic", "back"}) and not (program.concurrent or waits_long)
