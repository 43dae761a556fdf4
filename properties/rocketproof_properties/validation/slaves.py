"""A slave of the broker on which the programs run (`--slave`). After the programs it must equal its master.

The slave is a broker of its own deployment that registers with the name server of its master. Programs do not use it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..brokers.deployment import Deployment, Setup, TargetError, ValidationTarget
from ..judging import slaves
from ..judging.verdicts import JudgedProgram
from ..programs.names import ProgramNames
from ..programs.parts import Capability
from ..reports.choices import InputError
from .faults.replicas import CAUGHT, OWN, Replica, difference
from .states import StateReport

NEEDED: Final = frozenset({Capability.START, Capability.STORE})
"""The capabilities that a target needs."""


def refuse(target: ValidationTarget) -> None:
    """Raise InputError for a target that cannot have a slave; the message names what is missing."""
    lacks = sorted(capability.value for capability in NEEDED - target.offers)
    if lacks:
        raise InputError(f"--slave with {target.name}, which does not offer {', '.join(lacks)}; leave it out")


@contextmanager
def following(target: ValidationTarget, running: Deployment) -> Iterator[Deployment | TargetError]:
    """Start a slave of the only broker of a deployment, and stop it at the end. Return the error if it does not start."""
    try:
        slave = target.open(Setup(settings={**OWN, "namesrvAddr": str(running.name_server)}))
    except TargetError as problem:
        yield problem
        return
    with slave:
        yield slave


def compare(
    running: Deployment, slave: Deployment | TargetError, names: ProgramNames, report: StateReport, recreated: Collection[str] = ()
) -> JudgedProgram:
    """Record and judge whether the slave equals its master. It is undecided if the slave does not have the master's log in time.

    `recreated`: topics that may have been deleted and created again.
    """
    (broker,) = running.brokers
    if isinstance(slave, TargetError):
        state: dict[str, Any] = {"unknown": f"the slave does not start: {slave}"}
    else:
        state = _state(Replica(running, broker, slave, broker, report.profile, names))
    return report.judged(broker, slaves.STATE, slaves.SOURCE, {**state, "recreated": sorted(recreated)})


def _state(replica: Replica) -> dict[str, Any]:
    slave_log, master_log = replica.caught_up()
    if slave_log is None or master_log is None:
        return {"unknown": "the log of the slave or of its master cannot be read"}
    if text := difference(slave_log, master_log):
        return {"unknown": "", "log": text}
    if slave_log != master_log:
        return {"unknown": f"after {CAUGHT:g} s the slave has {len(slave_log)} bytes of the {len(master_log)} bytes of its master's log"}
    master, own = replica.views()
    missed = [*master["missed"], *own["missed"]]
    return {"unknown": f"no response to: {missed[0]}" if missed else "", "log": "", "master": master, "slave": own}
