"""Rules for every command and option: help, `-`, a folder that does not exist yet, a full disk, a reader that closes the pipe.

The commands and options are read from the application, so a new command is tested or named in `NOT_RUN`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cyclopts import App

from nonempty import nonempty
from proportion import slow
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.commands import run
from rocketproof_properties.commands.program import STREAMS, app

MODEL = """
from rocketproof_model import Int, Model

SCOPES = {"two": {"n": 2}, "three": {"n": 3}}

def model(n=2):
    m = Model("counter")
    count = m.var("count", Int(0, n), init=0)

    @m.action()
    def add(a):
        \"\"\"One more.\"\"\"
        a.guard("room", count < n, "there is room")
        a.set(count, count + 1)

    m.always("few", count < n, "there are few")
    m.always("least", count >= 0, "there are none at least")
    return m
"""
NOT_RUN = {
    "serve": "runs until Ctrl-C; tests/system/test_serve_command.py",
    "mcp": "runs until its input ends; tests/cli/test_mcp.py",
    "validate": "takes seconds; tests/validation",
    "level": "takes seconds; tests/validation",
    "compare": "takes seconds; tests/validation",
    "profile": "takes seconds; tests/releases",
    "run": "takes seconds; tests/validation/test_program_files.py",
    "bisect": "starts releases; tests/validation/test_bisect.py",
    "campaign": "takes seconds; tests/campaign",
    "mutate": "takes seconds; tests/properties/test_mutate.py",
    "requirements": "runs tests; tests/properties/test_requirements.py",
    "test": "takes seconds; tests/recordings/test_replay.py",
    "replay": "needs a witness of the specification; tests/stateful",
    "bench": "measures",
    "init": "writes only a new file; tests/cli/test_list_and_init.py",
}


class Command(NamedTuple):
    """A command of the application with its options."""

    path: tuple[str, ...]
    options: tuple[Any, ...]

    @property
    def name(self) -> str:
        return " ".join(self.path)


def commands(of: App, path: tuple[str, ...] = ()) -> Iterator[Command]:
    """Every command below an application."""
    for name in of:
        if not name.startswith("-"):
            below = of[name]
            yield from commands(below, (*path, name))
            if below.default_command is not None:
                yield Command((*path, name), tuple(below.assemble_argument_collection(parse_docstring=True)))


EVERY = {command.name: command for command in commands(app)}
OF_PATHS = [
    (name, option.name)
    for name, command in EVERY.items()
    for option in command.options
    if "Path" in str(option.field_info.annotation) and option.name.startswith("--")
]
NO_STREAMS = [(name, option) for name, option in OF_PATHS if option != "--json" and (name, option.strip("-")) not in STREAMS]
NO_STREAMS += [("judge", "--out"), ("judge", "--parquet"), ("validate", "--report")]
NO_STREAMS += [(name, "--tables") for name in ("audit", "judge", "campaign")]


@pytest.mark.parametrize("name", EVERY)
def test_every_option_has_help(name: str) -> None:
    without = [option.name for option in EVERY[name].options if not (option.parameter.help or "").strip()]
    assert without == []


def least(command: Command) -> list[str]:
    """Return the minimal arguments of the command."""
    needed = [option for option in command.options if option.required]
    words = [word for option in needed if option.name.startswith("--") for word in (option.name, "x.svg")]
    return [*command.path, *words, *("tla" if "FORM" in option.name else "x" for option in needed if not option.name.startswith("--"))]


@pytest.mark.parametrize(("name", "option"), NO_STREAMS)
def test_dash_creates_no_file(
    name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*least(EVERY[name]), option, "-"]) == 2
    said = capsys.readouterr().err
    assert "-" in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


# Commands that are run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every file that the command lines of `RUN` name."""
    folder = tmp_path_factory.mktemp("place")
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("few.py").write_text(MODEL)
        assert run(["check", "few.py", "--witnesses", "w", "--html", "p"]) == 1
        assert run(["check", "few.py", "--property", "least", "--engine", "symbolic", "--certificates", "c"]) == 0
        shutil.copy(Path(__file__).parents[1] / "data" / "rocketmq-4.9.4.jsonl", "recorded.jsonl")
        Path("recorded.jsonl").write_text("".join(Path("recorded.jsonl").read_text().splitlines(keepends=True)[:3]))
        fabricate(folder / "store", StorePlan(20_000, topics=1, queues=1, bodies=(100, 200), file_size=50_000))
    finally:
        os.chdir(before)
    return folder


