"""Programs against Apache RocketMQ itself: what 4.9.4 does is what its profile says, violations included."""

from __future__ import annotations

from pathlib import Path

from rocketproof_properties.validation.apache import Apache
from rocketproof_properties.validation.validate import Request, validate

COMMANDS = ("java", "mvn")
PROGRAMS = 200


def test_4_9_4_does_what_its_profile_says(tmp_path: Path) -> None:
    """Sticky switches, lost large records and the other known violations are found and expected; nothing else is that comes again.

    On a loaded machine a broker may not have served a one-way request yet when its topics are read back.
    """
    found = validate(Request(Apache("4.9.4"), tmp_path / "report", PROGRAMS, 1, shrink=30))
    steady = [one for one in found.findings if one.again or not one.repeats]
    assert [f"{one.verdict.property}: {one.verdict.text} {one.program.steps}" for one in steady] == []
    assert found.exit_code == bool(found.findings)
    assert len(found.judged) == PROGRAMS
    shown = {row.id for row in found.rows if row.expected == "violated" and row.broken}
    assert {"INV-06.records", "INV-44", "INV-45", "INV-57"} <= shown
