"""A whole validation against the implementation in this process: no finding, and each kind of wrong answer is one."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Xml
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.brokers.address import AddressTarget
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client as session
from rocketproof_properties.brokers.runs import runner as runner_
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.commands import reporting
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation import accept, report, results, single
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.shrink import shrink
from rocketproof_properties.validation.validate import ValidationRequest, mark, validate
from rocketproof_protocol.topics import SCHEDULE

PROFILE = "P494"
COUNT = 12
"""Programs of the validation whose report the tests read."""
SEND = ("send", {"topic": "A", "body": "hello"})


@pytest.fixture(scope="module")
def running() -> Iterator[Deployment]:
    with InProcess(PROFILE).open() as made:
        yield made


@pytest.fixture
def runner(running: Deployment, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(running, tmp_path, {"profile": PROFILE}, Bounds(2), mark())
    yield made
    made.close()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[report.ValidationReport, Path]:
    folder = tmp_path_factory.mktemp("validation") / "report"
    return validate(ValidationRequest(InProcess(PROFILE), folder, COUNT, 3, shrink=1)), folder


@pytest.mark.slow
def test_implementation_is_as_described(tmp_path: Path) -> None:
    report = validate(ValidationRequest(InProcess(PROFILE), tmp_path / "report", 60, 3, shrink=1))
    assert [str(finding.verdict) for finding in report.findings] == []
    assert len(report.judged) == 60
    assert report.exit_code == 0


def test_clients_have_distinct_addresses_even_successively(runner: Runner) -> None:
    """The reference only gets programs without concurrent requests; it must distinguish their clients as well."""
    steps: list[Step] = [SEND, ("meet", {}), ("send", {"topic": "A", "body": "other", "client": 1}), ("meet", {}), SEND]
    path = runner.perform(Program(1, "", tuple((name, dict(args)) for name, args in steps)))
    judged = judge_file(path, PROFILE)
    assert "reference" in judged.by
    assert judged.deviations == []


def test_unreadable_drawn_queue_is_no_finding(runner: Runner) -> None:
    """No response and no record reveals the drawn queue, only the queue's next offset."""
    steps = [("send", {"queue": -1, "one_way": True}), ("topic", {"read": 0})]
    for number in range(1, 9):  # a draw of queue 0 would be right by chance
        path = runner.perform(Program(number, "", tuple((name, dict(args)) for name, args in steps)))
        assert judge_file(path, PROFILE, ("reference",)).deviations == []


def test_report_is_written_for_people_and_programs(done: tuple[report.ValidationReport, Path]) -> None:
    found, folder = done
    data = json.loads((folder / "report.json").read_text())
    assert (data["schema"], data["version"], data["profile"], data["exit"]) == ("rocketproof-validation", 2, PROFILE, 0)
    assert found.findings == [] and data["programs"]["judged"] == COUNT
    assert data["requests"] == sum(program.requests for program in found.judged) > 5 * COUNT
    assert {row["id"] for row in data["verdicts"]} >= {"INV-06.records", "INV-34.records", "INV-43", "reference", "specification"}
    suite = Xml.parse(folder / "junit.xml").getroot().find("testsuite")
    assert suite is not None and suite.get("failures") == "0" and suite.get("tests") == str(len(data["verdicts"]))
    assert reporting.read(folder / "report.json") == results.run(found.data())
    assert len(list((folder / "histories").glob("*.ndjson"))) == COUNT


def test_known_violations_are_known(done: tuple[report.ValidationReport, Path]) -> None:
    found, _ = done
    assert {row.id for row in found.rows if row.expected == "violated" and row.broken} >= {"INV-44", "INV-57"}


def test_report_is_judged_again_without_broker(done: tuple[report.ValidationReport, Path]) -> None:
    found, folder = done
    anew = again(folder, None, ())
    assert anew.rows == found.rows
    assert (anew.exit_code, anew.seed, len(anew.judged)) == (0, 3, COUNT)


