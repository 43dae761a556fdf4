"""Hand-written programs: what a file may contain, its errors, and what `run` prints and returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from spoilt import Spoilt, answering

from nonempty import nonempty
from rocketproof_properties.brokers.deployment import Setup, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.commands import run
from rocketproof_properties.commands.library.totest import history_as_test
from rocketproof_properties.judging.verdicts import ProgramFinding
from rocketproof_properties.programs.program import Program
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.handwritten.condition import condition_of
from rocketproof_properties.validation.handwritten.programfile import load
from rocketproof_properties.validation.handwritten.trial import perform
from rocketproof_properties.validation.report import ValidationFinding, source
from rocketproof_protocol import codes

EXAMPLES = Path(__file__).resolve().parents[2] / "properties" / "examples" / "bug-reports"
FIRST = answering(codes.SEARCH_OFFSET_BY_TIMESTAMP, offset="0")
PULLS = """
STEPS = [
    [("send", {"topic": "orders", "body": "one"})] * 2,
    ("wait", 0.01),
    ("pull", {"topic": "orders", "group": "readers"}),
]

def shows(answers):
    return answers[4].bodies == ["one", "one"]
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")

    def file(text: str) -> str:
        Path("report.py").write_text(text.lstrip())
        return "report.py"

    return file


def test_lists_and_waits_become_steps(write: Callable[[str], str]) -> None:
    program = load(write(PULLS + 'SETTINGS = {"timerWheelEnable": True, "transactionCheckInterval": 500, "own": "x"}\nBROKERS = 2\n'))
    assert [name for name, _ in program.steps] == ["send", "send", "time", "pull"] and program.steps[2][1] == {"millis": 10}
    assert program.settings == {"timerWheelEnable": "true", "transactionCheckInterval": "500", "own": "x"}
    assert program.setup.names == ("broker-a", "broker-b")
    assert program.program.needs == "timerWheelEnable=true, transactionCheckInterval=500"


