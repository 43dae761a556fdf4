"""Random programs of the specification's actions, run on the implementation.

The specification's guards decide which steps are enabled, so that every program is allowed. After every step, the implementation's state is
compared with the specification's. `run` lets Hypothesis draw the programs, which is the stateful engine of `check` and `test`; `walk` draws
one program from a seed, for campaigns that are spread over machines.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from rocketproof_model import Action, Instance, Property
from rocketproof_model.interpreter import State
from rocketproof_model.result import Limits, Move, Watch, Witness

from ...programs.shrink import shrink
from ..drivers.base import ModelDriver
from .follow import ConformanceError, FollowedProgram
from .offers import Args, Offers

STEPS = 50
ACTION_CLASSES = 64
_CHANCE: Final = st.randoms(use_true_random=False)


@dataclass
class MachineCoverage:
    """Over all programs, the shortest run that violated each property, or that reached its state if the property is `reachable`."""

    programs: int = 0
    steps: int = 0
    runs: dict[str, Witness] = field(default_factory=dict)

    def note(self, run: FollowedProgram, claim: Property) -> None:
        """Keep this run."""
        self.runs[claim.id] = run.witness(claim)


class Over(Exception):
    """The time limit has expired at the end of a program."""


@dataclass
class Campaign:
    """What one machine runs: an instance, a function that makes drivers, and the properties that are checked in every state.

    Violated or reached properties in `watched` are recorded. A step that the specification does not allow ends a program. When `watch` has
    expired, no further program starts.
    """

    instance: Instance
    driver: Callable[[], ModelDriver]
    watched: tuple[Property, ...] = ()
    watch: Watch = field(default_factory=lambda: Watch(Limits()))
    offers: Offers = field(init=False)
    seen: MachineCoverage = field(default_factory=MachineCoverage)
    over: bool = False

    def __post_init__(self) -> None:
        self.offers = Offers(self.instance)

    def begin(self) -> FollowedProgram:
        """Return a program on a new driver before its first step. Raises ConformanceError if the initial states differ."""
        run = FollowedProgram(self.instance, self.driver(), self.offers)
        run.begin()
        return run

    def record_properties(self, run: FollowedProgram) -> None:
        """Record the watched properties that the last step violated or reached."""
        for claim in self.watched:
            known = self.seen.runs.get(claim.id)
            if known is None or len(known) > len(run.moves):
                reached = run.satisfied(claim)
                if reached == (claim.kind == "reachable"):
                    self.seen.note(run, claim)


def walk(campaign: Campaign, seed: str, steps: int = STEPS) -> None:
    """Run the program of a seed: random enabled actions. Raises ConformanceError."""
    chance = random.Random(seed)
    muted = _muted(chance)
    run = _started(campaign)
    for _ in range(steps):
        if not _step(campaign, run, muted, chance):
            return


def _started(campaign: Campaign) -> FollowedProgram:
    campaign.seen.programs += not campaign.over  # Hypothesis repeats the program that ended with Over
    run = campaign.begin()
    campaign.record_properties(run)
    return run


def _muted(chance: random.Random) -> frozenset[int]:
    """Return the disabled classes of actions: in half of the programs a random subset (swarm testing)."""
    return frozenset[int]() if chance.random() < 0.5 else frozenset(v for v in range(ACTION_CLASSES) if chance.random() < 0.5)


def _step(campaign: Campaign, run: FollowedProgram, muted: frozenset[int], chance: random.Random) -> bool:
    """Take a random enabled action, if the implementation can. Return whether any action is enabled."""
    enabled = unmuted(run.offers.enabled(run.state), muted)
    if not enabled:
        return False
    name = chance.choice(list(enabled))
    args = chance.choice(enabled[name])
    if run.take(run.instance.model.named(name), args):
        campaign.seen.steps += 1
        campaign.record_properties(run)
    return True


class _Machine(RuleBasedStateMachine):
    """The common part of all machines: each step is an enabled instance of one of the specification's actions.

    A single rule draws all steps. With a rule for each action, Hypothesis would disable some of them per program for variety. Because few
    are enabled at a time, most programs would then end after a few steps.
    """

    campaign: Campaign

    def __init__(self) -> None:
        super().__init__()
        self.followed = _started(self.campaign)
        self.muted: frozenset[int] = frozenset()

    @initialize(chance=_CHANCE)
    def begin(self, chance: random.Random) -> None:
        self.muted = _muted(chance)

    @rule(chance=_CHANCE)
    def step(self, chance: random.Random) -> None:
        _step(self.campaign, self.followed, self.muted, chance)

    def teardown(self) -> None:
        if self.campaign.watch.expired:
            self.campaign.over = True
            raise Over


def unmuted(enabled: Mapping[str, tuple[Args, ...]], muted: frozenset[int]) -> Mapping[str, tuple[Args, ...]]:
    """Return the alternatives without the muted ones, or all if none would be left."""
    if not muted:
        return enabled
    left = {name: tuple(a for a in instances if _action_class(name, a) not in muted) for name, instances in enabled.items()}
    return {name: instances for name, instances in left.items() if instances} or enabled


def _action_class(name: str, args: Args) -> int:
    """Return a small number for an action and its first argument, the same in every run."""
    return zlib.crc32(f"{name}{args[:1]}".encode()) % ACTION_CLASSES


def run(campaign: Campaign, programs: int, seed: int, *, steps: int = STEPS, shrink: bool = True) -> ConformanceError | None:
    """Run `programs` programs that Hypothesis draws. Return the smallest finding, None if there is none. Raises Over.

    The same seed gives the same programs with the same versions of Hypothesis and of this package.
    """
    chosen = hypothesis.settings(
        max_examples=programs,
        stateful_step_count=steps,
        phases=[Phase.generate],  # `shorter` shrinks
        deadline=None,
        database=None,
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    machine = hypothesis.seed(seed)(type("Programs", (_Machine,), {"campaign": campaign}))
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except ConformanceError as finding:
        return shorter(campaign, finding) if shrink else finding
    return None


def shorter(campaign: Campaign, finding: ConformanceError) -> ConformanceError:
    """Shrink a finding until no step can be removed."""
    return shrink(finding.moves, finding, lambda moves: _found(campaign, moves), needed=lambda shown: shown.moves)[1]


def _found(campaign: Campaign, moves: Sequence[Move]) -> ConformanceError | None:
    """Return the finding of a program; None if it has none or is not allowed by the specification."""
    try:
        followed = campaign.begin()
        for move in moves:
            if not followed.attempt(move):
                return None
    except ConformanceError as finding:
        return finding
    return None


def perform(campaign: Campaign, moves: Iterable[Move]) -> FollowedProgram:
    """Perform one program.

    Raises ConformanceError at the first step that is not allowed, NeverTaken at a step that the driver never takes.
    """
    followed = campaign.begin()
    for move in moves:
        followed.step(campaign.instance.model.named(move.action), move.args)
    return followed


def attempt(campaign: Campaign, moves: Iterable[Move], action: Action, args: Args) -> State | str | None:
    """Perform a program and then attempt a step that the specification need not allow.

    Return the resulting state, or the reason why the step cannot be done.

    Returns None if the implementation, which may choose among allowed steps, does not take it. Raises ConformanceError if the program
    deviates from the specification, and NeverTaken at a step of it that the implementation never takes.
    """
    driver = perform(campaign, moves).driver
    try:
        if not driver.can(action, args):
            return None
        driver.perform(action, args)
        return driver.observe()
    except Exception as error:  # noqa: BLE001  (a forbidden step may fail anywhere in the driver, and each failure is a reason)
        return str(error) or type(error).__name__
