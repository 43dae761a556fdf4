"""Transition tours of a small scope: programs that take every request and administrative change in every state of its topic.

The specification decides what is enabled and which topic table results. Each step takes the transition that was taken least often in the
current state of its topic. Over all programs every transition is taken. After each step counters such as offsets and versions return to
their initial values, so that no bound of the scope ends a tour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from rocketproof_model import Action, Instance, Model
from rocketproof_model.interpreter import State, initial
from rocketproof_spec import SCOPES, constants, specify

from .actions import STEPS, TOPICS
from .offers import Offers
from .pool import DrawCounts
from .vocabulary import Step

SCOPE: Final = replace(SCOPES["names"], name="tours", topics=("template", "retry", "ordinary"), deletes=True)
TAKEN: Final = ("request", "update_topic", "delete_topic")
_BODY: Final = 200  # bytes of a message
_LEAST, _MOST = 4, 12  # steps of a program
_CHANCE: Final = ("lock_timeout", "lose_registration")
_OWN: Final = SCOPE.topics.index("template")
"""The index of the template. All programs share it, so that it is never changed."""


class Transition(NamedTuple):
    """An action with its encoded arguments, and the index of its topic."""

    action: str
    args: tuple[int, ...]
    topic: int


class TourTransition(NamedTuple):
    """A transition and the table's row for its topic before it. Draws are counted by this pair."""

    transition: Transition
    table: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tables:
    """The topic tables that requests of one client lead to, as states of the specification that are otherwise initial."""

    instance: Instance

    @cached_property
    def start(self) -> State:
        return initial(self.instance)

    @cached_property
    def _offers(self) -> Offers:
        return Offers(self.instance)

    @cached_property
    def _table(self) -> tuple[tuple[int, ...], ...]:
        """For each topic, the slots of a state that hold its row of the table."""
        columns = [variable for variable in self.instance.model.variables if variable.name.startswith("config.")]
        return tuple(tuple(column.slot((0, topic)) for column in columns) for topic in range(len(SCOPE.topics)))

    def of(self, state: State, topic: int) -> tuple[int, ...]:
        """Return the table's row for a topic."""
        return tuple(state[slot] for slot in self._table[topic])

    def enabled(self, state: State) -> Iterator[Transition]:
        """Yield the enabled transitions of clients and administrators, without changes of the template."""
        offered = self._offers.enabled(state)
        for name in TAKEN:
            place = [*self._action(name).parameters].index("t")
            for args in offered.get(name, ()):
                if name == "request" or args[place] != _OWN:
                    yield Transition(name, args, args[place])

    def after(self, state: State, taken: Transition) -> State:
        """Return the state after the request was served and registered. Only the topic table is kept; the rest is initial."""
        state = self._offers.functions[taken.action].effect(state, taken.args)
        while (served := self._served(state)) is not None:
            name, args = served
            state = self._offers.functions[name].effect(state, args)
        kept = {slot for slots in self._table for slot in slots}
        return tuple(code if slot in kept else self.start[slot] for slot, code in enumerate(state))

    def values(self, taken: Transition) -> dict[str, Any]:
        """Return the decoded arguments of a transition by parameter names."""
        types = self._action(taken.action).parameters
        return {name: type_.decode(code) for (name, type_), code in zip(types.items(), taken.args, strict=True)}

    def _served(self, state: State) -> tuple[str, tuple[int, ...]] | None:
        """Return the next internal action. With one client, their order does not affect the table."""
        offered = self._offers.enabled(state)
        return next(((name, args[0]) for name, args in offered.items() if name not in (*TAKEN, *_CHANCE)), None)

    def _action(self, name: str) -> Action:
        return self.instance.model.named(name)


@cache
def _model() -> Model:
    return specify(SCOPE).model


@cache
def tables(profile: str) -> Tables:
    return Tables(_model().given(**constants(profile, update_budget=-1)))


def tour(seen: DrawCounts, profile: str) -> list[Step]:
    """Return a program that repeatedly takes the transition that was taken least often in the current state."""
    machine = tables(profile)
    state, steps = machine.start, list[Step]()
    for _ in range(seen.chance.randint(_LEAST, _MOST)):
        choices = [TourTransition(enabled, machine.of(state, enabled.topic)) for enabled in machine.enabled(state)]
        taken = seen.rarest(choices, lambda candidate: [candidate])
        seen.note([taken])
        steps.append(_step(machine.values(taken.transition), taken.transition.action))
        state = machine.after(state, taken.transition)
    return steps


def _step(values: dict[str, Any], action: str) -> Step:
    arguments = {name: value for name, value in values.items() if name not in ("p", "b", "size")}
    return STEPS[action]([TOPICS.get(kind, "A") for kind in SCOPE.topics], _BODY, **arguments)
