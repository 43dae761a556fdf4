"""Schedules: a witness as it occurs if brokers and name servers run freely.

A witness of the model may stop a broker between two of its steps, which is impossible from outside. In a schedule, the outside actions keep
the witness's order, and everything that they trigger completes at once. Outside actions are those of clients, producers and administrators,
and kills and restarts. The schedule is again a witness if it shows the property. Otherwise the error names the action for which a broker
would have to wait.
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
from ..drivers.base import decoded

SENDS: Final = frozenset({"request", "send", "retry"})
UNSEEN: Final = frozenset({"dispatch", "flush"})
"""Actions that a broker takes at any time and that no response shows."""
REFUSED: Final[Mapping[str, str]] = {
    "lose_registration": "a registration would have to be lost on its way, and the network is not ours",
    "lock_timeout": "another request would have to hold the broker's lock for three seconds",
    "start": "where a producer's round robin begins is its own",
}
"""Actions that are impossible from outside, with the reason."""
NEEDED: Final[Mapping[str, Capability]] = {
    "crash": Capability.KILL,
    "restart": Capability.RESTART,
    "switch_creation": Capability.CONFIGURE,
    "permit": Capability.CONFIGURE,
}
"""The capability that an action needs besides requests."""


def from_outside(action: Action) -> bool:
    """Return whether the action is performed from outside. The others belong to a broker or the name server, or are impossible."""
    return action.actor in (CLIENT, ADMINISTRATOR) or action.name in NEEDED


def needs(witness: Witness) -> frozenset[Capability]:
    """Return the capabilities that the witness's actions need."""
    return frozenset(NEEDED[move.action] for move in witness.moves if move.action in NEEDED)


def schedule(witness: Witness) -> Witness:
    """Return the schedule of the witness's outside actions. Raises InputError that names an impossible action."""
    course = _Schedule(witness)
    loop = None
    for number, move in enumerate(witness.moves):
        if number == witness.loop:
            loop = len(course.moves)
        course.follow(move)
    if witness.loop is not None:
        loop = len(course.moves) if loop is None else loop
        if course.states[-1] != course.states[loop]:
            raise course.refused(witness.moves[-1], "the loop does not come back to where it began")
    scheduled = Witness(witness.instance, witness.property, tuple(course.moves), tuple(course.states), loop, witness.note)
    if not shows_property(scheduled):
        why = f"a broker would have to wait for it in the middle of a request, and {witness.property.id} is not shown otherwise"
        raise course.refused(_in_the_middle(witness), why)
    return scheduled


def shows_property(path: Witness) -> bool:
    """Return whether a path shows its property, in its loop if it has one. The loop must lead to the state in which it begins."""
    is_closed = path.loop is None or path.states[-1] == path.states[path.loop]
    return is_closed and SHOWN[path.property.kind] in [truth.word for truth in truths(path)][path.loop or 0 :]


def _in_the_middle(witness: Witness) -> Move:
    """Return the first outside action during a request of a broker; the last action if there is none."""
    for move, state in zip(witness.moves, witness.states, strict=False):
        if from_outside(witness.instance.model.named(move.action)) and any(_under_way(readable(witness.instance, state))):
            return move
    return witness.moves[-1]


def _under_way(state: Mapping[str, Any]) -> list[str]:
    return [phase for name, phase in state.items() if name.startswith("job.phase") and phase not in ("idle", "arrived", "answered")]


@dataclass
class _Schedule:
    """A schedule under construction. `waiting`: clients with requests on their way. `back`: the broker that has just been restarted."""

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
        """Perform an outside action and its effects. A broker's own action starts when it does in the witness."""
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

    def _settle(self, cause: Move) -> None:
        """Perform all actions of brokers and the name server until none is enabled."""
        while steps := [step for step in successors(self.instance, self.states[-1]) if self._own(step)]:
            first = steps[0]
            if "draw" in first.action.parameters and any(
                alternative.action is first.action and alternative.state != first.state for alternative in steps
            ):
                raise self.refused(Move(first.action.name, first.args), "the broker draws the queue by itself")
            self.moves.append(Move(first.action.name, first.args))
            self.states.append(first.state)
        if _under_way(readable(self.instance, self.states[-1])):
            raise self.refused(cause, "the scope ends before the request does")

    def _own(self, step: ModelStep) -> bool:
        name = step.action.name
        if from_outside(step.action) or name in UNSEEN or name in REFUSED:
            return False
        values = self._values(Move(name, step.args))
        if name == "register":
            return values["b"] == self.back  # other registrations are the timer's
        return values.get("p") not in self.waiting
