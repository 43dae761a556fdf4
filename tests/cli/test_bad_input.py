"""Every mistake in the user's input gives a single line with the problem, its location and the fix, exit code 2, and no traceback."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from counting import counting

from rocketproof_lab.bench.contention import Load, contend
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_profiles import PROFILES
from rocketproof_traces.history import event_line, header_line

Run = Callable[..., Any]

PROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"
MODEL = str(Path(__file__).parents[2] / "model" / "examples" / "two_phase_commit.py")

BAD = {
    "unknown command": (["chek"], 'Did you mean "check"'),
    "unknown option": (["check", "--enginee", "all"], "Did you mean --engine?"),
    "unheard-of option": (["check", "--xyzzy"], "See: rocketproof check --help"),
    "unknown property": (["check", "--property", "D-11"], "unknown property 'D-11'; use D-1"),
    "unknown profile": (["check", "--profile", "P50"], f"unknown profile 'P50'; the nearest of {len(PROFILES)} are P550, P540, P520"),
    "unknown profile of a target": (["validate", "--target", "inprocess:P41"], "unknown profile 'P41'; the nearest"),
    "a size without a value": (["check", MODEL, "--set", "rms"], "--set rms is no size; give NAME=VALUE"),
    "an unknown size": (["graph", MODEL, "--set", "rmss=4"], "rmss is no size and no constant"),
    "a size twice": (["check", MODEL, "--set", "rms=4", "--set", "rms=5"], "gives rms twice"),
    "a size that is a list": (["check", MODEL, "--set", "rms=[4]"], "[4] is no number and no name"),
    "a size of the specification": (["check", "--set", "rms=4"], "--set rms=4 without a model file"),
    "an export to what is no tool": (["export", "promela", MODEL], "promela"),
    "an export into a file": (["export", "tla", MODEL, "--output", MODEL], "is a file; give a folder"),
    "an export below a file": (["export", "tla", MODEL, "--output", f"{MODEL}/out"], "cannot be written (Not a directory)"),
    "a graph below a file": (["graph", MODEL, "--output", f"{MODEL}/out.dot"], "cannot be written"),
    "unknown scope": (["check", "--scope", "smal"], "unknown scope 'smal'; use small"),
    "unknown engine": (["check", "--engine", "tlc"], "unknown engine 'tlc'; use explicit, symbolic, simulate, stateful, spark, all"),
    "unknown condition": (["check", "--condition", "broke lock"], "unknown condition 'broke lock'; use 'broken lock'"),
    "no number": (["check", "--time", "soon"], 'unable to convert "soon" into float'),
    "no value": (["check", "--time"], "requires an argument"),
    "negative time": (["check", "--time", "-1"], "--time -1 is not a positive number"),
    "not a number": (["check", "--time", "nan"], "--time nan is not a positive number"),
    "no workers": (["check", "--workers", "0"], "--workers 0 is not a positive number"),
    "no memory": (["check", "--memory", "0"], "--memory 0 is not a positive number"),
    "negative seed": (["check", "--seed", "-1"], "--seed -1 is negative"),
    "two files": (["check", "a.py", "b.py"], "Unused Tokens"),
    "missing file": (["check", "nothing.py"], "no such file nothing.py"),
    "cores without spark": (["check", "--cores", "2"], "--cores without --engine spark"),
    "a checkpoint of proofs": (["check", "--engine", "symbolic", "--checkpoint", "."], "only the explicit search keeps its progress"),
    "disk without a folder": (["check", "--disk", "10"], "--disk without --checkpoint, which names the folder"),
    "more disk than there is": (
        ["check", "--disk", "1000000000000", "--checkpoint", "."],
        "MB free; give fewer megabytes or another folder",
    ),
    "a folder without spark": (["check", "--engine", "explicit", "--scratch", "."], "--scratch without --engine spark"),
    "no cores": (["check", "--engine", "spark", "--cores", "0"], "--cores 0 is not a positive number"),
    "two ways to Spark": (["check", "--engine", "spark", "--master", "local", "--remote", "sc://x"], "two ways to one session"),
    "json below a file": (["check", "--json", "plain.txt/where/x.json"], "plain.txt is a file and no folder"),
    "json to a folder": (["check", "--json", "."], "is a directory; give --json a file name"),
    "witnesses into a file": (["check", "--witnesses", "plain.txt/w"], "give a folder that you may write to"),
    "missing witness": (["show", "nothing.itf.json"], "nothing.itf.json: cannot be read"),
    "truncated witness": (["show", "truncated.itf.json"], "truncated.itf.json: is cut off"),
    "foreign witness": (["show", "foreign.itf.json"], "does not say which model it belongs to"),
    "newer witness": (["show", "newer.itf.json"], "update rocketproof"),
    "no witness": (["show", "plain.txt"], "plain.txt: is not JSON"),
    "another model": (["show", "moved.itf.json"], "its model file gone.py is neither in this folder nor in one above the witness"),
    "step outside": (["explain", "good.itf.json", "--step", "99"], "give 1 to"),
    "unknown action": (["explain", "good.itf.json", "--step", "1", "--why-not", "entr"], "its actions are enter"),
    "no step": (["explain", "good.itf.json"], "--step"),
    "unknown format": (["graph", "--format", "png"], 'Choose from: "dot", "graphml"'),
    "graph too large": (["graph", "--scope", "small", "--states", "2"], "has more than 2 states"),
    "graph of an unknown scope": (["graph", "--scope", "x"], "unknown scope 'x'; use"),
    "picture below a file": (["picture", "good.itf.json", "--output", "plain.txt/where.svg"], "cannot be written"),
    "unknown profile to judge by": (["judge", "plain.txt", "--profile", "P4"], "unknown profile 'P4'; the nearest"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, catalogue: ModuleType, rocketproof: Run) -> None:
    tokens, words = BAD[name]
    Path("plain.txt").write_text("hello\n")
    if any("good" in t for t in tokens) or name.endswith("witness") or name == "another model":
        witnesses()
        assert rocketproof("check", "--property", "D-1", "--workers", "1").code == 0
        witnesses()
    done = rocketproof(*tokens)
    assert done.code == 2, done.out + done.err
    assert done.out == ""
    assert done.err.count("\n") == 1 and done.err.startswith("rocketproof: "), f"expected a single line instead of:\n{done.err}"
    assert words in done.err


@pytest.mark.parametrize("content", ["hello\n", "{}\n", '{"request": 1}\n', "[1, 2]\n"])
def test_file_that_is_no_recording_is_refused(content: str, rocketproof: Run) -> None:
    Path("plain.txt").write_text(content)
    done = rocketproof("judge", "plain.txt", "--profile", "P494")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1 and "plain.txt" in done.err


def witnesses() -> None:
    """Return variants of a valid witness, once it exists."""
    made = Path(".rocketproof/witnesses/D-1-P49-broken-lock.itf.json")
    if not made.exists():
        return
    text = made.read_text()
    Path("good.itf.json").write_text(text)
    Path("truncated.itf.json").write_text(text[: len(text) // 2])
    for name, change in {
        "foreign": lambda meta: meta.pop("rocketproof"),
        "newer": lambda meta: meta["rocketproof"].update(schema=99),
        "moved": lambda meta: meta["rocketproof"].update(origin={"file": "gone.py", "scope": "x", "profile": "", "given": {}}),
    }.items():
        data = json.loads(text)
        change(data["#meta"])
        Path(f"{name}.itf.json").write_text(json.dumps(data))


@pytest.mark.parametrize("name", ["bench", "mutate", "requirements"])
def test_the_lab_is_in_a_clone_only(name: str, tmp_path: Path) -> None:
    """The wheel omits its package."""
    hidden = "import sys; sys.modules['rocketproof_lab'] = None; from rocketproof_properties.commands import main; main()"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", hidden, name, "--json", "x.json"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    said = f"rocketproof: {name} works in a clone of the project only: it is not installed with rocketproof\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(("package", "extra"), [("pyarrow", "tables"), ("pyspark", "spark"), ("pandas", "spark")])
def test_missing_extra_is_one_line_with_the_install_command(
    package: str, extra: str, rocketproof: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("rocketproof_properties.commands.checks.plan.plan", lambda *_: importlib.import_module(f"{package}.part"))
    done = rocketproof("check")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"{package} is not installed" in done.err and f"pip install 'rocketproof[{extra}]'" in done.err
    named = re.findall(r"[a-z]+", str(tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"][extra]))
    assert package in named


def test_a_missing_package_of_the_base_is_a_defect(rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr("rocketproof_properties.commands.checks.plan.plan", lambda *_: importlib.import_module("numpy.part"))
    with pytest.raises(ModuleNotFoundError):
        rocketproof("check")


COMMANDS_WITHOUT_TABLES = [
    ["audit", "store"],
    ["judge", "history.ndjson", "--profile", "P49"],
    ["check", "small.py"],
    ["zoo"],
]


@pytest.mark.slow
def test_the_base_needs_no_arrow(tmp_path: Path) -> None:
    """The check runs in a process that cannot import it."""
    fabricate(tmp_path / "store", StorePlan(50_000, file_size=20_000, queue_file_size=20_000))
    header, events = contend(Load(events=100, producers=2, topics=1))
    (tmp_path / "history.ndjson").write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n")
    (tmp_path / "small.py").write_text(counting('m.always("below two", n < 2, "the counter stays below two")'))
    code = "import sys\nsys.modules['pyarrow'] = None\nfrom rocketproof_properties.commands import run\nsys.exit(run(sys.argv[1:]))"
    for command in COMMANDS_WITHOUT_TABLES:
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode in (0, 1) and "pyarrow" not in done.stderr and "Traceback" not in done.stderr, (command, done.stderr)
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", "store", "--out", "out"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2 and "rocketproof[tables]" in done.stderr
