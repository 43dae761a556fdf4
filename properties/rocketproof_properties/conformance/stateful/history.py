"""The stateful engine for claims about histories: runs programs of messages and finds the smallest program that violates each claim.

The selection of the claim's condition gives the programs. A program that violates a claim is shrunk by steps and arguments, which is
possible because any part of a program is a program.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pprint import pformat

from rocketproof_model.result import BOUND, TIME, Limits, Progress, Report, Watch
from rocketproof_profiles import PROFILES
from rocketproof_traces.history import Header
from rocketproof_traces.history.events import event_line, header_line

from ...brokers.runs.recording import on_disk
from ...brokers.runs.simulated import SimulatedRun, history_of
from ...catalogue.history import History
from ...catalogue.promises.statements import promises
from ...catalogue.table import HISTORY_CLAIMS, HistoryClaim
from ...programs.pool import DrawCounts
from ...programs.program import Program, selected
from ...programs.selections import SELECTIONS
from ...programs.shrink import shrink, simpler_steps
from ...programs.vocabulary import Step
from ...reports.choices import known
from ...reports.files import keep_witness, opened

REPORTED = 25  # programs between two reports of progress
SEARCHED = 400  # maximum number of programs in search of a known violation
CLAIMS: Mapping[str, HistoryClaim] = {claim.id: claim for claim in HISTORY_CLAIMS}
CHECKED: Mapping[str, HistoryClaim] = {**CLAIMS, **{promise.id: promise.own for promise in promises() if promise.own is not None}}
"""The claims and promises by which a program can be checked."""


class ClaimBroken(AssertionError):
    """A program violates a claim."""


@dataclass(frozen=True)
class BrokenClaim:
    """A violated claim: the text of the check, and the program."""

    claim: HistoryClaim
    text: str
    steps: tuple[Step, ...]


@dataclass
class HistoryCampaign:
    """The smallest violation of each claim by its id, and the numbers of programs and steps."""

    breaches: dict[str, BrokenClaim] = field(default_factory=dict)
    programs: int = 0
    steps: int = 0
    finished: bool = True
    seconds: float = 0.0

    @property
    def reason(self) -> str:
        """Why a claim without a violation is undecided."""
        return BOUND if self.finished else TIME


def run_program(*, profile: str, condition: str, property: str = "", steps: Sequence[Step]) -> History:
    """Perform a program under a condition. Return its history.

    Raises ClaimBroken if it violates the property, InputError for an unknown name.
    """
    selection = SELECTIONS[known("condition", condition, SELECTIONS)]
    history = history_of(PROFILES[known("profile", profile, PROFILES)], selection.setting, steps)
    if property:
        claim = CHECKED[known("property", property, CHECKED)]
        breach = claim.check(history)
        if breach is not None:
            raise ClaimBroken(f"{claim.id} is violated: {breach}")
    return history


def campaign(
    profile: str,
    condition: str,
    expected: Mapping[str, str],
    *,
    programs: int,
    seed: int,
    limits: Limits = Limits(),
    report: Report | None = None,
    searched: int = SEARCHED,
    small: bool = True,
) -> HistoryCampaign:
    """Run programs of a condition, and check each history against the claims in `expected`, a map of claims to expected verdicts.

    Continues beyond `programs`, up to `searched`, while an expected violation is missing. Ends early when every claim is violated. `small`:
    shrink the program of each violation.
    """
    watch = Watch(limits)
    switches, selection = PROFILES[known("profile", profile, PROFILES)], SELECTIONS[known("condition", condition, SELECTIONS)]
    claims = [CLAIMS[id_] for id_ in expected]
    seen = DrawCounts(random.Random(f"{seed}/{condition}"))
    result = HistoryCampaign()
    broken: dict[str, BrokenClaim] = {}
    wanted = {id_ for id_, verdict in expected.items() if verdict == "violated"}
    while len(broken) < len(expected) and result.programs < (programs if wanted <= broken.keys() else max(programs, searched)):
        steps = selected(selection, seen)
        result.programs += 1
        result.steps += len(steps)
        _judge(history_of(switches, selection.setting, steps), steps, claims, broken)
        if watch.expired:
            result.finished = False
            break
        if report is not None and result.programs % REPORTED == 0:
            report(Progress("stateful", result.steps, result.programs, 0, watch.seconds))
    result.breaches = {id_: smallest(profile, condition, breach) for id_, breach in broken.items()} if small else broken
    result.seconds = watch.seconds
    return result


def _judge(history: History, steps: Sequence[Step], claims: Sequence[HistoryClaim], broken: dict[str, BrokenClaim]) -> None:
    """Record the violated claims; of two programs for the same claim, the shorter is kept."""
    for claim in claims:
        text = claim.check(history)
        known_breach = broken.get(claim.id)
        if text is not None and (known_breach is None or len(steps) < len(known_breach.steps)):
            broken[claim.id] = BrokenClaim(claim, text, tuple(steps))


# Smaller programs


def smallest(profile: str, condition: str, breach: BrokenClaim) -> BrokenClaim:
    """Shrink the program of a violation while the claim stays violated."""
    setting = SELECTIONS[condition].setting

    def breaks(steps: Sequence[Step]) -> str | None:
        return breach.claim.check(history_of(PROFILES[profile], setting, steps))

    steps, text = shrink(breach.steps, breach.text, breaks, simpler=simpler_steps)
    return BrokenClaim(breach.claim, text, tuple(steps))


# Violations as files


def as_test(profile: str, condition: str, breach: BrokenClaim, expected: str) -> str:
    """Return the source of a test that performs the program. It passes if it shows a known violation, and fails for an unknown one."""
    steps = textwrap.indent(pformat(list(breach.steps), width=110, sort_dicts=False), "        ").lstrip()
    text = breach.text.replace("\\", "\\\\").replace('"""', "'''")
    arguments = f"profile={profile!r},\n        condition={condition!r},\n        property={breach.claim.id!r}"
    call = f"run_program(\n        {arguments},\n        steps={steps},\n    )\n"
    name = "".join(c if c.isalnum() else "_" for c in breach.claim.id.lower())
    head = "from rocketproof_properties.conformance.stateful.history import run_program\n\n\n"
    if expected == "violated":
        head = "import pytest\n\nfrom rocketproof_properties.conformance.stateful.history import ClaimBroken, run_program\n\n\n"
        call = "with pytest.raises(ClaimBroken):\n        " + textwrap.indent(call, "    ").lstrip()
    return f'{head}def test_{name}() -> None:\n    """{breach.claim.sentence}:\n    {text}\n    """\n    {call}'


def save(path: str, profile: str, condition: str, breach: BrokenClaim | None, expected: str) -> str | None:
    """Write the test of a violation and its history (`opened`). Return the test's path. Without a violation, files of an older run are
    removed.

    Raises InputError if they cannot be written.
    """
    keep_witness(opened(path), None if breach is None else recorded(profile, condition, breach))
    return keep_witness(path, None if breach is None else as_test(profile, condition, breach, expected))


def recorded(profile: str, condition: str, breach: BrokenClaim) -> str:
    """Return the requests and responses of a violation's program as a history."""
    run = SimulatedRun(PROFILES[profile], SELECTIONS[condition].setting)
    for step in breach.steps:
        run.step(step)
    run.history()
    program = Program(0, condition, breach.steps)
    origin = {"program": program.data(), "profile": profile, "broker": "broker-a", "target": {"name": "the simulated cluster"}}
    seen = [event for event in run.events if event.type != "state"]  # direct access, which clients do not have
    began = min((event.time or 0 for event in seen), default=0)
    events = [replace(on_disk(event), seq=seq, time=(event.time or 0) - began) for seq, event in enumerate(seen)]
    return "".join(f"{line}\n" for line in (header_line(Header(origin)), *map(event_line, events)))
