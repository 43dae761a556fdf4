"""Transition tours of a small scope: programs that take each request, and each change by an administrator, in every state of its topic.

The specification says what is enabled, and what a request that is served whole leaves in the table of topics. Each step is one that was
taken least often in the state that its topic has by then, as a rotor would choose, so that in the end every transition is taken, however
few programs there are to begin with. What only counts, such as offsets and versions, is as at the start again behind each step, so that no
bound of the scope ends a tour.
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
"""All programs share the template, which therefore keeps what it is."""


class Transition(NamedTuple):
    """An action with the codes of its arguments, and the topic that it is about."""

    action: str
    args: tuple[int, ...]
    topic: int


class TourTransition(NamedTuple):
    """A transition, and what the table said of its topic before: this is what is counted."""

    transition: Transition
    table: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of topics that requests of one client lead to, as states of the specification in which nothing else has happened."""

    instance: Instance

    @cached_property
    def start(self) -> State:
        return initial(self.instance)

    @cached_property
    def _offers(self) -> Offers:
        return Offers(self.instance)

    @cached_property
    def _table(self) -> tuple[tuple[int, ...], ...]:
        """By topic, where a state has what its table says of it."""
        columns = [one for one in self.instance.model.variables if one.name.startswith("config.")]
        return tuple(tuple(column.slot((0, topic)) for column in columns) for topic in range(len(SCOPE.topics)))

    def of(self, state: State, topic: int) -> tuple[int, ...]:
        """What the table says of a topic."""
        return tuple(state[slot] for slot in self._table[topic])

    def enabled(self, state: State) -> Iterator[Transition]:
        """What a client or an administrator may do, but for changes of the template."""
        offered = self._offers.enabled(state)
        for name in TAKEN:
            place = [*self._action(name).parameters].index("t")
            for args in offered.get(name, ()):
                if name == "request" or args[place] != _OWN:
                    yield Transition(name, args, args[place])

    def after(self, state: State, taken: Transition) -> State:
        """The table once it was served and registered, and nothing else of what happened."""
        state = self._offers.functions[taken.action].effect(state, taken.args)
        while (served := self._served(state)) is not None:
            name, args = served
            state = self._offers.functions[name].effect(state, args)
        kept = {slot for slots in self._table for slot in slots}
        return tuple(code if slot in kept else self.start[slot] for slot, code in enumerate(state))

    def values(self, taken: Transition) -> dict[str, Any]:
        """The values of what was chosen, by the parameters' names."""
        types = self._action(taken.action).parameters
        return {name: type_.decode(code) for (name, type_), code in zip(types.items(), taken.args, strict=True)}

    def _served(self, state: State) -> tuple[str, tuple[int, ...]] | None:
        """The next thing that happens by itself; with one client the order makes no difference to the table."""
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
    """A program that goes on from the start with what was taken least often in the states that it comes to."""
    machine = tables(profile)
    state, steps = machine.start, list[Step]()
    for _ in range(seen.chance.randint(_LEAST, _MOST)):
        choices = [TourTransition(one, machine.of(state, one.topic)) for one in machine.enabled(state)]
        taken = seen.rarest(choices, lambda one: [one])
        seen.note([taken])
        steps.append(_step(machine.values(taken.transition), taken.transition.action))
        state = machine.after(state, taken.transition)
    return steps


def _step(values: dict[str, Any], action: str) -> Step:
    given = {name: value for name, value in values.items() if name not in ("p", "b", "size")}
    return STEPS[action]([TOPICS.get(kind, "A") for kind in SCOPE.topics], _BODY, **given)
