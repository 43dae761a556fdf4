"""A shard: some programs of one part. It is plain data, and so is what came of it, so that either may cross machines and be kept."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from rocketproof_model import Property
from rocketproof_model.result import Move

from ...catalogue.source import ModelSource
from ...conformance.stateful import engine, history
from ...conformance.stateful.follow import ConformanceError
from ...conformance.stateful.machine import ACTION_CLASSES, STEPS, Campaign, shorter, unmuted

KEPT = 5  # findings of a shard, the shortest ones


@dataclass(frozen=True)
class CampaignPart:
    """What programs are of, and the verdict expected for each claim that is looked at along the way (ids of claims)."""

    source: ModelSource
    expected: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Names the part within a campaign: the scope and what is given, without spaces."""
        given = ",".join(f"{key}={value}" for key, value in self.source.given)
        return f"{self.source.scope}[{given}]".replace(" ", "-") if given else self.source.scope


@dataclass(frozen=True)
class Shard:
    """Programs `first`, `first + 1`, … of a part."""

    part: CampaignPart
    seed: int
    first: int
    programs: int

    @property
    def key(self) -> str:
        return f"{self.part.name}#{self.first}+{self.programs}"

    def data(self) -> dict[str, Any]:
        """JSON values, which `read` understands."""
        source = self.part.source.record()
        return {"source": source, "expected": dict(self.part.expected), "seed": self.seed, "first": self.first, "programs": self.programs}

    @staticmethod
    def read(data: Mapping[str, Any]) -> Shard:
        """The shard that `data` wrote."""
        part = CampaignPart(ModelSource.read(data["source"]), tuple(data["expected"].items()))
        return Shard(part, data["seed"], data["first"], data["programs"])


@dataclass
class CampaignEvidence:
    """A claim that a program broke, or a state that it should be possible to reach: the shortest program of the shard that shows it.

    `steps` are pairs of an action's name and its arguments. `text` says what was wrong where the claim says so.
    """

    claim: str
    number: int
    steps: list[tuple[str, Any]]
    text: str = ""


@dataclass
class Divergence:
    """A step that the specification does not allow: the smallest program that shows it, as labels and as moves."""

    number: int
    text: str
    labels: list[str]
    steps: list[tuple[str, Any]]


@dataclass
class ShardResult:
    """What came of a shard. `taken` counts each action's steps; `guards` says of `action: guard` whether it was ever true, ever false;
    `pairs` counts which action came right after which, by `action: action`."""

    key: str
    part: str
    programs: int = 0
    steps: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    guards: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    shown: list[CampaignEvidence] = field(default_factory=list)
    departed: list[Divergence] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """JSON values, which `read` understands. Steps of messages hold what only Python can write, so all steps are text."""
        made = asdict(self)
        for one in (*made["shown"], *made["departed"]):
            one["steps"] = repr(one["steps"])
        return made

    @staticmethod
    def read(data: Mapping[str, Any]) -> ShardResult:
        """What `data` wrote."""
        made = ShardResult(**data)
        made.guards = {key: (bool(true), bool(false)) for key, (true, false) in made.guards.items()}
        made.shown = [CampaignEvidence(**{**one, "steps": ast.literal_eval(one["steps"])}) for one in data["shown"]]
        made.departed = [Divergence(**{**one, "steps": ast.literal_eval(one["steps"])}) for one in data["departed"]]
        return made


def perform(shard: Shard) -> ShardResult:
    """Run the programs. Raises InputError for a part that does not exist."""
    return _messages(shard) if shard.part.source.is_messages else _walks(shard)


def campaign_of(part: CampaignPart) -> Campaign:
    """The machine's campaign of a part of the specification: targets, and the claims that are looked at."""
    instance, properties, target = _built(part.source)
    made = Campaign(instance, target)
    expected = dict(part.expected)
    made.watched = tuple(claim for claim in properties if claim.id in expected and claim.kind in ("always", "step", "reachable"))
    return made


