"""Programs against Apache RocketMQ itself: a release follows its profile, known violations included."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.validation.validate import ValidationRequest, validate

pytestmark = pytest.mark.slow  # .ci/run runs it, not only .ci/nightly

COMMANDS = ("java", "mvn")
PROGRAMS, SEED = 60, 2  # among them one with a record larger than a file
KNOWN = {"INV-06.records", "INV-44", "INV-45", "INV-57"}


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_release_follows_its_profile(tmp_path: Path, version: str) -> None:
    """Lost large records and the other known violations are found and expected; no program has other findings."""
    report = validate(ValidationRequest(Apache(version), tmp_path / "report", PROGRAMS, SEED, shrink=10))
    assert [f"{finding.verdict.property}: {finding.verdict.text} {finding.program.steps}" for finding in report.findings] == []
    assert (report.exit_code, len(report.judged), report.stopped) == (0, PROGRAMS, "")
    assert {row.id for row in report.rows if row.expected == "violated" and row.broken} >= KNOWN
