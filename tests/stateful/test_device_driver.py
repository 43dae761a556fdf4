"""The simulated store on its device: both kinds of flush, a pool, forces that fail; and planted errors."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_impl.simulator.disk import SimulatedRegion
from rocketproof_impl.store.files import MappedFile
from rocketproof_impl.store.flush import Durability
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour


def put_without_wait(self: Durability, appended: Any, message: Any) -> None:
    return None


@behaviour("FLU-02", "INV-06")
def test_answer_before_flush_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay("recovery", "P49", ["append()", "flush()", "acknowledge()"])
    monkeypatch.setattr(Durability, "ask_flush", put_without_wait)
    with pytest.raises(ConformanceError, match="turn"):
        replay("recovery", "P49", ["append()"])


@behaviour("FLU-05", "INV-06")
def test_flush_that_forces_nothing_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedRegion, "force", lambda self: None)
    with pytest.raises(ConformanceError, match="not forced"):
        replay("recovery", "P49", ["append()", "flush()"])


@behaviour("FLU-06", "REM-06", "INV-06", "REA-100", "REA-101")
def test_buffer_pool_follows_specification() -> None:
    replay("device", "P49", [*["put()"] * 3, "reject()", "look()", "commit()", "put()"], {"sync": False, "buffers": 2})
    replay("device", "P49", ["put()", "crash()"], {"sync": False, "buffers": 2, "crash_budget": 1})


@behaviour("FLU-05", "INV-06")
def test_store_noticing_failed_sync_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trusted, the flushed position moves on though the force failed; noticed, it stays. Either is a finding for the other."""
    given = {"fails": True, "power_budget": 1}
    replay("device", "P49", ["put()", "flush_fails()", "confirm()", "power_loss(kept=0)"], given)
    replay("device", "P49", ["put()", "flush_fails()", "time_out()"], {**given, "trusts_failed_force": False})
    monkeypatch.setattr(MappedFile, "force", lambda self: True)
    with pytest.raises(ConformanceError, match="forced"):
        replay("device", "P49", ["put()", "flush()"], given)
