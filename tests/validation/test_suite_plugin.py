"""The plugin in a user's folder: which items are collected when, one-time messages, and the outcome of the run in each item."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faultproxy import MILD, FaultProxy
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client, readback
from rocketproof_properties.validation.suite import items, shared
from rocketproof_properties.validation.suite.outcomes import EntryOutcome
from rocketproof_properties.validation.suite.shared import SuiteResults

pytest_plugins = ["pytester"]
PLUGIN = "rocketproof_properties.pytest_plugin"
assert items, "it is imported before any pytest inside this one, which would forget it and all that it imports"

NOBODY = "127.0.0.1:9"
THEIRS = {
    "plain": "def test_theirs(): pass",
    "user": "def test_theirs(rocketproof_client): pass",
}
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest with only the plugin, inside this run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in [name for name in os.environ if name.startswith("ROCKETPROOF_") or name == "PYTEST_ADDOPTS"]:
        monkeypatch.delenv(name)

    def call(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess(
            "-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", "-W", "error", *arguments, no_reraise_ctrlc=True
        )

    return call


def on(address: str, *more: str) -> tuple[str, ...]:
    return (f"--rocketproof-target={address}", "--rocketproof-profile=P494", *more)


def collected(found: pytest.RunResult) -> list[str]:
    return [line for line in found.outlines if line.startswith("rocketproof::")]


# Collection


def test_empty_folder_with_target_has_catalogue(inner: Run) -> None:
    nodes = collected(inner("--collect-only", "-q", *on(NOBODY)))
    assert {"rocketproof::INV-43", "rocketproof::INV-44[half messages]", "rocketproof::CHK-10", "rocketproof::reference.record"} <= {*nodes}
    assert len(nodes) == len(set(nodes)) > 50
    assert "rocketproof::HAZ-02" not in nodes  # no broker can be started at an address


def test_without_target_nothing_is_collected(inner: Run) -> None:
    assert inner("--collect-only", "-q").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    ("theirs", "arguments", "has"),
    [
        ("plain", (), True),
        ("plain", ("test_theirs.py",), False),
        ("plain", ("test_theirs.py", "--rocketproof-suite=always"), True),
        ("plain", ("--rocketproof-suite=never",), False),
        ("plain", ("test_theirs.py", "rocketproof::INV-43"), True),
        ("user", (), False),
        ("user", ("--rocketproof-suite=always",), True),
    ],
)
def test_own_tests_on_target_add_no_suite_items(
    pytester: pytest.Pytester, inner: Run, theirs: str, arguments: tuple[str, ...], has: bool
) -> None:
    pytester.makepyfile(test_theirs=THEIRS[theirs])
    result = inner("--collect-only", "-q", *on(NOBODY), *arguments)
    assert "test_theirs.py::test_theirs" in result.outlines
    assert ("rocketproof::INV-43" in result.outlines) is has


@pytest.mark.parametrize(
    ("arguments", "nodes"),
    [
        (("rocketproof::INV-43",), {"INV-43"}),
        (("rocketproof::INV-45",), {"INV-45", "INV-45[half messages with a delay]"}),
        (("rocketproof::INV-45[half messages with a delay]",), {"INV-45[half messages with a delay]"}),
        (("-k", "CHK-10 or INV-43"), {"CHK-10", "INV-43"}),
        (("-m", "rocketproof_specification"), {"specification.send", "specification.update_topic", "specification.topics"}),
    ],
)
def test_items_are_chosen_by_name_and_marker(inner: Run, arguments: tuple[str, ...], nodes: set[str]) -> None:
    assert {*collected(inner("--collect-only", "-q", *on(NOBODY), *arguments))} == {f"rocketproof::{node}" for node in nodes}


def test_collected_item_names_its_subject(inner: Run) -> None:
    result = inner("--collect-only", *on(NOBODY), "rocketproof::INV-44[half messages]")
    result.stdout.fnmatch_lines(
        ["*INV-44[[]half messages] queue and offset in a response lead to the message *: violated under P494 with half messages>"]
    )


def test_hazard_items_exist_for_startable_brokers_and_match_properties(inner: Run) -> None:
    of_states = "rocketproof::INV-16[auto-create off, TBW102 from the file]"
    assert collected(inner("--collect-only", "-q", *on("inprocess"), "-k", "INV-16")) == [of_states, "rocketproof::HAZ-02"]


def test_foreign_markers_and_options_are_untouched(pytester: pytest.Pytester, inner: Run) -> None:
    pytester.makeini("[pytest]\nmarkers = behaviour(text): of theirs")
    pytester.makepyfile("import pytest\n\n@pytest.mark.behaviour('shy', 3)\ndef test_theirs(): pass")
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--requirements')")
    inner("--requirements=of-theirs").assert_outcomes(passed=1)


def test_all_that_is_registered_has_prefix(inner: Run) -> None:
    result = inner("--markers", "--help")
    with_plugin = inner("--fixtures", "--markers")
    for line in (*result.outlines, *with_plugin.outlines):
        if "rocketproof" in line and line.startswith(("@pytest.mark.", "  --")):
            assert line.removeprefix("@pytest.mark.").strip().startswith(("rocketproof", "--rocketproof-")), line


# Options


def test_command_line_precedes_environment_which_precedes_file(
    pytester: pytest.Pytester, inner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nrocketproof_target = 127.0.0.1:1\nrocketproof_profile = P40")
    inner("--collect-only").stdout.fnmatch_lines(["rocketproof: target 127.0.0.1:1, profile P40"])
    monkeypatch.setenv("ROCKETPROOF_TARGET", "127.0.0.1:2")
    inner("--collect-only").stdout.fnmatch_lines(["rocketproof: target 127.0.0.1:2, profile P40"])
    inner("--collect-only", "--rocketproof-target=127.0.0.1:3").stdout.fnmatch_lines(["rocketproof: target 127.0.0.1:3, profile P40"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((f"--rocketproof-target={NOBODY}", "--rocketproof-profile=P48"), "--rocketproof-profile: unknown profile 'P48'; the nearest *"),
        (("--rocketproof-target=127.0.0.1:99999",), "--rocketproof-target 127.0.0.1:99999: give the address of a broker *"),
        (("--rocketproof-target=a broker:1",), "--rocketproof-target a broker:1: give the address of a broker *"),
        (("--rocketproof-target=apache:",), "--rocketproof-target apache:: give the address of a broker *"),
        (("--rocketproof-target=apache:4.9.4+served",), "--rocketproof-target apache:4.9.4+served: a pair is a broker and a name server *"),
        (("--rocketproof-target=no.toml",), "--rocketproof-target no.toml: there is no such file"),
        (on(NOBODY, "--rocketproof-programs=0"), "--rocketproof-programs 0: give a number such as 200"),
        (on(NOBODY, "--rocketproof-seed=x"), "--rocketproof-seed x: give a whole number"),
        (on(NOBODY, "--rocketproof-time=nan"), "--rocketproof-time nan: give a number of seconds above 0"),
        (on(NOBODY, "--rocketproof-suite=maybe"), "--rocketproof-suite maybe: give auto, always, never"),
        (on(NOBODY, "--rocketproof-nameserver=here"), "--rocketproof-nameserver here: give an address such as 127.0.0.1:9876"),
        (on(NOBODY, "--rocketproof-accept=no.toml"), "--rocketproof-accept *no.toml: cannot be read *"),
        (on(NOBODY, "--rocketproof-store=."), "--rocketproof-store *: give a store's folder, the one that has commitlog in it"),
        (on(NOBODY, "--rocketproof-report=."), "--rocketproof-report *: it exists and is not empty: give a new folder"),
        (on(NOBODY, "rocketproof::INV-430"), "rocketproof::INV-430: there is no such item; the nearest of * are INV-43*"),
        (("rocketproof::INV-43",), "rocketproof::INV-43: give a target too, such as --rocketproof-target 127.0.0.1:10911"),
    ],
)
def test_wrong_option_is_one_line_before_collection(pytester: pytest.Pytester, inner: Run, arguments: tuple[str, ...], said: str) -> None:
    pytester.makepyfile(test_theirs=THEIRS["plain"])
    result = inner(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {said}"])
    assert len([line for line in result.errlines if line.strip()]) == 1
    result.stdout.no_fnmatch_line("*collected *")


def test_wrong_option_of_file_or_variable_is_named_so(pytester: pytest.Pytester, inner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeini("[pytest]\nrocketproof_target = nothing")
    inner().stderr.fnmatch_lines(["ERROR: rocketproof_target in tox.ini nothing: give *"])
    monkeypatch.setenv("ROCKETPROOF_TARGET", "nobody")
    inner().stderr.fnmatch_lines(["ERROR: ROCKETPROOF_TARGET nobody: give *"])


def test_usage_error_or_missing_target_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    program = (
        "import sys, pytest; code = pytest.main(sys.argv[1:]); "
        "print('imported', sorted(sys.modules.keys() & {'numpy', 'numba', 'z3', 'pyarrow', 'rocketproof_spec', 'filelock'}))"
    )
    for arguments in (on(NOBODY, "--rocketproof-seed=x"), ("--collect-only",)):
        done = subprocess.run(
            [sys.executable, "-c", program, "-p", PLUGIN, "-p", "no:cacheprovider", *arguments],
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            cwd=pytester.path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines()[-1] == "imported []", done


# Outcomes of the run


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[SuiteResults], list[int]]:
    """Let the run have this result; the length of the returned list counts the runs."""

    def come(results: SuiteResults) -> list[int]:
        runs: list[int] = []

        def perform(*_: object) -> SuiteResults:
            runs.append(1)
            return results

        monkeypatch.setattr(shared, "_perform", perform)
        return runs

    return come


OUTCOMES = {
    "INV-02": EntryOutcome("passed", "nothing contradicts it"),
    "INV-03": EntryOutcome(
        "failed", "request 0 (send, A): expected 0, found 1", "INV-03 a one-way request\nthe table", {"history": "a/1.ndjson"}
    ),
    "INV-04": EntryOutcome("skipped", "not exercised: no program that could contradict it among 3 programs"),
    "INV-05": EntryOutcome("accepted", "accepted: INV-05 (ours differs, until 2099-01-01)", "text"),
    "INV-44[half messages]": EntryOutcome("passed", "violated, as P494 expects (HAZ-13)", "the text of a program"),
}
ITEMS = tuple(f"rocketproof::{id_}" for id_ in OUTCOMES)


def test_each_item_shows_result_of_shared_run(inner: Run, came: Callable[[SuiteResults], list[int]], pytester: pytest.Pytester) -> None:
    runs = came(SuiteResults(summary="a broker under P494", folder="a", notes=("accepted deviation x is over",), outcomes=OUTCOMES))
    result = inner("-v", "-rfs", "--junitxml=out.xml", *on(NOBODY), *ITEMS)
    result.assert_outcomes(passed=2, failed=1, skipped=1, xfailed=1)
    assert runs == [1]
    result.stdout.fnmatch_lines_random(
        [
            "rocketproof::INV-44[[]half messages] VIOLATED AS EXPECTED*",
            "rocketproof::INV-02 PASSED*",
            "*_ rocketproof::INV-03 a one-way request gets no response _*",
            "the table",
            "FAILED rocketproof::INV-03 - *INV-03 a one-way request*",
            "SKIPPED [[]1] rocketproof::INV-04: not exercised: no program that could contradict it among 3 programs",
            "a broker under P494",
            "accepted deviation x is over",
            "histories and report: a",
        ]
    )
    cases = {case.get("name"): case for case in Xml.parse(pytester.path / "out.xml").iter("testcase")}
    failed = cases["INV-03 a one-way request gets no response"]
    assert "the table" in (failed.findtext("failure") or "")
    told = {element.get("name"): element.get("value") for element in failed.iter("property")}
    assert told["rocketproof_profile"] == "P494" and told["rocketproof_expected"] == "holds" and told["rocketproof_history"] == "a/1.ndjson"
    assert any(name is not None and name.startswith("INV-44[half messages] queue and offset in a response") for name in cases)


@pytest.mark.parametrize("of", ["items", "client"])
def test_target_error_is_reported_once(inner: Run, pytester: pytest.Pytester, of: str) -> None:
    pytester.makepyfile(test_theirs="def test_a(rocketproof_client): pass\ndef test_b(rocketproof_client): pass")
    result = inner("-rs", *on(NOBODY), *(ITEMS[:2] if of == "items" else ()))
    result.assert_outcomes(errors=1, skipped=1)
    result.stdout.fnmatch_lines(["*nobody listens at 127.0.0.1:9 (connection refused); start the broker or give another address"])


def test_lost_broker_is_reported_once_and_recorded_results_count(inner: Run, came: Callable[[SuiteResults], list[int]]) -> None:
    came(SuiteResults(stopped="broker-a at 127.0.0.1:9 does not answer any more", outcomes=OUTCOMES))
    result = inner(*on(NOBODY), *ITEMS)
    result.assert_outcomes(passed=2, failed=1, skipped=1, xfailed=1, errors=1)
    result.stdout.fnmatch_lines(["the run says less than it was asked for: broker-a at 127.0.0.1:9 does not answer any more"])


def test_run_ending_at_its_limit_is_no_error(inner: Run, came: Callable[[SuiteResults], list[int]]) -> None:
    came(SuiteResults(stopped="--time 3.0", outcomes=OUTCOMES))
    result = inner(*on(NOBODY), *ITEMS[:1])
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["stopped: --time 3.0"])


@pytest.mark.slow
def test_interrupted_run_interrupts_pytest(inner: Run, came: Callable[[SuiteResults], list[int]]) -> None:
    came(SuiteResults(stopped="Ctrl-C", outcomes=OUTCOMES))
    assert inner(*on(NOBODY), *ITEMS).ret == pytest.ExitCode.INTERRUPTED


# On a broker


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[str, ...]]:
    """Options for a faultless broker, by address."""
    with InProcess("P494").open() as running:
        yield on(running.brokers["broker-a"], f"--rocketproof-nameserver={running.name_server}", "--rocketproof-programs=6")


def test_run_on_broker_is_kept_and_judged(inner: Run, broker: tuple[str, ...], pytester: pytest.Pytester) -> None:
    result = inner(*broker)
    assert result.ret == pytest.ExitCode.OK
    folder = pytester.path / ".rocketproof" / "suite" / "1"
    assert {"suite.json", "report.json", "histories"} <= {path.name for path in folder.iterdir()}
    data = json.loads((folder / "suite.json").read_text())
    assert data["schema"] == "rocketproof-suite" and data["version"] == 1
    assert data["outcomes"]["INV-43"]["status"] == "passed"
    statuses = {row["status"] for row in data["outcomes"].values()}
    assert statuses == {"passed", "skipped"}
    assert all(row["words"].startswith("not exercised") for row in data["outcomes"].values() if row["status"] == "skipped")


@pytest.mark.slow
def test_connection_with_faults_fails_no_item(inner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter timeout takes more responses for lost, which is equally harmless."""
    monkeypatch.setattr(client, "PATIENCE", 0.4)
    monkeypatch.setattr(readback, "SECONDS", 0.4)
    with (
        InProcess("P494").open() as running,
        FaultProxy(running.brokers["broker-a"], MILD, seed=1) as broker,
        FaultProxy(str(running.name_server), MILD, seed=2) as server,
    ):
        more = (f"--rocketproof-nameserver={server.address}", "--rocketproof-programs=40")
        result = inner(*on(broker.address, *more))
        happened = broker.happened + server.happened
    assert happened.total() > 5
    assert set(result.parseoutcomes()) == {"passed", "skipped"}
    result.stdout.fnmatch_lines(["faults of the connection, which are held against nobody: *"])


