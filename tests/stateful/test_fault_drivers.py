"""The drivers of the faults: the implementation does what the specification allows; and which scopes have one."""

from __future__ import annotations

import re

import pytest
from performed import FEW, GIVEN, found

from rocketproof_profiles import PROFILES
from rocketproof_properties.catalogue.source import WITHOUT_IMPLEMENTATION, ModelSource
from rocketproof_properties.conformance.drivers.base import Deviation
from rocketproof_properties.conformance.drivers.flushing import FlushingDriver
from rocketproof_properties.conformance.stateful.engine import DRIVERS, driver_of
from rocketproof_properties.reports.choices import InputError
from rocketproof_spec import NAMES, part


@pytest.mark.nightly
@pytest.mark.parametrize("scope", GIVEN)
def test_implementation_follows_specification(scope: str) -> None:
    assert found(scope, programs=FEW) is None


def test_every_scope_has_target_except_unperformed_ones() -> None:
    assert set(NAMES) - set(WITHOUT_IMPLEMENTATION) == set(DRIVERS)


@pytest.mark.parametrize("scope", WITHOUT_IMPLEMENTATION)
def test_unperformed_scope_is_reported(scope: str) -> None:
    source = ModelSource(scope, "P533")
    with pytest.raises(InputError, match=f"nothing performs scope {scope}"):
        driver_of(source, source.subject())


def test_value_unknown_to_specification_is_finding_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    specification = part("flush")
    made = FlushingDriver(specification, ModelSource("flush", "P49", ()).subject().instance, PROFILES["P49"])
    monkeypatch.setattr(made, "seen", lambda seen=made.seen: {**seen(), ("put.next", 1): 99})
    with pytest.raises(Deviation, match=re.escape("put.next[1]: 99 is not a value of Int(0, 8)")):
        made.observe()
