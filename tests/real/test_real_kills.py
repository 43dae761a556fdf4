"""A real 4.9.4 that is killed under load keeps what it acknowledged."""

from __future__ import annotations

from rocketproof_properties.deployments.apache import Apache
from rocketproof_properties.faults import kills
from rocketproof_properties.faults.found import FaultTests

COMMANDS = ("java",)


def test_a_real_broker_keeps_what_it_acknowledged() -> None:
    found = FaultTests("kill")
    kills.run(Apache("4.9.4"), found, 2, seed=5)
    # A kill between the making of a file and the giving of its length leaves one of length 0, on which 4.9.4 never starts again (code 253).
    assert [each for each in found.findings if not (": start: " in each and "with code 253" in each)] == []
    assert found.acknowledged > 30