def test_file_states_runs_a_property_and_settings_of_single_brokers(write: Callable[[str], str]) -> None:
    more = 'TIMES = 3\nPROPERTY = "PRO-69"\nBROKERS = 2\nBROKER_SETTINGS = {"broker-b": {"brokerId": 1}}\n'
    program = load(write('STEPS = [("send", {})]\n' + more))
    assert (program.times, program.finding) == (3, "PRO-69")
    assert program.setup.settings_of("broker-b") == {"brokerId": "1"} and program.setup.settings_of("broker-a") == {}
    assert program.given["brokerSettings"] == {"broker-b": {"brokerId": "1"}} and "brokerSettings" not in load(write(PULLS)).given
    assert condition_of(program, None, None).text == "PRO-69 is broken"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('STEPS = [("send", {})]\nTIMES = 0', "report.py:2:1: TIMES is not a number from 1 to 1000 but 0; write TIMES = 100"),
        (
            'STEPS = [("send", {})]\nBROKER_SETTINGS = {"broker-b": {}}',
            "report.py:2:1: BROKER_SETTINGS is not a dict with the brokers broker-a; write BROKER_SETTINGS = ",
        ),
        ("x = 1", "report.py:1:1: no STEPS in this file; write STEPS = "),
        ("steps = []", "call steps STEPS"),
        ("STEPS = []", "report.py:1:1: STEPS is empty"),
        ("STEPS = 5", "report.py:1:1: 5 is not a list of steps"),
        ("STEPS = [5]", "report.py:1:1: 5 is not a step"),
        ('STEPS = [\n    ("snd", {}),\n]', "report.py:2:5: unknown step 'snd'; did you mean send?"),
        ('STEPS = [("clock", {})]', "report.py:1:10: step clock exists in simulated clusters only"),
        (
            'STEPS = [\n    ("send", {}),\n    ("send", {"tpic": "A"}),\n]',
            "report.py:3:15: step send has no argument 'tpic'; did you mean topic?",
        ),
        ('STEPS = [("send", {}, {})]', "report.py:1:10: step send is not a name with one dict of arguments"),
        ('STEPS = [("send", {"body": 5})]', "report.py:1:10: step send: an argument has a wrong type"),
        (
            'STEPS = [("search", {"record": "a"})]',
            "record is not the index of a record, or of two, but 'a'; write 0 or (0, 1)",
        ),
        ('STEPS = [("search", {"record": (0, 1, 2)})]', "report.py:1:10: step search: record is not the index of a record, or of two"),
        ('STEPS = [("search", {"plus": 0.5})]', "report.py:1:10: step search: plus is not a whole number of ms but 0.5"),
        ('STEPS = ["pull", ("search", {"record": 0, "time": 5})]', "step search: time and record are two times; remove one of them"),
        (
            'STEPS = [("pull", {"queue": 1}),\n    ("search", {"record": 0}), "pull"]',
            "report.py:2:17: step search names a record, but no earlier step pulls its queue; write (\"pull\", {'topic': 'A', 'queue': 0})",
        ),
        ('STEPS = [("send", {"client": "a"})]', "report.py:1:20: step send: client is not a number"),
        ('STEPS = [("send", {"broker": "broker-b"})]', "there is no broker 'broker-b'; use broker-a, or set BROKERS"),
        ('STEPS = [("wait", "1")]', "report.py:1:10: step wait needs a number of seconds"),
        (
            'STEPS = ["meet"]\nSETTINGS = {\n    "timerWheelEnabled": 1,\n}',
            "report.py:3:5: unknown setting 'timerWheelEnabled'; did you mean timerWheelEnable?",
        ),
        ('STEPS = ["meet"]\nSETTINGS = {"a": None}', "report.py:2:13: SETTINGS['a'] is not a text or a number"),
        ('STEPS = ["meet"]\nSETTINGS = [1]', "report.py:2:1: SETTINGS is not a dict"),
        ('STEPS = ["meet"]\nBROKERS = 0', "report.py:2:1: BROKERS is not a number from 1 to 9"),
        ('STEPS = ["meet"]\nshows = 5', "report.py:2:1: shows is not a function"),
        ("STEPS = [", "report.py:1:9: '[' was never closed"),
        ("STEPS = [undefined]", "report.py:1:10: NameError"),
    ],
)
def test_errors_are_one_line_with_the_place(text: str, error: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", write(text)]) == 2
    said = capsys.readouterr().err
    assert error in said and said.count("\n") == 1


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_programs(path: Path) -> None:
    program = load(str(path))
    assert (program.shows is not None or program.finding) and program.sentence.endswith(".")
    assert len(program.steps) <= 10


def test_run_prints_responses_and_writes_them(write: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", write(PULLS), "--target", "inprocess", "--json", "out.json", "--history", "kept.ndjson"]) == 1
    said = capsys.readouterr().out
    assert "wait 0.01 s" in said and "2 messages: 0 'one', 1 'one'" in said and "it shows the problem" in said
    data = json.loads(Path("out.json").read_text())
    (outcome,) = data["outcomes"]
    assert [step["judges"]["reference"] for step in outcome["steps"]] == ["agrees", "agrees", "", "agrees"]
    assert outcome["steps"][1]["fields"]["queueOffset"] == "1" and outcome["broken"] == []
    assert [step["arguments"].get("topic") for step in outcome["steps"]] == ["orders", "orders", None, "orders"]
    assert load("kept.ndjson").steps == load("report.py").steps


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--field", "2.queueOffset=1"), 1),
        (("--field", "2.queueOffset!=1"), 0),
        (("--field", "2.nothing=1"), 0),
        (("--field", "2.name=SUCCESS"), 1),
        (("--expect", "answers[2].fields['queueOffset'] == '0'"), 0),
        (("--expect", "answers[9].code == 0"), 3),
        (("--field", "9.queueOffset=1"), 2),
        (("--field", "queueOffset=1"), 2),
        (("--expect", "answers["), 2),
        (("--expect", "True", "--field", "2.code=0"), 2),
    ],
)
def test_conditions_decide_the_exit_code(options: tuple[str, ...], code: int, write: Callable[[str], str]) -> None:
    assert run(["run", write(PULLS), *options]) == code


