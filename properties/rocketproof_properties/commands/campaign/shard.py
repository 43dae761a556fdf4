"""A shard: a range of programs of one part. Shards and their results are plain data that can be sent to other machines and saved."""

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
from ...conformance.stateful.machine import Campaign, shorter, walk

KEPT = 5  # number of findings kept per shard, the shortest first


@dataclass(frozen=True)
class CampaignPart:
    """The source of the programs, and the expected verdict of each observed claim (by claim id)."""

    source: ModelSource
    expected: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Identifies the part within a campaign: its scope and its parameters, without spaces."""
        values = ",".join(f"{key}={value}" for key, value in self.source.given)
        return f"{self.source.scope}[{values}]".replace(" ", "-") if values else self.source.scope


@dataclass(frozen=True)
class Shard:
    """The programs `first`, `first + 1`, … of a part; `programs` is their number."""

    part: CampaignPart
    seed: int
    first: int
    programs: int

    @property
    def key(self) -> str:
        return f"{self.part.name}#{self.first}+{self.programs}"

    def data(self) -> dict[str, Any]:
        """Return JSON values, which `read` parses."""
        source = self.part.source.record()
        return {"source": source, "expected": dict(self.part.expected), "seed": self.seed, "first": self.first, "programs": self.programs}

    @staticmethod
    def read(data: Mapping[str, Any]) -> Shard:
        """Parse the result of `data`."""
        part = CampaignPart(ModelSource.read(data["source"]), tuple(data["expected"].items()))
        return Shard(part, data["seed"], data["first"], data["programs"])


@dataclass
class CampaignEvidence:
    """A broken claim, or a reached state: the shortest program of the shard that shows it.

    `steps` are pairs of an action's name and its arguments. `text` explains the violation if the claim does so.
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
    """The result of a shard.

    `taken` counts the steps of each action. `guards` maps `action: guard` to whether it was ever true and ever false. `pairs` counts, by
    `action: action`, how often the second action directly followed the first.
    """

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
        """Return JSON values, which `read` parses.

        All steps are written as Python literals, because steps of messages contain values that JSON lacks.
        """
        fields = asdict(self)
        for entry in (*fields["shown"], *fields["departed"]):
            entry["steps"] = repr(entry["steps"])
        return fields

    @staticmethod
    def read(data: Mapping[str, Any]) -> ShardResult:
        """Parse the result of `data`."""
        result = ShardResult(**data)
        result.guards = {key: (bool(true), bool(false)) for key, (true, false) in result.guards.items()}
        result.shown = [CampaignEvidence(**{**entry, "steps": ast.literal_eval(entry["steps"])}) for entry in data["shown"]]
        result.departed = [Divergence(**{**entry, "steps": ast.literal_eval(entry["steps"])}) for entry in data["departed"]]
        return result


def perform(shard: Shard) -> ShardResult:
    """Run the programs of a shard. Raises InputError for a part that does not exist."""
    return _messages(shard) if shard.part.source.is_messages else _walks(shard)


def campaign_of(part: CampaignPart) -> Campaign:
    """Return the stateful engine's campaign for a part of the specification: its driver and the observed claims."""
    instance, properties, driver = _built(part.source)
    campaign = Campaign(instance, driver)
    expected = dict(part.expected)
    campaign.watched = tuple(claim for claim in properties if claim.id in expected and claim.kind in ("always", "step", "reachable"))
    return campaign


@lru_cache(maxsize=4)
def _built(source: ModelSource) -> tuple[Any, Sequence[Property], Any]:
    subject = source.subject()
    return subject.instance, subject.properties, engine.driver_of(source, subject)


def _walks(shard: Shard) -> ShardResult:
    result = ShardResult(shard.key, shard.part.name)
    campaign = campaign_of(shard.part)
    first: dict[str, tuple[int, int]] = {}  # claim to the length of its shortest program and its number
    findings: dict[str, tuple[int, ConformanceError]] = {}
    for number in range(shard.first, shard.first + shard.programs):
        result.programs += 1
        try:
            walk(campaign, f"{shard.seed} {shard.part.name} {number}")
        except ConformanceError as finding:
            kind = finding.text.split("(")[0]
            if kind not in findings or len(finding.moves) < len(findings[kind][1].moves):
                findings[kind] = number, finding
        for id_, witness in campaign.seen.runs.items():
            if id_ not in first or first[id_][0] > len(witness.moves):
                first[id_] = len(witness.moves), number
    for id_, witness in campaign.seen.runs.items():
        result.shown.append(CampaignEvidence(id_, first[id_][1], [(move.action, list(move.args)) for move in witness.moves]))
    for number, divergence in sorted(findings.values(), key=lambda entry: len(entry[1].moves))[:KEPT]:
        small = shorter(campaign, divergence)
        steps = [(move.action, list(move.args)) for move in small.moves]
        result.departed.append(Divergence(number, small.text, list(small.steps), steps))
    coverage = campaign.offers.coverage()
    result.steps, result.taken = campaign.seen.steps, dict(coverage.taken)
    result.guards = {f"{action}: {guard}": (true, false) for (action, guard), (true, false) in coverage.guards.items()}
    result.pairs = {f"{earlier}: {later}": times for (earlier, later), times in coverage.pairs.items()}
    return result


def moves(steps: Sequence[tuple[str, Any]]) -> list[Move]:
    """Convert the steps of a program of the specification to moves."""
    return [Move(name, tuple(args)) for name, args in steps]


def _messages(shard: Shard) -> ShardResult:
    """Run programs of messages. They are drawn together, so their seed derives from the number of the shard's first program.

    A drawing ends when each claim is broken. The remaining programs are then drawn with a new seed.
    """
    source = shard.part.source
    condition, expected = str(dict(source.given)["programs"]), dict(shard.part.expected)
    result = ShardResult(shard.key, shard.part.name)
    breaches: dict[str, history.BrokenClaim] = {}
    while result.programs < shard.programs:
        seed = random.Random(f"{shard.seed} {shard.part.name} {shard.first + result.programs}").getrandbits(48)
        remaining = shard.programs - result.programs
        drawn = history.campaign(source.profile, condition, expected, programs=remaining, seed=seed, searched=0, small=False)
        if not drawn.programs:
            break
        result.programs += drawn.programs
        result.steps += drawn.steps
        for id_, breach in drawn.breaches.items():
            if id_ not in breaches or len(breach.steps) < len(breaches[id_].steps):
                breaches[id_] = breach
    result.shown = [CampaignEvidence(id_, shard.first, list(breach.steps), breach.text) for id_, breach in breaches.items()]
    return result
