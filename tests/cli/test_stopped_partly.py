"""An interrupt at a chosen point of a long command keeps the earlier results."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.brokers import selftest
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.runner import Bounds
from rocketproof_properties.commands import run
from rocketproof_properties.judging.reference import recording
from rocketproof_properties.programs.program import Program
from rocketproof_properties.reports.exitcode import DIFFERS, STOPPED
from rocketproof_properties.validation import leveltrials
from rocketproof_properties.validation.levels import LEVELS, Level
from rocketproof_properties.validation.leveltrials import LevelResult
from rocketproof_properties.validation.releases import profiling
from rocketproof_properties.validation.releases.staging import Stage
from rocketproof_properties.validation.report import HISTORIES

RECORDING = Path(__file__).parents[1] / "data" / "rocketmq-4.9.4.jsonl"
NOTHING = "stopped by Ctrl-C before anything was decided"


def after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with an interrupt after this many calls."""
    done = 0

    def counted(*args: Any, **named: Any) -> Any:
        nonlocal done
        if done == calls:
            raise KeyboardInterrupt
        done += 1
        return function(*args, **named)

    return counted


def stopped(capsys: pytest.CaptureFixture[str], path: Path, *words: str, code: int = STOPPED) -> tuple[Any, str]:
    """Return the `--json` output of an interrupted command, None if empty, and its printed output."""
    assert run([*words, "--json", str(path)]) == code
    shown = capsys.readouterr()
    return json.loads(path.read_text()) if path.exists() else None, " ".join((shown.out + shown.err).split())


@pytest.mark.parametrize("levels", [0, 1, 3])
def test_an_interrupt_keeps_levels_before_it(
    levels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rung(_: object, level: Level, number: int) -> LevelResult:
        return LevelResult(level, number, None, (), 1, 1, 0.0, "")

    monkeypatch.setattr(leveltrials._LevelTester, "try_level", after(levels, rung))
    monkeypatch.setattr(leveltrials, "unserved", lambda *_: ())
    asked = ("level", "--target", "inprocess", "--report", str(tmp_path / "made"))
    found, shown = stopped(capsys, tmp_path / "out.json", *asked)
    if levels == 0:
        assert found is None and NOTHING in shown
        return
    assert (found["level"], found["wanted"], found["exit"]) == (levels, len(LEVELS), STOPPED)
    assert [one["level"] for one in found["levels"]] == [*range(1, levels + 1)]
    assert f"reaches level {levels} of {len(LEVELS)}" in shown


@pytest.mark.parametrize(("tries", "broken"), [(0, False), (2, False), (2, True)])
def test_interrupt_keeps_earlier_trials_of_a_self_test(
    tries: int, broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tried(what: str, _: object) -> selftest.Checked:
        return selftest.Checked(what, "nobody answers" if broken else "", 0.0)

    monkeypatch.setattr(selftest, "_check", after(tries, tried))
    asked = ("validate", "--target", "inprocess", "--self-test")
    found, shown = stopped(capsys, tmp_path / "out.json", *asked, code=DIFFERS if broken else STOPPED)
    if tries == 0:
        assert found is None and NOTHING in shown
        return
    assert (len(found["checked"]), found["exit"]) == (tries, DIFFERS if broken else STOPPED)
    assert "stopped by Ctrl-C before the rest" in shown
    assert "all that was tried works, 2 things tried" in shown or broken


@pytest.mark.parametrize("cases", [0, 3])
def test_an_interrupt_keeps_cases_of_a_recording_before_it(
    cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (json.loads(line) for line in RECORDING.read_text("utf-8").splitlines())
    short = tmp_path / "short.jsonl"
    short.write_text("".join(json.dumps(row) + "\n" for row in rows if row["cfg"] == "A" and row["n"] < 6), "utf-8")
    monkeypatch.setattr(recording.SimulatedReplay, "perform", after(cases, recording.SimulatedReplay.perform))
    found, shown = stopped(capsys, tmp_path / "out.json", "test", "--recording", str(short), "--profile", "P494")
    if cases == 0:
        assert found is None and NOTHING in shown
        return
    assert [(row["n"], row["alike"]) for row in found] == [(number, True) for number in range(cases)]
    assert f"{cases} cases compared under P494: {cases} alike" in shown and "stopped by Ctrl-C before the others" in shown


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on a broker of P494 with a program that P533 answers with another code."""
    folder = tmp_path_factory.mktemp("older")
    programs = [Program(1, "test", (("send", {"without": "topic"}),))]
    assert len(Stage(InProcess("P494"), folder / HISTORIES, 0, Bounds(1)).record(programs)) == 1
    return folder


@pytest.mark.parametrize("at", ["explain", "_confirm"])
def test_an_interrupt_keeps_switches_that_a_profile_found_before_it(
    at: str, older: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(profiling, at, after(0, getattr(profiling, at)))
    asked = ("profile", "--again", str(older), "--from", "P533")
    found, shown = stopped(capsys, tmp_path / "out.json", *asked, code=STOPPED if at == "explain" else DIFFERS)
    assert (found["stopped"], found["programs"]) == ("Ctrl-C", 1)
    assert "stopped: Ctrl-C" in shown and f"rocketproof profile --again {older}" in shown.replace("\n", "")
    if at == "explain":
        assert (found["exit"], found["proposals"], found["agreed"], found["untold"]) == (STOPPED, [], [], [])
        return
    assert found["exit"] == DIFFERS and found["proposals"] and {row["programs"] for row in found["proposals"]} == {1}
    assert found["untold"] == []
