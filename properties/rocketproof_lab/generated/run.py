"""Many changes, each tried in a process of its own that is forked from one in which everything is imported and computed."""

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
"""Seconds beyond its programs' time after which a trial is given up."""


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
    """Try the changes with so many programs, on so many processes, for at most so many seconds; `keep` gets what is known now and then.

    Raises InputError where the programs find something without a change, and TargetError where they end before their time.
    """
    if not hasattr(os, "fork"):
        raise InputError("changes are tried in forked processes, which this system does not have; use Linux or macOS")
    began = time.monotonic()
    until = float("inf") if seconds is None else began + seconds
    report = GeneratedReport({"profile": profile, "programs": programs, "seed": seed})
    rows = {one.id: known[one.id] for one in changes if one.id in known}
    left = [one for one in changes if one.id not in rows]
    folder = Path(tempfile.mkdtemp(prefix="rocketproof-"))
    guardian.guard_folder(folder)

    def gather() -> GeneratedReport:
        report.rows = [arguments.argued(rows.get(one.id) or _undecided(one), one, profile) for one in changes]
        report.seconds = time.monotonic() - began
        return report

    try:
        if left:
            base = baseline(profile, programs, seed, progress)
            with closing(_rows(left, base, workers, until, folder)) as found:
                for row in found:
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


def _undecided(one: Tried) -> GeneratedResult:
    return GeneratedResult(one.id, one.part, one.module, one.kind, UNDECIDED)


def _rows(changes: Sequence[Tried], base: Baseline, workers: int, until: float, folder: Path) -> Generator[GeneratedResult, None, None]:
    """What comes of each, as it comes."""
    waiting = deque(changes)
    busy: list[_Trial] = []
    try:
        while (waiting or busy) and time.monotonic() < until:
            while waiting and len(busy) < workers:
                one = waiting.popleft()
                if base.worth(one):
                    busy.append(_Trial(one, base, folder))
                else:
                    row = _undecided(one)
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
    """A process that tries a change, as its parent sees it."""

    def __init__(self, change: Tried, base: Baseline, folder: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.change = change
        self.deadline = time.monotonic() + LONGEST + BEYOND
        self.pipe, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_live, args=(change, base, folder, theirs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads that survive a fork
            self._process.start()
        theirs.close()

    def row(self) -> GeneratedResult:
        try:
            found: GeneratedResult = self.pipe.recv()
        except (EOFError, OSError):
            found = _undecided(self.change)
            found.how = "the process that tried it has ended"
        return found

    def overdue(self) -> GeneratedResult | None:
        if time.monotonic() < self.deadline:
            return None
        found = _undecided(self.change)
        found.verdict, found.by, found.how = NOTICED, "target", f"it did not end within {LONGEST + BEYOND:g} s"
        return found

    def end(self) -> None:
        """Nothing of it is left: the changed implementation neither."""
        if self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _live(change: Tried, base: Baseline, folder: Path, pipe: Connection) -> None:
    os.setsid()
    silence()
    tempfile.tempdir = str(folder)
    pipe.send(attempt(change, base.worth(change), base.profile))
    os._exit(0)
