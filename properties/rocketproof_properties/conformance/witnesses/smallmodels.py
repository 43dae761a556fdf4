"""Witnesses of small models on a broker in another process, performed by the drivers that also perform them on the simulated one.

Actions of consumers, producers, administrators and kills are performed. The broker's own actions are left to it and awaited. The observed
state must be the witness's last state, in which all of these are complete.
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

from ...brokers.apache import Apache
from ...brokers.deployment import FILE_SIZES, NotOffered, Setup, ValidationTarget
from ...catalogue.source import ModelSource
from ...programs.parts import Capability
from ...reports.choices import InputError
from ..drivers.base import Deviation, ModelDriver
from ..drivers.progress import ProgressDriver
from ..drivers.remote import MOMENT, RemoteBroker
from ..drivers.sendbacks import SendbacksDriver
from ..drivers.times import TimesDriver
from ..drivers.transactions import TransactionsDriver
from .known import Performed, perform
from .schedule import schedule, shows_property
from .wire import PASSES

PATIENCE: Final = 12.0
"""Seconds for the broker's own tasks: operation records and files of offsets take five."""
LEVELS: Final = {"messageDelayLevel": " ".join(["1s"] * 18)}


@dataclass(frozen=True)
class SmallModel:
    """How a scope's witnesses are performed.

    - `driver`: the class that performs the actions.
    - `settings`: the broker settings for the constants.
    - `own`: the broker's own actions.
    - `refused`: actions that are impossible from outside.
    - `wanted`: required values of constants.
    """

    driver: Callable[..., ModelDriver]
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


SMALL_MODELS: Final[Mapping[str, SmallModel]] = {
    "backs": SmallModel(SendbacksDriver, _of_backs, frozenset({"register"}), wanted={"flushes": True}),
    "transactions": SmallModel(
        TransactionsDriver, _of_transactions, frozenset({"write_operations"}), frozenset({"ask", "pass_over", "give_up"})
    ),
    "times": SmallModel(TimesDriver, lambda c: {}, frozenset()),
    "progress": SmallModel(ProgressDriver, _of_progress, frozenset({"flush", "dispatch", "persist"}), frozenset({"power_loss"})),
}
NEEDS: Final = (Capability.START, Capability.STORE)


def perform_file(target: ValidationTarget, source: ModelSource, witness: Witness, mark: str) -> Performed:
    """Perform a witness from a file of `rocketproof check`. Raises InputError, TargetError if that is impossible."""
    if source.scope in SMALL_MODELS:
        return perform_small_model(target, source, witness)
    if source.scope not in SCOPES:
        first = f" ({witness.labels()[0]} is not a request)" if witness.moves else ""
        known = ", ".join((*SCOPES, *SMALL_MODELS))
        raise InputError(f"a witness of {source.name} has nothing that clients do{first}; give one of the scopes {known}")
    return perform(target, SCOPES[source.scope], schedule(witness), mark)


def perform_small_model(target: ValidationTarget, source: ModelSource, witness: Witness) -> Performed:
    """Perform a witness of a scope in SMALL_MODELS.

    Raises InputError if it is impossible from outside, TargetError if the target cannot be set up, NotOffered if it lacks a capability.
    """
    small_model, constants = SMALL_MODELS[source.scope], witness.instance.readable()
    for move in witness.moves:
        if move.action in small_model.refused:
            label = witness.instance.model.named(move.action).label(move.args)
            raise InputError(f"{label} cannot be brought about from outside; take another witness")
    for name, value in small_model.wanted.items():
        if constants[name] != value:
            raise InputError(f"nobody outside can start a broker with {name} = {constants[name]}; take another witness")
    witness = course(witness, small_model.own)
    crashes = any(move.action == "crash" for move in witness.moves)
    for capability in (*NEEDS, *((Capability.KILL, Capability.RESTART) if crashes else ())):
        if capability not in target.offers:
            raise NotOffered(target.name, capability)
    profile, log = PROFILES[target.profile], list[str]()
    quick = isinstance(target, Apache)
    with target.open(Setup(settings={**small_model.settings(constants), **FILE_SIZES, **(LEVELS if quick else {})})) as running:
        broker = RemoteBroker(running, profile, whole_number(FILE_SIZES["mappedFileSizeCommitLog"]), quick=quick)
        try:
            driver = small_model.driver(part(source.scope), witness.instance, profile, broker)
            _follow(driver, witness, small_model.own, log)
            problem = _difference(driver, witness.states[-1])
        except Deviation as deviation:
            problem = str(deviation)
        except RemotingError as lost:
            return Performed(target.name, witness, tuple(log), str(lost), lost=True)
        finally:
            broker.close()
    return Performed(target.name, witness, tuple(log), problem)


def course(witness: Witness, own: frozenset[str]) -> Witness:
    """Return the witness for a broker that performs its own actions at once. Raises InputError if that is no longer a witness."""
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
    if witness.loop is not None and loop is None:
        loop = len(moves)
    scheduled = Witness(instance, witness.property, tuple(moves), tuple(states), loop, witness.note)
    if not shows_property(scheduled):
        raise InputError(f"{witness.property.id} is shown only while the broker waits with what it does by itself; take another witness")
    return scheduled


def _follow(driver: ModelDriver, witness: Witness, own: frozenset[str], log: list[str]) -> None:
    """Perform all moves, a loop's several times, with pauses for the broker's own. Raises Deviation, RemotingError."""
    loop = witness.moves[witness.loop :] if witness.loop is not None else ()
    for move in (*witness.moves, *loop * (PASSES - 1)):
        if move.action in own:
            interrupts.pause(MOMENT)
        else:
            action = witness.instance.model.named(move.action)
            driver.perform(action, move.args)
            log.append(action.label(move.args))


def _difference(driver: ModelDriver, expected: State) -> str:
    """Return the observed differences from the expected state after waiting for it, "" if there are none."""
    end = time.monotonic() + PATIENCE
    while (seen := driver.observe()) != expected and time.monotonic() < end:
        interrupts.pause(0.5)
    before, after = readable(driver.instance, expected), readable(driver.instance, seen)
    return "; ".join(f"{name} is {after[name]}, and the witness says {before[name]}" for name in before if before[name] != after[name])
