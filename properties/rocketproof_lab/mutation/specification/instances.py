"""The instances in which mutants of the specification are tried: those of the catalogue's cases, with their expected verdicts."""

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
"""Parts of the specification with disjoint mutants. All scopes of sending share theirs."""

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
    ("backs", "P533"): (
        {**_STRANGERS, "limit": 0},
        {**_STRANGERS, "limit": 1, "names_topic": False},
        {**_STRANGERS, "flushes": False, "version": 120},
        {"locked": True, "way": "either"},
    ),
}
"""Constants, by scope and profile, of instances that no case uses. There, behaviour of other settings or later releases is compared with
the implementation. P533's name server rejects the first registration of a broker with a single topic. `_STRANGERS`: the broker does not
know the group yet, and messages are sent back in both ways."""
_FURTHER = [
    ModelSource(scope, profile, tuple(sorted(given.items()))) for (scope, profile), variants in _GIVEN.items() for given in variants
]


@dataclass(frozen=True, eq=False)
class Catalogued:
    """An instance with its condition in words and the expected verdict by (claim, kind)."""

    source: ModelSource
    condition: str
    expected: dict[tuple[str, str], str] = field(default_factory=dict)

    def __str__(self) -> str:
        words = f"{self.source.scope} {self.source.profile}"
        return f"{words} ({self.condition})" if self.condition else words


@dataclass(frozen=True, eq=False)
class MutatedModel:
    """The model of a scope with all its mutants. `number`: the value of the constant `mutant` that selects each, by id."""

    model: Model
    mutants: Mapping[str, ModelMutant]
    number: Mapping[str, int]


@cache
def mutated_model(scope: str) -> MutatedModel:
    """Return the model of a scope with all mutants compiled into it."""
    model = part(scope).model
    by_id = {mutant.id: mutant for mutant in mutants(model)}
    return MutatedModel(with_mutants(model, list(by_id.values())), by_id, {id_: number for number, id_ in enumerate(by_id, 1)})


def scopes(part_: str) -> tuple[str, ...]:
    """Return the scopes of a part that have an instance here."""
    used = {instance.source.scope for instance in catalogued()}
    return tuple(name for name in (SCOPES if part_ == SENDING else (part_,)) if name in used)


@cache
def catalogued() -> tuple[Catalogued, ...]:
    """Return the instances. Instances of profiles that do not differ in them occur once."""
    instances: dict[object, Catalogued] = {}
    for case in CASES:
        if case.scope in NAMES and "explicit" in case.engines and case.kind in (*SEARCHED, *LIVE):
            source = ModelSource(case.scope, case.profile, tuple(sorted(case.given.items())))
            instance = instances.setdefault(source.key, Catalogued(source, case.condition))
            instance.expected[case.claim, case.kind] = case.expected
    for source in _FURTHER:
        instances.setdefault(source.key, Catalogued(source, ", ".join(f"{name} = {value}" for name, value in source.given)))
    return tuple(instances.values())
