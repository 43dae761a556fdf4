"""Witnesses of small models on a broker that runs elsewhere: the targets that perform them on the simulated one act on it instead.

What the model says of consumers, producers, administrators and ends of the process is done; what a broker does by itself is left to it, and
its end is awaited. So the witness's last state, in which all of that has gone to its end, is what has to be seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_model import interrupts
from rocketproof_model.interpreter import State, effect, readable, refusing, successors
from rocketproof_model.result import Move, Witness
from rocketproof_profiles import PROFILES
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec import SCOPES, part
from rocketproof_traces.witness.show import SHOWN
from rocketproof_traces.witness.truth import truths

from ...brokers.apache import Apache
from ...brokers.deployment import FILE_SIZES, NotOffered, Setup, ValidationTarget
from ...catalogue.source import ModelSource
from ...programs.parts import Capability
from ...reports.choices import InputError
from ..targets.backs import BacksTarget
from ..targets.base import Deviation, ModelTarget
from ..targets.outside import MOMENT, Outside
from ..targets.progress import ProgressTarget
from ..targets.times import TimesTarget
from ..targets.transactions import TransactionsTarget
from .known import Performed, perform
from .schedule import schedule
from .wire import PASSES

PATIENCE: Final = 12.0
"""Seconds until what a broker does by itself is done: operation records and files of offsets take five."""
LEVELS: Final = {"messageDelayLevel": " ".join(["1s"] * 18)}


@dataclass(frozen=True)
class Way:
    """How a scope's witnesses are performed: who acts, the settings that the constants mean, what a broker does by itself, which actions
    nobody outside can bring about, and constants that have to be so."""

    target: Callable[..., ModelTarget]
    settings: Callable[[Mapping[str, Any]], dict[str, str]]
    own: frozenset[str]
    refused: frozenset[str] = frozenset()
    wanted: Mapping[str, Any] = field(default_factory=dict)


def _of_backs(c: Mapping[str, Any]) -> dict[str, str]:
    return {
        "autoCreateSubscriptionGroup": _text(c["makes_groups"]),
        "autoCreateTopicEnable": _text(c["template"] > 0),
        "defaultTopicQueueNums": str(max(1, c["template"])),
        "brokerPermission": "6" if c["writable"] else "4",
    }


def _of_transactions(c: Mapping[str, Any]) -> dict[str, str]:
    return {"rejectTransactionMessage": _text(c["rejects"])}


def _of_progress(c: Mapping[str, Any]) -> dict[str, str]:
    return {"flushDiskType": "SYNC_FLUSH" if c["sync"] else "ASYNC_FLUSH"}


def _text(value: bool) -> str:
    return str(value).lower()


WAYS: Final[Mapping[str, Way]] = {
    "backs": Way(BacksTarget, _of_backs, frozenset({"register"}), wanted={"flushes": True}),
    "transactions": Way(TransactionsTarget, _of_transactions, frozenset({"write_operations"}), frozenset({"ask", "pass_over", "give_up"})),
    "times": Way(TimesTarget, lambda c: {}, frozenset()),
    "progress": Way(ProgressTarget, _of_progress, frozenset({"flush", "dispatch", "persist"}), frozenset({"power_loss"})),
}
NEEDS: Final = (Capability.START, Capability.STORE)


def perform_file(target: ValidationTarget, source: ModelSource, witness: Witness, mark: str) -> Performed:
    """Perform a witness that `rocketproof check` has written. Raises InputError, TargetError where that cannot be done."""
    if source.scope in WAYS:
        return perform_outside(target, source, witness)
    if source.scope not in SCOPES:
        first = f" ({witness.labels()[0]} is not a request)" if witness.moves else ""
        known = ", ".join((*SCOPES, *WAYS))
        raise InputError(f"a witness of {source.name} has nothing that clients do{first}; give one of the scopes {known}")
    return perform(target, SCOPES[source.scope], schedule(witness), mark)


def perform_outside(target: ValidationTarget, source: ModelSource, witness: Witness) -> Performed:
    """Perform a witness of one of WAYS. Raises InputError for one that nobody outside can bring about, TargetError where the target
    cannot be set up, NotOffered where it lacks what that needs."""
    way, constants = WAYS[source.scope], witness.instance.readable()
    for move in witness.moves:
        if move.action in way.refused:
            label = witness.instance.model.named(move.action).label(move.args)
            raise InputError(f"{label} cannot be brought about from outside; take another witness")
    for name, value in way.wanted.items():
        if constants[name] != value:
            raise InputError(f"nobody outside can start a broker with {name} = {constants[name]}; take another witness")
    witness = course(witness, way.own)
    crashes = any(move.action == "crash" for move in witness.moves)
    for capability in (*NEEDS, *((Capability.KILL, Capability.RESTART) if crashes else ())):
        if capability not in target.offers:
            raise NotOffered(target.name, capability)
    profile, log = PROFILES[target.profile], list[str]()
    quick = isinstance(target, Apache)
    with target.open(Setup(settings={**way.settings(constants), **FILE_SIZES, **(LEVELS if quick else {})})) as running:
        outside = Outside(running, profile, whole_number(FILE_SIZES["mappedFileSizeCommitLog"]), quick=quick)
        try:
            made = way.target(part(source.scope), witness.instance, profile, on=(outside, outside.node()))
            _follow(made, witness, way.own, log)
            problem = _difference(made, witness.states[-1])
        except Deviation as deviation:
            problem = str(deviation)
        except RemotingError as lost:
            return Performed(target.name, witness, tuple(log), str(lost), lost=True)
        finally:
            outside.close()
    return Performed(target.name, witness, tuple(log), problem)


def course(witness: Witness, own: frozenset[str]) -> Witness:
    """The witness as it comes about where the broker does at once what it does by itself. Raises InputError where it is another then."""
    instance = witness.instance
    moves, states, loop = [], [witness.states[0]], None

    def settle() -> None:
        while steps := [step for step in successors(instance, states[-1]) if step.action.name in own and step.state != states[-1]]:
            moves.append(Move(steps[0].action.name, steps[0].args))
            states.append(steps[0].state)

    settle()
    for number, move in enumerate(witness.moves):
        action = instance.model.named(move.action)
        if number == witness.loop:
            loop = len(moves)
        if move.action in own:
            continue
        guard = refusing(instance, states[-1], action, move.args)
        if guard is not None:
            raise InputError(f"{action.label(move.args)} cannot be brought about from outside: it is not so that {guard.sentence}")
        moves.append(move)
        states.append(effect(instance, states[-1], action, move.args))
        settle()
    if witness.loop is not None:
        loop = len(moves) if loop is None else loop
    made = Witness(instance, witness.property, tuple(moves), tuple(states), loop, witness.note)
    words = [said.word for said in truths(made)]
    if (loop is not None and states[-1] != states[loop]) or SHOWN[witness.property.kind] not in (words if loop is None else words[loop:]):
        raise InputError(f"{witness.property.id} is shown only while the broker waits with what it does by itself; take another witness")
    return made


def _follow(made: ModelTarget, witness: Witness, own: frozenset[str], log: list[str]) -> None:
    """All moves but the broker's own, which get a moment, a loop's several times. Raises Deviation, RemotingError."""
    loop = witness.moves[witness.loop :] if witness.loop is not None else ()
    for move in (*witness.moves, *loop * (PASSES - 1)):
        if move.action in own:
            interrupts.pause(MOMENT)
        else:
            action = witness.instance.model.named(move.action)
            made.perform(action, move.args)
            log.append(action.label(move.args))


def _difference(made: ModelTarget, expected: State) -> str:
    """What is seen otherwise than expected, when time was left for it; "" if nothing."""
    until = time.monotonic() + PATIENCE
    while (seen := made.observe()) != expected and time.monotonic() < until:
        interrupts.pause(0.5)
    before, after = readable(made.instance, expected), readable(made.instance, seen)
    return "; ".join(f"{name} is {after[name]}, and the witness says {before[name]}" for name in before if before[name] != after[name])
