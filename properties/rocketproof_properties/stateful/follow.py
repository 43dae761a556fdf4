"""One program on a target: after each step the target's state must be one that the specification allows.

A step that it does not allow is a Finding. It names the action that would explain the state and the guard that refuses
it, or, if no action explains it, the variables that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rocketproof_model import Action, EvaluationError, Instance, Property, RocketproofError
from rocketproof_model.interpreter import State, effect, holds, initial, readable, refusing
from rocketproof_model.result import Move, Witness

from .offers import Args, Offers


class Target(Protocol):
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


class Finding(AssertionError):
    """The target did what the specification does not allow, or broke a property. `steps` are the labels of the program."""

    def __init__(self, text: str, steps: Sequence[str], id_: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.steps = list(steps)
        self.id = id_


@dataclass
class Run:
    """A program under way: the states so far, compared with the target's after every step."""

    instance: Instance
    target: Target
    offers: Offers
    properties: tuple[Property, ...] = ()
    moves: list[Move] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def begin(self) -> None:
        """Compare the initial states."""
        state = initial(self.instance)
        self.states = [state]
        self._compare(None, self._observed("at the start"), state)
        self._judge()

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def steps(self) -> list[str]:
        return [self.instance.model.named(m.action).label(m.args) for m in self.moves]

    def step(self, action: Action, args: Args) -> None:
        """Do an action that is enabled. Raises Finding."""
        before = self.state
        self.moves.append(Move(action.name, tuple(args)))
        try:
            self.target.perform(action, args)
        except RocketproofError as error:
            raise Finding(f"{action.label(args)} cannot be done: {error}", self.steps) from error
        expected = effect(self.instance, before, action, args)
        found = self._observed(f"after {action.label(args)}")
        if found != expected:
            action, args = self._compare((action, args), found, expected)
            self.moves[-1] = Move(action.name, args)
        self.offers.taken[action.name] += 1
        self.states.append(found)
        self._judge()

    def witness(self, property_: Property) -> Witness:
        """What happened, as a witness of the model."""
        return Witness(self.instance, property_, tuple(self.moves), tuple(self.states))

    def _observed(self, when: str) -> State:
        try:
            return self.target.observe()
        except RocketproofError as error:
            raise Finding(f"{when}: {error}", self.steps) from error

    def _compare(self, asked: tuple[Action, Args] | None, found: State, expected: State) -> tuple[Action, Args]:
        """The enabled step that explains what was found; raises Finding if there is none."""
        if found == expected and asked is not None:
            return asked
        if found == expected:
            return self.instance.model.actions[0], ()
        if asked is None:
            raise Finding(f"the initial state differs:\n{self.differences(expected, found)}", [])
        for name, instances in self.offers.enabled(self.state).items():
            action = self.instance.model.named(name)
            for args in instances:
                if effect(self.instance, self.state, action, args) == found:
                    return action, args
        raise Finding(self._explained(*asked, found, expected), self.steps)

    def _explained(self, action: Action, args: Args, found: State, expected: State) -> str:
        """Which refused action would have led here, and why it is refused; else what differs."""
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
                if guard is not None:
                    return (
                        f"{text}\nIt did {other.label(values)}, which the guard '{guard.name}' refuses: it is not so that "
                        f"{guard.sentence or guard.name}"
                    )
        return f"{text}\nNo action of the specification does that."

    def differences(self, expected: State, found: State) -> str:
        """The variables in which two states differ, one a line."""
        one, two = readable(self.instance, expected), readable(self.instance, found)
        return "\n".join(f"  {name}: {one[name]} is due, {two[name]} was found" for name in one if one[name] != two[name])

    def _judge(self) -> None:
        for claim in self.properties:
            if not self.satisfied(claim):
                raise Finding(f"{claim.id} is violated: {claim.sentence}", self.steps, claim.id)

    def satisfied(self, claim: Property) -> bool:
        """Whether the last state, or the last step, satisfies the property."""
        if claim.kind == "step":
            return len(self.states) < 2 or holds(self.instance, claim.formula, self.states[-2], self.states[-1])
        return holds(self.instance, claim.formula, self.states[-1])
