"""A real 4.9.4 that is killed under load keeps what it acknowledged, and what releases make of a file that a kill left without length."""

from __future__ import annotations

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.comeback import come_back
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_properties.validation.faults import kills
from rocketproof_properties.validation.faults.found import FaultTests
from rocketproof_protocol.codes import SUCCESS

COMMANDS = ("java",)
BROKER = "broker-a"
SECONDS = 10.0


def test_real_broker_keeps_acknowledged_messages() -> None:
    faults = FaultTests("kill")
    kills.run(Apache("4.9.4"), faults, 2, seed=5)
    assert faults.findings == []
    assert faults.acknowledged > 30


@pytest.mark.behaviour("REC-02", "HAZ-59")
@pytest.mark.parametrize("version", ["4.9.2", "4.9.4", "5.1.1", "5.1.4", "5.3.3"])
def test_empty_file_has_recorded_effect_on_start(version: str) -> None:
    """The effect is the value of the switch `wrong_length`."""
    target = Apache(version)
    wanted = PROFILES[target.profile].wrong_length
    with target.open(Setup(settings={"flushDiskType": "SYNC_FLUSH"})) as running:
        with running.connect(BROKER) as line:
            assert line.ask(plain("send", topic="T", queue=0), SECONDS).code == SUCCESS
        running.stop(BROKER)
        file = running.store(BROKER) / "consumequeue" / "T" / "0" / "00000000000006000000"
        file.touch()
        come_back(running, BROKER)
        assert running.unsized == ({BROKER: [f"0/{file.name}"]} if wanted == "refused" else {})
        assert file.exists() == (wanted == "passed over")
        with running.connect(BROKER) as line:
            assert line.ask(plain("send", topic="T", queue=0), SECONDS).code == SUCCESS
