"""A mutant: one small change, where it is made, and the text before and after. Each source adds how its mutants are applied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .patch import Patch


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A small change.

    - `source`: what made it.
    - `part`: the part of the system or of the specification, "" for seeded mutants.
    - `place`: the changed functions, such as `package.module:Class.method`, or the changed action.
    - `kind`: the mutation operator.
    - `before`, `after`: the changed text.
    """

    id: str
    source: Literal["seeded", "generated", "specification"]
    part: str
    place: str
    kind: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class PatchedMutant(Mutant, ABC):
    """A mutant of the implementation that tests can notice, as patches of a running process.

    - `sentence`: the change in words.
    - `killers`: ids of rules, properties and hazards. A test that notices the mutant carries one of them. Empty: every test may notice it.
    - `equivalent`: the reason why no test can notice the mutant, "" if one can.
    """

    sentence: str
    killers: tuple[str, ...] = ()
    equivalent: str = ""

    @abstractmethod
    def variants(self) -> Mapping[str, Patch]:
        """Return the patches of the variants by letter. A mutant without variants has the letter ''."""