@pytest.mark.slow
def test_xdist_processes_share_one_run(inner: Run, broker: tuple[str, ...], pytester: pytest.Pytester) -> None:
    result = inner("-p", "xdist", "-n", "2", "--dist=worksteal", "--junitxml=out.xml", *broker)
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["passed"] > 20
    assert [path.name for path in (pytester.path / ".rocketproof" / "suite").iterdir()] == ["1"]
    assert len(list((pytester.path / ".rocketproof" / "suite" / "1" / "histories").glob("*.ndjson"))) == 6
    names = [case.get("name") for case in Xml.parse(pytester.path / "out.xml").iter("testcase")]
    assert "INV-03 a one-way request gets no response" in names


def test_session_with_undecided_programs_is_not_green(inner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The item is skipped with the reason. One error states the number of undecided verdicts and the option that may decide them."""
    open_ = "2 verdicts not decided: program 3 by the specification; a larger --rocketproof-states may decide it"
    came = {"specification.send": EntryOutcome("undecided", "undecided: the specification's judge reached its bound in 2 programs")}
    made = SuiteResults("", str(tmp_path), "", "a summary", (), came, open_)
    asked: list[int | None] = []
    monkeypatch.setattr(shared, "_perform", lambda options, base, progress, found: asked.append(options.states) or made)
    result = inner("-rs", *on(NOBODY), "--rocketproof-states=7", "rocketproof::specification.send", "rocketproof::CHK-10")
    result.assert_outcomes(skipped=2, errors=1)
    assert (result.ret, asked) == (pytest.ExitCode.TESTS_FAILED, [7])
    result.stdout.fnmatch_lines(["*the run says less than it was asked for: 2 verdicts not decided*", "*reached its bound in 2 programs*"])
    (tmp_path / "suite.json").write_text(json.dumps(made.data()), "utf-8")
    assert SuiteResults.read(tmp_path / "suite.json") == made
