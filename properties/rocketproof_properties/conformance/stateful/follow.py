"""Follows one program on the implementation: after each step its state must be one that the specification allows.

A step that is not allowed raises ConformanceError. The error states the variables that differ, the action that would explain the state, if
any, and the guard that rejects it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rocketproof_model import Action, EvaluationError, Instance, Property, RocketproofError
from rocketproof_model.interpreter import State, effect, holds, initial, labelled, refusing
from rocketproof_model.language import Bool, const
from rocketproof_model.result import Move, Witness

from .offers import Args, Offers

if TYPE_CHECKING:  # the drivers load the implementation, which the explorer need not wait for
    from ..drivers.base import ModelDriver

STEPS: Final = "steps"
"""The property id of a witness with a finding's steps."""
ALLOWED: Final = "each step is one that the specification allows"


def allowed(instance: Instance) -> Property:
    """Return the property that a finding violates. No state of the specification violates it."""
    return instance.model.claim(STEPS, ALLOWED, "always", const(1, Bool))


class ConformanceError(AssertionError):
    """The implementation did something that the specification does not allow.

    `moves`: the program. `steps`: its labels. `course`: the specification's states for these steps as a witness, with the
    implementation's behaviour in its note.
    """

    def __init__(self, text: str, run: FollowedProgram) -> None:
        super().__init__(text)
        self.text = text
        self.moves = tuple(run.moves)
        self.steps = run.steps
        self.course = replace(run.witness(allowed(run.instance)), states=_followed(run), note=text)


class NeverTaken(RocketproofError):
    """A step that the specification allows and the implementation never takes in this state. `action`: the action's name."""

    def __init__(self, action: Action, args: Args) -> None:
        super().__init__(f"{action.label(args)}: the specification allows this step, the implementation never takes it here")
        self.action = action.name


def _followed(run: FollowedProgram) -> tuple[State, ...]:
    """Return the states of a run, with the specification's successor for its last step."""
    if len(run.states) > len(run.moves):
        return tuple(run.states)
    last = run.moves[-1]
    return (*run.states, effect(run.instance, run.state, run.instance.model.named(last.action), last.args))


@dataclass
class FollowedProgram:
    """A program in progress, with its states so far. After every step, the implementation's state is compared with the specification's."""

    instance: Instance
    driver: ModelDriver
    offers: Offers
    moves: list[Move] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def begin(self) -> None:
        """Compare the initial states. Raises ConformanceError."""
        state = initial(self.instance)
        self.states = [state]
        actual = self._observed("at the start")
        if actual != state:
            raise ConformanceError(f"the initial state differs:\n{self.differences(state, actual)}", self)

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def steps(self) -> list[str]:
        return [self.instance.model.named(m.action).label(m.args) for m in self.moves]

    def attempt(self, move: Move) -> bool:
        """Perform a step if the specification allows it and the driver can. Return whether it was performed. Raises ConformanceError."""
        action = self.instance.model.named(move.action)
        return refusing(self.instance, self.state, action, move.args) is None and self.take(action, move.args)

    def step(self, action: Action, args: Args) -> None:
        """Perform an enabled action. Raises ConformanceError, and NeverTaken if the driver never takes it."""
        if not self.take(action, args):
            raise NeverTaken(action, args)

    def take(self, action: Action, args: Args) -> bool:
        """Perform an enabled action if the driver can. Return whether it did. Raises ConformanceError."""
        if not self.driver.can(action, args):
            return False
        before = self.state
        self.moves.append(Move(action.name, tuple(args)))
        try:
            self.driver.perform(action, args)
        except RocketproofError as error:
            raise ConformanceError(f"{action.label(args)} cannot be done: {error}", self) from error
        expected = self.offers.functions[action.name].effect(before, args)
        actual = self._observed(f"after {action.label(args)}")
        if actual != expected:
            raise ConformanceError(self._explained(action, args, actual, expected), self)
        self.offers.taken[action.name] += 1
        self.offers.pairs.update((earlier.action, action.name) for earlier in self.moves[-2:-1])
        self.states.append(actual)
        return True

    def witness(self, property_: Property) -> Witness:
        """Return the run as a witness of the model."""
        return Witness(self.instance, property_, tuple(self.moves), tuple(self.states))

    def _observed(self, when: str) -> State:
        try:
            return self.driver.observe()
        except RocketproofError as error:
            raise ConformanceError(f"{when}: {error}", self) from error

    def _explained(self, action: Action, args: Args, actual: State, expected: State) -> str:
        """Describe the differences, and which action leads to the implementation's state, with the guard that rejects it."""
        differs = self.differences(expected, actual)
        text = f"{action.label(args)} should lead elsewhere:\n{differs}"
        for other in self.instance.model.actions:
            for values in other.instances:
                try:
                    if effect(self.instance, self.state, other, values) != actual:
                        continue
                except EvaluationError:
                    continue
                guard = refusing(self.instance, self.state, other, values)
                if guard is None:
                    return f"{text}\nIt did {other.label(values)} instead."
                sentence = guard.sentence or guard.name
                return f"{text}\nIt did {other.label(values)}, which the guard '{guard.name}' refuses: it is not so that {sentence}"
        return f"{text}\nNo action of the specification does that."

    def differences(self, expected: State, actual: State) -> str:
        """Return the variables in which two states differ, one per line."""
        wanted, present = labelled(self.instance, expected), labelled(self.instance, actual)
        return "\n".join(
            f"  {name}: {wanted[name]} was expected, {present[name]} was found" for name in wanted if wanted[name] != present[name]
        )

    def satisfied(self, claim: Property) -> bool:
        """Return whether the last state, or the last step, satisfies the property."""
        if claim.kind == "step":
            return len(self.states) < 2 or holds(self.instance, claim.formula, self.states[-2], self.states[-1])
        return holds(self.instance, claim.formula, self.states[-1])
