"""Every mutant of the specification is found by the claims that it names: their verdict is no longer the usual one."""

from collections.abc import Iterable
from functools import cache

import pytest
import specification_mutants as mutants
from noticed import Noticed

from proportion import in_proportion, slow
from rocketproof_model import Instance, lemmas, liveness, search
from rocketproof_model.transforms.mutation import CONSTANT
from rocketproof_properties.catalogue import table as catalogue
from rocketproof_spec import constants

CLAIMS = {claim.id: claim for claim in catalogue.CLAIMS}

Settings = tuple[tuple[str, object], ...]
DEAR = {"creation", "names", "small", "store", "times"}
"""Scopes whose usual verdicts take seconds. `rocketproof check` decides them, too."""


def instance_of(scope: str, number: int, profile: str, settings: Settings) -> Instance:
    specification, _ = mutants.mutated(scope)
    return specification.model.given(**constants(profile, type(specification), **dict(settings)), **{CONSTANT: number})


def verdicts(scope: str, number: int, profile: str, settings: Settings, ids: Iterable[str]) -> dict[str, str]:
    """Return the verdicts of these claims for a mutant, from one search for all; number 0 is no mutant."""
    instance = instance_of(scope, number, profile, settings)
    claims = [CLAIMS[id_].of(mutants.mutated(scope)[0]) for id_ in ids]
    found = {claim.id: lemmas.prove(instance, claim).verdict for claim in claims if claim.kind == "lemma"}
    fair = [claim for claim in claims if claim.kind == "leads_to"]
    searched = [claim for claim in claims if claim.kind not in ("lemma", "leads_to")]
    outcomes = [*(liveness.check(instance, fair) if fair else ())]
    outcomes += search.explore(instance, searched, workers=1).outcomes if searched else []
    return found | {outcome.property.id: outcome.verdict for outcome in outcomes}


def settings_of(noticed: Noticed) -> Settings:
    return tuple(noticed.settings.items())


@cache
def all_mutants() -> list[Noticed]:
    return [mutant for scope in mutants.SCOPES for mutant in mutants.mutated(scope)[1]]


def test_at_least_25_mutants_exist() -> None:
    assert len({mutant.mutant.id for mutant in all_mutants()}) == len(all_mutants()) >= 25


def test_every_lemma_has_mutant() -> None:
    lemmas = {c.id for c in catalogue.CLAIMS if c.kind == "lemma"}
    assert lemmas <= {claim for mutant in all_mutants() for claim in mutant.claims}


@pytest.mark.parametrize("scope", mutants.SCOPES)
def test_mutants_are_found(scope: str) -> None:
    """A scope is built once for all of its mutants, and each mutant is searched once for all of its claims.

    Each mutant has a kernel of its own, so the default tests take some of them, evenly spread.
    """
    _, made = mutants.mutated(scope)
    missed = []
    for number, mutant in list(enumerate(made, 1))[:: max(1, len(made) // in_proportion(len(made)))]:
        found = verdicts(scope, number, mutant.profile, settings_of(mutant), mutant.claims)
        for claim in mutant.claims:
            if found[claim] not in ("holds", "violated"):
                missed.append(f"{mutant.mutant.id}: {claim} decided nothing: {found[claim]}")
            elif found[claim] == mutant.usual:
                missed.append(f"{mutant.mutant.id} survives: {mutant.mutant.sentence}; {claim} still {mutant.usual}")
    assert missed == []


@pytest.mark.parametrize("scope", [slow(name) if name in DEAR else name for name in mutants.SCOPES])
def test_without_mutant_verdicts_are_usual(scope: str) -> None:
    usual: dict[tuple[str, Settings], dict[str, str]] = {}
    for mutant in mutants.mutated(scope)[1]:
        usual.setdefault((mutant.profile, settings_of(mutant)), {}).update(dict.fromkeys(mutant.claims, mutant.usual))
    assert {key: verdicts(scope, 0, *key, known) for key, known in usual.items()} == usual
