"""Random programs of the specification's actions, run on a target.

The specification's guards decide which steps are enabled, so that every program is allowed. The target's state is compared after every
step. A program depends on the seed and its number.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rocketproof_model import Instance, Property
from rocketproof_model.result import Limits, Move, Watch, Witness

from ...programs.offers import Args, Offers
from ...programs.shrink import shrink
from .follow import ActionTarget, ConformanceError, FollowedProgram

STEPS = 50
ACTION_CLASSES = 64


@dataclass
class MachineCoverage:
    """Over all programs, the shortest run that violated each property, or that reached its state if the property is `reachable`."""

    programs: int = 0
    steps: int = 0
    runs: dict[str, Witness] = field(default_factory=dict)

    def note(self, run: FollowedProgram, claim: Property) -> None:
        """Keep this run if it is the shortest."""
        known = self.runs.get(claim.id)
        if known is None or len(known) > len(run.moves):
            self.runs[claim.id] = run.witness(claim)


class Over(Exception):
    """The time limit has expired at the end of a program."""


@dataclass
class Campaign:
    """What one machine runs: an instance, a function that makes targets, and the properties that are checked in every state.

    Violated or reached properties in `watched` are recorded. A step that the specification does not allow ends a program. When `watch` has
    expired, no further program starts.
    """

    instance: Instance
    target: Callable[[], ActionTarget]
    watched: tuple[Property, ...] = ()
    watch: Watch = field(default_factory=lambda: Watch(Limits()))
    offers: Offers = field(init=False)
    seen: MachineCoverage = field(default_factory=MachineCoverage)

    def __post_init__(self) -> None:
        self.offers = Offers(self.instance)

    def begin(self) -> FollowedProgram:
        """Return a program on a new target before its first step. Raises ConformanceError if the initial states differ."""
        run = FollowedProgram(self.instance, self.target(), self.offers)
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
    """Run the program of a seed: random enabled actions. In half of the programs a random subset of actions is disabled (swarm testing).

    Raises ConformanceError.
    """
    chance = random.Random(seed)
    muted = frozenset[int]() if chance.random() < 0.5 else frozenset(v for v in range(ACTION_CLASSES) if chance.random() < 0.5)
    campaign.seen.programs += 1
    run = campaign.begin()
    campaign.record_properties(run)
    for _ in range(steps):
        enabled = unmuted(run.offers.enabled(run.state), muted)
        if not enabled:
            return
        name = chance.choice(list(enabled))
        args = chance.choice(enabled[name])
        if run.take(run.instance.model.named(name), args):
            campaign.seen.steps += 1
            campaign.record_properties(run)


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
    """Run `programs` programs. Return the smallest finding, None if there is none. The same seed gives the same programs. Raises Over."""
    for number in range(programs):
        try:
            walk(campaign, f"{seed} {number}", steps)
        except ConformanceError as finding:
            return shorter(campaign, finding) if shrink else finding
        if campaign.watch.expired:
            raise Over
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

    Raises ConformanceError at the first step that is not allowed, NeverTaken at a step that the target never takes.
    """
    followed = campaign.begin()
    for move in moves:
        followed.step(campaign.instance.model.named(move.action), move.args)
    return followed
