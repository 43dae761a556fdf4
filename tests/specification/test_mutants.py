"""Every mutant of the specification is found by the claims that it names: their verdict is no longer the usual one."""

from functools import cache

import pytest
import specification_mutants as mutants
from noticed import Noticed

from rocketproof_model import Instance, lemmas, liveness, search
from rocketproof_model.mutation import CONSTANT
from rocketproof_model.specification import constants
from rocketproof_properties import catalogue

CLAIMS = {claim.id: claim for claim in catalogue.CLAIMS}
ALL = [(scope, number, one) for scope in mutants.SCOPES for number, one in enumerate(mutants.mutated(scope)[1], 1)]
KILLS = [(scope, number, one, claim) for scope, number, one in ALL for claim in one.claims]


Settings = tuple[tuple[str, object], ...]


def instance_of(scope: str, number: int, profile: str, settings: Settings) -> Instance:
    specification, _ = mutants.mutated(scope)
    return specification.model.given(**constants(profile, type(specification), **dict(settings)), **{CONSTANT: number})


@cache
def verdicts(scope: str, number: int, profile: str, settings: Settings, ids: tuple[str, ...]) -> dict[str, str]:
    """The verdicts of these claims for a mutant, from one search for all that a search decides; number 0 is the specification itself."""
    instance = instance_of(scope, number, profile, settings)
    claims = [CLAIMS[id_].of(mutants.mutated(scope)[0]) for id_ in ids]
    found = {claim.id: lemmas.prove(instance, claim).verdict for claim in claims if claim.kind == "lemma"}
    fair = [claim for claim in claims if claim.kind == "leads_to"]
    searched = [claim for claim in claims if claim.kind not in ("lemma", "leads_to")]
    outcomes = [*(liveness.check(instance, fair) if fair else ())]
    outcomes += search.explore(instance, searched, workers=1).outcomes if searched else []
    return found | {outcome.property.id: outcome.verdict for outcome in outcomes}


def settings_of(one: Noticed) -> Settings:
    return tuple(one.settings.items())


def test_there_are_at_least_25() -> None:
    assert len({one.mutant.id for _, _, one in ALL}) == len(ALL) >= 25


def test_every_lemma_has_a_mutant() -> None:
    lemmas = {c.id for c in catalogue.CLAIMS if c.kind == "lemma"}
    assert lemmas <= {claim for *_, claim in KILLS}


@pytest.mark.parametrize(("scope", "number", "one", "claim"), KILLS, ids=[f"{one.mutant.id}-{claim}" for _, _, one, claim in KILLS])
def test_mutant_is_found(scope: str, number: int, one: Noticed, claim: str) -> None:
    found = verdicts(scope, number, one.profile, settings_of(one), (claim,))[claim]
    assert found in ("holds", "violated"), f"{claim} decided nothing: {found}"
    assert found != one.usual, f"{one.mutant.id} survives: {one.mutant.sentence}; {claim} still {one.usual}"


USUAL: dict[tuple[str, str, Settings], dict[str, str]] = {}
for _scope, _, _one, _claim in KILLS:
    USUAL.setdefault((_scope, _one.profile, settings_of(_one)), {})[_claim] = _one.usual


@pytest.mark.parametrize(("key", "usual"), USUAL.items(), ids=["-".join((*key[:2], *dict(key[2]))) for key in USUAL])
def test_without_mutant_the_verdicts_are_the_usual_ones(key: tuple[str, str, Settings], usual: dict[str, str]) -> None:
    scope, profile, settings = key
    assert verdicts(scope, 0, profile, settings, tuple(usual)) == usual
