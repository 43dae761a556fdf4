"""What all shards found together: coverage added up, the smallest program of each finding, and whether it was expected."""

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
class CampaignTotals:
    """Sums over shards. `shown` and `departed` keep the smallest program of each part, and how many shards had one."""

    shards: int = 0
    programs: int = 0
    steps: int = 0
    coverage: dict[str, Coverage] = field(default_factory=dict)  # by scope
    shown: dict[tuple[str, str], tuple[CampaignEvidence, int]] = field(default_factory=dict)  # part, claim
    departed: dict[tuple[str, str], tuple[Divergence, int]] = field(default_factory=dict)  # part, program

    def add(self, came: ShardResult) -> None:
        """Add a shard. The order of shards makes no difference."""
        self.shards += 1
        self.programs += came.programs
        self.steps += came.steps
        scope = came.part.partition("[")[0]
        guards = {_of_action(key): seen for key, seen in came.guards.items()}
        pairs = Counter({_of_action(key): times for key, times in came.pairs.items()})
        mine = Coverage(came.taken, guards, pairs)
        self.coverage[scope] = self.coverage[scope].merge(mine) if scope in self.coverage else mine
        for one in came.shown:
            known, times = self.shown.get((came.part, one.claim), (one, 0))
            self.shown[came.part, one.claim] = min(known, one, key=_size), times + 1
        for other in came.departed:
            key = came.part, " ; ".join(other.labels)
            first, times = self.departed.get(key, (other, 0))
            self.departed[key] = min(first, other, key=_size), times + 1


def _of_action(key: str) -> tuple[str, str]:
    action, _, other = key.partition(": ")
    return action, other


def _size(one: CampaignEvidence | Divergence) -> tuple[int, int]:
    return len(one.steps), one.number


@dataclass(frozen=True)
class CampaignFinding:
    """A finding, or an expected violation: `property` is empty for a step that the specification does not allow.

    `number` and `seed` name the program it was first seen in, `steps` its smallest form, `file` what `rocketproof replay`, `show` or
    pytest take, `trace` what `rocketproof explore` opens, `shards` how many shards showed it.
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
        """Whether the catalogue says that it can be shown."""
        return self.expected in ("violated", "reached")

    def data(self) -> dict[str, Any]:
        """JSON values."""
        return {**vars(self), "steps": list(self.steps)}


def conclude(
    totals: CampaignTotals, parts: Sequence[CampaignPart], tasks: Sequence[CheckTask], seed: int, folder: Path
) -> list[CampaignFinding]:
    """The findings with their smallest programs written to files: what was not expected comes first.

    Raises InputError if a file cannot be written.
    """
    named = {part.name: part for part in parts}
    of = {(task.source, task.claim): task for task in reversed(tasks)}
    paths = witnessfiles.paths(folder, list(of.values()))
    found = [_departure(named[part], one, times, seed, folder) for (part, _), (one, times) in totals.departed.items()]
    for (part, id_), (one, times) in totals.shown.items():
        task = of[named[part].source, id_]
        found.append(_showing(named[part], task, one, times, seed, paths[task]))
    once: dict[tuple[str, tuple[str, ...]], CampaignFinding] = {}
    for each in sorted(found, key=lambda f: (f.is_expected(), f.property, len(f.steps), f.part)):
        once.setdefault((each.property, each.steps), each)
    return list(once.values())


def _departure(part: CampaignPart, one: Divergence, times: int, seed: int, folder: Path) -> CampaignFinding:
    source = part.source
    try:
        perform(campaign_of(part), moves(one.steps))
    except ConformanceError as finding:
        file = report.save(source, finding, folder)
    else:
        raise _other_release(f"a step of {part.name}")
    steps = tuple(one.labels)
    trace = str(report.course_of(file))
    return CampaignFinding("", ALLOWED, "", part.name, source.profile, "", seed, one.number, times, steps, one.text, str(file), trace)


def _showing(part: CampaignPart, task: CheckTask, one: CampaignEvidence, times: int, seed: int, path: str) -> CampaignFinding:
    source = part.source
    if source.is_messages:
        breach = history.BrokenClaim(history.CLAIMS[one.claim], one.text, tuple((name, args) for name, args in one.steps))
        breach = history.smallest(source.profile, task.condition, breach)
        history.save(path, source.profile, task.condition, breach, task.expected)
        steps, text = tuple(f"{name} {args}" if args else name for name, args in breach.steps), breach.text
    else:
        witness = smallest(campaign_of(part), task.claim, moves(one.steps))
        keep_witness(path, witnessfiles.text(task, witness))
        steps, text = tuple(witness.instance.model.named(m.action).label(m.args) for m in witness.moves), one.text
    expected = {"reachable": "reached"}.get(task.kind, task.expected if task.expected == "violated" else "holds")
    return CampaignFinding(
        task.property, task.sentence, expected, part.name, source.profile, task.condition, seed, one.number, times, steps, text, path,
        opened(path),
    )  # fmt: skip


def smallest(campaign: Campaign, claim: str, program: list[Move]) -> Witness:
    """The run of this program's shortest form that still shows the claim: no step of it can be left out. Raises InputError if none does."""
    best = _shows(campaign, claim, program)
    if best is None:
        raise _other_release(f"the program of {claim}")
    return shrink(program, best, lambda moves: _shows(campaign, claim, moves), needed=lambda witness: witness.moves)[1]


def _shows(campaign: Campaign, claim: str, program: Sequence[Move]) -> Witness | None:
    """The run up to where it shows the claim; None where it does not, or is no program."""
    (watched,) = (one for one in campaign.watched if one.id == claim)
    left = deque(program)
    try:
        run = campaign.begin()
        while run.satisfied(watched) != (watched.kind == "reachable"):
            if not left or not run.attempt(left.popleft()):
                return None
    except ConformanceError:
        return None
    return run.witness(watched)


def _other_release(what: str) -> InputError:
    return InputError(f"{what} does not show here what the campaign says; its shards were run with another release: begin a new folder")
