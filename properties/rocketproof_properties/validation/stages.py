"""The order in which programs are performed: what can be had on one broker after the other, and who is alone with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..programs import settings
from ..programs.program import Program
from ..programs.settings import ENDED, FLUSHED, LARGE

FIRST: Final = 250
"""Of programs that need nothing so many come before those with settings, where there are twice as many: a run that ends early has tried
most settings then. The others come last."""
EARLY: Final = 4
"""One in so many programs behind which a process ends comes before all others, and each that waits for a question on such a broker."""


def stages_of(groups: Mapping[str, Sequence[Program]]) -> list[dict[str, Sequence[Program]]]:
    """What is performed on one target after the other: the programs of each configuration. Some of those that have a broker for themselves
    come first, and those with the largest messages behind them: they take long, and what they show nobody should have to wait for."""
    found = [{needs: groups[needs] for needs in stage} for stage in settings.stages(groups)]
    plain = groups.get("", ())
    if len(plain) >= 2 * FIRST and len(found) > 1:
        return [*stages_of({**groups, "": plain[:FIRST]}), {"": plain[FIRST:]}]
    found.sort(key=lambda stage: not {LARGE, FLUSHED} & stage.keys())
    ending = [one for one in groups.get(ENDED, ()) if not one.waits]
    asking = [one for one in groups.get(ENDED, ()) if one.waits]
    early = len(ending) // EARLY
    if (early or asking) and "" in groups:
        late: dict[str, Sequence[Program]] = {ENDED: ending[early:]}
        found = [{ENDED: [*ending[:early], *asking]}, *(one if ENDED not in one else late for one in found)]
    return [stage for stage in found if any(stage.values())]


def looks(program: Program) -> bool:
    """Whether it looks at routes of topics that its requests may make or change: what others make meanwhile can hide that (NS-03)."""
    names = {name for name, _ in program.steps}
    return "route" in names and bool(names & {"send", "topic", "back"}) and not program.concurrent
