"""What all tests of this folder have."""

import pytest
from remembered import nothing_remembered  # noqa: F401

from rocketproof_impl.store import threads


@pytest.fixture(autouse=True)
def _brokers_stop_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of this process leaves no second to its last puts; that it does is shown on simulated time."""
    monkeypatch.setattr(threads, "LAST_PUTS", 0)