@pytest.mark.slow
def test_older_profile_does_not_explain_same_histories(done: tuple[report.ValidationReport, Path], tmp_path: Path) -> None:
    """P40 stores the sender's properties text unchanged."""
    _, folder = done
    copy = tmp_path / "copy"
    (copy / "histories").mkdir(parents=True)
    for path in sorted((folder / "histories").iterdir())[:12]:
        (copy / "histories" / path.name).write_bytes(path.read_bytes())
    (copy / "report.json").write_bytes((folder / "report.json").read_bytes())
    found = again(copy, "P40", ())
    assert found.exit_code == 1

    # Whether a smaller program still shows a finding is asked of the profile that is judged by now.
    path = copy / "report.json"
    saved = json.loads(path.read_text("utf-8"))
    saved["profile"] = "P49"
    for row in saved["findings"]:
        row["again"] = row["repeats"] = 2
    path.write_text(json.dumps(saved), "utf-8")
    assert {finding.again for finding in again(copy, "P40", ()).findings if finding.verdict.judge == "reference"} == {2}


# Wrong answers


def altered(monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change each recorded response: the judges see a broker that answers this way."""
    right = session.answer_data
    monkeypatch.setattr(session, "answer_data", lambda answer: change(right(answer)))


def _fields(change: Callable[[dict[str, str]], dict[str, str]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a change of the response fields that contain store times."""
    return lambda data: data | {"fields": change(data["fields"])} if "timestamp" in data["fields"] else data


def _field(name: str, value: Callable[[str], str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(data: dict[str, Any]) -> dict[str, Any]:
        fields = data["fields"]
        return data | {"fields": {**fields, name: value(fields[name])}} if name in fields else data

    return change


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda data: data | {"code": 1} if "msgId" in data["fields"] else data, {"INV-07.records", "send.code"}),
        (_field("queueOffset", lambda text: str(int(text) + 1)), {"INV-44", "send.queueOffset", "specification.send"}),
        (_field("queueId", lambda text: "7"), {"INV-30.records", "send.queueId", "specification.send"}),
        (_field("msgId", lambda text: text[:31] + "F"), {"INV-06.records"}),
        (lambda data: data | {"fields": {k: v for k, v in data["fields"].items() if k != "TRACE_ON"}}, {"send.TRACE_ON"}),
        (lambda data: data | {"remark": "all is well"}, {"send.remark"}),
    ],
    ids=["code", "offset", "queue", "id", "missing field", "remark"],
)
@pytest.mark.behaviour("SEND-42", "INV-06", "INV-07", "INV-30", "INV-44")
def test_wrong_answer_is_found(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], dict[str, Any]], found: set[str]
) -> None:
    altered(monkeypatch, change)
    judged = judge_file(runner.perform(Program(1, "plain messages", (SEND, SEND))), PROFILE)
    assert {finding.property for finding in judged.findings} >= found


EARLIEST = ("earliest", {"topic": "A"})


@pytest.mark.parametrize(
    ("steps", "change", "found"),
    [
        ((SEND, ("send", {"topic": "A"}), EARLIEST), str, set()),
        ((EARLIEST, SEND), str, set()),
        ((SEND, EARLIEST), lambda text: str(int(text) + 1), {"earliest.timestamp"}),
        ((SEND, EARLIEST), lambda text: "-1", set()),
        ((SEND, ("time", {"millis": 1100}), EARLIEST), lambda text: "-1", {"earliest.timestamp"}),
        ((EARLIEST, SEND), lambda text: "0", {"earliest.timestamp"}),
    ],
    ids=["right", "empty", "another time", "not dispatched yet", "never dispatched", "of nothing"],
)
def test_first_message_time_of_queue_is_its_record_time(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, steps: tuple[Step, ...], change: Callable[[str], str], found: set[str]
) -> None:
    altered(monkeypatch, _field("timestamp", change))
    judged = judge_file(runner.perform(Program(1, "plain messages", steps)), PROFILE)
    assert {finding.property for finding in judged.findings} == found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_fields(lambda fields: {}), {"earliest.timestamp"}),
        (_fields(lambda fields: {"timestamp": "soon"}), {"earliest.timestamp"}),
        (_fields(lambda fields: {**fields, "more": "1"}), {"earliest.more"}),
        (lambda data: data | {"remark": "all is well"} if "timestamp" in data["fields"] else data, {"earliest.remark"}),
        (lambda data: data | {"code": 1, "fields": {}} if "timestamp" in data["fields"] else data, {"earliest.code"}),
    ],
    ids=["no time", "no number", "another field", "remark", "refused"],
)
def test_broken_answer_about_queues_first_message_is_found(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], dict[str, Any]], found: set[str]
) -> None:
    altered(monkeypatch, change)
    judged = judge_file(runner.perform(Program(1, "plain messages", (SEND, EARLIEST))), PROFILE)
    assert {finding.property for finding in judged.findings} == found


