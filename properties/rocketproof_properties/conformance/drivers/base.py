"""The common base of all drivers: objects that perform the actions of one model on the implementation and read its state.

An action is performed by the method `_do_` with the action's name. `seen` returns the values of the model's variables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import Node
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_model import Action, Instance, Model, ModelError, RocketproofError
from rocketproof_model.interpreter import State
from rocketproof_protocol import codes

Seen = dict[Any, Any]
"""Values of variables by name; of indexed variables by name and indices."""


class Deviation(RocketproofError):
    """The implementation is in a state that the specification cannot represent, or cannot do what the specification allows."""


class ActionPerformer:
    """Performs the actions of a model's instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.constants = instance.readable()

    def perform(self, action: Action, args: Sequence[int]) -> None:
        """Perform the action. Raises Deviation if the implementation cannot."""
        getattr(self, f"_do_{action.name}", self._other)(**decoded(action, args))
        self._performed()

    def _other(self, **values: Any) -> None:
        """Perform an action that has no method of its own."""
        raise Deviation(f"{type(self).__name__} has no action with the values {values}: the specification has it")

    def _performed(self) -> None:
        """Run after every action."""


class ModelDriver(ActionPerformer, ABC):
    """Performs the actions of a model on the implementation and reads its state as a state of the model."""

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the implementation may take this step now: it may choose among allowed steps."""
        del action, args
        return True

    @abstractmethod
    def seen(self) -> Seen:
        """Return the values of the model's variables."""

    def observe(self) -> State:
        """Return the implementation's state as a state of the model. Raises Deviation if the model cannot represent it."""
        values = self.seen()
        return tuple([_encoded(values[key], element, encode) for key, element, encode in _elements(self.instance.model)])


def require(is_so: object, problem: str) -> None:
    """Raise a Deviation with the text `problem` unless the condition is true."""
    if not is_so:
        raise Deviation(problem)


def accepted(answer: Command, what: str) -> Command:
    """Return the response to a request, which must be SUCCESS. `what`: the request, for the text of the Deviation."""
    require(answer.code == codes.SUCCESS, f"{what} is answered {answer.code} ({answer.remark}): the specification allows it")
    return answer


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
