"""The put lock and the group commit of the simulated store: each release in its way, and planted errors."""

from __future__ import annotations

import pytest
from performed import waited

from rocketproof_impl.store import flushing
from rocketproof_impl.store.flush import AwaitedFlush
from rocketproof_impl.store.flushing import GroupCommitService
from rocketproof_model.result import Move
from rocketproof_profiles import PROFILES
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.drivers.flushing import FlushingDriver
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.machine import Campaign, perform
from rocketproof_properties.conformance.stateful.replay import replay
from rocketproof_spec import part
from rocketproof_spec.flushing import Flushing

behaviour = pytest.mark.behaviour


class Hasty(GroupCommitService):
    """A group commit that assumes every flush succeeded."""

    __slots__ = ()

    async def _flush_to(self, next_offset: int) -> bool:
        await flushing.LOOKS
        self._files.flush()
        return True


class Thorough(GroupCommitService):
    """A group commit whose flush reaches the log's end."""

    __slots__ = ()

    async def _flush_to(self, next_offset: int) -> bool:
        await flushing.LOOKS
        self._files.flush_all()
        await flushing.LOOKS
        return True


@behaviour("FLU-03", "FLU-05", "LIV-09", "REA-55")
@pytest.mark.parametrize("planted", [Hasty, Thorough])
def test_another_group_commit_is_finding(planted: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first commit answers a put although its single flush does not reach the record; the second flushes one file more."""
    record = ["lock(p=0)", "append_only(p=0)", "finish(p=0)"]
    steps = [*record * 2, "lock(p=0)", "append(p=0)", "exchange()", "flush(p=0)", "flush(p=0)"]
    replay("flush", "P49", steps)
    monkeypatch.setattr(GroupCommitService, "_flush_to", planted._flush_to)  # type: ignore[attr-defined] # both have it
    with pytest.raises(ConformanceError, match=r"flushed|answer"):
        replay("flush", "P49", steps)


@behaviour("FLU-03", "HAZ-21", "LIV-09")
@pytest.mark.parametrize(("profile", "end"), [("P45", "deny(p=0)"), ("P49", "confirm(p=0)")])
def test_check_after_second_flush_follows_release(profile: str, end: str) -> None:
    record = ["lock(p=0)", "append_only(p=0)", "finish(p=0)"]
    replay("flush", profile, [*record * 2, "lock(p=0)", "append(p=0)", "exchange()", "flush(p=0)", "flush(p=0)", end])


@behaviour("CL-05", "STO-03", "LIV-05", "HAZ-23")
def test_lock_time_kept_after_exception_is_finding() -> None:
    steps = ["lock(p=0)", "throw(p=0)"]
    source = ModelSource("flush", "P49", (("throws", True),))
    subject = source.subject()
    specification = part("flush")
    assert isinstance(specification, Flushing)
    made = Campaign(subject.instance, lambda: FlushingDriver(specification, subject.instance, PROFILES["P45"]))
    with pytest.raises(ConformanceError, match="age"):
        perform(made, [Move(name, (0,)) for name in ("lock", "throw")])
    replay("flush", "P49", steps, {"throws": True})


@behaviour("FLU-02", "LIV-09")
def test_put_with_more_patience_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["lock(p=0)", "append(p=0)", "time_out(p=0)"]
    replay("flush", "P49", steps)
    monkeypatch.setattr(AwaitedFlush, "fulfilled", lambda self, millis: waited(self, 60_000))
    with pytest.raises(ConformanceError, match="60000 ms"):
        replay("flush", "P49", steps)
