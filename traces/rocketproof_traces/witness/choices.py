"""The action instances in a state: the enabled ones with their effects, and the refused ones with the guard that refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocketproof_model import Action, EvaluationError, Guard, Instance
from rocketproof_model.interpreter import Environment, State, effect, evaluate


@dataclass(frozen=True, eq=False)
class ActionChoice:
    """One action instance in a state, enabled if `refused` is None.

    `after` is the state it leads to, None if it is refused or its effect has no value. `error` states why a guard or the effect has no
    value.
    """

    action: Action
    args: tuple[int, ...]
    refused: Guard | None
    after: State | None
    error: str = ""

    @property
    def label(self) -> str:
        return self.action.label(self.args)


def choices(instance: Instance, state: State) -> Iterator[ActionChoice]:
    """Yield every action instance, in the order of the model."""
    for action in instance.model.actions:
        for args in action.instances:
            yield choice(instance, state, action, args)


def choice(instance: Instance, state: State, action: Action, args: Sequence[int]) -> ActionChoice:
    """Evaluate an action instance: its guards in order and, if none refuses, its effect."""
    args = tuple(args)
    refused, error = refusing(instance, state, action, args)
    if refused is not None:
        return ActionChoice(action, args, refused, None, error)
    try:
        return ActionChoice(action, args, None, effect(instance, state, action, args))
    except EvaluationError as problem:
        return ActionChoice(action, args, None, None, str(problem))


def refusing(instance: Instance, state: State, action: Action, args: Sequence[int]) -> tuple[Guard | None, str]:
    """Return the first guard that refuses or has no value, and why it has none."""
    scope = scope_of(instance, state, action, args)
    for guard in action.guards:
        try:
            if not evaluate(guard.condition, scope):
                return guard, ""
        except EvaluationError as error:
            return guard, str(error)
    return None, ""


def scope_of(instance: Instance, state: State, action: Action, args: Sequence[int]) -> Environment:
    """Return the environment of an action instance's guards."""
    return Environment(state, dict(zip(action.parameters, args, strict=True)), instance.constants)


__all__ = ["ActionChoice", "choice", "choices", "refusing", "scope_of"]
