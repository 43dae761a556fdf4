"""A Hypothesis state machine made from the specification: its actions, run on a target.

What may come next is what the specification's own guards enable, so a program is always one that the specification allows; what the
target then does is compared after every step.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import hypothesis
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from rocketproof_model import Instance, Property
from rocketproof_model.result import Limits, Move, Watch, Witness

from ...programs.draws import seeded_settings
from ...programs.offers import Args, Offers
from ...programs.shrink import shrink
from .follow import ActionTarget, ConformanceError, FollowedProgram

T = TypeVar("T")
STEPS = 50
_CHOICES = st.integers(0, 2**20)
VOICES = 64
_MUTED = st.just(bytes(VOICES // 8)) | st.binary(min_size=VOICES // 8, max_size=VOICES // 8)


@dataclass
class MachineCoverage:
    """Over all programs: the shortest run that broke a property, or that reached what should be reachable."""

    programs: int = 0
    steps: int = 0
    runs: dict[str, Witness] = field(default_factory=dict)

    def note(self, run: FollowedProgram, claim: Property) -> None:
        """Keep this run if it is the shortest."""
        known = self.runs.get(claim.id)
        if known is None or len(known) > len(run.moves):
            self.runs[claim.id] = run.witness(claim)


class Over(BaseException):
    """The time was over at the end of a program. Hypothesis lets it through, as it does Ctrl-C; an Exception would be a failure."""


@dataclass
class Campaign:
    """What one machine runs: an instance, where its targets come from, and what is asked of every state.

    A property in `watched` that is broken, or reached, is noted; what the specification does not allow ends a program. When the `watch`
    has expired, the program is the last one, unless a finding is being made smaller.
    """

    instance: Instance
    target: Callable[[], ActionTarget]
    watched: tuple[Property, ...] = ()
    watch: Watch = field(default_factory=lambda: Watch(Limits()))
    offers: Offers = field(init=False)
    seen: MachineCoverage = field(default_factory=MachineCoverage)
    failing: bool = False

    def __post_init__(self) -> None:
        self.offers = Offers(self.instance)

    def begin(self) -> FollowedProgram:
        """A program on a new target, before its first step. Raises Finding if the initial states differ."""
        run = FollowedProgram(self.instance, self.target(), self.offers)
        run.begin()
        return run

    def look(self, run: FollowedProgram) -> None:
        """Note the watched properties that the last step broke, and the good states that it reached."""
        for claim in self.watched:
            known = self.seen.runs.get(claim.id)
            if known is None or len(known) > len(run.moves):
                reached = run.satisfied(claim)
                if reached == (claim.kind == "reachable"):
                    self.seen.note(run, claim)


class _Machine(RuleBasedStateMachine):
    """The part that all machines share: each step is an enabled instance of one of the specification's actions.

    One rule draws them all. With a rule for each action Hypothesis leaves some of them out of a program for variety, and as few
    are enabled at a time, most programs would end after a few steps.
    """

    campaign: Campaign

    def __init__(self) -> None:
        super().__init__()
        campaign = self.campaign
        campaign.seen.programs += 1
        self.followed = self.noting(campaign.begin)
        self.muted: frozenset[int] = frozenset()
        campaign.look(self.followed)

    @initialize(muted=_MUTED)
    def begin(self, muted: bytes) -> None:
        """In this program, avoid some actions of some clients or brokers: so one of them is late, or never asks."""
        self.muted = frozenset(v for v in range(VOICES) if muted[v // 8] >> v % 8 & 1)

    @rule(action=_CHOICES, instance=_CHOICES)
    def step(self, action: int, instance: int) -> None:
        """The chosen enabled instance, if the target can do it; nothing where nothing is enabled."""
        run = self.followed
        enabled = heard(run.offers.enabled(run.state), self.muted)
        if not enabled:
            return
        name = list(enabled)[action % len(enabled)]
        chosen = run.instance.model.named(name)
        args = enabled[name][instance % len(enabled[name])]
        if self.noting(lambda: run.take(chosen, args)):
            self.campaign.seen.steps += 1
            self.campaign.look(run)

    def teardown(self) -> None:
        if self.campaign.watch.expired and not self.campaign.failing:
            raise Over

    def noting(self, act: Callable[[], T]) -> T:
        """Do it, and note that this program fails if it does."""
        try:
            return act()
        except ConformanceError:
            self.campaign.failing = True
            raise


def heard(enabled: Mapping[str, tuple[Args, ...]], muted: frozenset[int]) -> Mapping[str, tuple[Args, ...]]:
    """The alternatives without the muted ones, unless nothing would be left."""
    if not muted:
        return enabled
    left = {name: tuple(a for a in instances if _voice(name, a) not in muted) for name, instances in enabled.items()}
    return {name: instances for name, instances in left.items() if instances} or enabled


def _voice(name: str, args: Args) -> int:
    """A small number for an action and its first argument, the same in every run."""
    return zlib.crc32(f"{name}{args[:1]}".encode()) % VOICES


def machine(campaign: Campaign) -> type[_Machine]:
    """The state machine of a campaign."""
    return type("Programs", (_Machine,), {"campaign": campaign})


def run(campaign: Campaign, programs: int, seed: int, *, steps: int = STEPS, shrink: bool = True) -> ConformanceError | None:
    """Run so many programs; the smallest finding, or None. The same seed gives the same programs. Raises Over."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    chosen = seeded_settings(programs, *phases, stateful_step_count=steps, report_multiple_bugs=False)
    made = hypothesis.seed(seed)(machine(campaign))
    try:
        run_state_machine_as_test(made, settings=chosen)
    except ConformanceError as finding:
        return shorter(campaign, finding) if shrink else finding
    return None


def shorter(campaign: Campaign, finding: ConformanceError) -> ConformanceError:
    """The finding by a program from which no step can be left out: Hypothesis often keeps steps of somebody else."""
    return shrink(finding.moves, finding, lambda moves: _found(campaign, moves), needed=lambda found: found.moves)[1]


def _found(campaign: Campaign, moves: Sequence[Move]) -> ConformanceError | None:
    """What a program finds; None if it finds nothing or is none that the specification allows."""
    try:
        followed = campaign.begin()
        for move in moves:
            if not followed.attempt(move):
                return None
    except ConformanceError as finding:
        return finding
    return None


def perform(campaign: Campaign, moves: Iterable[Move]) -> FollowedProgram:
    """One given program. Raises Finding at the first step that the specification does not allow, Refused at one the target never takes."""
    followed = campaign.begin()
    for move in moves:
        followed.step(campaign.instance.model.named(move.action), move.args)
    return followed
