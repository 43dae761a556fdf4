"""Programs of bug reports on real releases: the last affected release shows the problem, and the next release does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_lab.bugreports import measured, programs
from rocketproof_properties.validation.handwritten.condition import condition_of
from rocketproof_properties.validation.handwritten.releases import bisect

COMMANDS = ("java", "mvn")
QUICK = {"operations-forgotten"}
"""Programs that do not wait for a nightly run."""
RARE = {"registered-on-a-new-connection"}
"""Races: their absence in a few runs shows nothing."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly) for name in nonempty(measured()) if name not in RARE],
)
def test_program_shows_its_problem_as_measured(name: str, tmp_path: Path) -> None:
    program, found = programs()[name], measured()[name]
    decided = [release for release in found.tried if release not in found.undecided]
    releases = [release for release in (found.shows[-1] if found.shows else decided[-1], found.first_without) if release]
    result = bisect(program, releases, condition_of(program, None, None), folder=tmp_path)
    assert [row.tried.problem for row in result.rows] == [""] * len(releases)
    assert [row.shows for row in result.rows] == ["yes" if release in found.shows else "no" for release in releases]
