"""What mutants of the specification are tried on: the instances of the catalogue's cases, each with the verdicts expected there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from rocketproof_model import Model
from rocketproof_model.result import LIVE, SEARCHED
from rocketproof_model.transforms.mutation import ModelMutant, with_mutants
from rocketproof_model.transforms.mutators import mutants
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.catalogue.table import CASES
from rocketproof_spec import FAULTS, NAMES, SCOPES, part

SENDING = "sending"
PARTS = (SENDING, *FAULTS)
"""Parts of the specification whose mutants have nothing in common. All scopes of sending share theirs."""

_HAS: dict[str, Any] = {"existing": True}
_ORDERED: dict[str, Any] = {**_HAS, "order_topic": True, "sends": 1}
_ADMINISTERED: dict[str, Any] = {"sends": 1, "update_budget": 1}

_STRANGERS: dict[str, Any] = {"change_budget": 1, "group_known": False, "template": 0, "unit_mode": True, "way": "either"}

_GIVEN: Final[dict[tuple[str, str], tuple[dict[str, Any], ...]]] = {
    ("tiny", "P49"): (
        {"loss_budget": 1, "sends": 0},
        {"auto_create": False},
        {"broker_writable": False},
        {"burst": 1},
        {"client_queues": 0},
        {"round_robin": True},
        {"template_perm": 5},
        {"template_read": 0},
        {"retries": 2, "template_write": 0},
        _HAS,
        _ORDERED,
        {**_HAS, "broker_writable": False},
        {**_HAS, "burst": 1},
        {**_HAS, "existing_perm": 4},
        {**_HAS, "existing_read": 0},
        {**_HAS, "round_robin": True},
    ),
    ("small", "P49"): ({"retries": 1, "sends": 1}, {"burst": 1, "sends": 1}, {**_HAS, "burst": 1, "sends": 1}),
    ("skew", "P49"): ({"auto_create": False}, {"sends": 1, "template_perm": 5}, {**_HAS, "round_robin": True, "sends": 1}),
    ("creation", "P49"): ({"auto_create": False},),
    ("store", "P49"): ({"sends": 1}, {**_HAS, "sends": 2}),
    ("restart", "P49"): ({"loss_budget": 1}, {**_HAS, "sends": 0}, _ORDERED),
    ("restart", "P533"): ({**_HAS, "broker_readable": False}, _HAS),
    ("names", "P40"): ({"file_size": 1, "sends": 1}, {"file_size": 2}),
    ("names", "P49"): (
        {"auto_create": False, "sends": 1},
        {"file_size": 1, "sends": 1},
        {"file_size": 2},
        _ORDERED,
        {**_ORDERED, **_ADMINISTERED},
        {**_ADMINISTERED, "auto_create": False, "template_in_file": True},
        {**_ADMINISTERED, "loss_budget": 1},
    ),
    ("names", "P533"): ({**_HAS, **_ADMINISTERED}, {**_ORDERED, **_ADMINISTERED}),
    ("backs", "P45"): (
        {**_STRANGERS, "names_limit": False},
        {**_STRANGERS, "names_limit": False, "version": 120, "limit": 1},
        {**_STRANGERS, "limit": 1, "template": 1},
        {**_STRANGERS, "in_log": False, "prepared": True},
    ),
    ("backs", "P49"): (
        {**_STRANGERS, "limit": 0},
        {**_STRANGERS, "makes_groups": False},
        {**_STRANGERS, "existing": 2, "existing_perm": 4},
        {**_STRANGERS, "writable": False, "limit": 0},
        {"limit": 1, "group_limit": 2, "version": 120, "way": "either"},
        {"group_queues": 2, "prepared": True, "way": "either"},
    ),
    ("backs", "P533"): ({**_STRANGERS, "limit": 0}, {**_STRANGERS, "flushes": False, "version": 120}),
}
"""By scope and profile the constants of instances that no case asks for: what only other settings or later releases do is compared with the
implementation there. P533's name server refuses the first registration of a broker that has one topic alone. `_STRANGERS`: the broker
does not know the group yet, and messages come back in both ways."""
_FURTHER = [ModelSource(scope, profile, tuple(sorted(given.items()))) for (scope, profile), every in _GIVEN.items() for given in every]


@dataclass(frozen=True, eq=False)
class Catalogued:
    """An instance, in words the condition, and by (claim, kind) the verdict that is expected."""

    source: ModelSource
    condition: str
    expected: dict[tuple[str, str], str] = field(default_factory=dict)

    def __str__(self) -> str:
        words = f"{self.source.scope} {self.source.profile}"
        return f"{words} ({self.condition})" if self.condition else words


@dataclass(frozen=True, eq=False)
class MutatedModel:
    """The model of a scope with all its mutants: `number` is what the constant `mutant` has to be for each, by its id."""

    model: Model
    mutants: Mapping[str, ModelMutant]
    number: Mapping[str, int]


@cache
def spoilt(scope: str) -> MutatedModel:
    """The mutants of a scope, compiled into one model."""
    model = part(scope).model
    made = {mutant.id: mutant for mutant in mutants(model)}
    return MutatedModel(with_mutants(model, list(made.values())), made, {id_: number for number, id_ in enumerate(made, 1)})


def scopes(part_: str) -> tuple[str, ...]:
    """The scopes of a part that have an instance here."""
    asked = {one.source.scope for one in catalogued()}
    return tuple(name for name in (SCOPES if part_ == SENDING else (part_,)) if name in asked)


@cache
def catalogued() -> tuple[Catalogued, ...]:
    """The instances, those of profiles that differ in nothing else once."""
    found: dict[object, Catalogued] = {}
    for case in CASES:
        if case.scope in NAMES and "explicit" in case.engines and case.kind in (*SEARCHED, *LIVE):
            source = ModelSource(case.scope, case.profile, tuple(sorted(case.given.items())))
            one = found.setdefault(source.key, Catalogued(source, case.condition))
            one.expected[case.claim, case.kind] = case.expected
    for source in _FURTHER:
        found.setdefault(source.key, Catalogued(source, ", ".join(f"{name} = {value}" for name, value in source.given)))
    return tuple(found.values())
