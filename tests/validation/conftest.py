"""Fixtures for all tests of this folder."""

import pytest
from remembered import nothing_remembered  # noqa: F401

from rocketproof_impl.store import threads
from rocketproof_properties.brokers.served import Served


@pytest.fixture(autouse=True)
def _brokers_stop_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores stop without waiting a second for their last puts; tests on simulated time cover that wait."""
    monkeypatch.setattr(threads, "LAST_PUTS", 0)
    python, option, program, *more = Served.command
    at_once = "from rocketproof_impl.store import threads; threads.LAST_PUTS = 0; "
    monkeypatch.setattr(Served, "command", (python, option, at_once + program, *more))
