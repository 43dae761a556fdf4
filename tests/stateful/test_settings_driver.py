"""Settings of a broker that are changed while it runs, performed on the implementation."""

from __future__ import annotations

from typing import Any

import pytest
from performed import found

from proportion import in_proportion
from rocketproof_impl.broker import admin


@pytest.mark.parametrize("given", [{}, {"existing": True}, {"broker_writable": False}], ids=str)
def test_implementation_follows_specification(given: dict[str, Any]) -> None:
    assert found("settings", given=given, programs=in_proportion(30), seed=1) is None


def test_setting_that_stays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "update_settings", lambda *_: {})
    finding = found("settings", given={}, programs=30, seed=1)
    assert finding is not None
    assert finding.text.startswith(("permit(", "switch_creation(")), "the step that changes a setting is named"
