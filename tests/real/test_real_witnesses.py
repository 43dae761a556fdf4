"""The model's witnesses of known violations, performed on real brokers: they do what the model says."""

from __future__ import annotations

import pytest

from rocketproof_properties.validation.apache import Apache
from rocketproof_properties.validation.validate import mark
from rocketproof_properties.validation.witnesses import WITNESSES, Wanted, replay

COMMANDS = ("java", "mvn")


@pytest.mark.parametrize("wanted", WITNESSES, ids=lambda wanted: wanted.hazard)
def test_4_9_4_reproduces_the_witness(wanted: Wanted) -> None:
    found = replay(Apache("4.9.4"), wanted, mark())
    assert found.reproduced, found.said
