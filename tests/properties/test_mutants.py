"""Every mutant of the specification is found by the property that it names: that one's verdict is no longer the usual one."""

import pytest

from rocketproof_model import liveness, search, symbolic
from rocketproof_model.mutation import CONSTANT
from rocketproof_model.specification import constants
from rocketproof_properties import catalogue
from rocketproof_properties.mutation import mutants

KILLERS = [(scope, number, killer) for scope in mutants.SCOPES for number, killer in enumerate(mutants.mutated(scope)[1], 1)]


def verdict(scope: str, number: int, killer: mutants.Killer) -> str:
    """The verdict of the mutant's killer; number 0 is the specification itself."""
    specification, _ = mutants.mutated(scope)
    claim = next(c for c in catalogue.CLAIMS if c.id == killer.claim).of(specification)
    given = {**constants(killer.profile, type(specification), **killer.given), CONSTANT: number}
    instance = specification.model.given(**given)
    if claim.kind == "lemma":
        return symbolic.prove(instance, claim).verdict
    if claim.kind == "leads_to":
        return liveness.check(instance, [claim])[0].verdict
    return search.explore(instance, [claim], workers=1).outcomes[0].verdict


def test_there_are_at_least_25() -> None:
    assert len({k.mutant.id for _, _, k in KILLERS}) == len(KILLERS) >= 25


def test_every_lemma_has_a_mutant() -> None:
    lemmas = {c.id for c in catalogue.CLAIMS if c.kind == "lemma"}
    assert lemmas <= {k.claim for _, _, k in KILLERS}


@pytest.mark.parametrize(("scope", "number", "killer"), KILLERS, ids=[k.mutant.id for _, _, k in KILLERS])
def test_mutant_is_found(scope: str, number: int, killer: mutants.Killer) -> None:
    found = verdict(scope, number, killer)
    assert found in ("holds", "violated"), f"{killer.claim} decided nothing: {found}"
    assert found != killer.usual, f"{killer.mutant.id} survives: {killer.mutant.sentence}; {killer.claim} still {killer.usual}"


USUAL = {(scope, k.claim, k.profile, str(k.given)): (scope, k) for scope, _, k in KILLERS}


@pytest.mark.parametrize(("scope", "killer"), USUAL.values(), ids=["-".join(key[:3]) for key in USUAL])
def test_without_mutant_the_verdict_is_the_usual_one(scope: str, killer: mutants.Killer) -> None:
    assert verdict(scope, 0, killer) == killer.usual
