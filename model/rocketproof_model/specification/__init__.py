"""The specification: topic creation, route registration, producer route refresh, and append.

`build(name)` gives it in one of the `SCOPES`; `constants(profile, ...)` gives the values of a profile's switches for
`model.given(...)`. The rules are in broker, nameserver, producer and store, in the words of vocabulary.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from rocketproof_profiles import PROFILES

from ..errors import RocketproofError
from .broker import checks, creation, failures, queue_check, registration
from .nameserver import administrator, nameserver
from .producer import answers, clients, routes, sending
from .scope import SCOPES, Scope
from .store import limits, log, memory
from .vocabulary import Specification, declare

__all__ = ["SCOPES", "Scope", "Specification", "build", "constants", "specify"]


def specify(scope: Scope) -> Specification:
    """The specification in a scope of one's own."""
    s = declare(scope)
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
    answers(s)
    registration(s)
    nameserver(s)
    if scope.updates:
        administrator(s)
    if scope.crashes:
        failures(s)
    return s


@cache
def build(name: str) -> Specification:
    """The specification in a named scope; raises RocketproofError for an unknown name."""
    if name not in SCOPES:
        raise RocketproofError(_unknown("scope", name, SCOPES))
    return specify(SCOPES[name])


def constants(profile: str, **switches: Any) -> dict[str, Any]:
    """The constants of a profile, with further switches on top; raises RocketproofError for an unknown profile."""
    if profile not in PROFILES:
        raise RocketproofError(_unknown("profile", profile, PROFILES))
    chosen = PROFILES[profile]
    return {"check_names": chosen.check_names, "signed_random": chosen.signed_random, **switches}


def _unknown(kind: str, name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}"
