"""Units of work on several processes: twice as fast on two cores as threads, as compiling and z3 run side by side too.

A process prefers units of a kind it has had (its kernel is loaded), then a kind that nobody has had, so that no kernel is
compiled twice. Ctrl-C is passed on by the parent only: the processes end what they do with what they have.
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
PATIENCE = 0.6  # seconds that a process has to put its results together after Ctrl-C


@dataclass
class _Worker:
    """One process, what it works on and the kinds of unit it has had."""

    process: BaseProcess
    pipe: Connection
    unit: Unit | None = None
    kinds: set[tuple[str, str | None, str]] = field(default_factory=set)


def available(units: Sequence[Unit], workers: int) -> bool:
    """Whether several processes are worth starting for these units."""
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
    """Answer all units by `decide`, which each process gets a copy of; `done` hears each answer. `budget()` is asked before each unit, None
    means that the time is over.

    Raises KeyboardInterrupt after Ctrl-C, when the answers that could be had have been passed to `done`, and the
    RocketproofError of a unit that met one.
    """
    waiting = list(units)
    hands: list[_Worker] = []
    try:
        hands += [_start(decide) for _ in range(min(workers, len(units)))]
        try:
            _loop(hands, waiting, decide, budget, begin, progress, done)
        except KeyboardInterrupt:
            _stop(hands, done)
            raise
    finally:
        for hand in hands:
            hand.pipe.close()
            hand.process.terminate()
            hand.process.join()


def _start(decide: Decide) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, decide), daemon=True)
    with pools.signals_blocked(signal.SIGINT):
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _loop(
    hands: list[_Worker],
    waiting: list[Unit],
    decide: Decide,
    budget: Callable[[], Budget | None],
    begin: Callable[[Unit], None],
    progress: Callable[[Unit, Progress], None],
    done: Callable[[Unit, UnitResult], None],
) -> None:
    while True:
        for hand in hands:
            if hand.unit is None and waiting:
                given = budget()
                if given is None:
                    waiting.clear()
                    break
                hand.unit = _choose(hand, hands, waiting)
                hand.kinds.add(_kind(hand.unit))
                hand.pipe.send((hand.unit, given))
                begin(hand.unit)
        busy = {hand.pipe: hand for hand in hands if hand.unit is not None}
        if not busy:
            return
        for pipe in wait(list(busy), timeout=1.0):
            hand = busy[pipe]  # type: ignore[index]
            _hear(hand, progress, done, _lost)
            if hand.process.exitcode is not None:
                hand.pipe.close()
                hands[hands.index(hand)] = _start(decide)


def _hear(
    hand: _Worker,
    progress: Callable[[Unit, Progress], None],
    done: Callable[[Unit, UnitResult], None],
    lost: Callable[[Unit, int | None], UnitResult],
) -> None:
    unit = hand.unit
    assert unit is not None
    try:
        said: Any = hand.pipe.recv()
    except (EOFError, ConnectionError):
        hand.process.join()
        said = lost(unit, hand.process.exitcode)
    if isinstance(said, Progress):
        progress(unit, said)
        return
    hand.unit = None
    if not isinstance(said, UnitResult):
        raise RocketproofError(said)
    done(unit, said)


def _lost(unit: Unit, code: int | None) -> UnitResult:
    """The answer of a process that ended without one; the system kills those that take too much memory."""
    if code == -signal.SIGKILL:
        return UnitResult({task: undecided(task, MEMORY) for task in unit.tasks})
    problem = f"{unit}: its process ended with exit code {code}"
    return UnitResult({task: undecided(task, GAVE_UP) for task in unit.tasks}, problems=[problem])


def _cut_off(unit: Unit, code: int | None) -> UnitResult:
    """The answer of a process that Ctrl-C has ended before it had begun."""
    return UnitResult({task: undecided(task, INTERRUPTED) for task in unit.tasks})


def _choose(hand: _Worker, hands: Sequence[_Worker], waiting: list[Unit]) -> Unit:
    had = {kind for other in hands for kind in other.kinds}
    best = min(range(len(waiting)), key=lambda n: (_kind(waiting[n]) not in hand.kinds, _kind(waiting[n]) in had, n))
    return waiting.pop(best)


def _kind(unit: Unit) -> tuple[str, str | None, str]:
    return (unit.engine, unit.source.file, unit.source.scope)


def _stop(hands: list[_Worker], done: Callable[[Unit, UnitResult], None]) -> None:
    """Pass Ctrl-C on and gather what the processes still answer."""

    def gather(unit: Unit, answer: UnitResult) -> None:
        done(unit, replace(answer, interrupted=False))  # it is known by now, and the others are to be heard too

    for hand in hands:
        if hand.unit is not None and hand.process.pid is not None and STOP_SIGNAL is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(hand.process.pid, STOP_SIGNAL)
    until = time.monotonic() + PATIENCE
    with contextlib.suppress(RocketproofError):
        while any(hand.unit is not None for hand in hands) and (left := until - time.monotonic()) > 0:
            busy = {hand.pipe: hand for hand in hands if hand.unit is not None}
            for pipe in wait(list(busy), timeout=left):
                _hear(busy[pipe], lambda unit, at: None, gather, _cut_off)  # type: ignore[index]


def _work(pipe: Connection, decide: Decide) -> None:
    """A process's life: units in, progress and answers out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pools.unblock(signal.SIGINT)
    try:
        if STOP_SIGNAL is not None:
            interruption.hear(STOP_SIGNAL)
        while True:
            unit, budget = pipe.recv()
            try:
                said: UnitResult | str = decide(unit, budget, pipe.send)
            except RocketproofError as error:
                said = str(error)
            pipe.send(said)
    except KeyboardInterrupt:
        interrupts.heard()
    except (EOFError, ConnectionError):
        pass  # the parent has ended
