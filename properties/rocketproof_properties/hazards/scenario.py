"""A scenario: its steps, and the facts after each. Each fact is checked where it is stated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .cluster import HazardCluster


class Unexpected(Exception):
    """A fact differs from the scenario's expectation."""

    def __init__(self, what: str, found: str, expected: str) -> None:
        super().__init__(f"{what}: expected {expected}; found {found}")


@dataclass(frozen=True, slots=True)
class Fact:
    """An observation: its description and its value, as texts."""

    what: str
    found: str


@dataclass(slots=True)
class HazardStep:
    """A sentence that describes a step, and the facts after it."""

    text: str
    facts: list[Fact] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """The step as JSON."""
        return {"text": self.text, "facts": [{"what": fact.what, "found": fact.found} for fact in self.facts]}


class HazardScenario:
    """The steps of a hazard's program. Clusters have this `profile` unless the program names another."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.steps: list[HazardStep] = []

    def cluster(self, brokers: int = 1, *, profile: str | None = None, **settings: Any) -> HazardCluster:
        """Return a new cluster whose brokers have these settings. With `services` the threads of their stores run."""
        return HazardCluster(brokers, profile=profile or self.profile, **settings)

    def step(self, text: str) -> None:
        """Begin the next step."""
        self.steps.append(HazardStep(text))

    def check(self, what: str, found: object, expected: object) -> None:
        """State a fact of the current step. Raises Unexpected if it is not the expected one."""
        self.steps[-1].facts.append(Fact(what, as_text(found)))
        if found != expected:
            raise Unexpected(what, as_text(found), as_text(expected))


def as_text(value: object) -> str:
    """Format a value for output."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(as_text(item) for item in value) or "nothing"
    return "nothing" if value is None else str(value)
