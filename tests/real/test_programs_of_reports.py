"""Programs of bug reports on real releases: the release with the bug shows it, and the next one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.validation.handwritten.condition import condition_of
from rocketproof_properties.validation.handwritten.programfile import load
from rocketproof_properties.validation.handwritten.releases import bisect

COMMANDS = ("java", "mvn")
EXAMPLES = Path(__file__).resolve().parents[2] / "properties" / "examples" / "bug-reports"


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("operations-forgotten", "4.8.0", "4.9.0"),
        pytest.param("batch-loses-keys", "5.3.3", "5.4.0", marks=pytest.mark.nightly),
        pytest.param("pull-fewer-than-asked", "4.1.0-incubating", "4.2.0", marks=pytest.mark.nightly),
    ],
)
def test_bug_is_shown_by_the_last_release_that_has_it(name: str, bad: str, good: str, tmp_path: Path) -> None:
    program = load(str(EXAMPLES / f"{name}.py"))
    result = bisect(program, [bad, good], condition_of(program, None, None), folder=tmp_path)
    assert [row.tried.problem for row in result.rows] == ["", ""]
    assert (result.first, result.without, result.exit_code) == (bad, good, 1)
