"""All mutants of the faults' small models, on two processes: each is detected, and none survives."""

from collections import Counter
from collections.abc import Sequence

import pytest

from rocketproof_lab.mutation import arguments
from rocketproof_lab.mutation.results import ARGUED, SURVIVED, UNREACHABLE, MutationReport
from rocketproof_lab.mutation.runner import MutationRun
from rocketproof_lab.mutation.specification import invariants
from rocketproof_lab.mutation.specification.by_models import TrialByModels
from rocketproof_lab.mutation.specification.instances import SENDING, scopes
from rocketproof_lab.mutation.specification.mutants import SpecificationMutant, chosen
from rocketproof_model.proofs.weakest import preserved
from rocketproof_spec import Specification, part

PARTS = {"recovery": 212, "locks": 128, "expiry": 89, "news": 148, "patience": 158}


@pytest.mark.parametrize("scope", scopes(SENDING))
def test_steps_keep_the_invariants_that_make_mutants_equivalent(scope: str) -> None:
    specification = part(scope)
    assert isinstance(specification, Specification)
    stated = {formula(specification): sentence for sentence, formula in invariants.INVARIANTS.items()}
    found = set(preserved(specification.model, list(stated)))
    assert not [sentence for formula, sentence in stated.items() if formula not in found]


def tried(mutants: Sequence[SpecificationMutant], workers: int) -> MutationReport:
    return MutationRun(TrialByModels(), workers=workers).report(mutants)


def test_two_processes_find_the_same_as_one() -> None:
    sample = chosen(["locks"], 60, 1)
    assert tried(sample, 2).rows == tried(sample, 1).rows


@pytest.mark.parametrize("part", PARTS)
def test_no_mutant_of_a_fault_survives(part: str) -> None:
    report = tried(chosen([part], None, 0), 2)
    assert len(report.rows) == PARTS[part]
    assert not [row.id for row in report.rows if row.verdict == SURVIVED]
    assert Counter(bool(row.by) for row in report.rows)[True] > 0.8 * len(report.rows), "most are noticed"
    without = [row.id for row in report.rows if row.verdict in (UNREACHABLE, ARGUED) and not row.how]
    assert not without, "say why nothing has to notice them"
    unneeded = [row.id for row in report.rows if row.verdict not in (UNREACHABLE, ARGUED) and arguments.of_specification(row.id)]
    assert not unneeded, "something notices them: narrow the argument"
