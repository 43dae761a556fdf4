"""The validation is as good as what it finds: mutants of the implementation, served and validated like any broker."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import pytest
from seeded import UNSEEN, SeededFault, chosen, hunt, visible

from rocketproof_lab.mutation.seeded.registry import mutants
from rocketproof_properties.validation.validate import ValidationRequest, validate

CHOSEN = (
    *("M-01", "M-02", "M-04", "M-08", "M-101", "M-105", "M-115", "M-116", "M-12", "M-15a", "M-16", "M-17", "M-19", "M-22", "M-29"),
    *("M-51", "M-64", "M-73a", "M-76a", "M-80", "M-82", "M-83a", "M-84", "M-85c", "M-86", "M-88", "M-92a", "M-93a", "M-93b", "M-94"),
)
"""Thirty by chance of those that a client could notice."""


def test_thirty_mutants_are_chosen_by_chance() -> None:
    assert chosen(30, 1) == sorted(CHOSEN)
    assert set(CHOSEN) <= set(visible())


def test_mutants_that_no_client_could_notice_are_mutants() -> None:
    assert UNSEEN <= {mutant.id for mutant in mutants()} | {f"M-{n:02}" for n in range(1, 121)}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mutant", "programs"),
    [("", 40), ("M-15a", 120), ("M-76a", 120)],  # 300 of this seed find M-83a and M-94, too
    ids=["none", "found by the specification", "found by the reference"],
)
def test_planted_mutant_is_found_and_nothing_without_it(mutant: str, programs: int) -> None:
    found = hunt(mutant, programs, 1)
    assert found.found == bool(mutant), found


@pytest.mark.nightly
def test_run_ending_program_is_shrunk_afterwards(tmp_path: Path) -> None:
    asked = ValidationRequest(SeededFault("M-15a"), tmp_path / "report", 120, 1, shrink=60, until=attrgetter("findings"))
    report = validate(asked)
    assert len(report.judged) < 120
    assert report.enough is not None and report.enough < report.seconds
    (first, *_) = report.findings
    assert first.again == first.repeats > 1
    assert len(first.program.steps) <= 2
