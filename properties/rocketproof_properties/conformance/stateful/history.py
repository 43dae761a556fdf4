"""The stateful engine for claims about histories: programs of plain messages, and the smallest one that breaks each claim.

A program is drawn by Hypothesis. One that breaks a claim is made smaller here, step by step and argument by argument, because
a program is plain data and half of it is one too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pprint import pformat

import hypothesis
from hypothesis import Phase
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from rocketproof_model.result import BOUND, TIME, Limits, Progress, Report, Watch
from rocketproof_profiles import PROFILES, Profile
from rocketproof_traces.history import Header
from rocketproof_traces.history.events import event_line, header_line

from ...brokers.runs.recording import on_disk
from ...brokers.runs.simulated import SimulatedRun, history_of
from ...catalogue.history import History
from ...catalogue.table import HISTORY_CLAIMS, HistoryClaim
from ...programs.draws import seeded_settings
from ...programs.program import Program
from ...programs.shrink import shrink, simpler_steps
from ...programs.strategies import PROGRAMS, ProgramStrategy
from ...programs.vocabulary import Step
from ...reports.choices import known
from ...reports.files import keep_witness, opened
from .machine import Over

CHUNK = 25
SEARCHED = 400  # programs after which a known violation is given up
CLAIMS: Mapping[str, HistoryClaim] = {claim.id: claim for claim in HISTORY_CLAIMS}


class ClaimBroken(AssertionError):
    """A program broke a claim."""


@dataclass(frozen=True)
class BrokenClaim:
    """A claim that is broken: what the check says, and the program."""

    claim: HistoryClaim
    text: str
    steps: tuple[Step, ...]


@dataclass
class HistoryCampaign:
    """The smallest breach found of each claim, by its id; how many programs and steps were run."""

    breaches: dict[str, BrokenClaim] = field(default_factory=dict)
    programs: int = 0
    steps: int = 0
    finished: bool = True
    seconds: float = 0.0

    @property
    def reason(self) -> str:
        """Why a claim without a breach is not decided."""
        return BOUND if self.finished else TIME


def run_program(*, profile: str, condition: str, property: str = "", steps: Sequence[Step]) -> History:
    """Perform a program as programs of that condition are performed; its history.

    Raises Broken if it breaks the property, InputError for a name that does not exist.
    """
    programs = PROGRAMS[known("condition", condition, PROGRAMS)]
    history = history_of(PROFILES[known("profile", profile, PROFILES)], programs.setting, steps)
    if property:
        claim = CLAIMS[known("property", property, CLAIMS)]
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
    """Run programs of a condition and judge each one's history by the claims that `expected` names, each with its expected verdict.

    It goes on beyond the number, up to `searched`, while an expected violation has not been found, and ends early when every claim
    is broken. `small`: make each breach's program as small as can be.
    """
    watch = Watch(limits)
    made = PROGRAMS[known("condition", condition, PROGRAMS)]
    result = HistoryCampaign()
    found: dict[str, BrokenClaim] = {}
    run = _Run(PROFILES[known("profile", profile, PROFILES)], made, [CLAIMS[id_] for id_ in expected], found, result, watch)
    wanted = {id_ for id_, verdict in expected.items() if verdict == "violated"}
    while len(found) < len(expected) and result.programs < (programs if wanted <= found.keys() else max(programs, searched)):
        before = result.programs
        try:
            _chunk(run, min(CHUNK, programs - before) if before < programs else CHUNK, seed + before)
        except Over:
            result.finished = False
            break
        if report is not None:
            report(Progress("stateful", result.steps, result.programs, 0, watch.seconds))
    result.breaches = {id_: smallest(profile, condition, breach) for id_, breach in found.items()} if small else found
    result.seconds = watch.seconds
    return result


@dataclass
class _Run:
    """What all programs of a campaign share."""

    profile: Profile
    programs: ProgramStrategy
    claims: Sequence[HistoryClaim]
    found: dict[str, BrokenClaim]
    result: HistoryCampaign
    watch: Watch

    def judge(self, steps: Sequence[Step]) -> None:
        """Perform a program and note what it breaks, the shorter one where two break the same."""
        self.result.programs += 1
        self.result.steps += len(steps)
        history = history_of(self.profile, self.programs.setting, steps)
        for claim in self.claims:
            text = claim.check(history)
            known_breach = self.found.get(claim.id)
            if text is not None and (known_breach is None or len(steps) < len(known_breach.steps)):
                self.found[claim.id] = BrokenClaim(claim, text, tuple(steps))


class _Messages(RuleBasedStateMachine):
    """A program: one rule that draws its steps. It is performed and judged when it is complete."""

    run: _Run

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = list(self.run.programs.first)

    def teardown(self) -> None:
        if len(self.run.found) < len(self.run.claims):
            self.run.judge(self.steps)
        if self.run.watch.expired:
            raise Over


def _chunk(run: _Run, programs: int, seed: int) -> None:
    """Some programs. The same seed gives the same ones."""

    def step(self: _Messages, step: Step) -> None:
        self.steps.append(step)

    body = {"run": run, "step": rule(step=run.programs.steps)(step)}
    made = type("Messages", (_Messages,), body)
    chosen = seeded_settings(programs, Phase.generate, stateful_step_count=run.programs.most)
    run_state_machine_as_test(hypothesis.seed(seed)(made), settings=chosen)


# Smaller programs


def smallest(profile: str, condition: str, breach: BrokenClaim) -> BrokenClaim:
    """The breach with steps and arguments left out as long as the claim stays broken."""
    setting = PROGRAMS[condition].setting

    def breaks(steps: Sequence[Step]) -> str | None:
        return breach.claim.check(history_of(PROFILES[profile], setting, steps))

    steps, text = shrink(breach.steps, breach.text, breaks, simpler=simpler_steps)
    return BrokenClaim(breach.claim, text, tuple(steps))


# A breach as something to keep


def as_test(profile: str, condition: str, breach: BrokenClaim, expected: str) -> str:
    """The source of a test that performs the program. A known violation has to be shown again; an unknown one fails the test."""
    steps = textwrap.indent(pformat(list(breach.steps), width=110, sort_dicts=False), "        ").lstrip()
    said = breach.text.replace("\\", "\\\\").replace('"""', "'''")
    about = f"profile={profile!r},\n        condition={condition!r},\n        property={breach.claim.id!r}"
    call = f"run_program(\n        {about},\n        steps={steps},\n    )\n"
    named = "".join(c if c.isalnum() else "_" for c in breach.claim.id.lower())
    head = "from rocketproof_properties.conformance.stateful.history import run_program\n\n\n"
    if expected == "violated":
        head = "import pytest\n\nfrom rocketproof_properties.conformance.stateful.history import ClaimBroken, run_program\n\n\n"
        call = "with pytest.raises(ClaimBroken):\n        " + textwrap.indent(call, "    ").lstrip()
    return f'{head}def test_{named}() -> None:\n    """{breach.claim.sentence}:\n    {said}\n    """\n    {call}'


def save(path: str, profile: str, condition: str, breach: BrokenClaim | None, expected: str) -> str | None:
    """Write the test of a breach, the history of its program beside it (`opened`), and give the path; without a breach an older run's
    files go away.

    Raises InputError if they cannot be written.
    """
    keep_witness(opened(path), None if breach is None else recorded(profile, condition, breach))
    return keep_witness(path, None if breach is None else as_test(profile, condition, breach, expected))


def recorded(profile: str, condition: str, breach: BrokenClaim) -> str:
    """What is asked and answered in a breach's program, as a history."""
    run = SimulatedRun(PROFILES[profile], PROGRAMS[condition].setting)
    for step in breach.steps:
        run.step(step)
    run.history()
    program = Program(0, condition, breach.steps)
    origin = {"program": program.data(), "profile": profile, "broker": "broker-a", "target": {"name": "the simulated cluster"}}
    seen = [event for event in run.events if event.type != "state"]  # those are looks inside, of which no client knows
    began = min((event.time or 0 for event in seen), default=0)
    events = [replace(on_disk(event), seq=seq, time=(event.time or 0) - began) for seq, event in enumerate(seen)]
    return "".join(f"{line}\n" for line in (header_line(Header(origin)), *map(event_line, events)))
