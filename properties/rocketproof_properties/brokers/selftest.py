"""Self-test of an adapter: each capability is used once, on a deployment of its own, and its effect is checked from outside.

It is for authors of a target's description: if a capability has no effect, faults of the adapter would be reported as findings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts
from rocketproof_protocol.codes import NO_PERMISSION, SEND_MESSAGE, SUCCESS, TOPIC_NOT_EXIST
from rocketproof_protocol.topics import TEMPLATE

from ..programs.parts import NAME_SERVER, Capability
from ..programs.vocabulary import plain
from . import probe
from .comeback import come_back
from .deployment import Deployment, Setup, TargetError, ValidationTarget

OPENED: Final = "answers"
CLOSED: Final = "leaves nothing behind"
SCHEMA: Final = "rocketproof-self-test"
VERSION: Final = 1
_BROKER: Final = "broker-a"
_TOPIC: Final = "rocketproof_self_test"
_REGISTRATION: Final = 5.0
"""Seconds for the registration of a broker that answers."""


@dataclass(frozen=True)
class Checked:
    """One check: a capability's word, OPENED or CLOSED. `problem` is "" if it works."""

    what: str
    problem: str
    seconds: float

    @property
    def works(self) -> bool:
        return not self.problem

    def data(self) -> dict[str, Any]:
        return {"what": self.what, "works": self.works, "problem": self.problem or None, "seconds": round(self.seconds, 3)}


class _Wrong(TargetError):
    """The effect differs from the capability."""


def self_test(target: ValidationTarget) -> Iterator[Checked]:
    """Check everything that the target offers, each check after those that it depends on. Failures are reported, and the other checks
    continue.

    Raises TargetError if the target cannot be set up.
    """
    running = target.open()
    addresses = [*running.brokers.values(), *([running.name_server] if running.name_server else [])]
    try:
        broker = _BROKER if _BROKER in running.brokers else next(iter(running.brokers))
        for what, step in _steps(running, broker):
            yield _check(what, step)
    finally:
        running.close()
    if Capability.START in target.offers:
        yield _check(CLOSED, lambda: _is_closed(addresses))
        yield _check(Capability.START.value, lambda: _starts_as_configured(target))


def data(target: ValidationTarget, checked: Sequence[Checked], code: int) -> dict[str, Any]:
    """Return the checks, what is lost by missing capabilities, and the exit code, as JSON values."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "target": target.name,
        "checked": [check.data() for check in checked],
        "lost": {capability.value: sentence for capability, sentence in target.lost.items()},
        "exit": code,
    }


def _steps(running: Deployment, broker: str) -> Iterator[tuple[str, Callable[[], None]]]:
    offers = running.offers
    yield OPENED, lambda: _answers(running)
    if Capability.CONFIGURE in offers:
        yield Capability.CONFIGURE.value, lambda: _configures(running, broker)
    if offers - {Capability.CONFIGURE}:  # a message on a broker that we did not start would stay there
        yield "stores a message", lambda: _send(running.brokers[broker], _TOPIC, SUCCESS)
    if Capability.STORE in offers:
        yield Capability.STORE.value, lambda: _has_files(running.store(broker))
    if Capability.STOP in offers:
        yield Capability.STOP.value, lambda: _ends(running, broker, running.stop)
        if Capability.RESTART in offers:
            yield Capability.RESTART.value, lambda: _restarts_with_messages(running, broker)
    if Capability.KILL in offers:
        yield Capability.KILL.value, lambda: _ends(running, broker, running.kill)
        if Capability.RESTART in offers:
            yield f"{Capability.RESTART.value} after {Capability.KILL.value}", lambda: _answers_again(running, broker)


def _check(what: str, step: Callable[[], None]) -> Checked:
    began = time.monotonic()
    try:
        step()
    except (TargetError, OSError) as problem:
        return Checked(what, str(problem), time.monotonic() - began)
    return Checked(what, "", time.monotonic() - began)


def _answers(running: Deployment) -> None:
    if running.name_server is not None:
        known = _known(running.name_server, {*running.brokers.values()})
        for address in running.brokers.values():
            if address not in known:
                raise _Wrong(f"the {NAME_SERVER} does not know {address}; it knows {', '.join(known)}")
    for address in running.brokers.values():
        probe.broker(address)


def _known(name_server: str, wanted: set[str]) -> Collection[str]:
    """Return the brokers that a name server knows, as soon as all wanted ones are there. Raises TargetError if none registers in time."""
    end = time.monotonic() + _REGISTRATION
    while True:
        timed_out = time.monotonic() > end
        try:
            known = probe.cluster(name_server).values()
        except probe.NoBrokers:
            if timed_out:
                raise
        else:
            if timed_out or wanted <= {*known}:
                return known
        interrupts.pause(0.05)


def _configures(running: Deployment, broker: str) -> None:
    """Check that a setting makes the broker reject a message. The rejection has no lasting effect."""
    running.configure(broker, {"rejectTransactionMessage": "true"})
    try:
        _send(running.brokers[broker], TEMPLATE, NO_PERMISSION, properties={"TRAN_MSG": "true"})
    finally:
        running.configure(broker, {"rejectTransactionMessage": "false"})


def _has_files(store: Path) -> None:
    logs = [file for file in (store / "commitlog").glob("*") if file.stat().st_size]
    if not logs:
        raise _Wrong(f"{store} has no file of a commit log, though a message was stored; is it the broker's directory?")


def _ends(running: Deployment, broker: str, end: Callable[[str], None]) -> None:
    end(broker)
    _is_closed([running.brokers[broker]])


def _restarts_with_messages(running: Deployment, broker: str) -> None:
    """Check that the broker has its stored message after the restart."""
    _answers_again(running, broker)
    answer = probe.ask(running.brokers[broker], plain("max_offset", topic=_TOPIC))
    if (answer.ext_fields or {}).get("offset") != "1":
        raise _Wrong(f"{broker} does not know the message any more that was stored before it was stopped; is its directory kept?")


def _answers_again(running: Deployment, broker: str) -> None:
    come_back(running, broker)
    probe.broker(running.brokers[broker])


def _starts_as_configured(target: ValidationTarget) -> None:
    """Check two brokers with a start setting."""
    with target.open(Setup(brokers=2, settings={"autoCreateTopicEnable": "false"})) as running:
        if len(running.brokers) != 2:
            raise _Wrong(f"2 brokers were asked for, and there are {len(running.brokers)}")
        _answers(running)
        for address in running.brokers.values():
            _send(address, f"{_TOPIC}_unknown", TOPIC_NOT_EXIST)


def _is_closed(addresses: list[str]) -> None:
    for address in addresses:
        try:
            probe.ask(address, probe.question(), 1.0)
        except probe.NobodyListens:
            continue
        except TargetError:
            pass
        raise _Wrong(f"{address} is still listened on; does its command end what it starts?")


def _send(address: str, topic: str, expected: int, properties: Mapping[str, str] | None = None) -> None:
    answer = probe.ask(address, plain("send", topic=topic, body="self-test", properties=properties, code=SEND_MESSAGE))
    if answer.code != expected:
        actual = f"{answer.code}, {answer.remark}" if answer.remark else str(answer.code)
        raise _Wrong(f"a message to {topic} is answered {actual} in place of {expected}; is the setting taken over?")
