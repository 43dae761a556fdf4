"""What mutants of the specification are tried on: the instances of the catalogue's cases, each with the verdicts expected there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from rocketproof_model import Model
from rocketproof_model.mutation import Mutant, with_mutants
from rocketproof_model.mutators import mutants
from rocketproof_model.result import SEARCHED
from rocketproof_model.specification import FAULTS, NAMES, SCOPES, part

from ..catalogue import CASES
from ..sources.source import Source

SENDING = "sending"
PARTS = (SENDING, *FAULTS)
"""Parts of the specification whose mutants have nothing in common. All scopes of sending share theirs."""

_KNOWN = ("existing", True)  # P533's name server refuses the first registration of a broker that has one topic alone
_FURTHER = (
    Source("tiny", "P49", (("loss_budget", 1), ("sends", 0))),
    Source("small", "P49", (("retries", 1), ("sends", 1))),
    Source("store", "P49", (_KNOWN, ("sends", 2))),
    Source("restart", "P533", (("broker_readable", False), _KNOWN)),
    Source("restart", "P533", (_KNOWN,)),
    Source("names", "P533", (_KNOWN, ("sends", 1), ("update_budget", 1))),
)
"""Instances that no case asks for, with what later releases do otherwise. The implementation is compared there."""


@dataclass(frozen=True, eq=False)
class Catalogued:
    """An instance, in words the condition, and by (claim, kind) the verdict that is expected."""

    source: Source
    condition: str
    expected: dict[tuple[str, str], str] = field(default_factory=dict)

    def __str__(self) -> str:
        words = f"{self.source.scope} {self.source.profile}"
        return f"{words} ({self.condition})" if self.condition else words


@dataclass(frozen=True, eq=False)
class Spoilt:
    """The model of a scope with all its mutants: `number` is what the constant `mutant` has to be for each, by its id."""

    model: Model
    mutants: Mapping[str, Mutant]
    number: Mapping[str, int]


@cache
def spoilt(scope: str) -> Spoilt:
    """The mutants of a scope, compiled into one model."""
    model = part(scope).model
    made = {mutant.id: mutant for mutant in mutants(model)}
    return Spoilt(with_mutants(model, list(made.values())), made, {id_: number for number, id_ in enumerate(made, 1)})


def scopes(part_: str) -> tuple[str, ...]:
    """The scopes of a part that have an instance here."""
    asked = {one.source.scope for one in catalogued()}
    return tuple(name for name in (SCOPES if part_ == SENDING else (part_,)) if name in asked)


@cache
def catalogued() -> tuple[Catalogued, ...]:
    """The instances, those of profiles that differ in nothing else once."""
    found: dict[object, Catalogued] = {}
    for case in CASES:
        if case.scope in NAMES and "explicit" in case.engines and case.kind in (*SEARCHED, "leads_to"):
            source = Source(case.scope, case.profile, tuple(sorted(case.given.items())))
            one = found.setdefault(source.key, Catalogued(source, case.condition))
            one.expected[case.claim, case.kind] = case.expected
    for source in _FURTHER:
        found.setdefault(source.key, Catalogued(source, ", ".join(f"{name} = {value}" for name, value in source.given)))
    return tuple(found.values())
