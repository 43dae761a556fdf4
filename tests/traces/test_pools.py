"""Work on processes and threads of this machine: all answers, Ctrl-C by the parent only, and one line where a process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier

import pytest

import rocketproof_model
import rocketproof_traces
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.common.pools import on_processes, on_threads


def doubled(item: str) -> str:
    return f"{item}{item} {os.getpid()}"


def killed(item: str) -> str:
    if item == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_processes_give_all_answers() -> None:
    found = [answer.split() for answer in on_processes(2)(doubled, list("abcde"))]
    assert sorted(word for word, _ in found) == ["aa", "bb", "cc", "dd", "ee"]
    assert str(os.getpid()) not in {pid for _, pid in found}


@pytest.mark.parametrize(("workers", "items"), [(1, "abcdefgh"), (2, "a")])
def test_one_item_or_one_worker_needs_no_process(workers: int, items: str) -> None:
    assert [answer.split()[1] for answer in on_processes(workers)(doubled, list(items))] == [str(os.getpid())] * len(items)


def test_killed_process_is_one_line() -> None:
    with pytest.raises(TraceError, match="was ended from outside"):
        list(on_processes(2)(killed, list("12345")))


def test_threads_give_all_answers_in_this_process() -> None:
    together = Barrier(2)

    def meet(item: str) -> str:
        together.wait(timeout=30)
        return doubled(item)

    assert sorted(on_threads(2)(meet, "abcd")) == [f"{each}{each} {os.getpid()}" for each in "abcd"]


def test_error_in_thread_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(on_threads(2)(lambda item: 1 // item, [1, 0, 2]))


def slow(item: str) -> str:
    path = Path(item)
    try:
        path.touch()
        time.sleep(60)
    finally:
        path.unlink()
    return item


STOPPED = """
import signal, sys
from test_pools import slow
from rocketproof_traces.common.pools import on_processes

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        list(on_processes(2)(slow, sys.argv[1:]))
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signal_to_group_ends_tasks_silently_at_once(sent: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "stopped.py"
    script.write_text(STOPPED)
    items = [str(tmp_path / f"item {k}") for k in range(8)]
    paths = [str(Path(__file__).parent), str(Path(rocketproof_traces.__path__[0]).parent), str(Path(rocketproof_model.__path__[0]).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
    run = subprocess.Popen(
        [sys.executable, str(script), *items],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    while run.poll() is None and len(list(tmp_path.glob("item *"))) < 2:
        time.sleep(0.05)
    os.killpg(run.pid, sent)
    assert run.communicate(timeout=50) == ("stopped\n", None)
    assert not list(tmp_path.glob("item *"))
