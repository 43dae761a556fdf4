"""Settings of a broker that are changed while it runs, performed on the implementation."""

from __future__ import annotations

from typing import Any

import pytest

from proportion import in_proportion
from rocketproof_impl.broker import admin
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.stateful.engine import target_of
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.machine import Campaign, run


def found(programs: int = 30, **given: Any) -> ConformanceError | None:
    source = ModelSource("settings", "P49", tuple(sorted(given.items())))
    subject = source.subject()
    return run(Campaign(subject.instance, target_of(source, subject)), programs, 1, shrink=False)


@pytest.mark.parametrize("given", [{}, {"existing": True}, {"broker_writable": False}], ids=str)
def test_implementation_follows_specification(given: dict[str, Any]) -> None:
    assert found(in_proportion(30), **given) is None


def test_setting_that_stays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "update_settings", lambda *_: {})
    finding = found()
    assert finding is not None
    assert "auto_create_now" in finding.text or "able_now" in finding.text
