"""A signal stops a command: none of its libraries, threads, processes and loops continues, and its results are saved."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocketproof_lab
import rocketproof_model
import rocketproof_properties
import rocketproof_traces
from rocketproof_lab import requirements
from rocketproof_lab.bench.contention import Load, contend
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_model import interrupts
from rocketproof_properties.brokers.children import completed
from rocketproof_properties.brokers.connection import TcpConnection
from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.commands.program import run
from rocketproof_properties.hazards import gallery
from rocketproof_properties.judging import judging
from rocketproof_properties.programs.shrink import shrink
from rocketproof_traces.audit import merge
from rocketproof_traces.checker import histories
from rocketproof_traces.common import pools
from rocketproof_traces.history import event_line, header_line

PATH = os.pathsep.join(
    str(Path(str(p.__file__)).parents[1]) for p in (rocketproof_model, rocketproof_traces, rocketproof_properties, rocketproof_lab)
)
DATA = Path(__file__).parents[1] / "data"
PLANTED = """
import os, sys
from rocketproof_properties.commands import main
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
    "compare": ("compare", "inprocess:P49", "inprocess", "--report", "made"),
    "judge": ("judge", "history.ndjson", "--profile", "P49"),
    "campaign": ("campaign", "--engine", "local", "--workers", "1", "--out", "made"),
    "mutate": ("mutate", "--specification"),
    "hazard": ("hazard",),
}


USUAL = ("check", "judge")
"""The commands of the default tests: the first uses engines, the second reads a file. All commands stop by the same code."""


@pytest.mark.parametrize("name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS])
def test_a_command_stops_at_a_random_moment(name: str, tmp_path: Path) -> None:
    """The moment is a number of calls of project functions, so it is the same on each machine."""
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


def of_a_process(code: str) -> tuple[int, str, str]:
    """Return exit code and output of Python code that uses the modules about interrupts."""
    imports = """
import atexit, signal, threading
from rocketproof_model import interrupts
from rocketproof_properties.reports import interruption
"""
    ended = subprocess.run([sys.executable, "-c", imports + code], capture_output=True, text=True, check=False, timeout=60)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("dropping", ["except BaseException", "except KeyboardInterrupt"])
def test_an_interrupt_that_a_library_drops_is_raised_again(dropping: str) -> None:
    code = f"""
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
    assert of_a_process(code) == (0, "interrupted\n", "")


def test_a_history_judged_in_part_raises_the_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(histories, "judge_partition", interrupted)
    monkeypatch.setattr(interrupts, "_heard", False)
    path = DATA / "history-4.9.3-operation-queue.ndjson.gz"
    with pytest.raises(KeyboardInterrupt):
        judging.judge_file(path, "P494")


def test_interrupted_shrinker_stops(monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(KeyboardInterrupt), pools.processes(1) as pool:  # noqa: PT012  (the pool is there when it comes)
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


def test_a_thread_inside_a_compiler_delays_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread checks no flag, like a thread that compiles a kernel."""
    busy, release = threading.Event(), threading.Event()

    def compile_(_: int) -> None:
        busy.set()
        release.wait(60)

    def interrupted(*_: object, **__: object) -> None:
        busy.wait(60)
        monkeypatch.setattr(interrupts, "_interrupted", True)
        raise KeyboardInterrupt

    monkeypatch.setattr(pools, "wait", interrupted)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(pools.on_threads(2)(compile_, [1, 2]))
        assert time.monotonic() - began < 30
    finally:
        release.set()


@pytest.mark.parametrize("stopped", [False, True])
def test_an_interrupted_command_ends_without_its_threads(stopped: bool) -> None:
    code = f"""
threading.Thread(target=threading.Event().wait, args=(60 if {stopped} else 0,)).start()
atexit.register(print, "tidied")
if {stopped}:
    interrupts.note()
interruption.end(3)
"""
    assert of_a_process(code) == (3, "tidied\n", "")


def test_a_signal_ends_no_command_that_writes_its_results() -> None:
    code = """
interruption.hear(signal.SIGINT)
interrupts.decide()
signal.raise_signal(signal.SIGINT)
print("written", interrupts.came())
"""
    assert of_a_process(code) == (0, "written True\n", "")


@given(st.lists(st.integers(), max_size=9), st.integers(0, 9))
def test_results_before_an_interrupt_are_kept(items: list[int], at: int) -> None:
    def interrupted() -> Iterator[int]:
        yield from items[:at]
        if at < len(items):
            raise KeyboardInterrupt

    if at == 0 and items:
        with pytest.raises(KeyboardInterrupt):
            interrupts.gathered(interrupted())
    else:
        assert interrupts.gathered(interrupted()) == (items[:at], at < len(items))


def test_an_interrupt_between_hazards_keeps_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    performed, perform = [], gallery.perform

    def interrupted(hazard: gallery.Hazard, profile: str) -> gallery.PerformedHazard:
        if len(performed) == 2:
            raise KeyboardInterrupt
        performed.append(hazard.id)
        return perform(hazard, profile)

    monkeypatch.setattr(gallery, "perform", interrupted)
    assert run(["hazard", "--json", str(tmp_path / "out.json")]) == 3
    assert [row["id"] for row in json.loads((tmp_path / "out.json").read_text())] == performed
    assert "stopped by Ctrl-C after 2 of" in capsys.readouterr().err


@pytest.mark.slow
def test_interrupt_while_an_audit_merges_results_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    fabricate(tmp_path / "store", StorePlan(300_000, bodies=(64, 64), file_size=100_000))
    monkeypatch.setattr(merge.Merger, "_side_files", interrupted)
    assert run(["audit", str(tmp_path / "store"), "--engine", "local", "--out", str(tmp_path / "made")]) == 3
    summary = json.loads((tmp_path / "made" / "summary.json").read_text())
    assert summary["stopped"] and summary["stores"][0]["records"] > 1_000
    assert "before anything was decided" not in capsys.readouterr().err


def test_interrupted_requirements_are_undecided_unless_a_test_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(command: Sequence[str], **_: object) -> None:
        path = next(Path(word.partition("=")[2]) for word in command if word.startswith("--requirements="))
        so_far = {"CHK-10": {"passed": ["a"], "failed": [], "skipped": []}, "CHK-11": {"passed": [], "failed": ["b"], "skipped": []}}
        requirements.so_far(path).write_text(json.dumps(so_far))
        raise KeyboardInterrupt

    monkeypatch.setattr(requirements, "completed", interrupted)
    monkeypatch.setattr(requirements, "implemented", lambda: {id_: ["m:f"] for id_ in rules()})
    monkeypatch.setattr(requirements, "stated", dict)
    assert run(["requirements", "--tests", str(tmp_path), "--json", str(tmp_path / "out.json")]) == 1
    found = {row["id"]: row["status"] for row in json.loads((tmp_path / "out.json").read_text())}
    assert (found["CHK-10"], found["CHK-11"], found["CHK-01"]) == ("undecided", "failed test", "undecided")
    capsys.readouterr()
