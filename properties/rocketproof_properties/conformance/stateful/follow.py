"""One program on a target: after each step the target's state must be one that the specification allows.

A step that it does not allow is a Finding. It gives the variables that differ, the action that would explain the state,
if there is one, and the guard that refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from rocketproof_model import Action, EvaluationError, Instance, Property, RocketproofError
from rocketproof_model.interpreter import State, effect, holds, initial, labelled, refusing
from rocketproof_model.language import Bool, const
from rocketproof_model.result import Move, Witness

from ...programs.offers import Args, Offers


class ActionTarget(Protocol):
    """Something that the specification's actions can be done on, and whose state can be read."""

    def perform(self, action: Action, args: Args) -> None:
        """Do the action. Raises RocketproofError if that cannot be done."""
        ...

    def can(self, action: Action, args: Args) -> bool:
        """Whether the target may take this step now: an implementation may choose among what is allowed."""
        ...

    def observe(self) -> State:
        """The state it is in. Raises RocketproofError if the specification has no word for it."""
        ...


STEPS: Final = "steps"
"""The id under which the course of a finding is kept as a witness."""
ALLOWED: Final = "each step is one that the specification allows"


def allowed(instance: Instance) -> Property:
    """What a finding breaks, and no state of the specification."""
    return instance.model.claim(STEPS, ALLOWED, "always", const(1, Bool))


class ConformanceError(AssertionError):
    """The target did what the specification does not allow. `moves` is the program, `steps` its labels; `course` is where the specification
    goes by these steps, as a witness whose note says what the target did."""

    def __init__(self, text: str, run: FollowedProgram) -> None:
        super().__init__(text)
        self.text = text
        self.moves = tuple(run.moves)
        self.steps = run.steps
        self.course = replace(run.witness(allowed(run.instance)), states=_followed(run), note=text)


class NeverTaken(RocketproofError):
    """A step that the specification allows and the target never takes in this state. `action` is the action's name."""

    def __init__(self, action: Action, args: Args) -> None:
        super().__init__(f"{action.label(args)}: the specification allows this step, the implementation never takes it here")
        self.action = action.name


def _followed(run: FollowedProgram) -> tuple[State, ...]:
    """The states of a run, with the one to which its last step leads in the specification."""
    if len(run.states) > len(run.moves):
        return tuple(run.states)
    last = run.moves[-1]
    return (*run.states, effect(run.instance, run.state, run.instance.model.named(last.action), last.args))


@dataclass
class FollowedProgram:
    """A program under way: the states so far, compared with the target's after every step."""

    instance: Instance
    target: ActionTarget
    offers: Offers
    moves: list[Move] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def begin(self) -> None:
        """Compare the initial states. Raises Finding."""
        state = initial(self.instance)
        self.states = [state]
        found = self._observed("at the start")
        if found != state:
            raise ConformanceError(f"the initial state differs:\n{self.differences(state, found)}", self)

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def steps(self) -> list[str]:
        return [self.instance.model.named(m.action).label(m.args) for m in self.moves]

    def attempt(self, move: Move) -> bool:
        """Do a step if the specification allows it and the target can, and say whether it was done. Raises Finding."""
        action = self.instance.model.named(move.action)
        return refusing(self.instance, self.state, action, move.args) is None and self.take(action, move.args)

    def step(self, action: Action, args: Args) -> None:
        """Do an action that is enabled. Raises Finding, and Refused where the target never takes it."""
        if not self.take(action, args):
            raise NeverTaken(action, args)

    def take(self, action: Action, args: Args) -> bool:
        """Do an action that is enabled if the target can, and say whether it did. Raises Finding."""
        if not self.target.can(action, args):
            return False
        before = self.state
        self.moves.append(Move(action.name, tuple(args)))
        try:
            self.target.perform(action, args)
        except RocketproofError as error:
            raise ConformanceError(f"{action.label(args)} cannot be done: {error}", self) from error
        expected = self.offers.functions[action.name].effect(before, args)
        found = self._observed(f"after {action.label(args)}")
        if found != expected:
            raise ConformanceError(self._explained(action, args, found, expected), self)
        self.offers.taken[action.name] += 1
        self.offers.pairs.update((earlier.action, action.name) for earlier in self.moves[-2:-1])
        self.states.append(found)
        return True

    def witness(self, property_: Property) -> Witness:
        """What happened, as a witness of the model."""
        return Witness(self.instance, property_, tuple(self.moves), tuple(self.states))

    def _observed(self, when: str) -> State:
        try:
            return self.target.observe()
        except RocketproofError as error:
            raise ConformanceError(f"{when}: {error}", self) from error

    def _explained(self, action: Action, args: Args, found: State, expected: State) -> str:
        """What differs, and which action would have led here, with the guard that refuses it."""
        differs = self.differences(expected, found)
        text = f"{action.label(args)} should lead elsewhere:\n{differs}"
        for other in self.instance.model.actions:
            for values in other.instances:
                try:
                    if effect(self.instance, self.state, other, values) != found:
                        continue
                except EvaluationError:
                    continue
                guard = refusing(self.instance, self.state, other, values)
                if guard is None:
                    return f"{text}\nIt did {other.label(values)} instead."
                said = guard.sentence or guard.name
                return f"{text}\nIt did {other.label(values)}, which the guard '{guard.name}' refuses: it is not so that {said}"
        return f"{text}\nNo action of the specification does that."

    def differences(self, expected: State, found: State) -> str:
        """The variables in which two states differ, one a line."""
        one, two = labelled(self.instance, expected), labelled(self.instance, found)
        return "\n".join(f"  {name}: {one[name]} was expected, {two[name]} was found" for name in one if one[name] != two[name])

    def satisfied(self, claim: Property) -> bool:
        """Whether the last state, or the last step, satisfies the property."""
        if claim.kind == "step":
            return len(self.states) < 2 or holds(self.instance, claim.formula, self.states[-2], self.states[-1])
        return holds(self.instance, claim.formula, self.states[-1])
