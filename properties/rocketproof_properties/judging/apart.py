"""Judge the histories of a run in other processes, while further programs run.

Clients and judges are Python code. In one process they would wait for each other's interpreter lock.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.common.pools import cores

from ..brokers.children import started
from .judging import judge_file
from .verdicts import JudgedProgram

WORTHWHILE: Final = 100
"""Minimum number of programs for which other processes judge. To start one takes about a CPU-second."""
_WAITING: Final = 16
"""Maximum number of histories per process that wait to be judged."""
_Judged = tuple[JudgedProgram, float]


def judges_for(programs: int) -> int:
    """Return the number of processes that judge this many programs: one for two cores, 0 for few programs."""
    return max(1, cores() // 2) if programs >= WORTHWHILE else 0


class HistoryJudges:
    """Judges histories in `processes` other processes, or immediately in this one if that is 0.

    If another process fails, its histories are judged in this one. `cpu_seconds` is the CPU time of all judging so far. A context manager;
    histories that still wait at its end are not judged.
    """

    def __init__(self, profile: str, bound: SearchBound, processes: int) -> None:
        self.cpu_seconds = 0.0
        self._profile, self._bound, self._processes = profile, bound, processes
        self._idle: SimpleQueue[subprocess.Popen[str] | None] = SimpleQueue()
        self._waiting: list[Future[_Judged]] = []
        self._closed = False
        self._opened = ExitStack()
        if processes:
            self._threads = ThreadPoolExecutor(processes, thread_name_prefix="judge")
            self._opened.callback(self._threads.shutdown, cancel_futures=True)
            for _ in range(processes):
                self._idle.put(self._started())

    def _started(self) -> subprocess.Popen[str] | None:
        command = [sys.executable, "-m", f"{__package__}.worker"]
        try:
            return self._opened.enter_context(started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        except OSError:
            return None

    def __enter__(self) -> HistoryJudges:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._opened.close()

    def submit(self, path: Path) -> None:
        """Have a history judged. Waits if too many wait already. Without other processes, raises what `judge_file` raises."""
        if not self._processes:
            future: Future[_Judged] = Future()
            future.set_result(self._judge_here(path))
            self._waiting.append(future)
            return
        self._waiting.append(self._threads.submit(self._judge, path))
        if len(self._waiting) > _WAITING * self._processes:
            wait(self._waiting, return_when=FIRST_COMPLETED)

    def results(self, *, all_: bool = False) -> Iterator[JudgedProgram]:
        """Yield the results that are new. With `all_`, wait for all submitted histories. Raises what `judge_file` raises."""
        if all_:
            wait(self._waiting)
        ready = [future for future in self._waiting if future.done()]
        self._waiting = [future for future in self._waiting if future not in ready]
        for future in ready:
            judged, seconds = future.result()
            self.cpu_seconds += seconds
            yield judged

    def _judge(self, path: Path) -> _Judged:
        process = self._idle.get()
        judged = None
        try:
            if process is not None:
                judged = _ask(process, (path, self._profile, self._bound))
        except (OSError, EOFError, pickle.UnpicklingError):  # it has ended
            process = None
        finally:
            self._idle.put(process)
        if judged is None and self._closed:
            raise CancelledError
        return judged or self._judge_here(path)

    def _judge_here(self, path: Path) -> _Judged:
        began = time.thread_time()
        judged = judge_file(path, self._profile, bound=self._bound)
        return judged, time.thread_time() - began


def _ask(process: subprocess.Popen[str], task: tuple[Path, str, SearchBound]) -> _Judged | None:
    """Return the result of another process, None if it could not judge the history. Raises OSError or EOFError if it has ended."""
    assert isinstance(process.stdin, TextIOWrapper) and isinstance(process.stdout, TextIOWrapper)
    process.stdin.buffer.write(pickle.dumps(task))
    process.stdin.buffer.flush()
    result: _Judged | None = pickle.load(process.stdout.buffer)
    return result
