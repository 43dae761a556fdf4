"""The distributed search gives what the local one gives, however levels are spread, divided, repeated and interrupted."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from one_process import OneProcess, summary

import routing
from rocketproof_model import Bool, EvaluationError, Instance, Int, Model, after
from rocketproof_model import search as local
from rocketproof_model.result import INTERRUPTED, MEMORY, STATES, TIME, Limits, Progress
from rocketproof_spec import build, constants, part
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark import jobs, search, shares


def counters(size: int = 3, top: int = 4, wide: bool = False) -> Model:
    """Counters that increase, or one subtracted from another; with properties of every kind, some false."""
    m = Model("counters")
    counter = m.index("Counter", size)
    value = m.var("value", Int(0, top), over=counter, init=0)
    stopped = m.var("stopped", Bool, init=False)
    if wide:
        m.var("rest", Int(0, 2**60), over=m.index("Word", 2), init=7)

    @m.action(k=counter)
    def up(a, k):  # type: ignore[no-untyped-def]
        """Count."""
        a.guard("runs", ~stopped, "nobody stopped it")
        a.guard("room", value[k] < top, "it fits")
        a.set(value[k], value[k] + 1)

    @m.action(k=counter)
    def drop(a, k):  # type: ignore[no-untyped-def]
        """Back to nothing."""
        a.guard("full", value[k] == top, "it is full")
        a.set(value[k], 0)

    @m.action()
    def stop(a):  # type: ignore[no-untyped-def]
        """Stop for ever."""
        a.guard("first", value[0] == 2, "the first counter stands at two")
        a.set(stopped, True)

    m.always("not alike", ~((value[0] == value[1]) & (value[1] == top)), "two are never full together")
    m.always("small", value[0] <= top, "it stays in bounds")
    m.reachable("all", (value[0] == 3) & (value[1] == 3), "two can stand at three")
    m.reachable("never", value[0] + value[1] > 2 * top, "this cannot be")
    m.step("slowly", after(value[0]) - value[0] <= 1, "one at a time")
    m.step("no drop", ~((value[1] == top) & (after(value[1]) == 0) & stopped), "a stopped one keeps what it has")
    m.deadlock_free("goes on", "something can happen")
    return m


def spread(instance: Instance, session: OneProcess | None = None, **options: Any) -> search.SparkExplored:
    return search.explore(session or OneProcess(), instance, **options)  # type: ignore[arg-type]


MODELS = {
    "counters": lambda: counters().given(),
    "wide counters": lambda: counters(4, 3, wide=True).given(),
    "routing": lambda: routing.model(B=1, P=2, M=1, K=1, C=1).given(),
    "tiny": lambda: build("tiny").model.given(**constants("P49")),
    "persistence": lambda: part("persistence").model.given(**constants("P49", type(part("persistence")))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["driver", "workers", "large levels", "twice"])
def test_sharded_search_equals_local_search(name: str, way: str, tmp_path: Path) -> None:
    instance = MODELS[name]()
    session = OneProcess(attempts=2 if way == "twice" else 1)
    found = spread(instance, session, alone={"driver": 1 << 60, "large levels": 3}.get(way, 0), scratch=tmp_path)
    assert summary(found) == summary(local.explore(instance))
    assert [o.property for o in found.outcomes] == [o.property for o in local.explore(instance).outcomes]
    assert bool(session.jobs) == (way != "driver") and all(o.engine == "spark" for o in found.outcomes)
    assert len(found.levels) in (found.depth, found.depth + 1) and sum(level.states for level in found.levels) == found.states
    assert not list(tmp_path.iterdir())  # nothing remains


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_number_of_workers_changes_nothing(shards: int) -> None:
    instance = counters(4).given()
    assert summary(spread(instance, OneProcess(shards), alone=30)) == summary(local.explore(instance))


def test_full_table_ends_only_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketproof_model.explicit import account

    instance = routing.model(B=2, P=2, M=1, K=1, C=1).given()
    usual = summary(spread(instance))
    pieces = []
    real = account.Account.runs_of_successors

    def count(self: account.Account, states: Any, seen: Any) -> Any:
        made = list(real(self, states, seen))
        pieces.append(len(made))
        return iter(made)

    monkeypatch.setattr(account, "_HOMES", 4)
    monkeypatch.setattr(account, "BLOCK", 1)
    monkeypatch.setattr(account.Account, "runs_of_successors", count)
    assert summary(spread(instance)) == usual == summary(local.explore(instance))
    assert max(pieces) > 1


def test_small_search_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    session = OneProcess(2)
    found = spread(counters(4).given(), session)
    assert not session.jobs and not any(level.tasks for level in found.levels)
    monkeypatch.setattr(search, "_RATE", 10.0)  # a slow driver, whose work is worth distributing
    found = spread(counters(4).given(), session)
    assert session.jobs and any(level.tasks for level in found.levels) and found.ready_seconds > 0
    assert summary(found) == summary(local.explore(counters(4).given()))


def breaking(level: int, how: Callable[[], None]) -> Callable[[Any], Any]:
    """Return a task that works first and then fails once, at one level."""
    broken = []

    def perform(work: Any) -> Any:
        done = shares.perform(work)
        if isinstance(work, shares.ShardTask) and work.level == level and not broken:
            broken.append(True)
            how()
        return done

    return perform


def test_ctrl_c_keeps_known_results() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    session = OneProcess()
    found = spread(counters().given(), session, alone=0, perform=breaking(7, interrupt))
    whole = local.explore(counters().given())
    assert found.reason == INTERRUPTED and not found.finished and session.interrupted and found.depth == 7
    assert found.states == sum(whole.sizes[:7])
    verdicts = {o.property.id: (o.verdict, o.reason) for o in found.outcomes}
    assert verdicts["all"] == ("holds", "") and verdicts["small"] == ("unknown", INTERRUPTED)
    witness = found.outcome("all").witness
    expected = whole.outcome("all").witness
    assert witness is not None and expected is not None and witness.states == expected.states


@pytest.mark.parametrize("alone", [0, 1 << 60])
def test_limits_end_it_without_verdict(alone: int) -> None:
    for limits, reason in ((Limits(states=20), STATES), (Limits(seconds=0.0), TIME), (Limits(memory=1), MEMORY)):
        found = spread(counters().given(), alone=alone, limits=limits)
        assert found.reason == reason and found.outcome("small").verdict == "unknown" and found.outcome("small").reason == reason
    whole = local.explore(counters().given())
    assert summary(spread(counters().given(), alone=alone, limits=Limits(states=whole.states))) == summary(whole)


def test_job_that_runs_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(jobs, "_BEAT", 0.01)
    session, told = OneProcess(), []

    def report(at: Progress) -> None:
        told.append(at)

    found = spread(
        counters().given(), session, alone=0, limits=Limits(seconds=0.5), report=report, perform=breaking(5, lambda: time.sleep(0.8))
    )
    assert found.reason == TIME and session.interrupted and found.depth <= 5
    assert told and {at.engine for at in told} == {"spark"}


def test_memory_that_task_lacks_is_limit() -> None:
    def exhaust() -> None:
        raise MemoryError

    assert spread(counters().given(), alone=0, perform=breaking(2, exhaust)).reason == MEMORY


def test_failed_task_is_one_line() -> None:
    def fail() -> None:
        raise RuntimeError("Traceback (most recent call last):\n  File x\nValueError: this is wrong\n\nJVM stacktrace: ...")

    with pytest.raises(TraceError, match=r"^Spark: a task of the search failed: ValueError: this is wrong; "):
        spread(counters().given(), alone=0, perform=breaking(2, fail))


@pytest.mark.parametrize("alone", [0, 1 << 60])
def test_fault_is_local_searchs(alone: int) -> None:
    m = counters()
    value = m.variable("value")

    @m.action()
    def burst(a):  # type: ignore[no-untyped-def]
        """Too far."""
        a.guard("there", (value[1] == 3) & (value[2] == 1), "a place")
        a.set(value[0], value[0] + value[1])

    with pytest.raises(EvaluationError) as expected:
        local.explore(m.given())
    with pytest.raises(EvaluationError) as found:
        spread(m.given(), alone=alone)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("alone", [0, 1 << 60])
def test_full_disk_is_clear_error(alone: int, tmp_path: Path) -> None:
    instance = routing.model(B=1, P=2, M=2, K=1, C=1).given()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        shares.put_question(tmp_path, instance, instance.model.properties, True)
        size = os.path.getsize(tmp_path / "question")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8, hard))
        with pytest.raises(TraceError) as found:
            spread(instance, alone=alone, scratch=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert str(tmp_path) in str(found.value) and "File too large" in str(found.value) and "--scratch" in str(found.value)
    assert [file.name for file in tmp_path.iterdir()] == ["question"]


def test_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot hold the states .*--scratch"):
        spread(counters().given(), scratch=tmp_path / "none")


def test_workers_that_do_not_reach_folder_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_visit", lambda folder: ("far", "nothing", "No such file or directory"))
    with pytest.raises(TraceError, match=r"is not reached by the worker on far .*No such file.*--scratch"):
        spread(counters().given(), alone=0)
    monkeypatch.setattr(jobs, "_visit", lambda folder: ("far", "nothing", ""))
    with pytest.raises(TraceError, match="not seen here"):
        spread(counters().given(), alone=0)


def test_file_that_was_cut_is_named(tmp_path: Path) -> None:
    def cut() -> None:
        for file in tmp_path.glob("*/level-00003-*-sent-*"):
            os.truncate(file, 8)

    with pytest.raises(TraceError, match="is shorter than when it was written"):
        spread(counters().given(), alone=1 << 60, scratch=tmp_path, perform=breaking(3, cut))
