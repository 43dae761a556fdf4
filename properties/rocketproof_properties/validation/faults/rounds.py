"""Round after round: a store is loaded and struck so many times, as long as its broker can be worked with; then there is a new one."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...brokers.deployment import Setup, ValidationTarget
from .found import FaultTests
from .store import MIXED, Mix, PromisedStore


@dataclass(frozen=True)
class RoundPlan:
    """`settings` by the number of the round in which a store begins; `per_store`: rounds on one store; `mix`: what clients send.

    `own`: settings of further brokers by their names among the parts."""

    settings: Callable[[int], Mapping[str, str]]
    per_store: int
    mix: Mix = MIXED
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def each(
    target: ValidationTarget,
    found: FaultTests,
    rounds: int,
    plan: RoundPlan,
    strike: Callable[[PromisedStore], bool],
    *,
    seed: int,
    over: Callable[[], bool],
) -> None:
    """Up to so many rounds. `strike` does one, and says whether the next one can go on from it. Raises TargetError, NotOffered."""
    chance = random.Random(seed)
    while found.rounds < rounds and not over():
        settings = plan.settings(found.rounds)
        common = {name: value for name, value in settings.items() if name not in target.lacks}
        setup = Setup(1 + len(plan.own), common, plan.own)
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder, target.open(setup) as running:
            store = PromisedStore(running, target.profile, chance, found, Path(folder), plan.mix)
            last, usable = min(found.rounds + plan.per_store, rounds), True
            while usable and found.rounds < last and not over():
                usable = strike(store)
                found.rounds += 1
