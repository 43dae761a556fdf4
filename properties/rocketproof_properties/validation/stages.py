"""The order in which programs are performed: what can be had on one broker after the other, and who is alone with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..generators import settings
from ..generators.programs import Program
from ..generators.settings import ENDED, LARGE

EARLY: Final = 4
"""One in so many programs behind which a process ends comes before all others."""


def stages_of(groups: Mapping[str, Sequence[Program]]) -> list[dict[str, Sequence[Program]]]:
    """What is performed on one target after the other: the programs of each configuration. Some of those behind which a process ends come
    first, and those with the largest messages behind them: they take long, and what they show nobody should have to wait for."""
    found = sorted(({needs: groups[needs] for needs in stage} for stage in settings.stages(groups)), key=lambda stage: LARGE not in stage)
    ended = groups.get(ENDED, ())
    early = len(ended) // EARLY if "" in groups else 0
    if early:
        found = [{ENDED: ended[:early]}, *(one if ENDED not in one else {ENDED: ended[early:]} for one in found)]
    return [stage for stage in found if stage]


def looks(program: Program) -> bool:
    """Whether it looks at routes of topics that its requests may make or change: what others make meanwhile can hide that (NS-03)."""
    names = {name for name, _ in program.steps}
    return "route" in names and bool(names & {"send", "topic", "back"}) and not program.concurrent
