"""In what two brokers differ: nothing where they are of one profile, and what a switch decides where they are of two."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rocketproof_impl.store.record import decode
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import ParsedHistory
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.commands import run, validating
from rocketproof_properties.judging.reference import dispatched
from rocketproof_properties.programs.program import Program, ProgramOptions, generate, others
from rocketproof_properties.programs.selections import EDGES
from rocketproof_properties.validation.knownbugs.bugs import chosen
from rocketproof_properties.validation.knownbugs.search import compared
from rocketproof_properties.validation.releases import against, staging
from rocketproof_properties.validation.releases.causes import cause_of
from rocketproof_properties.validation.releases.pairs import compare
from rocketproof_properties.validation.releases.staging import Stage, serves
from rocketproof_properties.validation.releases.switching import RecordedProgram
from rocketproof_traces.history.exchange import Exchange

PERFORMED = against._performed
SCHEMA = Path(__file__).parents[2] / "properties/docs/schemas/differences.schema.json"


def performed(profile: str, folder: Path, programs: list[Program]) -> dict[int, RecordedProgram]:
    return Stage(InProcess(profile), folder, 0, Bounds(2)).record(programs)


@pytest.mark.slow
def test_two_brokers_of_one_profile_do_not_differ(tmp_path: Path) -> None:
    """The comparison ignores what belongs to a run: names, times, offsets, ids, drawn queues."""
    programs = generate(ProgramOptions("P533", 40, 5, concurrent=False, waits=False))
    left, other = (performed("P533", tmp_path / name, programs) for name in ("one", "other"))
    pairs = [(left[number], other[number]) for number in left if left[number].is_comparable and other[number].is_comparable]
    assert len(pairs) > 35
    found = {first.program.number: compare(first.history, second.history) for first, second in pairs}
    assert {number: [str(each) for each in all_] for number, all_ in found.items() if all_} == {}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[RecordedProgram, RecordedProgram]:
    folder = tmp_path_factory.mktemp("pair")
    steps = (("send", {"topic": "A", "properties": {"KEYS": "k"}}), ("topic", {"topic": "B"}), ("send", {"topic": "B", "queue": -1}))
    program = Program(1, "test", steps)
    first, other = (performed("P494", folder / name, [program])[1] for name in ("one", "other"))
    return first, other


def answer_with(history: ParsedHistory, exchange: Exchange, outcome: dict[str, object]) -> ParsedHistory:
    """Return the history in which an exchange has another response."""
    exchanges = tuple(replace(each, outcome=outcome) if each is exchange else each for each in history.recorded.exchanges)
    return replace(history, recorded=replace(history.recorded, exchanges=exchanges))


@pytest.mark.parametrize(
    ("event", "change", "about"),
    [
        (0, {"code": 1}, "code"),
        (0, {"remark": "no"}, "remark"),
        (0, {"fields": {"queueId": "3"}}, "queueId"),
        (1, {"code": 17}, "code"),
        (2, {"fields": {"msgId": ""}}, "msgId"),
    ],
)
def test_another_answer_is_difference(
    pair: tuple[RecordedProgram, RecordedProgram], event: int, change: dict[str, object], about: str
) -> None:
    first, other = pair[0].history, RecordedProgram.read(pair[1].path).history
    asked = other.exchanges[event]
    fields = change.get("fields")
    with_fields = {"fields": {**asked.response_fields, **fields}} if isinstance(fields, dict) else {}
    other = answer_with(other, asked, {**asked.outcome, **change, **with_fields})
    assert [each.field for each in compare(first, other)] == [about]
    assert compare(first, pair[1].history) == []


def test_undispatched_messages_are_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Program(1, "test", (("send", {}), ("earliest", {})))
    first, other = (performed("P494", tmp_path / name, [asking])[1].history for name in ("one", "other"))
    stamped = []
    for history, stamp in ((first, "5"), (other, "-1")):
        asked = history.exchanges[1]
        stamped.append(answer_with(history, asked, {**asked.outcome, "fields": {**asked.response_fields, "timestamp": stamp}}))
    first, other = stamped
    assert compare(first, other) == []
    monkeypatch.setattr(dispatched, "WITHIN", 0)
    assert [each.field for each in compare(first, other)] == ["timestamp"]


def test_recall_handle_is_compared_without_its_time(tmp_path: Path) -> None:
    timed = Program(1, "test", (("send", {"topic": "A", "properties": {"TIMER_DELAY_SEC": "2"}}),))
    first, other = (performed("P533", tmp_path / name, [timed])[1].history for name in ("one", "other"))
    (asked,) = other.exchanges
    handle = base64.urlsafe_b64decode(asked.response_fields["recallHandle"]).decode()
    later = re.sub(r" \d{13} ", " 4102444800001 ", handle)
    wrong = handle.replace("v1 ", "v2 ")
    assert len({handle, later, wrong}) == 3
    for text, differences in ((later, []), (wrong, ["recallHandle"])):
        changed = {**asked.response_fields, "recallHandle": base64.urlsafe_b64encode(text.encode()).decode()}
        history = answer_with(other, asked, {**asked.outcome, "fields": changed})
        assert [each.field for each in compare(first, history)] == differences


def test_half_message_belongs_only_to_its_run(tmp_path: Path) -> None:
    """Its offset is not compared: the second broker has an earlier message."""
    half = {"queue": 0, "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}
    steps = tuple((name, args) for record in (0, 1) for name, args in (("send", half), ("end", {"record": record})))
    here = performed("P494", tmp_path / "one", [Program(1, "test", steps)])[1].history
    other = performed("P494", tmp_path / "other", [Program(1, "test", (("send", {}),)), Program(2, "test", steps)])[2].history
    assert compare(here, other) == []
    first, second = (int(asked.response_fields["msgId"][16:], 16) for asked in other.exchanges if asked.op == "send")
    for row in other.states["records"]["records"]:
        data = base64.b64decode(row["data"])
        told = decode(data, exact=False)
        if told is not None and told.prepared_transaction_offset == second:
            row["data"] = base64.b64encode(data.replace(second.to_bytes(8, "big"), first.to_bytes(8, "big"))).decode()
    assert [each.field for each in compare(here, replace(other))] == ["preparedTxOffset"]  # a copy has read none of the records yet


def test_differently_stored_record_is_difference(pair: tuple[RecordedProgram, RecordedProgram]) -> None:
    first, other = pair[0].history, RecordedProgram.read(pair[1].path).history
    (name,) = [topic for topic in other.states["topics"]["topics"] if topic.endswith("B")]
    other.states["topics"]["topics"][name]["perm"] = 4
    other.states["queues"]["queues"][0][2] += 1
    other.states["records"]["records"][:] = other.states["records"]["records"][:1]
    assert [each.field for each in compare(first, other)] == ["perm", "next offset", "content"]


def test_record_in_shared_topic_reveals_its_program(tmp_path: Path) -> None:
    """Up to P45 a delayed half message returns to the half topic, at an unreported offset (HAZ-39; zoo A24)."""
    delayed = {"queue": 0, "properties": {"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "1"}}
    steps = (("send", {"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}), ("send", delayed), ("time", {"millis": 2500}))
    first, other = (performed(name, tmp_path / name, [Program(1, "test", steps)])[1].history for name in ("P45", "P49"))
    (found,) = [each for each in compare(first, other) if each.field == "content"]
    assert (found.recorded, found.found) == ("a record in RMQ_SYS_TRANS_HALF_TOPIC, for RMQ_SYS_TRANS_HALF_TOPIC", "none")
    (bug,) = chosen(["A24"])
    cause = cause_of(found, first)
    assert bug.matches(cause.about, f"{found.where} {cause}")
    assert not bug.matches(cause.about, "record.content is a record in RMQ_SYS_TRANS_HALF_TOPIC, for # and not none")


@pytest.mark.slow
def test_command_finds_and_shrinks_difference_of_switch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ("send", {"topic": "A"})
    programs = [
        Program(1, "test", (plain, ("send", {"topic": "x" * 128, "body": "b"}))),
        Program(2, "test", (("send", {"topic": "B", "items": [["a", {"KEYS": "k"}]]}), plain)),
        Program(3, "test", (plain,)),
    ]
    monkeypatch.setattr(against, "_programs", lambda request: programs)
    folder, file = tmp_path / "report", tmp_path / "differences.json"
    command = ["compare", "inprocess:P533", "inprocess:P540", "--report", str(folder), "--json", str(file)]
    assert run(command) == 1
    data = json.loads(file.read_text("utf-8"))
    Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(data)
    assert data == json.loads((folder / against.REPORT).read_text("utf-8"))
    remark, stored = sorted(data["differences"], key=lambda row: "send.remark" != row["about"])
    assert (remark["about"], remark["steps"], remark["also"]) == ("send.remark", [["send", {"topic": "x" * 128}]], [])
    assert {"record.property CLUSTER", "record.property MSG_REGION"} <= {stored["about"], *stored["also"]}
    assert (stored["rules"], stored["again"], len(stored["steps"])) == (["BAT-03", "BAT-04"], True, 1)
    assert (data["programs"], data["compared"], data["exit"]) == (3, 3, 1)
    assert "inprocess:P540 against inprocess:P533" in capsys.readouterr().out


def test_program_with_awaited_response_is_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs are not shrunk."""
    batch = ("send", {"topic": "B", "items": [["a", {"KEYS": "k"}]]})
    programs = [Program(1, "test", (("send", {"topic": "x" * 128, "body": "b"}),)), Program(2, "test", (("send", {}), batch))]
    monkeypatch.setattr(against, "_programs", lambda request: programs)
    both = InProcess("P533"), InProcess("P540")
    found = against.against(
        against.AgainstRequest(*both, tmp_path, until=lambda difference: difference.cause.about == "record.property CLUSTER", seconds=60)
    )
    assert found.enough is not None and found.seen is not None and found.seen < found.seconds
    assert found.enough.again and [args.keys() for _, args in found.enough.program.steps] == [{"items"}]
    assert {difference.again for difference in found.differing if difference.cause.about == "send.remark"} == {None}
    (bug,) = chosen(["A7"])
    searched = compared(bug, "bad", "4.6.0", tmp_path, found)
    assert (searched.steps, searched.seconds, searched.programs) == (1, found.seen, 2)


