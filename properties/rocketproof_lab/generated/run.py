"""Try many changes, each in a process that is forked from one in which everything is imported and computed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

from rocketproof_model import interrupts
from rocketproof_properties.brokers import guardian
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.validate import CTRL_C, Progress

from ..seeded.forks import silence
from . import arguments
from .baseline import Baseline, baseline
from .results import NOTICED, UNDECIDED, UNREACHED, GeneratedReport, GeneratedResult
from .switched import Tried
from .trial import LONGEST, attempt

BEYOND: Final = 60.0
"""Seconds after the time limit of its programs at which a trial is aborted."""


def run(
    changes: Sequence[Tried],
    *,
    profile: str,
    programs: int,
    seed: int,
    workers: int,
    seconds: float | None,
    progress: Progress,
    known: Mapping[str, GeneratedResult],
    keep: Callable[[GeneratedReport], None],
) -> GeneratedReport:
    """Try each change with at most `programs` programs on `workers` processes for at most `seconds`. `keep` repeatedly gets the results so
    far.

    Raises InputError if the programs find something without a change, and TargetError if they end early.
    """
    if not hasattr(os, "fork"):
        raise InputError("changes are tried in forked processes, which this system does not have; use Linux or macOS")
    began = time.monotonic()
    until = float("inf") if seconds is None else began + seconds
    report = GeneratedReport({"profile": profile, "programs": programs, "seed": seed})
    rows = {change.id: known[change.id] for change in changes if change.id in known}
    untried = [change for change in changes if change.id not in rows]
    folder = Path(tempfile.mkdtemp(prefix="rocketproof-"))
    guardian.guard_folder(folder)

    def gather() -> GeneratedReport:
        report.rows = [arguments.argued(rows.get(change.id) or _undecided(change), change, profile) for change in changes]
        report.seconds = time.monotonic() - began
        return report

    try:
        if untried:
            base = baseline(profile, programs, seed, progress)
            with closing(_rows(untried, base, workers, until, folder)) as results:
                for row in results:
                    rows[row.id] = row
                    progress("changes", len(rows), len(changes))
                    keep(gather())
        if len(rows) < len(changes):
            report.stopped = "the time limit"
    except KeyboardInterrupt:
        interrupts.heard()
        report.stopped = CTRL_C
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        guardian.release_folder(folder)
    return gather()


def _undecided(change: Tried) -> GeneratedResult:
    return GeneratedResult(change.id, change.part, change.module, change.kind, UNDECIDED)


def _rows(changes: Sequence[Tried], base: Baseline, workers: int, until: float, folder: Path) -> Generator[GeneratedResult, None, None]:
    """Yield the result of each change in the order in which the trials end."""
    waiting = deque(changes)
    busy: list[_Trial] = []
    try:
        while (waiting or busy) and time.monotonic() < until:
            while waiting and len(busy) < workers:
                change = waiting.popleft()
                if base.programs_for(change):
                    busy.append(_Trial(change, base, folder))
                else:
                    row = _undecided(change)
                    row.verdict = UNREACHED
                    yield row
            if not busy:
                continue
            first = min(until, *(trial.deadline for trial in busy))
            ready = wait([trial.pipe for trial in busy], max(0.0, first - time.monotonic()))
            for trial in list(busy):
                row_ = trial.row() if trial.pipe in ready else trial.overdue()
                if row_ is not None:
                    trial.end()
                    busy.remove(trial)
                    yield row_
    finally:
        for trial in busy:
            trial.end()


class _Trial:
    """A process that tries a change, as seen by its parent."""

    def __init__(self, change: Tried, base: Baseline, folder: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.change = change
        self.deadline = time.monotonic() + LONGEST + BEYOND
        self.pipe, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_child, args=(change, base, folder, theirs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads that survive a fork
            self._process.start()
        theirs.close()

    def row(self) -> GeneratedResult:
        try:
            result: GeneratedResult = self.pipe.recv()
        except (EOFError, OSError):
            result = _undecided(self.change)
            result.how = "the process that tried it has ended"
        return result

    def overdue(self) -> GeneratedResult | None:
        if time.monotonic() < self.deadline:
            return None
        result = _undecided(self.change)
        result.verdict, result.by, result.how = NOTICED, "target", f"it did not end within {LONGEST + BEYOND:g} s"
        return result

    def end(self) -> None:
        """Kill the process and all processes that it has started."""
        if self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _child(change: Tried, base: Baseline, folder: Path, pipe: Connection) -> None:
    os.setsid()
    silence()
    tempfile.tempdir = str(folder)
    pipe.send(attempt(change, base.programs_for(change), base.profile))
    os._exit(0)
