"""Programs followed by a kill, on brokers in separate processes: the lost messages are known violations, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.served import Served
from rocketproof_properties.catalogue import conditions as about
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ENDED
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation import validate as validation
from rocketproof_properties.validation.validate import ValidationRequest, validate

END: tuple[Step, ...] = (("send", {"topic": "B"}), ("crash", {}))
LOST: dict[str, tuple[Step, ...]] = {
    about.WIDE_NAMES: (("send", {}), ("back", {"group": "値" * 60, "level": -1})),
    about.OWN_PROPERTIES: (("send", {"items": [("a", {"p": "v" * 32_760})]}),),
    about.LONGER_HOSTS: (("send", {"sys_flag": 16}),),
}


@pytest.mark.behaviour("HAZ-49", "HAZ-50", "HAZ-51", "INV-06", "REC-02")
def test_unreadable_message_is_a_known_violation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = [Program(number, "", (*steps, *END), ENDED) for number, steps in enumerate(LOST.values(), 1)]
    programs.append(Program(4, "", (("send", {}), *END), ENDED))
    monkeypatch.setattr(validation, "generate", lambda choice: programs)
    report = validate(ValidationRequest(Served("P494"), tmp_path / "r", programs=4, shrink=0))
    assert [finding.verdict for finding in report.findings] == []
    lost = {row.condition: row for row in report.rows if row.id == "INV-06.records" and row.expected == "violated"}
    assert {condition: (row.tried, row.broken) for condition, row in lost.items()} == dict.fromkeys(about.UNREAD, (1, 1))
    assert all("HAZ-" in row.reason for row in lost.values())
    held = next(row for row in report.rows if row.id == "INV-06.records" and row.expected == "holds")
    assert (held.tried, held.broken) == (1, 0)
    assert report.exit_code == 0
