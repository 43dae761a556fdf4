"""Programs against Apache RocketMQ itself: what 4.9.4 does is what its profile says, violations included."""

from __future__ import annotations

from pathlib import Path

from rocketproof_properties.validation.apache import Apache
from rocketproof_properties.validation.validate import Request, validate

COMMANDS = ("java", "mvn")
PROGRAMS = 200


def test_4_9_4_does_what_its_profile_says(tmp_path: Path) -> None:
    """Sticky switches, lost large records and the other known violations are found and expected; nothing else is."""
    found = validate(Request(Apache("4.9.4"), tmp_path / "report", PROGRAMS, 1, shrink=5))
    assert [f"{one.verdict.property}: {one.verdict.text} {one.program.steps}" for one in found.findings] == []
    assert found.exit_code == 0
    assert len(found.judged) == PROGRAMS
    shown = {row.id for row in found.rows if row.expected == "violated" and row.broken}
    assert {"INV-06.records", "INV-44", "INV-45", "INV-57"} <= shown