WITNESS = "w/few-few.itf.json"
RUN: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "check": (["check", "few.py"], ("--json", "--witnesses", "--html")),
    "check a proof": (["check", "few.py", "--property", "least", "--engine", "symbolic"], ("--certificates",)),
    "check with progress": (["check", "few.py", "--witnesses", "w"], ("--checkpoint",)),
    "show": (["show", WITNESS], ("--json",)),
    "explain": (["explain", WITNESS, "--step", "1"], ()),
    "diff": (["diff", WITNESS, WITNESS], ("--json",)),
    "to-test": (["to-test", WITNESS], ()),
    "picture": (["picture", WITNESS], ("--output",)),
    "graph": (["graph", "few.py"], ("--output",)),
    "export": (["export", "tla", "few.py"], ("--output",)),
    "certificate": (["certificate", "c/few-least-symbolic.certificate.json"], ("--json", "--smt2")),
    "explore": (["explore", WITNESS], ("--html",)),
    "hazard": (["hazard", "HAZ-12"], ("--json", "--live")),
    "zoo": (["zoo"], ("--json",)),
    "promises": (["promises"], ("--json",)),
    "promises of durability": (["promises", "--durability", "--profile", "P494"], ("--markdown",)),
    "docs": (["docs"], ()),
    "list": (["list", "hazards"], ("--json",)),
    "judge": (["judge", "recorded.jsonl", "--profile", "P494"], ("--json", "--html", "--tables")),
    "audit": (["audit", "store", "--engine", "local", "--cores", "1"], ("--json", "--out", "--html", "--tables")),
    "audit followed": (["audit", "store", "--follow", "--once", "--engine", "local", "--cores", "1"], ("--checkpoint",)),
}
LONG = {"promises of durability"}
"""Commands that take seconds."""
NEEDED = {
    "picture": ["--output", "new/x.svg"],
    "explore": ["--html", "new/x.html"],
    "export": ["--output", "new"],
    "audit followed": ["--checkpoint", "new/followed"],
}
REPORTS = ("junit", "sarif", "markdown", "run")
WRITTEN = [(name, option) for name, (_, options) in RUN.items() for option in options]
REPORTED = [(name, kind) for name in ("check", "judge", "audit") for kind in REPORTS]


def test_every_command_is_run_or_named() -> None:
    assert {name.split()[0] for name in EVERY} == {name.split()[0] for name in RUN} | NOT_RUN.keys()
    given = {(name.split()[0], option) for name, option in WRITTEN}
    others = ("--since", "--scratch", "--broker-conf", "--report", "--environment", "--thresholds", "--rules")
    kept = {(n, o) for n, o in OF_PATHS if n in RUN and o not in others}
    assert kept <= given, "an option with a path is not tested"


STREAMED = [*((name, f"--{option}") for name, option in STREAMS), *((n, o) for n, o in WRITTEN if o == "--json")]