@lru_cache(maxsize=4)
def _built(source: ModelSource) -> tuple[Any, Sequence[Property], Any]:
    subject = source.subject()
    return subject.instance, subject.properties, engine.target_of(source, subject)


def _walks(shard: Shard) -> ShardResult:
    came = ShardResult(shard.key, shard.part.name)
    campaign = campaign_of(shard.part)
    first: dict[str, tuple[int, int]] = {}  # claim to the length of its shortest program and its number
    findings: dict[str, tuple[int, ConformanceError]] = {}
    for number in range(shard.first, shard.first + shard.programs):
        came.programs += 1
        try:
            walk(campaign, shard.seed, shard.part.name, number)
        except ConformanceError as finding:
            kind = finding.text.split("(")[0]
            if kind not in findings or len(finding.moves) < len(findings[kind][1].moves):
                findings[kind] = number, finding
        for id_, witness in campaign.seen.runs.items():
            if id_ not in first or first[id_][0] > len(witness.moves):
                first[id_] = len(witness.moves), number
    for id_, witness in campaign.seen.runs.items():
        came.shown.append(CampaignEvidence(id_, first[id_][1], [(move.action, list(move.args)) for move in witness.moves]))
    for number, met in sorted(findings.values(), key=lambda one: len(one[1].moves))[:KEPT]:
        small = shorter(campaign, met)
        steps = [(move.action, list(move.args)) for move in small.moves]
        came.departed.append(Divergence(number, small.text, list(small.steps), steps))
    coverage = campaign.offers.coverage()
    came.steps, came.taken = campaign.seen.steps, dict(coverage.taken)
    came.guards = {f"{action}: {guard}": (true, false) for (action, guard), (true, false) in coverage.guards.items()}
    came.pairs = {f"{one}: {other}": times for (one, other), times in coverage.pairs.items()}
    return came


def walk(campaign: Campaign, seed: int, part: str, number: int) -> None:
    """Perform the program with this number: enabled actions at random, some of them muted. Raises Finding.

    Each program has its own seed, so that it is the same one in any shard.
    """
    chance = random.Random(f"{seed} {part} {number}")
    muted = frozenset[int]() if chance.random() < 0.5 else frozenset(v for v in range(ACTION_CLASSES) if chance.random() < 0.5)
    run = campaign.begin()
    campaign.seen.programs += 1
    campaign.record_properties(run)
    for _ in range(STEPS):
        enabled = unmuted(run.offers.enabled(run.state), muted)
        if not enabled:
            return
        name = chance.choice(list(enabled))
        args = chance.choice(enabled[name])
        if run.take(run.instance.model.named(name), args):
            campaign.seen.steps += 1
            campaign.record_properties(run)


def moves(steps: Sequence[tuple[str, Any]]) -> list[Move]:
    """Steps of a program of the specification as moves."""
    return [Move(name, tuple(args)) for name, args in steps]


def _messages(shard: Shard) -> ShardResult:
    """Programs of messages: the seed is the number of the shard's first one, as they are drawn together.

    They stop where each claim is broken, and then the rest is drawn anew.
    """
    source = shard.part.source
    condition, expected = str(dict(source.given)["programs"]), dict(shard.part.expected)
    came = ShardResult(shard.key, shard.part.name)
    breaches: dict[str, history.BrokenClaim] = {}
    while came.programs < shard.programs:
        seed = random.Random(f"{shard.seed} {shard.part.name} {shard.first + came.programs}").getrandbits(48)
        left = shard.programs - came.programs
        found = history.campaign(source.profile, condition, expected, programs=left, seed=seed, searched=0, small=False)
        if not found.programs:
            break
        came.programs += found.programs
        came.steps += found.steps
        for id_, breach in found.breaches.items():
            if id_ not in breaches or len(breach.steps) < len(breaches[id_].steps):
                breaches[id_] = breach
    came.shown = [CampaignEvidence(id_, shard.first, list(breach.steps), breach.text) for id_, breach in breaches.items()]
    return came
