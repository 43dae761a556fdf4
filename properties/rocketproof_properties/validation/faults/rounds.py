"""Run rounds of faults on stores. A new store is created when the broker is unusable, or when the rounds per store are used up."""

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
    """`settings` by the number of the store's first round.

    `per_store`: rounds per store. `mix`: the messages of the clients. `own`: settings of further brokers, by name.
    """

    settings: Callable[[int], Mapping[str, str]]
    per_store: int
    mix: Mix = MIXED
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def each(
    target: ValidationTarget,
    results: FaultTests,
    rounds: int,
    plan: RoundPlan,
    strike: Callable[[PromisedStore], bool],
    *,
    seed: int,
    over: Callable[[], bool],
) -> None:
    """Run up to `rounds` rounds.

    `strike` runs one, and returns whether the next round can use the same store. Raises TargetError, NotOffered.
    """
    chance = random.Random(seed)
    while results.rounds < rounds and not over():
        settings = plan.settings(results.rounds)
        common = {name: value for name, value in settings.items() if name not in target.lacks}
        setup = Setup(1 + len(plan.own), common, plan.own)
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder, target.open(setup) as running:
            store = PromisedStore(running, target.profile, chance, results, Path(folder), plan.mix)
            last, usable = min(results.rounds + plan.per_store, rounds), True
            while usable and results.rounds < last and not over():
                usable = strike(store)
                results.rounds += 1
