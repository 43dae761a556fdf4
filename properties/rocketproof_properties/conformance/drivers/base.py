"""The common base of all targets: an action is a method `_do_<its name>`, and the observed values become a state of the specification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from rocketproof_impl.simulator.cluster import Node
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_model import Action, Instance, Model, ModelError, RocketproofError
from rocketproof_model.interpreter import State

Seen = dict[Any, Any]
"""Values of variables by name; of indexed variables by name and indices."""


class Deviation(RocketproofError):
    """The target is in a state that the specification cannot represent, or cannot do what the specification allows."""


class ModelDriver(ABC):
    """A target that performs the actions of a scope."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.constants = instance.readable()

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the target may take this step now: an implementation may choose among allowed steps."""
        del action, args
        return True

    def perform(self, action: Action, args: Sequence[int]) -> None:
        """Perform the action. Raises Deviation if the target cannot."""
        getattr(self, f"_do_{action.name}", self._other)(**decoded(action, args))
        self._performed()

    def _other(self, **values: Any) -> None:
        """Perform an action that has no method of its own."""
        raise Deviation(f"{type(self).__name__} has no action with the values {values}: the specification has it")

    def _performed(self) -> None:  # noqa: B027 - most targets have nothing to add
        """Run after every action."""

    @abstractmethod
    def seen(self) -> Seen:
        """Return the values of the scope's variables."""

    def observe(self) -> State:
        """Return the target's state of the specification. Raises Deviation if the specification cannot represent it."""
        values = self.seen()
        return tuple([_encoded(values[key], element, encode) for key, element, encode in _elements(self.instance.model)])


def serving(node: Node, known: Collection[SimulatedThread[Any]], whom: str) -> SimulatedThread[Any]:
    """Return the new thread that serves a request: the broker's only thread for sends that is not in `known`."""
    new = [task for task in node.executors["send"].running if task not in known]
    if len(new) != 1:
        raise Deviation(f"{len(new)} threads serve {whom}: one is expected")
    return new[0]


def decoded(action: Action, args: Sequence[int]) -> dict[str, Any]:
    """Return the arguments of an action by name."""
    return {name: type_.decode(code) for (name, type_), code in zip(action.parameters.items(), args, strict=True)}


@cache
def _elements(model: Model) -> tuple[tuple[Any, str, Callable[[Any], int]], ...]:
    """Return, for each slot of a state, the key of its value in `seen`, the element's name, and its encoding function."""
    return tuple(
        (
            (variable.name, *at) if at else variable.name,
            f"{variable.name}[{','.join(map(str, at))}]" if at else variable.name,
            variable.type.encode,
        )
        for variable in model.variables
        for at in variable.elements()
    )


def _encoded(value: Any, element: str, encode: Callable[[Any], int]) -> int:
    try:
        return encode(value)
    except ModelError as error:
        raise Deviation(f"{element}: {error.problem}") from None
