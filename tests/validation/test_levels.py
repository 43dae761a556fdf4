"""`rocketproof level`: the level a broker reaches, and the requirements of the next."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from spoilt import Spoilt, answering

from nonempty import nonempty
from proportion import few
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers import probe
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.readback import Reader
from rocketproof_properties.commands import run
from rocketproof_properties.programs.vocabulary import STEPS, plain
from rocketproof_properties.validation import levelreport, leveltrials
from rocketproof_properties.validation.entries import entries
from rocketproof_properties.validation.levels import LEVELS, REQUESTS, level_of_entry, level_of_steps
from rocketproof_properties.validation.leveltrials import LevelFailure, LevelReport, LevelResult, _LevelTester, try_levels
from rocketproof_properties.validation.validate import mark
from rocketproof_protocol import codes

YOUNG: Final = Path(__file__).with_name("young_broker.py")


def described(folder: Path, spoilt: str = "") -> Path:
    """The young broker's target file of ten lines."""
    start = f'"{sys.executable}", "{YOUNG}", "{{port}}"'
    lines = [
        'name = "young"',
        'profile = "P494"',
        'without = ["configure"]',
        "",
        "[name-server]",
        f"start = [{start}]",
        f'env = {{ SPOILT = "{spoilt}" }}',
        "[broker]",
        f'start = [{start}, "{{name_server}}"]',
        f'env = {{ SPOILT = "{spoilt}" }}',
    ]
    (folder / "young.toml").write_text("\n".join(lines) + "\n", "utf-8")
    return folder / "young.toml"


def levels_of(folder: Path, spoilt: str = "") -> tuple[dict[str, Any], int]:
    """Return the `--json` output for a young broker with this fault, and the exit code."""
    made = ["--report", str(folder / "r"), "--json", str(folder / "level.json"), "--report", f"badge:{folder / 'badge.svg'}"]
    code = run(["level", "--target", str(described(folder, spoilt)), *made, "--report", f"badge:{folder / 'badge.json'}"])
    return json.loads((folder / "level.json").read_text("utf-8")), code


def test_broker_storing_nothing_gets_level_and_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(YOUNG.read_text("utf-8").splitlines()) <= 200
    began = time.monotonic()
    found, code = levels_of(tmp_path)
    assert time.monotonic() - began < 60
    assert (found["level"], found["name"], code) == (2, "takes a send", 1)
    failed = found["levels"][-1]["failed"]
    assert failed["request"] == "PULL_MESSAGE (11)" and "request type 11 not supported" in failed["answer"]
    shown = capsys.readouterr().out
    assert "young reaches level 2 of 6: takes a send" in shown and "Next step, level 3, keeps queues" in shown
    (opens,) = [line for line in shown.splitlines() if "rocketproof explore" in line]
    assert opens.endswith(f"{found['levels'][-1]['history']} --profile P494")
    assert len(shown.splitlines()) < 60
    wanted = {row["code"]: row["level"] for row in found["unserved"]}
    assert wanted[codes.PULL_MESSAGE] == 3 and wanted[codes.CONSUMER_SEND_MSG_BACK] == 4 and codes.SEND_MESSAGE_V2 not in wanted
    badge = json.loads((tmp_path / "badge.json").read_text("utf-8"))
    assert badge == {"schemaVersion": 1, "label": "rocketproof P494", "message": "level 2 of 6: takes a send", "color": "orange"}
    assert "level 2 of 6: takes a send" in ElementTree.fromstring((tmp_path / "badge.svg").read_text("utf-8")).attrib["aria-label"]


@pytest.mark.parametrize(
    ("spoilt", "level", "request_", "said"),
    few(
        [
            ("no 105", 0, "GET_ROUTEINFO_BY_TOPIC (105)", "3 REQUEST_CODE_NOT_SUPPORTED"),
            ("route that is no JSON", 0, "GET_ROUTEINFO_BY_TOPIC (105)", "0 SUCCESS"),
            ("route without queues", 1, "GET_ROUTEINFO_BY_TOPIC (105)", "readQueueNums"),
            ("send fails", 1, "SEND_MESSAGE_V2 (310)", "1 SYSTEM_ERROR: not yet implemented"),
            ("no new topics", 1, "SEND_MESSAGE_V2 (310)", "17 TOPIC_NOT_EXIST"),
            ("another queue", 1, "SEND_MESSAGE_V2 (310)", "SEND-42"),
        ],
        2,
    ),
)
def test_young_broker_with_fault(tmp_path: Path, spoilt: str, level: int, request_: str, said: str) -> None:
    found, code = levels_of(tmp_path, spoilt)
    assert (found["level"], code) == (level, 1)
    failed = found["levels"][-1]["failed"]
    assert failed["request"].startswith(request_) and said in " ".join(failed.values())


# Our own broker, spoilt on its way