def test_failing_condition_of_a_file_is_undecided(write: Callable[[str], str]) -> None:
    assert run(["run", write('STEPS = [("send", {})]\ndef shows(answers):\n    return int(answers[1].fields["nothing"])\n')]) == 3


def test_runs_with_equal_outcomes_are_counted(write: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    write('STEPS = [("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "p"}}), ("max_offset", {"topic": "RMQ_SYS_TRANS_HALF_TOPIC"})]')
    assert run(["run", "report.py", "--times", "3", "--json", "out.json"]) == 0
    assert [outcome["times"] for outcome in json.loads(Path("out.json").read_text())["outcomes"]] == [3]


def test_a_finding_is_reported_with_its_step(write: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    """The implementation of one profile, judged by another, breaks a rule."""
    write('STEPS = [("send", {}), ("max_offset", {"queue": -1}), ("unknown", {"code": 9999, "one_way": False})]')
    assert run(["run", str(EXAMPLES / "batch-loses-keys.py"), "--target", "inprocess:P533", "--profile", "P533"]) == 1
    assert "it shows the problem" in capsys.readouterr().out


def test_files_of_findings_tests_and_histories_are_programs(tmp_path: Path) -> None:
    steps = (("send", {"topic": "A"}), ("delete", {"topic": "A"}))
    program = Program(3, "", steps, "no trace")
    finding = ValidationFinding(ProgramFinding("claims", "INV-16", "a text"), program, "")
    finding.file = "programs/finding-1.py"
    (tmp_path / "finding-1.py").write_text(source(finding, "P494"))
    read = load(str(tmp_path / "finding-1.py"))
    assert (read.steps, read.program.needs, read.finding, read.running) == (steps, "no trace", "INV-16", {"traceOn": "false"})
    with InProcess("P494").open() as running:
        runner = Runner(running, tmp_path, {"profile": "P494"}, Bounds(1), "r000001-")
        path = runner.perform(program)
        runner.close()
    assert load(str(path)).steps == steps and load(str(path)).running == {"traceOn": "false"}
    (tmp_path / "test_it.py").write_text(history_as_test(str(path)))
    assert load(str(tmp_path / "test_it.py")).steps == steps and load(str(tmp_path / "test_it.py")).program.needs == "no trace"


def test_settings_are_those_of_the_started_broker(write: Callable[[str], str], tmp_path: Path) -> None:
    program = load(write('STEPS = [("send", {"body": "x" * 70000})]\nSETTINGS = {"maxMessageSize": 65536}'))
    (trial,) = perform(program, InProcess("P494"), tmp_path)
    assert trial.answers[1].name == "MESSAGE_ILLEGAL" and trial.findings == []


def test_restart_keeps_what_a_graceful_stop_writes(write: Callable[[str], str], tmp_path: Path) -> None:
    text = """STEPS = [
        ("send", {"topic": "A"}),
        ("commit", {"topic": "A", "group": "g", "offset": 1}),
        ("restart", {"settings": {"maxMessageSize": "65536"}}),
        ("progress", {"topic": "A", "group": "g"}),
        ("send", {"topic": "A", "body": "x" * 70000}),
    ]"""
    (trial,) = perform(load(write(text)), InProcess("P494"), tmp_path)
    assert trial.answers[4].fields["offset"] == "1" and trial.answers[5].name == "MESSAGE_ILLEGAL"
    assert trial.findings == [] and trial.judges(4)["reference"] == "agrees"


@pytest.mark.parametrize(("target", "judged"), [(InProcess("P494"), "agrees"), (Spoilt(FIRST), "differs")], ids=["right", "wrong"])
def test_search_by_time_is_compared_once_pull_has_shown_messages(
    target: ValidationTarget, judged: str, write: Callable[[str], str], tmp_path: Path
) -> None:
    """An offset that is too small is not explained by messages that are not in their queue yet."""
    text = 'STEPS = ["send", ("wait", 0.03), "send", ("pull", {"offset": 1, "hold": 5000}), ("search", {"record": 0})]'
    (trial,) = perform(load(write(text)), target, tmp_path)
    assert trial.answers[5].fields["offset"] == ("1" if judged == "agrees" else "0")
    assert trial.judges(5)["reference"] == judged


def test_clients_and_brokers_are_named_in_steps(write: Callable[[str], str], tmp_path: Path) -> None:
    text = """BROKERS = 2
STEPS = [
    ("send", {"topic": "A", "client": 1}),
    "meet",
    ("send", {"topic": "A", "broker": "broker-b"}),
    ("max_offset", {"topic": "A", "broker": "broker-b"}),
    ("max_offset", {"topic": "A"}),
]"""
    (trial,) = perform(load(write(text)), InProcess("P494"), tmp_path)
    assert [answer.name for answer in nonempty(list(trial.answers))] == ["SUCCESS", "", "SUCCESS", "SUCCESS", "SUCCESS"]
    assert trial.answers[4].fields["offset"] == trial.answers[5].fields["offset"] == "1"


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("orderMessageEnabled", "true", "unknown name server setting 'orderMessageEnabled'; use orderMessageEnable"),
        ("orderMessageEnable", "yes", "orderMessageEnable='yes' does not fit; give orderMessageEnable=true or orderMessageEnable=false"),
    ],
)
def test_settings_that_name_server_does_not_have_are_refused(name: str, value: str, refused: str) -> None:
    with pytest.raises(InputError, match=refused):
        InProcess("P494").open(Setup(name_server={name: value}))


