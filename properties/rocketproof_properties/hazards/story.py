"""A story: what is done, step by step, and what is then the case. Each fact is asserted where it is stated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .cluster import StoryCluster


class Unexpected(Exception):
    """A fact is another one than the story says."""

    def __init__(self, what: str, found: str, expected: str) -> None:
        super().__init__(f"{what}: expected {expected}; found {found}")


@dataclass(frozen=True, slots=True)
class Fact:
    """What was looked at, and what was found there, as text."""

    what: str
    found: str


@dataclass(slots=True)
class StoryStep:
    """A sentence about what happens, and the facts after it."""

    text: str
    facts: list[Fact] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """The step as JSON."""
        return {"text": self.text, "facts": [{"what": fact.what, "found": fact.found} for fact in self.facts]}


class HazardScenario:
    """What a hazard's program shows. `profile` is the one that it runs in, unless it asks for a cluster of another."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.steps: list[StoryStep] = []

    def cluster(self, brokers: int = 1, *, profile: str | None = None, **settings: Any) -> StoryCluster:
        """A fresh cluster; settings hold for all of its brokers. With `services` the threads of their stores run."""
        return StoryCluster(brokers, profile=profile or self.profile, **settings)

    def say(self, text: str) -> None:
        """The next step."""
        self.steps.append(StoryStep(text))

    def check(self, what: str, found: object, expected: object) -> None:
        """State a fact of this step. Raises Unexpected unless it is the expected one."""
        self.steps[-1].facts.append(Fact(what, as_text(found)))
        if found != expected:
            raise Unexpected(what, as_text(found), as_text(expected))


def as_text(value: object) -> str:
    """A value as a reader sees it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(as_text(each) for each in value) or "nothing"
    return "nothing" if value is None else str(value)
