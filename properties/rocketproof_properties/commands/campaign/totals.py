"""Merge the results of all shards: total coverage, the smallest program of each finding, and whether it was expected."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_model.result import Coverage, Move, Witness

from ...conformance.stateful import history, report
from ...conformance.stateful.follow import ALLOWED, ConformanceError
from ...conformance.stateful.machine import Campaign, perform
from ...programs.shrink import shrink
from ...reports.choices import InputError
from ...reports.files import keep_witness, opened
from ..checks import witnessfiles
from ..checks.plan import CheckTask
from .shard import CampaignEvidence, CampaignPart, Divergence, ShardResult, campaign_of, moves


@dataclass
class PartTotals:
    """Sums over the shards of a part. `departed` is the number of shards that took a step which the specification does not allow."""

    shards: int = 0
    programs: int = 0
    departed: int = 0


@dataclass
class CampaignTotals:
    """Sums over shards. `shown` and `departed` hold the smallest program of each part, and the number of shards that had one."""

    shards: int = 0
    programs: int = 0
    steps: int = 0
    parts: dict[str, PartTotals] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)  # by scope
    shown: dict[tuple[str, str], tuple[CampaignEvidence, int]] = field(default_factory=dict)  # part, claim
    departed: dict[tuple[str, str], tuple[Divergence, int]] = field(default_factory=dict)  # part, program

    def add(self, result: ShardResult) -> None:
        """Add a shard's result. The order of the shards makes no difference."""
        self.shards += 1
        self.programs += result.programs
        self.steps += result.steps
        of_part = self.parts.setdefault(result.part, PartTotals())
        of_part.shards += 1
        of_part.programs += result.programs
        of_part.departed += bool(result.departed)
        scope = result.part.partition("[")[0]
        guards = {_of_action(key): sides for key, sides in result.guards.items()}
        pairs = Counter({_of_action(key): times for key, times in result.pairs.items()})
        coverage = Coverage(result.taken, guards, pairs)
        self.coverage[scope] = self.coverage[scope].merge(coverage) if scope in self.coverage else coverage
        for evidence in result.shown:
            known, times = self.shown.get((result.part, evidence.claim), (evidence, 0))
            self.shown[result.part, evidence.claim] = min(known, evidence, key=_size), times + 1
        for divergence in result.departed:
            key = result.part, " ; ".join(divergence.labels)
            first, times = self.departed.get(key, (divergence, 0))
            self.departed[key] = min(first, divergence, key=_size), times + 1


def _of_action(key: str) -> tuple[str, str]:
    action, _, other = key.partition(": ")
    return action, other


def _size(shown: CampaignEvidence | Divergence) -> tuple[int, int]:
    return len(shown.steps), shown.number


@dataclass(frozen=True)
class CampaignFinding:
    """A finding, or an expected violation. `property` is empty for a step that the specification does not allow.

    `number` and `seed` identify the program that first showed it, and `steps` is its smallest form. `file` is accepted by `rocketproof
    replay`, `show` or pytest, `trace` by `rocketproof explore`. `shards` counts the shards that showed it.
    """

    property: str
    sentence: str
    expected: str
    part: str
    profile: str
    condition: str
    seed: int
    number: int
    shards: int
    steps: tuple[str, ...]
    text: str
    file: str
    trace: str

    def is_expected(self) -> bool:
        """Return whether the catalogue expects the violation, or expects the state to be reached."""
        return self.expected in ("violated", "reached")

    def data(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**vars(self), "steps": list(self.steps)}


def conclude(
    totals: CampaignTotals, parts: Sequence[CampaignPart], tasks: Sequence[CheckTask], seed: int, folder: Path
) -> list[CampaignFinding]:
    """Write the smallest program of each finding to a file, and return the findings, unexpected ones first.

    Raises InputError if a file cannot be written.
    """
    named = {part.name: part for part in parts}
    task_of = {(task.source, task.claim): task for task in reversed(tasks)}
    paths = witnessfiles.paths(folder, list(task_of.values()))
    findings = [_departure(named[part], shown, times, seed, folder) for (part, _), (shown, times) in totals.departed.items()]
    for (part, id_), (shown, times) in totals.shown.items():
        task = task_of[named[part].source, id_]
        findings.append(_showing(named[part], task, shown, times, seed, paths[task]))
    distinct: dict[tuple[str, tuple[str, ...]], CampaignFinding] = {}
    for finding in sorted(findings, key=lambda f: (f.is_expected(), f.property, len(f.steps), f.part)):
        distinct.setdefault((finding.property, finding.steps), finding)
    return list(distinct.values())


def _departure(part: CampaignPart, divergence: Divergence, times: int, seed: int, folder: Path) -> CampaignFinding:
    source = part.source
    try:
        perform(campaign_of(part), moves(divergence.steps))
    except ConformanceError as finding:
        file = report.save(source, finding, folder)
    else:
        raise _other_release(f"a step of {part.name}")
    steps = tuple(divergence.labels)
    trace = str(report.course_of(file))
    return CampaignFinding(
        "", ALLOWED, "", part.name, source.profile, "", seed, divergence.number, times, steps, divergence.text, str(file), trace
    )


def _showing(part: CampaignPart, task: CheckTask, evidence: CampaignEvidence, times: int, seed: int, path: str) -> CampaignFinding:
    source = part.source
    if source.is_messages:
        breach = history.BrokenClaim(history.CLAIMS[evidence.claim], evidence.text, tuple((name, args) for name, args in evidence.steps))
        breach = history.smallest(source.profile, task.condition, breach)
        history.save(path, source.profile, task.condition, breach, task.expected)
        steps, text = tuple(f"{name} {args}" if args else name for name, args in breach.steps), breach.text
    else:
        witness = smallest(campaign_of(part), task.claim, moves(evidence.steps))
        keep_witness(path, witnessfiles.text(task, witness))
        steps, text = tuple(witness.instance.model.named(m.action).label(m.args) for m in witness.moves), evidence.text
    expected = {"reachable": "reached"}.get(task.kind, task.expected if task.expected == "violated" else "holds")
    return CampaignFinding(
        task.property, task.sentence, expected, part.name, source.profile, task.condition, seed, evidence.number, times, steps, text, path,
        opened(path),
    )  # fmt: skip


def smallest(campaign: Campaign, claim: str, program: list[Move]) -> Witness:
    """Shrink a program while it still shows the claim, and return the run: no step can be left out.

    Raises InputError if the program does not show the claim.
    """
    best = _shows(campaign, claim, program)
    if best is None:
        raise _other_release(f"the program of {claim}")
    return shrink(program, best, lambda moves: _shows(campaign, claim, moves), needed=lambda witness: witness.moves)[1]


def _shows(campaign: Campaign, claim: str, program: Sequence[Move]) -> Witness | None:
    """Return the run up to the step that shows the claim; None if the claim is not shown or a step is not enabled."""
    (watched,) = (property_ for property_ in campaign.watched if property_.id == claim)
    remaining = deque(program)
    try:
        run = campaign.begin()
        while run.satisfied(watched) != (watched.kind == "reachable"):
            if not remaining or not run.attempt(remaining.popleft()):
                return None
    except ConformanceError:
        return None
    return run.witness(watched)


def _other_release(what: str) -> InputError:
    return InputError(f"{what} does not show here what the campaign says; its shards were run with another release: begin a new folder")
