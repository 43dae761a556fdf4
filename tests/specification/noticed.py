"""A mutant of the specification with the claims that notice it, and the two ways to write one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rocketproof_model.transforms.mutation import ModelMutant


@dataclass(frozen=True)
class Noticed:
    """The claims of the catalogue that detect the mutant, with their usual verdict, and the profile and settings that this needs."""

    mutant: ModelMutant
    claims: tuple[str, ...]
    usual: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "P49"


def guard(id_: str, claims: str, action: str, guard: str, change: Any, sentence: str, *, usual: str = "holds", **more: Any) -> Noticed:
    """A changed guard. `change` is its new condition or a function of the old one; `claims` are ids, separated by blanks."""
    changed = _changing(change)
    return Noticed(ModelMutant(id_, sentence, action, lambda g: changed(g.condition), guard=guard), tuple(claims.split()), usual, **more)


def sets(id_: str, claims: str, action: str, variable: str, change: Any, sentence: str, *, usual: str = "holds", **more: Any) -> Noticed:
    """A changed effect: what the action assigns to the variable."""
    changed = _changing(change)
    return Noticed(ModelMutant(id_, sentence, action, lambda u: changed(u.value), sets=variable), tuple(claims.split()), usual, **more)


def _changing(change: Any) -> Any:
    return change if callable(change) and not hasattr(change, "op") else lambda _: change