@pytest.mark.behaviour("REM-06", "REM-10")
def test_request_refused_when_busy_has_no_effect(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """It rejects the second message as busy, but has stored it."""
    refused = {"code": 2, "remark": "[REJECTREQUEST]system busy", "fields": {}}
    altered(monkeypatch, lambda data: data | refused if data["fields"].get("queueOffset") == "1" else data)
    judged = judge_file(runner.perform(Program(1, "plain messages", (SEND, SEND))), PROFILE, ("reference",))
    assert {finding.property for finding in judged.findings} == {"queue.next offset"}


@pytest.mark.parametrize("one_way", [True, False], ids=["one-way", "answered"])
def test_only_one_way_requests_may_be_unserved_yet(runner: Runner, one_way: bool) -> None:
    """The final queries return an earlier state: the topic of the last send is missing, and its message too."""
    path = runner.perform(Program(1, "plain messages", (SEND, ("send", {"topic": "B", "one_way": one_way}))))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    looks = {row["op"]: row["value"] for row in rows if row.get("type") == "state"}
    (topic,) = [name for name in looks["topics"]["topics"] if name.endswith("-B")]
    del looks["topics"]["topics"][topic]
    gone = [place for name, _, _, places in looks["queues"]["queues"] if name == topic for place in places]
    looks["queues"]["queues"] = [row for row in looks["queues"]["queues"] if row[0] != topic]
    looks["records"]["records"] = [row for row in looks["records"]["records"] if row["at"] not in gone]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {finding.property for finding in judge_file(path, PROFILE, ("reference",)).findings}
    assert found == (set() if one_way else {"topic.the broker's entry"})


@pytest.mark.parametrize(("answer", "found"), [({"code": 22}, set()), ({"fields": {"offset": "1"}}, {"progress.offset"})])
def test_in_5_queue_may_be_unknown_after_first_message(tmp_path: Path, answer: dict[str, Any], found: set[str]) -> None:
    """Before the message is dispatched, a new group's offset is unknown; afterwards it is the begin of the queue."""
    with InProcess("P533").open() as running:
        runner = Runner(running, tmp_path, {"profile": "P533"}, Bounds(1), mark())
        path = runner.perform(Program(1, "", (SEND, ("progress", {}))))
        runner.close()
    assert judge_file(path, "P533").findings == []
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    asked = next(row["value"] for row in rows if (row["type"], row.get("op")) == ("ok", "progress"))
    assert (asked["code"], asked["fields"]["offset"]) == (0, "0")
    asked |= {"fields": {}} | answer
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert {finding.property for finding in judge_file(path, "P533", ("reference",)).findings} == found


@pytest.mark.behaviour("INV-02", "INV-03")
def test_second_and_unwanted_responses_are_found(runner: Runner) -> None:
    path = runner.perform(Program(1, "", (SEND, ("send", {"topic": "A", "one_way": True}))))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answer = next(row["value"] for row in rows if row.get("type") == "ok")
    for row in [r for r in rows if r.get("type") == "invoke"]:
        rows.append({**row, "type": "info", "op": "stray", "value": {"of": row["seq"], **answer}, "seq": len(rows) - 1})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = judge_file(path, PROFILE, ("claims",))
    assert {finding.property for finding in judged.unconfirmed} == {"INV-01", "INV-02"}, "they count when they come again"
    assert {finding.property for finding in judged.findings} == {"INV-03"}


def test_finding_becomes_smallest_program_that_shows_it(runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The broker is wrong only about every second queue."""
    altered(monkeypatch, _field("queueOffset", lambda text: "5" if text == "1" else text))
    program = Program(
        1, "plain messages", (SEND, ("route", {"topic": "A"}), ("send", {"topic": "B"}), SEND, ("send", {"topic": "C", "flag": 3}))
    )
    path = runner.perform(program)
    verdict = next(finding for finding in judge_file(path, PROFILE).findings if finding.judge == "reference")
    small = shrink(runner, tmp_path, program, verdict, path, PROFILE, 20)
    assert [name for name, _ in small.program.steps] == ["send", "send"]
    assert (small.again, small.repeats) == (3, 3)
    assert small.path.exists()


def test_unconfirmed_finding_is_kept_and_counted(runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as once:
        altered(once, lambda data: data | {"remark": "once"})
        path = runner.perform(Program(1, "", (SEND,)))
    verdict = judge_file(path, PROFILE, ("reference",)).findings[0]
    small = shrink(runner, tmp_path, Program(1, "", (SEND,)), verdict, path, PROFILE, 20)
    assert (small.again, small.repeats) == (0, 3)


def test_program_of_finding_runs_unchanged(
    running: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runner: Runner
) -> None:
    altered(monkeypatch, _field("queueId", lambda text: "7"))
    path = runner.perform(Program(1, "", (SEND,)))
    verdict = next(finding for finding in judge_file(path, PROFILE).findings if finding.property == "INV-30.records")
    finding = report.ValidationFinding(verdict, load(path).program, path.name, file="programs/finding-1.py")
    names: dict[str, Any] = {"__name__": "kept"}
    exec(compile(report.source(finding, PROFILE), "finding-1.py", "exec"), names)
    (address,) = running.brokers.values()
    for expected in (1, 0):
        with pytest.raises(SystemExit) as ended:
            single.main(
                names["STEPS"], judge="claims", property="INV-30.records", profile=PROFILE, argv=[address, str(running.name_server)]
            )
        assert ended.value.code == expected
        monkeypatch.undo()
    assert "INV-30.records: as described" in capsys.readouterr().out


# Accepted findings


def write_accepted(path: Path, **keys: str) -> Path:
    rows = {"property": '"INV-30*"', "reason": '"queues begin at 1"', "until": "2999-01-01", **keys}
    path.write_text("[[accept]]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items() if value))
    return path


def test_accepted_finding_is_none_until_its_day(runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    altered(monkeypatch, _field("queueId", lambda text: "7"))
    judged = judge_file(runner.perform(Program(1, "", (SEND,))), PROFILE, ("claims",))
    entries = accept.read(write_accepted(tmp_path / "accept.toml"))
    before, after = (accept.sort(judged.findings, entries, day) for day in (date(2998, 1, 1), date(2999, 1, 2)))
    assert "INV-30.records" not in {deviation.property for deviation in before.left} and not before.notes
    assert "INV-30.records" in {deviation.property for deviation in after.left} and after.over[0].endswith(
        "is over: fix it, or give the entry a later day"
    )
    assert accept.sort([], entries, date(2999, 1, 2)).over[0].endswith("is over, and no finding fits: take it out")
    assert "not needed any more" in accept.sort([], entries, date(2998, 1, 1)).notes[0]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"reason": ""}, "entry 1: reason is missing"),
        ({"until": '"2999-01-01"'}, "entry 1: until is not a date but '2999-01-01'"),
        ({"matches": '"x"'}, "entry 1: unknown key 'matches'; use match"),
        ({"match": '"("'}, "entry 1: match is not a regular expression"),
        ({"match": "5"}, "entry 1: match is not a text but 5"),
        ({"property": '" "'}, "entry 1: property is not a text with words"),
    ],
)
def test_malformed_entry_is_one_line(tmp_path: Path, keys: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        accept.read(write_accepted(tmp_path / "accept.toml", **keys))


# Brokers that end


@pytest.mark.slow
def test_lost_broker_ends_run_and_histories_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops during the seventh program."""
    target = InProcess(PROFILE)
    performed = Runner.perform
    seen: list[Program] = []

    def perform(self: Runner, program: Program, folder: Path | None = None) -> Path:
        seen.append(program)
        if len(seen) == 7:
            self.deployment.stop("broker-a")
        return performed(self, program, folder)

    monkeypatch.setattr(Runner, "perform", perform)
    monkeypatch.setattr(session, "PATIENCE", 1.0)
    monkeypatch.setattr(runner_, "AWAY", 0.5)
    report = validate(ValidationRequest(target, tmp_path / "report", 30, 3, workers=1, shrink=0))
    assert "does not answer any more" in report.stopped
    assert report.exit_code == 3
    assert len(report.judged) == 6
    assert len(list((tmp_path / "report" / "histories").glob("*.ndjson"))) == 7
    assert again(tmp_path / "report", None, ()).exit_code == 3


def test_ctrl_c_keeps_and_judges_completed_programs(tmp_path: Path) -> None:
    def interrupt(what: str, done: int, all_: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    report = validate(ValidationRequest(InProcess(PROFILE), tmp_path / "report", 30, 3, workers=1, shrink=0), interrupt)
    assert (report.stopped, report.exit_code, len(report.judged)) == ("Ctrl-C", 3, 5)
    assert json.loads((tmp_path / "report" / "report.json").read_text())["stopped"] == "Ctrl-C"


def test_truncated_history_is_judged_up_to_its_end(runner: Runner) -> None:
    path = runner.perform(Program(1, "", (SEND, SEND)))
    text = path.read_text()
    path.write_text(text[: text.rindex('"records"')])
    judged = judge_file(path, PROFILE)
    assert not judged.whole
    assert not judged.findings
    assert judged.requests == 2


def test_without_name_server_routes_are_not_queried(running: Deployment, tmp_path: Path) -> None:
    with AddressTarget(list(running.brokers.values()), profile=PROFILE).open() as brokers:
        alone = Runner(brokers, tmp_path, {"profile": PROFILE}, Bounds(1), mark())
        told = load(alone.perform(Program(1, "", (SEND, ("route", {"topic": "A"})))))
        alone.close()
    assert [exchange.op for exchange in told.exchanges] == ["send"]
    assert NAME_SERVER not in {exchange.request["to"] for exchange in told.exchanges}


@pytest.mark.parametrize("topic", [SCHEDULE, "  "])
def test_topic_created_by_other_program_is_no_finding(tmp_path: Path, topic: str) -> None:
    """Up to 4.6 any client can create the topic of delayed messages and the blank one, which no prefix separates. Other programs then find
    more queues than they requested, and messages in the last ones cannot be pulled.
    """
    made = ("send", {"topic": topic, "nums": 4, "queue": 0, "body": "made"})
    beyond = ("send", {"topic": topic, "nums": 1, "queue": 2, "body": "beyond"})
    back = [SEND, ("back", {"record": 0, "group": "g", "level": 0}), ("back", {"record": 0, "group": "g", "level": 18})]
    with InProcess("P45").open() as running:
        runner = Runner(running, tmp_path, {"profile": "P45"}, Bounds(1), mark())
        programs = [Program(number, "", tuple(steps)) for number, steps in enumerate(([made], [beyond], back), 1)]
        found = [judge_file(path, "P45") for _, path in runner.run(programs)]
        runner.close()
    assert [str(finding) for each in found for finding in each.findings] == []
