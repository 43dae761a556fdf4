"""RocketMQ's specification: one model of sending, and a small model for each kind of fault.

`build(name)` returns the model of sending in one of the `SCOPES`. Its steps are topic creation, registration of routes, route refresh by
producers, and append. `part(name)` returns that model or one of the `FAULTS`. `constants(profile, ...)` returns a profile's switches for
`model.given(...)`. Start reading with `vocabulary` (variables and words), then `broker`, `creation`, `nameserver`, `producer` and `store`.
Persistence, answering, waiting, deadlines, flushing, recovery, controller, starting, dispatching, sizes, registering, pairs and device
model faults. Sendbacks, delays, progress, times and transactions model other requests; `meeting` joins delays and transactions.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from rocketproof_model.errors import RocketproofError
from rocketproof_profiles import PROFILES

from .answering import Answering
from .broker import checks, failures, queue_check, registration
from .committing import offsets
from .controller import Controller
from .creation import creation
from .deadlines import Expiry, News, Patience
from .delays import Delays
from .deleting import deletions
from .device import Device
from .dispatching import Dispatching
from .flushing import Flushing
from .meeting import Meeting
from .nameserver import administrator, manual_routes, nameserver
from .pairs import MasterAndSlave
from .part import Part
from .persistence import Persistence
from .placed import placed_requests
from .producer import answers, clients, routes, sending
from .progress import ConsumerProgress
from .recovery import Recovery
from .registering import Registrations
from .scope import SCOPES, Scope
from .sendbacks import Sendbacks
from .settings import changes_of_settings
from .sizes import Sizes
from .starting import Starting
from .store import limits, log, memory
from .times import Times
from .transactions import Transactions
from .vocabulary import Placed, Specification
from .waiting import WaitingRequests

__all__ = ["FAULTS", "NAMES", "SCOPES", "Part", "Placed", "Scope", "Specification", "build", "constants", "part", "part_class", "specify"]

FAULTS: dict[str, type[Part]] = {
    "persistence": Persistence,
    "answers": Answering,
    "locks": WaitingRequests,
    "expiry": Expiry,
    "news": News,
    "patience": Patience,
    "flush": Flushing,
    "recovery": Recovery,
    "controller": Controller,
    "dispatch": Dispatching,
    "producers": Starting,
    "sizes": Sizes,
    "pair": MasterAndSlave,
    "registrations": Registrations,
    "delays": Delays,
    "transactions": Transactions,
    "meeting": Meeting,
    "device": Device,
    "progress": ConsumerProgress,
    "times": Times,
    "backs": Sendbacks,
}
"""The name of each fault's scope, with the class of its model."""

NAMES = (*SCOPES, *FAULTS)


def specify(scope: Scope) -> Specification:
    """Build the specification of sending in a scope that need not be one of `SCOPES`."""
    s = (Placed if scope.placed else Specification)(scope)
    if scope.routes:
        routes(s)
        sending(s)
    if scope.requests:
        clients(s)
    checks(s)
    creation(s)
    queue_check(s)
    (log if scope.store else memory)(s)
    if scope.named("long"):
        limits(s)
    if scope.placed:
        placed_requests(s)
    if scope.progress:
        offsets(s)
    answers(s)
    registration(s)
    nameserver(s)
    if scope.updates:
        administrator(s)
    if scope.tells:
        manual_routes(s)
    if scope.configures:
        changes_of_settings(s)
    if scope.deletes:
        deletions(s)
    if scope.crashes:
        failures(s)
    return s


@cache
def build(name: str) -> Specification:
    """Return the model of sending in a named scope. Raises RocketproofError for an unknown name."""
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, SCOPES))
    return specify(SCOPES[name])


@cache
def part(name: str) -> Part:
    """Return the model of a scope of sending or of a fault. Raises RocketproofError for an unknown name."""
    if name in FAULTS:
        return FAULTS[name](name)
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, NAMES))
    return build(name)


def part_class(name: str) -> type[Part]:
    """Return the class of the object that `part(name)` returns, without building a model. Raises RocketproofError for an unknown name."""
    if name in FAULTS:
        return FAULTS[name]
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, NAMES))
    return Placed if SCOPES[name].placed else Specification


def constants(profile: str, of: type[Part] = Specification, /, **switches: Any) -> dict[str, Any]:
    """Return the values of a profile for the switches that the class `of` reads, overridden by `switches`.

    Raises RocketproofError for an unknown profile.
    """
    if profile not in PROFILES:
        raise RocketproofError(_unknown("profile", profile, PROFILES))
    switches_of_profile = PROFILES[profile]
    return {**{name: getattr(switches_of_profile, name) for name in of.switches}, **switches}


def _unknown(kind: str, name: str, known: Any) -> str:
    similar = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {similar[0]}? " if similar else ""
    return f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}"
