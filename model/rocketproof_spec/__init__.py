"""The specification: topic creation, route registration, producer route refresh, and append; and beside it the faults.

`build(name)` gives it in one of the `SCOPES`; the `FAULTS` are small models of their own, and `part(name)` gives either;
`constants(profile, ...)` gives the values of a profile's switches for `model.given(...)`. The rules of sending are in broker,
nameserver, producer and store, in the words of vocabulary; the faults are in persistence, answering, waiting, deadlines,
flushing, recovery, controller, starting, dispatching, sizes, registering, pairs and device; other parts of the path
are in sendbacks, delays, progress, times, transactions and, where these two meet, meeting.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
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
from .nameserver import administrator, nameserver, told_by_hand
from .pairs import MasterAndSlave
from .part import Part
from .persistence import Persistence
from .placed import placed_requests
from .producer import answers, clients, routes, sending
from .progress import ConsumerProgress
from .recovery import Recovery
from .registering import Registrations
from .scope import SCOPES, Scope
from .sendbacks import Sendbacks, sendbacks
from .settings import changes_of_settings
from .sizes import Sizes
from .starting import Starting
from .store import limits, log, memory
from .times import Times
from .transactions import Transactions
from .vocabulary import Placed, Specification
from .waiting import WaitingRequests

__all__ = ["FAULTS", "NAMES", "SCOPES", "Part", "Placed", "Scope", "Specification", "build", "constants", "part", "part_class", "specify"]

FAULTS: dict[str, Callable[[str], Part]] = {
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
    "backs": sendbacks,
}
"""The scopes of the faults, each with what makes its model."""

NAMES = (*SCOPES, *FAULTS)


def specify(scope: Scope) -> Specification:
    """The specification in a scope of one's own."""
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
        told_by_hand(s)
    if scope.configures:
        changes_of_settings(s)
    if scope.deletes:
        deletions(s)
    if scope.crashes:
        failures(s)
    return s


@cache
def build(name: str) -> Specification:
    """The specification of sending in a named scope; raises RocketproofError for an unknown name."""
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, SCOPES))
    return specify(SCOPES[name])


@cache
def part(name: str) -> Part:
    """The model of a named scope, of sending or of a fault; raises RocketproofError for an unknown name."""
    if name in FAULTS:
        return FAULTS[name](name)
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, NAMES))
    return build(name)


def part_class(name: str) -> type[Part]:
    """The class of what `part(name)` gives; no model is built. Raises RocketproofError for an unknown name."""
    if name in FAULTS:
        made = FAULTS[name]
        return made if isinstance(made, type) else Sendbacks
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, NAMES))
    return Placed if SCOPES[name].placed else Specification


def constants(profile: str, of: type[Part] = Specification, /, **switches: Any) -> dict[str, Any]:
    """The constants of a profile that this part of the specification reads, with further switches on top.

    Raises RocketproofError for an unknown profile.
    """
    if profile not in PROFILES:
        raise RocketproofError(_unknown("profile", profile, PROFILES))
    chosen = PROFILES[profile]
    return {**{name: getattr(chosen, name) for name in of.switches}, **switches}


def _unknown(kind: str, name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}"