def test_program_file_sets_name_server(write: Callable[[str], str], tmp_path: Path) -> None:
    text = """NAME_SERVER_SETTINGS = {"orderMessageEnable": True}
STEPS = [
    ("put_value", {"space": "ORDER_TOPIC_CONFIG", "key": "R", "value": "broker-x:4"}),
    ("register", {"topics": {"R": (4, 4, 6), "S": (4, 4, 6)}}),
    ("route", {"topic": "R"}),
]"""
    (trial,) = perform(load(write(text)), InProcess("P494"), tmp_path)
    assert trial.answers[3].value["orderTopicConf"] == "broker-x:4"
    assert not trial.broken


def test_running_broker_needs_permission_for_settings(write: Callable[[str], str], tmp_path: Path) -> None:
    program = write('STEPS = [("send", {})]\nSETTINGS = {"traceOn": False}')
    with InProcess("P494").open() as running:
        address = next(iter(running.brokers.values()))
        assert run(["run", program, "--target", address, "--profile", "P494"]) == 2
        assert run(["run", program, "--target", address, "--profile", "P494", "--configure"]) == 0


def test_unknown_needs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('STEPS = [("send", {})]\n\ndef main(**given: str) -> None: ...\n\nmain(needs="no such settings")\n')
    with pytest.raises(InputError, match="unknown settings 'no such settings'"):
        load(str(tmp_path / "a.py"))


def test_every_client_connects_again_after_a_restart(write: Callable[[str], str], tmp_path: Path) -> None:
    text = 'STEPS = [("send", {"client": 1}), "meet", ("restart",), "meet", ("send", {"client": 1}), "meet", ("max_offset",)]'
    (trial,) = perform(load(write(text)), InProcess("P494"), tmp_path)
    assert trial.answers[5].name == "SUCCESS" and trial.answers[7].fields["offset"] == "2"
    assert trial.findings == [] and trial.undecided == []
