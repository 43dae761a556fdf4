"""Help, mistakes, and commands that only read a witness import no engine, compiler or table."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from rocketproof_model import search
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.commands import run
from rocketproof_traces.witness import itf

HEAVY = ("numpy", "numba", "llvmlite", "z3", "pyarrow", "hypothesis", "pyspark", "networkx", "pytest", "pandas", "http.server")
LANGUAGE = "rocketproof_model.language"
"""It is imported on first use, so that help and the version are printed without it."""
PROGRAM = """
import contextlib, io, json, sys
from rocketproof_properties.commands import run
heavy, commands = json.load(sys.stdin)
found = []
for command in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(command)
    found.append([code, [name for name in heavy if name in sys.modules], err.getvalue()])
    for name in [one for one in sys.modules if one.partition(".")[0] in heavy]:
        del sys.modules[name]
print(json.dumps(found))
"""
USAGE = (
    ["check", "nowhere.py"],
    ["check", "--property", "NONE"],
    ["check", "--profile", "P0"],
    ["show", "nowhere.json"],
    ["explain", "nowhere.json", "--step", "1"],
    ["picture", "nowhere.json", "--output", "x.svg"],
    ["diff", "nowhere.json", "neither.json"],
    ["to-test", "nowhere.json"],
    ["graph", "nowhere.py"],
    ["graph", "--scope", "nope"],
    ["replay", "nowhere.json"],
    ["explore", "nowhere.json"],
    ["explore", "--property", "NONE"],
    ["hazard", "HAZ-99"],
    ["requirements", "CHK-99"],
    ["serve", "--profile", "P0"],
    ["validate"],
    ["validate", "nonsense"],
    ["validate", "--target", "nonsense"],
    ["judge", "nowhere", "--profile", "P494"],
    ["campaign", "--programs", "0"],
    ["audit"],
    ["audit", "nowhere"],
    ["test", "--recording", "nowhere"],
    ["bench", "nope"],
    ["nope"],
)


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a witness of the specification, whose properties the catalogue states."""
    source = ModelSource("flush", "P49")
    subject = source.subject()
    (outcome,) = search.explore(subject.instance, [subject.property("REA-55")]).outcomes
    assert outcome.witness is not None
    path = tmp_path_factory.mktemp("kept") / "REA-55.itf.json"
    itf.write(outcome.witness, path, source.record())
    return path


def test_help_mistakes_and_witnesses_need_no_heavy_imports(witness: Path, tmp_path: Path) -> None:
    kept = str(witness)
    right = [["--help"], ["--version"], ["check", "--help"], ["validate", "--help"], ["diff", kept, kept], ["show", kept]]
    right += [["explain", kept, "--step", "1"], ["picture", kept, "--output", "o.svg"]]
    commands = [*right, *USAGE]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([[*HEAVY, LANGUAGE], commands]),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    found = list(zip(commands, json.loads(done.stdout), strict=True))
    assert [(command, heavy) for command, (_, heavy, _) in found if {*heavy} - {LANGUAGE}] == []
    assert [heavy for _, (_, heavy, _) in found[:2]] == [[], []]
    assert [(command, said) for command, (code, _, said) in found if code != (0 if command in right else 2)] == []


def test_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == version("rocketproof") != "0.0.0"


LIVE = '''
from rocketproof_model import Int, Model

model = Model("cycle")
at = model.var("at", Int(0, 2), init=0)


@model.action(fair="strong")
def go(a):
    """Go on."""
    a.guard("here", at < 2, "there is a next place")
    a.set(at, at + 1)


@model.action(fair="weak")
def back(a):
    """Go back."""
    a.guard("here", at == 1, "there is a place before")
    a.set(at, 0)


model.leads_to("ARRIVES", at == 0, at == 2, "it arrives")
model.leads_to("STARTS", at == 2, at == 0, "it starts again")
'''


def test_liveness_is_decided_without_numba(tmp_path: Path) -> None:
    """Importing numba takes a second; its compilation takes several."""
    (tmp_path / "live.py").write_text(LIVE)
    engines = ["rocketproof_model.liveness", "numba"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([engines, [["check", "live.py", "--all"]]]), capture_output=True, text=True,
        check=True, cwd=tmp_path,
    )  # fmt: skip
    assert [(code, found) for code, found, _ in json.loads(done.stdout)] == [(1, ["rocketproof_model.liveness"])], done.stdout