def test_findings_before_interruption_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(against, "_programs", lambda request: [Program(1, "test", (("send", {"topic": "x" * 128}),))])
    monkeypatch.setattr(against, "_round", interrupted)
    folder = tmp_path / "report"
    assert run(["compare", "inprocess:P533", "inprocess:P540", "--report", str(folder)]) == 1
    data = json.loads((folder / against.REPORT).read_text("utf-8"))
    assert (data["stopped"], [row["about"] for row in data["differences"]]) == ("Ctrl-C", ["send.remark"])
    assert "stopped: Ctrl-C" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("done_again", "said", "code"),
    [
        (lambda both, programs, progress: iter(()), None, 1),
        (lambda both, programs, progress: PERFORMED((both[0], both[0]), programs, progress), False, 3),
    ],
    ids=["there was no time", "it did not come again"],
)
def test_difference_not_repeated_is_not_reported_as_gone(
    done_again: Callable[..., object], said: bool | None, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter((PERFORMED, done_again))
    monkeypatch.setattr(against, "_programs", lambda request: [Program(1, "test", (("send", {"topic": "x" * 128}),))])
    monkeypatch.setattr(against, "_performed", lambda *given: next(rounds)(*given))
    folder = tmp_path / "report"
    assert run(["compare", "inprocess:P533", "inprocess:P540", "--report", str(folder)]) == code
    (row,) = json.loads((folder / against.REPORT).read_text("utf-8"))["differences"]
    assert row["again"] is said


def test_unresponsive_broker_is_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each such program the broker is probed; if it does not serve, the next program gets another one."""
    opened: list[str] = []
    open_ = InProcess.open

    def counted(self: InProcess, *given: object) -> object:
        opened.append(self.name)
        return open_(self, *given)  # type: ignore[arg-type]

    answers = iter((False, True, True))
    monkeypatch.setattr(InProcess, "open", counted)
    monkeypatch.setattr(staging, "serves", lambda runner: next(answers))
    programs = others(EDGES, 3, 1, 1)
    assert all(one.source == EDGES for one in programs)
    assert sorted(performed("P533", tmp_path, programs)) == [1, 2, 3]
    assert len(opened) == 2


def test_broker_that_serves_is_known(tmp_path: Path) -> None:
    with InProcess("P494").open() as running:
        runner = Runner(running, tmp_path, {"profile": "P494"}, Bounds(1), "r000000-")
        try:
            assert serves(runner)
        finally:
            runner.close()


@pytest.mark.parametrize("given", [["--self-test"], ["--again", "x"], ["--level"]])
def test_against_takes_only_target(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--against", "inprocess:P494", *given]) == 2
    assert "rocketproof: --" in capsys.readouterr().err


def test_wrong_target_is_reported_by_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--against", "what", "--target", "inprocess:P494"]) == 2
    assert "rocketproof: --against what: " in capsys.readouterr().err
    assert run(["compare", "what", "inprocess:P494"]) == 2
    assert "rocketproof: compare what: " in capsys.readouterr().err


def test_validate_still_compares(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(validating, "_compare", lambda targets, options, programs, *more: compared.append((targets, programs)) or 0)
    assert run(["validate", "--against", "inprocess:P533", "--target", "inprocess:P540", "--programs", "7"]) == 0
    assert compared == [(("inprocess:P533", "inprocess:P540"), 7)]
    assert "rocketproof: --against is now the command `rocketproof compare`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "odd"),
    [
        (["127.0.0.1:10911"], "an address"),
        (["--profile", "P45"], "--profile"),
        (["--faults", "kill:2"], "--faults"),
        (["--report", "junit:x.xml"], "--report junit:x.xml"),
    ],
)
def test_against_refuses_judging_options(given: list[str], odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--against", "inprocess:P494", "--target", "inprocess:P533", *given]) == 2
    assert f"rocketproof: {odd} with --against: two targets are compared" in capsys.readouterr().err
