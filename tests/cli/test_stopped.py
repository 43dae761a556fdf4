"""A signal stops a command: no library, thread, process or loop of it goes on, and its results are kept."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import rocketproof_bench
import rocketproof_model
import rocketproof_properties
import rocketproof_traces
from rocketproof_bench.contention import Load, contend
from rocketproof_model import interrupts
from rocketproof_properties.deployments.children import completed
from rocketproof_properties.deployments.connection import TcpConnection
from rocketproof_properties.generators.shrink import shrink
from rocketproof_properties.judging import judging
from rocketproof_traces import pools
from rocketproof_traces.checker import histories
from rocketproof_traces.history import event_line, header_line

PATH = os.pathsep.join(
    str(Path(str(p.__file__)).parents[1]) for p in (rocketproof_model, rocketproof_traces, rocketproof_properties, rocketproof_bench)
)
DATA = Path(__file__).parents[1] / "data"
PLANTED = """
import os, sys
from rocketproof_properties.cli import main
left = {calls}
def count(frame, event, arg):
    global left
    if "rocketproof_" in frame.f_code.co_filename:
        left -= 1
        if left == 0:
            sys.settrace(None)
            os.kill(os.getpid(), {number})
sys.settrace(count)
main()
"""
COMMANDS = {
    "check": ("check", "--engine", "explicit", "--workers", "1"),
    "symbolic": ("check", "--engine", "symbolic", "--workers", "1"),
    "simulate": ("check", "--engine", "simulate", "--workers", "1"),
    "stateful": ("check", "--engine", "stateful", "--workers", "1"),
    "test": ("test", "--workers", "1"),
    "validate": ("validate", "--target", "inprocess", "--report", "made"),
    "against": ("validate", "--target", "inprocess", "--against", "inprocess:P49", "--report", "made"),
    "judge": ("judge", "history.ndjson", "--profile", "P49"),
    "campaign": ("campaign", "--engine", "local", "--workers", "1", "--out", "made"),
    "mutate": ("mutate", "--specification"),
    "hazard": ("hazard",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stops_at_a_random_moment(name: str, tmp_path: Path) -> None:
    """The moment is a number of calls of our functions, so that it is the same on each machine."""
    draw = random.Random(name)
    header, events = contend(Load(events=2_000, producers=8, topics=1))
    (tmp_path / "history.ndjson").write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n")
    number = draw.choice((signal.SIGINT, signal.SIGTERM))
    code = PLANTED.format(calls=int(10 ** draw.uniform(2, 4)), number=int(number))
    env = {**os.environ, "PYTHONPATH": PATH, "NO_COLOR": "1"}
    command = [sys.executable, "-c", code, *COMMANDS[name], "--json", "out.json"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if "before anything was decided" not in done.stderr:
        json.loads((tmp_path / "out.json").read_text())


@pytest.mark.parametrize("dropping", ["except BaseException", "except KeyboardInterrupt"])
def test_an_interrupt_that_a_library_drops_is_raised_again(dropping: str) -> None:
    code = f"""
import signal, threading
from rocketproof_model import interrupts
from rocketproof_properties import interruption
interruption.hear(signal.SIGINT)
try:
    try:
        signal.raise_signal(signal.SIGINT)
    {dropping}:
        pass
    threading.Event().wait(30)
    print("went on")
except KeyboardInterrupt:
    interrupts.heard()
    print("interrupted")
threading.Event().wait(0.1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_a_history_judged_in_part_raises_the_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(histories, "judge_part", interrupted)
    monkeypatch.setattr(interrupts, "_heard", False)
    path = DATA / "history-4.9.3-operation-queue.ndjson.gz"
    with pytest.raises(KeyboardInterrupt):
        judging.judge_file(path, "P494")


def test_an_interrupted_shrinker_tries_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def shows(parts: Sequence[int]) -> str | None:
        tried.append(parts)
        monkeypatch.setattr(interrupts, "_interrupted", True)
        return "it" if 7 in parts else None

    found, evidence = shrink(list(range(64)), "it", shows)
    assert len(tried) == 1 and 7 in found and evidence == "it"


def _deaf(_: int) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    Path("deaf").touch()
    time.sleep(60)
    return 0


def test_a_pool_kills_a_process_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), pools.processes(1) as pool:  # noqa: PT012
        future = pool.submit(_deaf, 1)
        while not Path("deaf").exists() and not future.done():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - began < 50


def test_a_child_leaves_no_process_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        completed(["sh", "-c", "sleep 60 & echo $! > pid; wait"], seconds=0.5, cwd=tmp_path)
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2] and time.monotonic() < end:
        time.sleep(0.01)
    assert time.monotonic() < end


def test_a_thread_that_waits_for_an_answer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = TcpConnection(f"127.0.0.1:{silent.getsockname()[1]}")

        def listen() -> None:
            try:
                connection.listen(30)
            except KeyboardInterrupt as error:
                ended.append(error)

        thread = threading.Thread(target=listen)
        thread.start()
        monkeypatch.setattr(interrupts, "_interrupted", True)
        thread.join(20)
        connection.close()
    assert len(ended) == 1
