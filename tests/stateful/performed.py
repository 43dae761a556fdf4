"""Programs of a scope on the simulated implementation: what each scope is given, and what is found."""

from __future__ import annotations

from typing import Any

from proportion import in_proportion
from rocketproof_impl.store.flush import AwaitedFlush
from rocketproof_impl.tasks import Wait
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.stateful.engine import driver_of
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.machine import Campaign, run

GIVEN: dict[str, dict[str, Any]] = {
    "persistence": {"crash_budget": 2, "error_budget": 1, "power_budget": 1},
    "answers": {},
    "locks": {},
    "expiry": {},
    "recovery": {"crash_budget": 1, "power_budget": 1},
    "sizes": {},
    "flush": {},
    "news": {},
    "patience": {},
    "producers": {},
    "dispatch": {},
    "pair": {"lags": True},
    "registrations": {"loss": True, "restart": True, "two": True, "wipe": True},
    "delays": {"end_budget": 1, "fails": True, "power": True, "set_back": True},
    "transactions": {"steady": False},
    "meeting": {"may_delay": True},
    "device": {"fails": True, "closes": True, "crash_budget": 1, "power_budget": 2},
    "progress": {"crash_budget": 1, "power_budget": 2, "stop_budget": 2, "resets": True},
    "times": {"past": False},
    "backs": {"change_budget": 1, "way": "either"},
}
PROGRAMS = 25


FEW = in_proportion(PROGRAMS)
"""Programs of a test that expects no finding, as it runs all of them; a test that expects one ends with the finding."""


def campaign(scope: str, profile: str = "P49", given: dict[str, Any] | None = None) -> Campaign:
    source = ModelSource(scope, profile, tuple(sorted((GIVEN[scope] if given is None else given).items())))
    subject = source.subject()
    return Campaign(subject.instance, driver_of(source, subject))


def found(
    scope: str, profile: str = "P49", given: dict[str, Any] | None = None, programs: int = PROGRAMS, seed: int = 5
) -> ConformanceError | None:
    return run(campaign(scope, profile, given), programs, seed, shrink=False)


async def waited(wanted: AwaitedFlush, millis: int) -> bool:
    return await Wait(wanted.future, millis) and wanted.future.result()
