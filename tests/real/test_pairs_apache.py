"""Programs against a broker of one release of Apache RocketMQ with a name server of another: they follow both profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.validation.validate import ValidationRequest, validate

COMMANDS = ("java", "mvn")
FEW = 30


@pytest.mark.parametrize(("broker", "name_server"), [("4.9.4", "5.3.3"), ("5.3.3", "4.9.4")])
def test_broker_and_other_releases_name_server_follow_their_profiles(tmp_path: Path, broker: str, name_server: str) -> None:
    """Uses only programs that one broker can serve with default settings, so that a single start suffices."""
    target = Apache(broker, name_server=name_server)
    target.offers = target.offers - {Capability.START}
    report = validate(ValidationRequest(target, tmp_path / "report", FEW, 1, shrink=0))
    assert [f"{finding.verdict.property}: {finding.verdict.text} {finding.program.steps}" for finding in report.findings] == []
    assert (report.exit_code, len(report.judged), report.stopped) == (0, FEW, "")