@pytest.mark.parametrize(("name", "option"), STREAMED)
def test_a_dash_is_standard_output(
    name: str, option: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output has nothing else, so that another program can read it."""
    monkeypatch.chdir(place)
    assert run([*RUN[name][0], option, "-"]) in (0, 1)
    streamed = capsys.readouterr()
    assert run([*RUN[name][0], option, "written"]) in (0, 1)
    plain = capsys.readouterr()
    assert (place / "written").is_file() and not (place / "-").exists()
    if option == "--json":
        assert type(json.loads(streamed.out)) is type(json.loads(Path("written").read_text()))
        assert len(streamed.err) >= len(plain.out) > 0, "text for people goes to standard error"
    else:
        written = Path("written").read_text("utf-8")
        assert streamed.out.splitlines()[0] == written.splitlines()[0]
        assert len(streamed.out) == pytest.approx(len(written), rel=0.01), "z3 numbers its terms differently in each run"


def test_standard_output_takes_one_result(capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert run(["check", "few.py", "--json", "-", "--report", "junit:-"]) == 2
    assert "standard output takes the results of one of them" in capsys.readouterr().err
    assert run(["check", "few.py", "--report", "junit:-"]) == 1
    assert capsys.readouterr().out.startswith("<?xml")
    assert run(["check", "few.py", "--report", "html:-"]) == 2
    assert not (place / "-").exists()
    assert run(["check", "few.py"]) == 1
    assert "few" in capsys.readouterr().out, "the next command prints on standard output again"


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *(slow(row) if row[0] in LONG else row for row in WRITTEN),
        *((name, f"--report {kind}:") for name, kind in REPORTED),
    ],
)
def test_missing_output_folder_is_created(name: str, option: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    shutil.rmtree("new", ignore_errors=True)
    words = option.split()
    file = "new/deep/x.svg" if name == "picture" else "new/deep/x"
    words = [words[0], f"{words[1]}{file}"] if len(words) > 1 else [option, file]
    assert run([*RUN[name][0], *words]) in (0, 1)
    assert (place / "new" / "deep").is_dir()


# Streams and disks that accept no data, in one process each

SCRIPT = """
import json, os, resource, sys
from rocketproof_properties.commands import run

how, lines = sys.argv[1], json.loads(sys.argv[2])
codes = {}
if how == "disk":
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for name, tokens in lines.items():
    if how == "pipe":
        ends = os.pipe()
        os.close(ends[0])
        os.dup2(ends[1], 1)
    else:
        os.dup2(os.open("/dev/full" if how == "full" else os.devnull, os.O_WRONLY), 1)
    sys.stdout = open(1, "w", closefd=False)
    print(f"== {name}", file=sys.stderr)
    try:
        codes[name] = run(tokens)
        sys.stdout.close()
    except BaseException as error:
        codes[name] = repr(error)
print(json.dumps(codes), file=sys.stderr)
"""


def codes_of(how: str, lines: dict[str, list[str]], folder: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Return the exit code of each command line, and its output on standard error."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how, json.dumps(lines)], cwd=folder, capture_output=True, text=True, check=False, timeout=200
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    said, _, last = done.stderr.rstrip().rpartition("\n")
    parts = [part.partition("\n") for part in said.split("== ")[1:]]
    return json.loads(last), {name: text for name, _, text in parts}


LINES = {name: [*tokens, *NEEDED.get(name, [])] for name, (tokens, _) in RUN.items() if name != "check with progress"}
HELPS = {f"{name} --help": [*command.path, "--help"] for name, command in EVERY.items()}
HELPS |= {option: [option] for option in ("--help", "--version")}
SILENT = ("picture", "explore")
"""Commands that print nothing on standard output."""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.slow
def test_closed_or_full_standard_output(place: Path) -> None:
    """A closed pipe changes no exit code; a full disk is an error."""
    lines = {**LINES, **HELPS}
    usual, _ = codes_of("usual", lines, place)
    assert set(usual.values()) == {0, 1}
    piped, _ = codes_of("pipe", lines, place)
    assert piped == usual
    full, said = codes_of("full", lines, place)
    assert full == {name: usual[name] if name in SILENT else 2 for name in lines}
    for name in nonempty([name for name in lines if name not in SILENT]):
        assert "rocketproof: standard output cannot be written (No space left on device)" in said[name], name


FULL = {f"{name} {option}": [*RUN[name][0], option, f"new/{n}/x.svg"] for n, (name, option) in enumerate(WRITTEN)}
NO_ROOM = ("File too large", "No usable temporary directory", "disk I/O error")
"""What the system, Python and SQLite say."""
FULL |= {f"{name} {kind}": [*RUN[name][0], "--report", f"{kind}:new/{kind}/{name}"] for name, kind in REPORTED}


@pytest.mark.skipif(os.name != "posix", reason="needs a limit of the system")
@pytest.mark.slow
def test_full_disk_is_an_error_in_one_line(place: Path) -> None:
    shutil.rmtree(place / "new", ignore_errors=True)
    codes, said = codes_of("disk", FULL, place)
    assert codes == dict.fromkeys(FULL, 2)
    for name in nonempty(FULL):
        told = [line for line in said[name].splitlines() if line.startswith("rocketproof: ")]
        assert len(told) == 1 and any(text in told[0] for text in NO_ROOM), said[name]


# Witnesses


def test_scopes_and_sizes_have_separate_witnesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("few.py").write_text(MODEL + "\nother = model\n")
    for more in ((), ("--scope", "two"), ("--scope", "three"), ("--set", "n=4"), ("--scope", "two", "--set", "n=4")):
        assert run(["check", "few.py", *more]) == 1
    assert run(["check", "few.py::other"]) == 1
    found = sorted(path.name.removesuffix(".itf.json") for path in Path(".rocketproof/witnesses").iterdir())
    assert found == ["few-few", "few-few-n-4", "few-few-three", "few-few-two", "few-few-two-n-4", "few-other-few"]


def test_a_witness_is_shown_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its model file is searched in the parent folders of the witness."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    Path("models/few.py").write_text(MODEL)
    assert run(["check", "models/few.py"]) == 1
    assert run(["check", "models/few.py::model", "--witnesses", str(tmp_path / "named")]) == 1
    for witness in (tmp_path / ".rocketproof/witnesses/few-few.itf.json", *nonempty(list((tmp_path / "named").iterdir()))):
        monkeypatch.chdir(tmp_path / "models")
        for command in (["show"], ["explain", "--step", "1"], ["to-test"], ["picture", "--output", str(tmp_path / "x.svg")]):
            assert run([*command, str(witness)]) == 0, capsys.readouterr().err
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
    capsys.readouterr()
    moved = Path(shutil.move(str(tmp_path / ".rocketproof/witnesses/few-few.itf.json"), tmp_path / "elsewhere"))
    shutil.move(str(tmp_path / "models"), tmp_path / "gone")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run(["show", str(moved)]) == 2
    said = capsys.readouterr().err
    assert "its model file models/few.py is neither in this folder nor in one above the witness; run the command in the folder" in said


# Engines and profiles


@pytest.mark.parametrize(
    ("installed", "options", "said"),
    [
        (True, ("--engine", "local"), "engine: local, on this machine; --engine spark spreads"),
        (False, (), "engine: local, on this machine; Spark is not installed: `pip install 'rocketproof[spark]'`"),
        (False, ("--engine", "local"), "engine: local, on this machine; Spark is not installed"),
    ],
)
def test_the_first_line_states_the_engine(
    installed: bool, options: tuple[str, ...], said: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rocketproof_properties.judging.engines.missing", lambda: "" if installed else "pyspark")
    assert run(["audit", str(place / "store"), *options]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(said)


def test_an_address_of_spark_asks_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketproof_properties.judging.engines import chosen_engine, sentence
    from rocketproof_traces.spark.cluster import SparkCluster

    monkeypatch.setattr("rocketproof_properties.judging.engines.missing", lambda: "pyspark")
    assert chosen_engine(None, SparkCluster("local[2]")) == chosen_engine(None, SparkCluster(remote="sc://x")) == "spark"
    monkeypatch.setattr("rocketproof_properties.judging.engines.missing", lambda: "")
    assert chosen_engine(None, SparkCluster()) == "spark"
    assert "--engine local" in sentence("spark")


def test_a_judgement_without_profile_names_them(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", str(place / "recorded.jsonl")]) == 2
    said = capsys.readouterr().err
    assert "no profile; give the one to judge by with --profile: P40, P410, " in said and said.count("\n") == 1
