"""Random walks through the state graphs of the cover, for generated programs: each step takes what was taken least often in its state.

A walk explores only the states that it passes, so it begins at once. Over many programs all transitions are taken.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from rocketproof_model.interpreter import State, initial

from ..phrase import WAITING
from ..pool import DrawCounts
from ..vocabulary import Step
from .scopes import DRIVEN, NAME_SERVER_SCOPES
from .statespace import Choice, NotTaken, OutsideModel

_LEAST, _MOST = 4, 12  # transitions of a walk


class DrawnTransition(NamedTuple):
    """A transition: the part of a scope, the state before it, and the choice. Draws are counted by it."""

    part: str
    state: State
    choice: Choice


_WALKED: Final = tuple(scope for scope in DRIVEN if scope not in ("settings", "sizes", "restart"))
"""The scopes that are not about settings of the broker."""


@cache
def walked(scope: str, profile: str) -> tuple[OutsideModel, ...]:
    """Return the parts of a scope that need no settings of the broker."""
    return tuple(part for part in DRIVEN[scope](profile) if not part.needs)


def walk(seen: DrawCounts, profile: str, *, name_server: bool = True, waits: bool = True) -> list[Step]:
    """Return a program that takes the rarest transition in each state, in the part that was walked least often."""
    scopes = [scope for scope in _WALKED if name_server or scope not in NAME_SERVER_SCOPES]
    scope = seen.rarest(scopes, lambda name: [name])
    part = seen.rarest(walked(scope, profile), lambda model: [(scope, model.part)])
    seen.note([scope, (scope, part.part)])
    state, steps = part.normal(part.start or initial(part.instance)), [*part.prelude]
    for _ in range(seen.chance.randint(_LEAST, _MOST)):
        offered = {
            DrawnTransition(part.part, state, choice): done
            for choice in part.choices(state)
            if (done := _steps(part, choice, state, waits=waits)) is not None
        }
        if not offered:
            break
        taken = seen.rarest([*offered], lambda transition: [transition])
        seen.note([taken])
        steps += offered[taken]
        state = part.normal(part.taken(state, taken.choice)[0][-1])
    return steps


def _steps(part: OutsideModel, choice: Choice, state: State, *, waits: bool) -> list[Step] | None:
    """Return the steps of a choice; None if there are none, or if they let time pass and `waits` is false."""
    steps = part.steps[choice.action](part.values(choice), state)
    if isinstance(steps, NotTaken) or (not waits and any(name in WAITING for name, _ in steps)):
        return None
    return [*steps]
