"""The typed answers of the tools. Texts that come from files and brokers are data: `bounded.py` escapes and shortens them.

Each answer has `cut`: the omitted parts, by field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class CheckedProperty:
    """A verdict. `as_expected` is None if nothing was decided. `witness` names the counterexample for `explain` and `why_not`."""

    property: str
    sentence: str
    profile: str
    condition: str
    verdict: str
    expected: str
    as_expected: bool | None
    reason: str
    states: int | None
    steps: int | None
    witness: str


@dataclass
class CheckAnswer:
    """The verdicts, those that are not as expected first."""

    outcome: str
    verdicts: list[CheckedProperty]
    problems: list[str]
    cut: list[str] = field(default_factory=list)


@dataclass
class WitnessStep:
    """A step of a counterexample: its actor, its action, and the values that change. `property` is the property's truth after it."""

    number: int
    by: str
    action: str
    sentence: str
    changes: list[str]
    property: str


@dataclass
class ExplainAnswer:
    """A counterexample step by step; with `step`, the actions that can happen before it."""

    title: str
    sentence: str
    steps: list[WitnessStep]
    loop: str
    end: str
    note: str
    enabled: list[str]
    cut: list[str] = field(default_factory=list)


@dataclass
class WhyNotAnswer:
    """Why an action can or cannot happen before a step: the guard that refuses it with its values, or what it would change."""

    step: int
    action: str
    sentence: str
    enabled: bool
    guard: str
    guard_sentence: str
    condition: str
    values: dict[str, Any]
    would_change: list[str]
    error: str
    cut: list[str] = field(default_factory=list)


@dataclass
class HazardStepAnswer:
    """A step of a hazard, and the facts that follow."""

    sentence: str
    facts: list[str]


@dataclass
class HazardEntry:
    """A known surprise. `about` has the cause and how to avoid it, and `steps` its program; both only if one hazard was asked for."""

    id: str
    title: str
    properties: list[str]
    rules: list[str]
    profile: str
    shown: bool | None
    about: list[str]
    steps: list[HazardStepAnswer]


@dataclass
class HazardAnswer:
    hazards: list[HazardEntry]
    cut: list[str] = field(default_factory=list)


@dataclass
class JudgeAnswer:
    """Whether the specification explains a history: `ok`, `illegal` or `unknown`. A finding is the first event that no order explains."""

    verdict: str
    profile: str
    explained: int
    findings: list[str]
    unknown: list[str]
    not_judged: dict[str, int]
    cut: list[str] = field(default_factory=list)


@dataclass
class ValidateFinding:
    """A deviation of a broker, with the smallest program that shows it."""

    property: str
    sentence: str
    known: bool
    text: str
    program: str


@dataclass
class ValidateAnswer:
    """The deviations of a broker from a profile. `outcome`: `as expected`, `findings`, or `undecided`."""

    outcome: str
    target: str
    profile: str
    programs: int
    requests: int
    findings: list[ValidateFinding]
    undecided: list[str]
    notes: list[str]
    cut: list[str] = field(default_factory=list)


@dataclass
class RunAnswer:
    """A program performed on a target: each distinct outcome with its steps, and the rules that it breaks."""

    outcome: str
    target: str
    profile: str
    outcomes: list[dict[str, Any]]
    cut: list[str] = field(default_factory=list)


@dataclass
class KnownBugsAnswer:
    """Known bugs of releases: id, the first and last release with the bug, what happens, and the rules that it breaks."""

    bugs: list[dict[str, Any]]
    cut: list[str] = field(default_factory=list)


Answer = CheckAnswer | ExplainAnswer | WhyNotAnswer | HazardAnswer | JudgeAnswer | ValidateAnswer | RunAnswer | KnownBugsAnswer
