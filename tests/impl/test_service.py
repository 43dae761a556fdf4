"""Threads that continue after errors, and shutdowns that run every step."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storing import LOG, Stand, message

from rocketproof_impl.java import JavaError
from rocketproof_impl.service import PAUSE_AFTER_FAILURE, Service, contained, run_all
from rocketproof_impl.simulator.scheduler import Scheduler

ERRORS = st.sampled_from(
    [ValueError("not a number"), OSError("no room"), JavaError("java.lang.Error"), KeyError(7), IndexError(), AssertionError()]
)


class Troubled(Service):
    """Each round raises the next error, or none for None; `times` has the start of each round."""

    def __init__(self, scheduler: Scheduler, errors: list[Exception | None], at_end: Exception | None = None) -> None:
        super().__init__("Troubled")
        self.times: list[int] = []
        self.log: list[str] = []
        self._scheduler, self._errors, self._at_end = scheduler, errors, at_end

    async def round(self) -> None:
        self.times.append(self._scheduler.clock.now())
        error = self._errors[len(self.times) - 1] if len(self.times) <= len(self._errors) else None
        if error is not None:
            raise error
        await self.wait_for_running(10)

    async def finish(self) -> None:
        self.log.append("finish")
        if self._at_end is not None:
            raise self._at_end

    def release(self) -> None:
        self.log.append("release")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.none(), ERRORS), max_size=6), st.one_of(st.none(), ERRORS))
def test_service_continues_after_every_error(errors: list[Exception | None], at_end: Exception | None) -> None:
    scheduler = Scheduler()
    service = Troubled(scheduler, errors, at_end)
    task = scheduler.spawn(service.run(), service.name)
    scheduler.advance(10_000)
    assert not task.done.done
    pauses = [after - before for before, after in zip(service.times, service.times[1:], strict=False)]
    assert pauses[: len(errors)] == [10 if error is None else PAUSE_AFTER_FAILURE for error in errors]
    assert service.log == []
    scheduler.complete(service.shutdown())
    assert task.done.done and service.log == ["finish", "release"]


def test_contained_error_is_logged_with_its_subject(caplog: pytest.LogCaptureFixture) -> None:
    with contained(lambda: "the record at 7 is set aside"):
        raise ValueError("no host")
    (logged,) = caplog.records
    assert logged.getMessage() == "the record at 7 is set aside" and logged.levelno == logging.ERROR and logged.exc_info


@pytest.mark.parametrize("error", [OSError("no room"), JavaError("java.lang.Error")])
def test_errors_of_the_described_system_are_not_contained(error: Exception) -> None:
    with pytest.raises(type(error)), contained(lambda: ""):
        raise error


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.one_of(st.none(), ERRORS)), max_size=6))
def test_shutdown_runs_every_step_and_raises_the_first_error(plan: list[tuple[bool, Exception | None]]) -> None:
    done: list[int] = []

    def step(number: int, error: Exception | None) -> None:
        done.append(number)
        if error is not None:
            raise error

    async def waiting(number: int, error: Exception | None) -> None:
        step(number, error)

    steps = [(f"step {number}", partial(waiting if waits else step, number, error)) for number, (waits, error) in enumerate(plan)]
    first = next((error for _, error in plan if error is not None), None)
    caught: Exception | None = None
    try:
        Scheduler().complete(run_all(steps))
    except Exception as problem:  # noqa: BLE001 - any error may have been planned
        caught = problem
    assert caught is first
    assert done == list(range(len(plan)))


QUEUE = "store/consumequeue/TopicTest/0/00000000000000000000"
FAILING = {"delayOffset.json": "write", "timercheck": "map", "checkpoint": "map", "consumequeue": "force", "commitlog": "force"}
"""The operation that fails on each file when a store stops. The stop raises only the error of `timercheck`; the others are logged."""


@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.sets(st.sampled_from(sorted(FAILING)), min_size=1), st.booleans())
def test_store_stops_as_far_as_its_disk_allows(profile: str, failing: set[str], threaded: bool) -> None:
    stand = Stand(profile)
    stand.disk.write("store/abort", b"")
    services = stand.store.services() if threaded else ()
    tasks = [stand.scheduler.spawn(service.run(), service.name) for service in services]
    stand.put(message())
    stand.scheduler.advance(200)  # shorter than the interval between flushes
    stand.store.dispatch()

    def fail(operation: str, path: str) -> None:
        if any(name in path and FAILING[name] == operation for name in failing):
            raise OSError(f"No space left on device: {path}")

    stand.disk.failing = fail
    raising = stand.profile.timers and "timercheck" in failing
    with pytest.raises(OSError, match="No space left on device") if raising else nullcontext():
        stand.scheduler.complete(stand.store.stop())
    assert all(task.done.done for task in tasks)
    assert ("store/abort" in stand.disk.files) is raising
    assert stand.store.shutdown
    assert (stand.disk.regions[LOG].forced > 0) is ("commitlog" not in failing)
    assert (stand.disk.regions[QUEUE].forced > 0) is ("consumequeue" not in failing)
    assert (b"offsetTable" in stand.disk.files.get("store/config/delayOffset.json", b"")) is ("delayOffset.json" not in failing)
    assert ("store/checkpoint" in stand.disk.files) is ("checkpoint" not in failing)
    if stand.profile.timers:
        assert ("store/config/timercheck" in stand.disk.files) is ("timercheck" not in failing)
