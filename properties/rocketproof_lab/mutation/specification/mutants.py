"""The generated mutants of the specification: each guard and each assignment of each action, with every known operator."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from rocketproof_model.language import show
from rocketproof_properties.reports.choices import InputError, offer
from rocketproof_spec import part

from ..mutant import Mutant
from .instances import PARTS, catalogued, mutated_model, scopes


@dataclass(frozen=True, kw_only=True)
class SpecificationMutant(Mutant):
    """A change of an action, its `place`. `name`: the id within its part. `scopes`: the scopes that contain it.

    `before` names the guard or the variable, `after` states what becomes of it.
    """

    name: str
    scopes: tuple[str, ...]


def _mutant(part_: str, name: str, scopes_: Sequence[str]) -> SpecificationMutant:
    of_scope = mutated_model(scopes_[0]).mutants[name]
    before = f"guard {of_scope.guard!r}" if of_scope.guard else of_scope.sets
    return SpecificationMutant(
        id=f"{part_}/{name}", source="specification", part=part_, place=of_scope.action, kind="guard" if of_scope.guard else "assignment",
        before=before, after=of_scope.sentence, name=name, scopes=tuple(scopes_),
    )  # fmt: skip


def generated() -> tuple[SpecificationMutant, ...]:
    """Return all mutants in the order of the specification."""
    every: list[SpecificationMutant] = []
    for part_ in PARTS:
        scopes_of: dict[str, list[str]] = {}
        for scope in scopes(part_):
            for name in mutated_model(scope).mutants:
                scopes_of.setdefault(name, []).append(scope)
        every += [_mutant(part_, name, names) for name, names in scopes_of.items()]
    return tuple(every)


def chosen(ids: Sequence[str], sample: int | None, seed: int) -> tuple[SpecificationMutant, ...]:
    """Return the mutants of these parts or actions, or with these ids; all if none is given. `sample`: the number of them to choose by the
    seed.

    Raises InputError for an unknown name.
    """
    every = generated()
    names = {each.id: {each.id, each.part, f"{each.part}/{each.place}", *({each.place} - set(PARTS))} for each in every}
    for name in ids:
        if not any(name in own_names for own_names in names.values()):
            candidates = sorted(set().union(*names.values()) - names.keys())
            raise InputError(f"{name!r} is no part, action or mutant of the specification; {offer(name, candidates)}")
    mutants = [each for each in every if not ids or names[each.id] & set(ids)]
    if sample is not None and sample < len(mutants):
        sampled = set(random.Random(seed).sample(range(len(mutants)), sample))
        mutants = [each for number, each in enumerate(mutants) if number in sampled]
    return tuple(mutants)


@cache
def fingerprint() -> str:
    """Return a hash of the rules, mutants and claims. It does not cover the implementation."""
    content = hashlib.sha256()
    for text in _texts():
        content.update(text.encode() + b"\n")
    return content.hexdigest()[:16]


def _texts() -> Iterable[str]:
    for part_ in PARTS:
        for scope in scopes(part_):
            for action in part(scope).model.actions:
                yield action.name
                yield from (show(guard.condition) for guard in action.guards)
                yield from (show(update.value) for update in action.updates)
            yield from mutated_model(scope).mutants
    for instance in catalogued():
        yield f"{instance.source.key} {sorted(instance.expected.items())}"
        yield from (show(claim.formula) for claim in instance.source.subject().properties if (claim.id, claim.kind) in instance.expected)
