"""A mutant of the specification with what notices it, and the two ways to write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rocketproof_model.mutation import Mutant


@dataclass(frozen=True)
class Killer:
    """Which claim of the catalogue notices the mutant, in which scope, profile and condition, and its usual verdict."""

    mutant: Mutant
    claim: str
    scope: str
    usual: str = "holds"
    given: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "P49"


def makers(scope: str) -> tuple[Callable[..., Killer], Callable[..., Killer]]:
    """`guard(id, sentence, action, guard, change, claim, ...)` and `sets(id, sentence, action, variable, change, claim, ...)`."""

    def guard(id_: str, sentence: str, action: str, guard: str, change: Any, claim: str, **more: Any) -> Killer:
        return Killer(Mutant(id_, sentence, action, change, guard=guard), claim, scope, **more)

    def sets(id_: str, sentence: str, action: str, variable: str, change: Any, claim: str, **more: Any) -> Killer:
        return Killer(Mutant(id_, sentence, action, change, sets=variable), claim, scope, **more)

    return guard, sets
