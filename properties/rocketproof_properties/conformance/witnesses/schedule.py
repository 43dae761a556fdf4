"""A witness as it comes about where brokers and name servers are left alone.

A witness of the model may let a broker stand still between two of its steps, which nobody can bring about from outside. Here clients,
producers, administrators and what ends a process act in the witness's order, and whatever they begin goes to its end at once. The course
that comes of it is a witness again if it still shows the property; otherwise the action is named for which a broker would have to wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_model import Action
from rocketproof_model.interpreter import ModelStep, State, effect, readable, refusing, successors
from rocketproof_model.result import Move, Witness
from rocketproof_spec.actors import ADMINISTRATOR, CLIENT
from rocketproof_traces.witness.show import SHOWN
from rocketproof_traces.witness.truth import truths

from ...programs.parts import Capability
from ...reports.choices import InputError
from ..targets.base import decoded

SENDS: Final = frozenset({"request", "send", "retry"})
UNSEEN: Final = frozenset({"dispatch", "flush"})
"""What a broker does when it likes, and no answer tells."""
REFUSED: Final[Mapping[str, str]] = {
    "lose_registration": "a registration would have to be lost on its way, and the network is not ours",
    "lock_timeout": "another request would have to hold the broker's lock for three seconds",
    "start": "where a producer's round robin begins is its own",
}
"""What cannot be brought about, and why."""
NEEDED: Final[Mapping[str, Capability]] = {
    "crash": Capability.KILL,
    "restart": Capability.RESTART,
    "switch_creation": Capability.CONFIGURE,
    "permit": Capability.CONFIGURE,
}
"""What of a target an action needs beside its address."""


def from_outside(action: Action) -> bool:
    """Whether somebody outside does the action; every other one is a broker's or the name server's own, or cannot be brought about."""
    return action.actor in (CLIENT, ADMINISTRATOR) or action.name in NEEDED


def needs(witness: Witness) -> frozenset[Capability]:
    """What a target has to offer for the witness's actions."""
    return frozenset(NEEDED[move.action] for move in witness.moves if move.action in NEEDED)


def schedule(witness: Witness) -> Witness:
    """The course that the witness's outside actions take. Raises InputError, which names the action that cannot be brought about."""
    course = _Course(witness)
    loop = None
    for number, move in enumerate(witness.moves):
        if number == witness.loop:
            loop = len(course.moves)
        course.follow(move)
    if witness.loop is not None:
        loop = len(course.moves) if loop is None else loop
        if course.states[-1] != course.states[loop]:
            raise course.refused(witness.moves[-1], "the loop does not come back to where it began")
    made = Witness(witness.instance, witness.property, tuple(course.moves), tuple(course.states), loop, witness.note)
    words = [said.word for said in truths(made)]
    if SHOWN[witness.property.kind] not in (words if loop is None else words[loop:]):
        why = f"a broker would have to wait for it in the middle of a request, and {witness.property.id} is not shown otherwise"
        raise course.refused(_in_the_middle(witness), why)
    return made


def _in_the_middle(witness: Witness) -> Move:
    """The first outside action that comes while a broker is in the middle of a request; the last action if there is none."""
    for move, state in zip(witness.moves, witness.states, strict=False):
        if from_outside(witness.instance.model.named(move.action)) and any(_under_way(readable(witness.instance, state))):
            return move
    return witness.moves[-1]


def _under_way(state: Mapping[str, Any]) -> list[str]:
    return [phase for name, phase in state.items() if name.startswith("job.phase") and phase not in ("idle", "arrived", "answered")]


@dataclass
class _Course:
    """A path as it grows. `waiting`: the clients whose requests are on their way; `back`: the broker that has just been started again."""

    witness: Witness
    moves: list[Move] = field(default_factory=list)
    states: list[State] = field(init=False)
    waiting: set[int] = field(default_factory=set)
    back: int | None = None

    def __post_init__(self) -> None:
        self.instance = self.witness.instance
        self.states = [self.witness.states[0]]

    def refused(self, move: Move, why: str) -> InputError:
        label = self.instance.model.named(move.action).label(move.args)
        return InputError(f"{label} cannot be brought about from outside: {why}; take another witness")

    def follow(self, move: Move) -> None:
        """Do an outside action and what comes of it; what is a broker's own begins when the witness begins it."""
        if move.action in REFUSED:
            raise self.refused(move, REFUSED[move.action])
        values = self._values(move)
        if from_outside(self.instance.model.named(move.action)):
            self._act(move, values)
        elif move.action in UNSEEN:
            self._take(move, required=False)
        elif values.get("p") in self.waiting:
            self.waiting.discard(values["p"])
            self._settle(move)

    def _act(self, move: Move, values: Mapping[str, int]) -> None:
        state = readable(self.instance, self.states[-1])
        if move.action in SENDS:
            if not state[f"up[{values['b']}]"]:
                raise self.refused(move, "nobody can connect to a broker that does not run")
            self.waiting.add(values["p"])
        if move.action == "crash":
            self.waiting -= {p for p in self.waiting if state[f"job.broker[{p}]"] == values["b"]}
        self._take(move)
        self.back = values["b"] if move.action == "restart" else None
        self._settle(move)

    def _values(self, move: Move) -> dict[str, int]:
        return decoded(self.instance.model.named(move.action), move.args)

    def _take(self, move: Move, *, required: bool = True) -> None:
        action, state = self.instance.model.named(move.action), self.states[-1]
        guard = refusing(self.instance, state, action, move.args)
        if guard is None:
            self.moves.append(move)
            self.states.append(effect(self.instance, state, action, move.args))
        elif required:
            raise self.refused(move, f"once everything before it has gone to its end, it is not so that {guard.sentence}")

    def _settle(self, behind: Move) -> None:
        """Everything that brokers and the name server do by themselves, until nothing of that is left."""
        while steps := [step for step in successors(self.instance, self.states[-1]) if self._own(step)]:
            first = steps[0]
            if "draw" in first.action.parameters and any(one.action is first.action and one.state != first.state for one in steps):
                raise self.refused(Move(first.action.name, first.args), "the broker draws the queue by itself")
            self.moves.append(Move(first.action.name, first.args))
            self.states.append(first.state)
        if _under_way(readable(self.instance, self.states[-1])):
            raise self.refused(behind, "the scope ends before the request does")

    def _own(self, step: ModelStep) -> bool:
        name = step.action.name
        if from_outside(step.action) or name in UNSEEN or name in REFUSED:
            return False
        values = self._values(Move(name, step.args))
        if name == "register":
            return values["b"] == self.back  # otherwise the timer's, which goes off in its own time
        return values.get("p") not in self.waiting
