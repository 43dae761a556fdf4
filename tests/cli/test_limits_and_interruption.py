"""Limits and Ctrl-C: established verdicts are printed and saved, the others are unknown with the reason, the exit code is 3."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rocketproof_model
import rocketproof_properties
import rocketproof_traces
from proportion import few
from rocketproof_model import interrupts
from rocketproof_properties.commands.checks import processes
from rocketproof_properties.commands.checks.decide import Work
from wide import MANY, TWO, wide

SOURCE_FOLDERS = [str(Path(str(p.__file__)).parents[1]) for p in (rocketproof_model, rocketproof_traces, rocketproof_properties)]

SMALL = '''
from rocketproof_model import Bool, Model


def model():
    m = Model("small")
    on = m.var("on", Bool, init=False)

    @m.action()
    def switch(a):
        """The bit is switched."""
        a.set(on, ~on)

    m.always("off", ~on, "the bit is off")
    return m


EXPECTED = {"off": "violated"}
'''
Run = Callable[..., Any]


def verdicts(path: str | Path) -> dict[tuple[str, str], tuple[str, str]]:
    return {(r["property"], r["engine"]): (r["verdict"], r["reason"]) for r in json.loads(Path(path).read_text())}


def test_memory_limit_keeps_established_verdicts(rocketproof: Run) -> None:
    Path("wide.py").write_text(wide(TWO, MANY))
    done = rocketproof("check", "wide.py", "--memory", "60", "--json", "out.json")
    assert done.code == 3, done.out + done.err
    assert verdicts("out.json") == {("not two", "explicit"): ("violated", ""), ("not many", "explicit"): ("unknown", "memory")}
    assert "stopped by the memory limit" in done.out
    assert "1 undecided" in done.out.splitlines()[-1]
    assert Path(".rocketproof/witnesses/wide-not-two.itf.json").exists()


def test_search_continues_from_its_checkpoint(rocketproof: Run) -> None:
    Path("wide.py").write_text(wide(TWO, MANY, bits=15))
    rocketproof("check", "wide.py", "--json", "whole.json")
    stopped = rocketproof("check", "wide.py", "--memory", "1", "--checkpoint", "kept", "--json", "out.json")
    assert stopped.code == 3 and json.loads(Path("out.json").read_text())[0]["states"] < 1 << 15
    (kept,) = Path("kept").iterdir()
    assert {path.name for path in kept.iterdir()} == {"search.json", "states"}
    assert rocketproof("check", "wide.py", "--checkpoint", "kept", "--json", "out.json").code == 0
    whole, gone_on = (json.loads(Path(name).read_text()) for name in ("whole.json", "out.json"))
    assert [{**row, "seconds": 0} for row in whole] == [{**row, "seconds": 0} for row in gone_on] and whole[0]["states"] == 1 << 15
    assert not kept.exists()


def test_search_continues_on_disk_when_memory_ends(rocketproof: Run) -> None:
    Path("wide.py").write_text(wide(TWO, MANY, bits=15))
    rocketproof("check", "wide.py", "--json", "whole.json")
    done = rocketproof("check", "wide.py", "--memory", "1", "--checkpoint", "kept", "--disk", "50", "--json", "out.json")
    assert done.code == 0 and "states: 1 MB of memory, then files in kept, at most 50 of " in done.err
    assert " MB of files" in " ".join(done.out.split())
    whole, found = (json.loads(Path(name).read_text()) for name in ("whole.json", "out.json"))
    assert [row["verdict"] for row in whole] == [row["verdict"] for row in found] and found[0]["states"] == 1 << 15
    assert not list(Path("kept").iterdir())


def test_a_limit_of_time(rocketproof: Run) -> None:
    Path("wide.py").write_text(wide(TWO, MANY))
    done = rocketproof("check", "wide.py", "--time", "0.5", "--json", "out.json")
    assert done.code == 3, done.out + done.err
    assert verdicts("out.json")["not many", "explicit"] == ("unknown", "time")
    assert "stopped by the time limit" in done.out


def test_time_limit_of_zero(rocketproof: Run) -> None:
    Path("wide.py").write_text(wide(TWO, MANY))
    done = rocketproof("check", "wide.py", "--time", "1e-9", "--json", "out.json")
    assert done.code == 3
    assert set(verdicts("out.json").values()) == {("unknown", "time")}


@pytest.mark.parametrize("engines", few([["--engine", "all"], []], 1), ids=["two processes", "one process"])
def test_ctrl_c(engines: list[str], tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(wide(TWO, MANY))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCE_FOLDERS), "NO_COLOR": "1"}
    often = (
        "from rocketproof_properties import commands; from rocketproof_properties.reports import output; "
        "output.SPARSE_SECONDS = 0.1; commands.main()"
    )
    command = [sys.executable, "-c", often, "check", "wide.py", "--workers", "2", "--json", "out.json", *engines]
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:  # fmt: skip
        assert process.stderr is not None
        errors = []
        for line in process.stderr:
            errors.append(line)
            if re.search(r"search, depth [4-9]", line):
                break
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    assert process.returncode == 3, out + "".join(errors) + rest
    assert "Traceback" not in rest
    said = verdicts(tmp_path / "out.json")
    assert said["not two", "explicit"] == ("violated", "")
    assert said["not many", "explicit"] == ("unknown", "interrupted")
    assert "stopped by Ctrl-C" in out.splitlines()[-1]


@pytest.mark.parametrize("came", [True, False])
def test_library_error_caused_by_ctrl_c_is_an_interrupt(came: bool, rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ImportError("the library could not be loaded")

    monkeypatch.setattr(interrupts, "came", lambda: came)
    monkeypatch.setattr(Work, "symbolic", broken)
    Path("small.py").write_text(SMALL)
    done = rocketproof("check", "small.py", "--engine", "symbolic", "--workers", "1", "--json", "out.json")
    reason = "interrupted" if came else "engine gave up"
    assert set(verdicts("out.json").values()) == {("unknown", reason)}
    assert ("could not be loaded" in done.out) is not came
    assert (done.code == 3) is came


def trapped(end: str) -> str:
    """Return SMALL as a module in which the first loading process executes `end` instead."""
    return f"""
