"""What a hazard is: a program of a few steps, with a docstring that says why it happens; and what comes of performing it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..catalogue.claim import WITH_CASES
from ..catalogue.rules import ID, rules
from ..reports.choices import InputError
from .story import HazardScenario, StoryStep, Unexpected

Program = Callable[[HazardScenario], None]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A known problem of the described system.

    `asserts`: the rules that its facts would notice if they were changed. `properties`: those of the catalogue that it
    violates or touches. `profiles`: those that show it, the first one unless a user chooses.
    """

    id: str
    program: Program
    asserts: tuple[str, ...]
    properties: tuple[str, ...]
    profiles: tuple[str, ...]

    @property
    def title(self) -> str:
        """The problem in one sentence."""
        return self._paragraphs[0]

    @property
    def about(self) -> tuple[str, ...]:
        """Why it happens and how to avoid it, a paragraph each."""
        return tuple(self._paragraphs[1:])

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that the explanation or the facts rest on."""
        named = dict.fromkeys([*ID.findall(" ".join(self._paragraphs)), *self.asserts])
        return tuple(id_ for id_ in named if id_ in rules())

    @property
    def _paragraphs(self) -> list[str]:
        return [" ".join(paragraph.split()) for paragraph in (inspect.getdoc(self.program) or "").split("\n\n")]

    def profile(self, wanted: str | None) -> str:
        """The profile to perform it in. Raises InputError for one that does not show it."""
        if wanted is None:
            return self.profiles[0]
        if wanted not in self.profiles:
            raise InputError(f"{self.id} does not show in {wanted}; use --profile {' or '.join(self.profiles)}")
        return wanted


def hazard(id_: str, *, asserts: str = "", properties: str = "", profiles: str = "") -> Callable[[Program], Hazard]:
    """Make a program a hazard. Ids and profiles are separated by blanks; all profiles, P49 first, unless given."""
    ordered = tuple(profiles.split()) or ("P49", *(name for name in WITH_CASES if name != "P49"))

    def made(program: Program) -> Hazard:
        return Hazard(id_, program, tuple(asserts.split()), tuple(properties.split()), ordered)

    return made


@dataclass(frozen=True, slots=True)
class PerformedHazard:
    """A hazard performed: its steps, how long it took, and the finding if a fact was another one."""

    hazard: Hazard
    profile: str
    steps: list[StoryStep] = field(default_factory=list)
    seconds: float = 0.0
    finding: str = ""

    @property
    def shown(self) -> bool:
        """Whether all of it was seen to happen."""
        return not self.finding

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "id": self.hazard.id,
            "title": self.hazard.title,
            "profile": self.profile,
            "steps": [step.data() for step in self.steps],
            "shown": self.shown,
            "seconds": round(self.seconds, 3),
            "finding": self.finding,
            "rules": list(self.hazard.rules),
            "properties": list(self.hazard.properties),
        }


def perform(one: Hazard, profile: str) -> PerformedHazard:
    """Perform a hazard. Whatever is not as the program says, an exception too, is the finding."""
    story = HazardScenario(profile)
    began = time.perf_counter()
    finding = ""
    try:
        one.program(story)
    except Unexpected as difference:
        finding = str(difference)
    except Exception as error:  # noqa: BLE001 - a changed implementation may fail in any way
        finding = f"the program ends with {type(error).__name__}: {error}"
    return PerformedHazard(one, profile, story.steps, time.perf_counter() - began, finding)
