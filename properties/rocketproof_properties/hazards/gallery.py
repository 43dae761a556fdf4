"""A hazard: a program of a few steps whose docstring explains the problem; and the result of running it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..catalogue.claim import WITH_CASES
from ..catalogue.rules import ID, rules
from ..reports.choices import InputError
from .scenario import HazardScenario, HazardStep, Unexpected

Program = Callable[[HazardScenario], None]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A known problem of RocketMQ.

    `asserts`: the rules whose change the facts would detect. `properties`: the properties of the catalogue that it violates or concerns.
    `profiles`: the profiles that show it. The first is the default.
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
        """The cause and how to avoid the problem, one paragraph each."""
        return tuple(self._paragraphs[1:])

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that the explanation or the facts use."""
        named = dict.fromkeys([*ID.findall(" ".join(self._paragraphs)), *self.asserts])
        return tuple(id_ for id_ in named if id_ in rules())

    @property
    def _paragraphs(self) -> list[str]:
        return [" ".join(paragraph.split()) for paragraph in (inspect.getdoc(self.program) or "").split("\n\n")]

    def profile(self, wanted: str | None) -> str:
        """Return the profile in which to run. Raises InputError for a profile that does not show the hazard."""
        if wanted is None:
            return self.profiles[0]
        if wanted not in self.profiles:
            raise InputError(f"{self.id} does not show in {wanted}; use --profile {' or '.join(self.profiles)}")
        return wanted


def hazard(id_: str, *, asserts: str = "", properties: str = "", profiles: str = "") -> Callable[[Program], Hazard]:
    """Decorate a program as a hazard. Ids and profiles are separated by blanks. By default all profiles show it, P49 first."""
    ordered = tuple(profiles.split()) or ("P49", *(name for name in WITH_CASES if name != "P49"))

    def decorate(program: Program) -> Hazard:
        return Hazard(id_, program, tuple(asserts.split()), tuple(properties.split()), ordered)

    return decorate


@dataclass(frozen=True, slots=True)
class PerformedHazard:
    """The result of running a hazard: its steps, the duration in seconds, and the finding if a fact differed."""

    hazard: Hazard
    profile: str
    steps: list[HazardStep] = field(default_factory=list)
    seconds: float = 0.0
    finding: str = ""

    @property
    def shown(self) -> bool:
        """Whether all facts were as expected."""
        return not self.finding

    def data(self) -> dict[str, Any]:
        """Return the result as JSON."""
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


def perform(entry: Hazard, profile: str) -> PerformedHazard:
    """Run a hazard. A fact that differs, or an exception, becomes the finding."""
    scenario = HazardScenario(profile)
    began = time.perf_counter()
    finding = ""
    try:
        entry.program(scenario)
    except Unexpected as difference:
        finding = str(difference)
    except Exception as error:  # noqa: BLE001 - a changed implementation may fail in any way
        finding = f"the program ends with {type(error).__name__}: {error}"
    return PerformedHazard(entry, profile, scenario.steps, time.perf_counter() - began, finding)