import multiprocessing, os, signal, time
if multiprocessing.parent_process():
    try:
        os.close(os.open("trapped", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        {end}
{SMALL}"""


def test_ctrl_c_before_a_worker_has_started_is_no_error(tmp_path: Path) -> None:
    """Ctrl-C arrives while the first process is loading the model."""
    (tmp_path / "small.py").write_text(trapped("os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCE_FOLDERS), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "rocketproof_properties.commands", "check", "small.py", "--workers", "2", "--engine", "all"]
    done = subprocess.run([*command, "--json", "out.json"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 3), done.stdout + done.stderr  # 1 if another process has found a violation by then
    assert "error:" not in done.stdout
    assert ("unknown", "interrupted") in verdicts(tmp_path / "out.json").values()
    assert "stopped by Ctrl-C" in done.stdout.splitlines()[-1]


@pytest.mark.skipif(processes.STOP_SIGNAL is None, reason="no signals here")
def test_ctrl_c_while_a_worker_loads_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A terminal sends the signal to all processes of the group; the new process is still loading Python's modules."""
    hand = processes._start("{} {}".format)  # type: ignore[arg-type]  # a function that a process which loads no test can have
    assert hand.process.pid is not None
    try:
        for _ in range(20):
            os.kill(hand.process.pid, signal.SIGINT)
        hand.pipe.send(("one", "two"))
        assert hand.pipe.recv() == "one two"
        os.kill(hand.process.pid, signal.SIGINT)
        hand.pipe.send(("still", "here"))
        assert hand.pipe.recv() == "still here"
    finally:
        hand.pipe.close()
        hand.process.join()
    assert capfd.readouterr() == ("", "") and hand.process.exitcode == 0


@pytest.mark.parametrize("came", [True, False])
@pytest.mark.parametrize("behind", [KeyboardInterrupt, None])
def test_exceptions_caused_by_ctrl_c_end_a_command_regularly(
    came: bool, behind: type[BaseException] | None, rocketproof: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11 raises a RuntimeError for it during a class definition, and Hypothesis fails if it was dropped."""

    def broken(*_: object) -> None:
        raise RuntimeError("Error calling __set_name__") from (behind and behind())

    monkeypatch.setattr(interrupts, "came", lambda: came)
    monkeypatch.setattr("rocketproof_properties.commands.checks.plan.plan", broken)
    if not came and behind is None:
        with pytest.raises(RuntimeError):
            rocketproof("check")
        return
    done = rocketproof("check")
    assert (done.code, done.out) == (3, "") and "stopped by Ctrl-C" in done.err


@pytest.mark.parametrize(
    ("end", "reason", "code"), few([("os.kill(os.getpid(), 9)", "memory", 3), ("os._exit(7)", "engine gave up", 1)], 1)
)
def test_killed_worker_loses_only_its_own_verdicts(end: str, reason: str, code: int, rocketproof: Run) -> None:
    """The system kills a process that takes too much memory; here the first process that loads the model ends this way."""
    Path("small.py").write_text(trapped(end))
    done = rocketproof("check", "small.py", "--engine", "all", "--workers", "2", "--json", "out.json")
    assert done.code == code, done.out + done.err
    said = verdicts("out.json")
    lost = {engine for (_, engine), verdict in said.items() if verdict == ("unknown", reason)}
    assert len(lost) == 1, said
    assert all(verdict == "violated" for (_, engine), (verdict, _) in said.items() if engine not in lost)


def test_help_of_every_command_is_fast(tmp_path: Path) -> None:
    """It imports no engine."""
    program = (
        "import sys\nfrom rocketproof_properties.commands import run\n"
        "codes = [run([*c.split(), '--help']) for c in '|check|show|explain|graph|picture|judge|mutate|bench search'.split('|')]\n"
        "sys.exit(sum(codes) + ('numba' in sys.modules) + ('z3' in sys.modules))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCE_FOLDERS)}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--why-not" in done.stdout and "--peers" in done.stdout


@pytest.mark.parametrize("number", ["SIGINT", "SIGUSR1"])
@pytest.mark.parametrize("dropped", ["interrupt", "ValueError"])
def test_an_interrupt_in_a_finalizer_is_not_lost(number: str, dropped: str) -> None:
    """The processes of a check get SIGUSR1 in place of Ctrl-C."""
    code = f"""
import signal, threading
from rocketproof_properties.reports import interruption
interruption.hear(signal.{number})
class Held:
    def __del__(self):
        {"signal.raise_signal(signal." + number + ")" if dropped == "interrupt" else "raise ValueError"}
try:
    Held()
    threading.Event().wait(None if "{dropped}" == "interrupt" else 0.1)
    print("went on")
except KeyboardInterrupt:
    class Half:
        def __del__(self):
            self.made
    Half()
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    if dropped == "interrupt":
        assert (done.stdout, done.stderr) == ("interrupted\n", "")
    else:
        assert done.stdout == "went on\n" and "ValueError" in done.stderr
