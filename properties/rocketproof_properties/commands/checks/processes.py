"""Run units of work in several processes. Unlike threads, processes also run compilation and z3 in parallel.

A process first takes a unit of a kind that it had before, because it has loaded the kernel. Otherwise it takes a kind that no process had,
so that no two processes compile the same kernel. Worker processes ignore Ctrl-C. The parent signals them, and each returns the results that
its unit has so far.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from rocketproof_model import RocketproofError, interrupts
from rocketproof_model.result import GAVE_UP, INTERRUPTED, MEMORY, Progress, Report
from rocketproof_traces.common import pools

from ...reports import interruption
from .rows import undecided
from .units import Budget, Unit, UnitResult

STOP_SIGNAL = getattr(signal, "SIGUSR1", None)
Decide = Callable[[Unit, Budget, Report], UnitResult]
"""Answers a unit within a budget, and reports its progress."""
PATIENCE = 0.6  # seconds that a worker has to return its results after Ctrl-C


@dataclass
class _Worker:
    """A worker process, its current unit, and the kinds of unit it had so far."""

    process: BaseProcess
    pipe: Connection
    unit: Unit | None = None
    kinds: set[tuple[str, str | None, str]] = field(default_factory=set)


def available(units: Sequence[Unit], workers: int) -> bool:
    """Return whether it is worth starting several processes for these units."""
    return workers > 1 and len(units) > 1 and STOP_SIGNAL is not None and all(unit.engine != "spark" for unit in units)


def run(
    units: Sequence[Unit],
    workers: int,
    decide: Decide,
    budget: Callable[[], Budget | None],
    begin: Callable[[Unit], None],
    progress: Callable[[Unit, Progress], None],
    done: Callable[[Unit, UnitResult], None],
) -> None:
    """Answer all units by `decide`, which each process receives a copy of, and pass each answer to `done`. `budget()` is called before each
    unit; None means that the time limit is reached.

    Raises KeyboardInterrupt after Ctrl-C, once all available answers were passed to `done`. Raises the RocketproofError of a unit.
    """
    waiting = list(units)
    pool: list[_Worker] = []
    try:
        pool += [_start(decide) for _ in range(min(workers, len(units)))]
        try:
            _loop(pool, waiting, decide, budget, begin, progress, done)
        except KeyboardInterrupt:
            _stop(pool, done)
            raise
    finally:
        for worker in pool:
            worker.pipe.close()
            worker.process.terminate()
            worker.process.join()


def _start(decide: Decide) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, decide), daemon=True)
    with pools.signals_blocked(signal.SIGINT):
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _loop(
    workers: list[_Worker],
    waiting: list[Unit],
    decide: Decide,
    budget: Callable[[], Budget | None],
    begin: Callable[[Unit], None],
    progress: Callable[[Unit, Progress], None],
    done: Callable[[Unit, UnitResult], None],
) -> None:
    while True:
        for worker in workers:
            if worker.unit is None and waiting:
                unit_budget = budget()
                if unit_budget is None:
                    waiting.clear()
                    break
                worker.unit = _choose(worker, workers, waiting)
                worker.kinds.add(_kind(worker.unit))
                worker.pipe.send((worker.unit, unit_budget))
                begin(worker.unit)
        busy = {worker.pipe: worker for worker in workers if worker.unit is not None}
        if not busy:
            return
        for pipe in wait(list(busy), timeout=1.0):
            worker = busy[pipe]  # type: ignore[index]
            _receive(worker, progress, done, _lost)
            if worker.process.exitcode is not None:
                worker.pipe.close()
                workers[workers.index(worker)] = _start(decide)


def _receive(
    worker: _Worker,
    progress: Callable[[Unit, Progress], None],
    done: Callable[[Unit, UnitResult], None],
    lost: Callable[[Unit, int | None], UnitResult],
) -> None:
    unit = worker.unit
    assert unit is not None
    try:
        message: Any = worker.pipe.recv()
    except (EOFError, ConnectionError):
        worker.process.join()
        message = lost(unit, worker.process.exitcode)
    if isinstance(message, Progress):
        progress(unit, message)
        return
    worker.unit = None
    if not isinstance(message, UnitResult):
        raise RocketproofError(message)
    done(unit, message)


def _lost(unit: Unit, code: int | None) -> UnitResult:
    """Return the answer for a process that ended without an answer. The system kills a process that uses too much memory."""
    if code == -signal.SIGKILL:
        return UnitResult({task: undecided(task, MEMORY) for task in unit.tasks})
    problem = f"{unit}: its process ended with exit code {code}"
    return UnitResult({task: undecided(task, GAVE_UP) for task in unit.tasks}, problems=[problem])


def _cut_off(unit: Unit, code: int | None) -> UnitResult:
    """Return the answer for a process that Ctrl-C ended before it answered."""
    return UnitResult({task: undecided(task, INTERRUPTED) for task in unit.tasks})


def _choose(worker: _Worker, workers: Sequence[_Worker], waiting: list[Unit]) -> Unit:
    kinds = {kind for other in workers for kind in other.kinds}
    best = min(range(len(waiting)), key=lambda n: (_kind(waiting[n]) not in worker.kinds, _kind(waiting[n]) in kinds, n))
    return waiting.pop(best)


def _kind(unit: Unit) -> tuple[str, str | None, str]:
    return (unit.engine, unit.source.file, unit.source.scope)


def _stop(workers: list[_Worker], done: Callable[[Unit, UnitResult], None]) -> None:
    """Forward Ctrl-C and collect the answers that the processes still return."""

    def gather(unit: Unit, answer: UnitResult) -> None:
        done(unit, replace(answer, interrupted=False))  # the interruption is known, and the other workers' answers are collected too

    for worker in workers:
        if worker.unit is not None and worker.process.pid is not None and STOP_SIGNAL is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.process.pid, STOP_SIGNAL)
    deadline = time.monotonic() + PATIENCE
    with contextlib.suppress(RocketproofError):
        while any(worker.unit is not None for worker in workers) and (remaining := deadline - time.monotonic()) > 0:
            busy = {worker.pipe: worker for worker in workers if worker.unit is not None}
            for pipe in wait(list(busy), timeout=remaining):
                _receive(busy[pipe], lambda unit, at: None, gather, _cut_off)  # type: ignore[index]


def _work(pipe: Connection, decide: Decide) -> None:
    """Run a worker process: receive units, send progress and answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pools.unblock(signal.SIGINT)
    try:
        if STOP_SIGNAL is not None:
            interruption.hear(STOP_SIGNAL)
        while True:
            unit, budget = pipe.recv()
            try:
                reply: UnitResult | str = decide(unit, budget, pipe.send)
            except RocketproofError as error:
                reply = str(error)
            pipe.send(reply)
    except KeyboardInterrupt:
        interrupts.heard()
    except (EOFError, ConnectionError):
        pass  # the parent has ended