def tried(target: ValidationTarget, number: int, folder: Path) -> LevelResult:
    """Try one level on a log that other clients have used."""
    (folder / "histories").mkdir()
    with target.open() as running:
        probe.ask(running.brokers["broker-a"], plain("send", topic="before"))
        tester = _LevelTester(running, target, folder / "histories", mark(), ())
        try:
            return tester.try_level(LEVELS[number - 1], number)
        finally:
            tester.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "target", "said"),
    [
        (3, Spoilt(answering(codes.PULL_MESSAGE, codes.SYSTEM_ERROR)), "too little to judge by"),
        (3, Spoilt(answering(codes.GET_MAX_OFFSET, offset="0")), "next offset is 0"),
        (3, Spoilt(forgets="stop"), "APP-10"),
        (4, Spoilt(answering(codes.CONSUMER_SEND_MSG_BACK)), "recorded topic unknown"),
        (4, Spoilt(answering(codes.CONSUMER_SEND_MSG_BACK, codes.REQUEST_CODE_NOT_SUPPORTED)), "3 REQUEST_CODE_NOT_SUPPORTED"),
        (5, Spoilt(answering(codes.END_TRANSACTION)), "next offset is 0"),
        (6, Spoilt(forgets="kill"), "APP-10"),
    ],
)
def test_broker_that_fails_at_level(tmp_path: Path, number: int, target: ValidationTarget, said: str) -> None:
    found = tried(target, number, tmp_path)
    assert found.failed is not None and not found.reached
    assert said in " ".join(vars(found.failed).values())


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 7))
def test_implementation_reaches_each_level(tmp_path: Path, number: int) -> None:
    found = tried(Spoilt(), number, tmp_path)
    assert found.reached and not found.untried, found.failed


def test_settings_are_read_as_java_reads_properties(tmp_path: Path) -> None:
    """rocketmq-rust separates names and values by a colon."""
    told = b"brokerName:broker-a\nnamesrvAddr=127.0.0.1:9876\n# a=b\n\nmapedFileSizeCommitLog : 5\n"
    spoil = answering(codes.GET_BROKER_CONFIG)
    with Spoilt(lambda request: (answer := spoil(request)) and replace(answer, body=told)).open() as running:
        reader = Reader(running, "broker-a")
        assert reader.settings() == {"brokerName": "broker-a", "namesrvAddr": "127.0.0.1:9876", "mappedFileSizeCommitLog": "5"}
        reader.close()


def test_unsupported_requests_are_reported_without_failure(tmp_path: Path) -> None:
    found = tried(InProcess("P494"), 6, tmp_path)
    assert found.failed is None and not found.reached
    assert found.untried == ("the target does not offer kill, which the part with a kill needs",)


def test_no_name_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nameless(Spoilt):
        def open(self, setup: Setup = DEFAULT) -> Deployment:
            running = super().open(setup)
            running.name_server = None
            return running

    levels = try_levels(Nameless(), tmp_path, mark(), wanted=2)
    assert [result.reached for result in levels.results] == [False, True] and levels.level == 2 and levels.exit_code == 0
    assert levels.results[0].untried == ("no name server is known; give --nameserver",)


def test_exit_codes() -> None:
    reached, failed = LevelResult(LEVELS[0], 1, tried=1), LevelResult(LEVELS[1], 2, LevelFailure("no"), tried=1)
    assert LevelReport("t", "", "P494", wanted=1, results=[reached]).exit_code == 0
    assert LevelReport("t", "", "P494", results=[reached, failed]).exit_code == 1
    assert LevelReport("t", "", "P494", wanted=2, results=[reached, LevelResult(LEVELS[1], 2)]).exit_code == 3


# The levels as data


def test_levels_name_catalogue_entries_and_vocabulary_steps() -> None:
    known = {entry.id for profile in PROFILES for entry in entries(profile, frozenset())}
    for each in LEVELS:
        assert each.ids <= known, each.ids - known
        assert set(each.asks) <= REQUESTS.keys()
    assert REQUESTS.keys() <= STEPS.keys()
    counted = [id_ for level in LEVELS for id_ in level.ids]
    assert len(counted) == len({*counted})


def test_level_needs_only_its_requests_and_lower_levels() -> None:
    for number, level in nonempty(enumerate(LEVELS, 1)):
        for trial in nonempty(level.trials):
            assert level_of_steps((*trial.steps, *trial.after)) <= number
        assert all(REQUESTS[name].level <= number for name in level.asks)
        for wanted in nonempty(level.exercised):
            assert level_of_entry(wanted) <= number


def test_steps_that_need_level() -> None:
    assert level_of_steps([("send", {}), ("send", {"properties": {"DELAY": "3"}})]) == 4
    assert level_of_steps([("send", {"topic": "%RETRY%g"})]) == 4
    assert level_of_steps([("send", {"properties": {"TRAN_MSG": "true"}})]) == 5
    assert level_of_steps([("topic", {})]) == 0


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (("--level", "--self-test"), "--level tries a target; leave out --self-test"),
        (("--up-to", "3"), "--up-to says how far --level tries"),
        (("--level", "--up-to", "7"), "--up-to 7 is no level; there are 1 answers a route, 2 takes a send"),
        (("--level", "--report", "badge:b.png"), "give badge:FILE.svg or badge:FILE.json"),
    ],
)
def test_unusable_arguments_are_refused(capsys: pytest.CaptureFixture[str], tokens: tuple[str, ...], said: str) -> None:
    assert run(["validate", "--target", "inprocess", *tokens]) == 2
    assert said in capsys.readouterr().err


def test_validate_still_accepts_old_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--target", "inprocess", "--level", "--up-to", "1"]) == 0
    assert "rocketproof: --level is now the command `rocketproof level`" in capsys.readouterr().err


def test_level_that_judge_left_open_is_not_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = leveltrials.judge_file
    open_ = ("A: 3 expanded states are reached",)
    monkeypatch.setattr(leveltrials, "judge_file", lambda path, profile: replace(judge(path, profile), unknown=open_))
    levels = try_levels(InProcess("P494"), tmp_path, mark(), wanted=2)
    assert (levels.level, levels.next, levels.exit_code) == (0, None, 3)
    assert levels.data()["levels"][0]["undecided"] == ["A: 3 expanded states are reached"]
    assert [result.outcome for result in levelreport.run(levels).results][:2] == ["undecided", "undecided"]
    levelreport.render(levels, tmp_path)
