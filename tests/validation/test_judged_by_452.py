"""Programs on a broker as 4.5.2 is, judged: what releases before 4.7 do with flags, names and administrators is no finding."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from proportion import few
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.claimhistory import claim_histories
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.readback import Reader
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.catalogue.conditions import BATCHED, GIVEN_UP, MOVED, REGISTERED
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs import program as programs
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation.validate import mark
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.flags import BORN_IPV6

LONG = "x" * 128


def performed(steps: tuple[Step, ...], folder: Path, source: str = "", profile: str = "P452") -> Path:
    """Return the history of a program on a broker of a profile, by default P452."""
    with InProcess(profile).open() as running:
        runner = Runner(running, folder, {"profile": profile}, Bounds(1), mark(), clean=True)
        try:
            ((_, path),) = runner.run([Program(1, source, steps)])
        finally:
            runner.close()
    return path


def found(path: Path, profile: str) -> set[str]:
    """Return the findings under this profile, by property."""
    return {finding.property for finding in judge_file(path, profile).findings}


def left(profile: str, step: Step) -> bool:
    """Return whether the programs of a profile keep the step."""
    return step in programs._sparing((step,), PROFILES[profile])


@pytest.mark.behaviour("APP-08", "INV-06", "INV-43")
def test_client_may_set_long_host_flag_with_usual_record(tmp_path: Path) -> None:
    path = performed((("send", {"sys_flag": BORN_IPV6}), ("send", {"topic": "B"})), tmp_path)
    assert found(path, "P452") == set()
    for profile, records in (("P452", 2), ("P471", 1)):
        (log,) = claim_histories(load(path), PROFILES[profile]).whole.logs.values()
        assert len(log.records) == records


@pytest.mark.behaviour("TCM-30", "TCM-31")
def test_administrator_changes_and_deletes_topic_with_too_long_name(tmp_path: Path) -> None:
    path = performed((("topic", {"topic": LONG}), ("send", {"topic": LONG}), ("delete", {"topic": LONG})), tmp_path)
    assert found(path, "P452") == set()
    assert "specification.update_topic" in found(path, "P45")


@pytest.mark.behaviour("TCM-30", "TCM-31")
def test_refusal_of_too_long_name_is_found(tmp_path: Path) -> None:
    path = performed((("topic", {"topic": LONG}),), tmp_path)
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for event in events:
        if (event["type"], event.get("op")) == ("ok", "update_topic"):
            event["value"]["code"] = 1
    path.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    assert "specification.update_topic" in found(path, "P452")


@pytest.mark.parametrize(("profile", "seen"), few([("P452", False), ("P494", True), ("P491", False)], 2))
@pytest.mark.behaviour("DLQ-04", "INV-50")
def test_unreadable_dead_letters_make_messages_unverifiable(profile: str, seen: bool, tmp_path: Path) -> None:
    path = performed((("send", {}), ("back", {"level": -1})), tmp_path, GIVEN_UP)
    assert (GIVEN_UP in judge_file(path, profile).conditions) is seen


@pytest.mark.slow
@pytest.mark.behaviour("PERM-02", "REM-05")
def test_requests_unserved_by_name_server_are_not_awaited() -> None:
    def given(profile: str) -> int:
        programs = generate(ProgramOptions(profile, 500, seed=7))
        return sum(name == "permit_writes" and bool(args.get("permitted")) for program in programs for name, args in program.steps)

    assert given("P492") > 0
    assert given("P491") == given("P452") == 0


@pytest.mark.behaviour("PERM-02", "REM-05")
def test_permission_is_queried_only_on_name_servers_serving_it() -> None:
    step = ("permit_writes", {"permitted": True})
    assert left("P492", step) and not left("P491", step) and not left("P452", step)
    assert left("P491", ("permit_writes", {"permitted": False}))


@pytest.mark.behaviour("INV-48", "BACK-12")
def test_waiting_retry_does_not_belong_to_exhausted_send_back() -> None:
    """A real 4.4.0 was wrongly reported: its dead letter is unreadable, so that the judge took the next record for it."""
    path = Path(__file__).parents[1] / "data" / "history-4.4.0-given-up.ndjson.gz"
    assert found(path, "P440") == set()
    rebuilt = claim_histories(load(path), PROFILES["P440"]).whole
    (retried,) = (one for one in rebuilt.exchanges if one.request.kind == "send_back" and one.stored)
    assert (retried.request.delay_level, retried.request.version) == (1, 120)


@pytest.mark.behaviour("STO-02", "CHK-04")
@pytest.mark.parametrize(("length", "code", "judged"), [(127, SUCCESS, True), (128, MESSAGE_ILLEGAL, False)])
def test_only_store_refuses_long_retry_topic_name(length: int, code: int, judged: bool, tmp_path: Path) -> None:
    """A real 4.5.1 was wrongly reported: the specification has no retry topic with a too long name."""
    path = performed((("group", {"group": "g"}), ("send", {"topic": "%RETRY%" + "g" * (length - len("%RETRY%"))})), tmp_path)
    assert found(path, "P452") == set()
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    (told,) = [event for event in events if event.get("op") == "send" and event["type"] == "ok"]
    (asked,) = [event for event in events if event.get("op") == "send" and event["type"] == "invoke"]
    assert (len(asked["value"]["fields"]["topic"]), told["value"]["code"]) == (length, code)
    told["value"] |= {"code": MESSAGE_ILLEGAL if judged else SYSTEM_ERROR, "fields": {}}
    path.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    assert ("specification.send" in found(path, "P452")) is judged


@pytest.mark.behaviour("NS-02", "INV-60")
@pytest.mark.parametrize(
    ("other", "moved"), [({"broker_id": 1}, True), ({"address": "10.0.0.2:1"}, False), ({"name": "broker-y", "broker_id": 1}, False)]
)
def test_address_under_two_ids_is_known_for_440(other: dict[str, object], moved: bool, tmp_path: Path) -> None:
    first = {"name": "broker-x", "address": "10.0.0.1:1", "broker_id": 0, "topics": {"A": (4, 4, 6)}}
    steps: tuple[Step, ...] = (("register", first), ("register", {**first, **other}), ("route", {}))
    with InProcess("P440").open() as running:
        runner = Runner(running, tmp_path, {}, Bounds(1), mark(), clean=True)
        try:
            ((_, path),) = runner.run([Program(1, REGISTERED, steps)])
        finally:
            runner.close()
    judged = judge_file(path, "P440")
    assert (MOVED in judged.conditions) is moved
    assert [(one.property, one.known) for one in judged.deviations if one.property == "INV-60"] == [("INV-60", True)] * moved
    assert judged.claims["INV-60"][1] == ("violated" if moved else "holds")
    assert ("INV-60" in found(path, "P452")) is moved


@pytest.mark.behaviour("REC-04", "INV-51")
def test_dead_letter_is_searched_when_later_record_is_dispatched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy 4.8.0 was wrongly reported: it dispatched after three seconds, but the judge read the dead letter's queue at once."""
    asked: Counter[str] = Counter()
    dispatched = Reader.next_offset

    def late(self: Reader, topic: str, queue: int, refused: int | None = None) -> int | None:
        asked[topic[-2:]] += 1
        return dispatched(self, topic, queue, refused) if asked["-B"] > 2 else 0

    monkeypatch.setattr(Reader, "next_offset", late)
    path = performed((("send", {}), ("back", {"level": -1}), ("send", {"topic": "B"})), tmp_path, GIVEN_UP)
    ends = {topic.partition("%r")[0]: end for topic, queue, end, _ in load(path).states["queues"]["queues"] if queue == 0}
    assert ends["%DLQ"] == 1
    assert found(path, "P452") == set()


@pytest.mark.behaviour("TRX-02", "REM-05")
def test_release_without_half_messages_has_no_transaction_ends() -> None:
    step = ("end", {})
    assert left("P40", step) and left("P432", step) and not left("P420", step)
    assert "end" not in {name for program in generate(ProgramOptions("P420", 60, seed=7)) for name, _ in program.steps}


@pytest.mark.slow
@pytest.mark.behaviour("NS-09")
def test_name_server_of_42_gets_no_version_query() -> None:
    def asked(profile: str) -> int:
        return sum(name == "has_to_register" for program in generate(ProgramOptions(profile, 500, seed=7)) for name, _ in program.steps)

    assert asked("P432") > asked("P420") == 0


@pytest.mark.behaviour("NS-09")
def test_name_servers_knowing_versions_are_queried() -> None:
    step = ("has_to_register", {"version": 1})
    assert left("P432", step) and not left("P420", step)


@pytest.mark.behaviour("SEND-22", "TCM-10")
def test_one_way_send_may_be_checked_late_in_negative_queue() -> None:
    """A real 4.7.1 was wrongly reported: it answered that the topic is missing, created it a moment later, and drew an unreadable queue."""
    path = Path(__file__).parents[1] / "data" / "history-4.7.1-late-check.ndjson.gz"
    assert found(path, "P471") == set()


@pytest.mark.behaviour("CL-02", "SEND-22")
@pytest.mark.parametrize("shared", [True, False])
def test_waiting_message_draws_among_queues_another_program_may_have_set(shared: bool, tmp_path: Path) -> None:
    """A real 4.5.1 was wrongly reported: the topic "" had more queues than this program requests."""
    path = Path(__file__).parents[1] / "data" / "history-4.5.1-shared-delayed.ndjson.gz"
    if not shared:
        data = gzip.decompress(path.read_bytes())
        path = tmp_path / "history.ndjson"
        path.write_bytes(data.replace(b'"topic": "", ', b'"topic": "r68fecc-217-B", '))
    assert found(path, "P452") == (set() if shared else {"send.queueId", "specification.send"})


@pytest.mark.behaviour("SEND-22", "HAZ-42")
def test_schedule_topic_queue_is_drawn_among_queues_another_program_set() -> None:
    assert found(Path(__file__).parents[1] / "data" / "history-4.5.1-drawn-schedule.ndjson.gz", "P452") == set()


@pytest.mark.behaviour("SEND-42", "INV-01", "INV-02")
def test_batch_answered_twice_is_known_only_for_4_1(tmp_path: Path) -> None:
    path = performed((("send", {"items": [("a", {}), ("b", {})]}), ("send", {})), tmp_path, profile="P410")
    judged = judge_file(path, "P410")
    assert {(one.property, one.condition) for one in judged.deviations} == {("INV-01", BATCHED), ("INV-02", BATCHED)}
    assert (judged.findings, judged.unconfirmed) == ([], [])
    assert {finding.property for finding in judge_file(path, "P420").unconfirmed} == {"INV-01", "INV-02"}


@pytest.mark.parametrize(("profile", "template"), [("P430", "AUTO_CREATE_TOPIC_KEY"), ("P432", "TBW102")])
@pytest.mark.behaviour("TCM-13")
def test_program_names_template_as_release_calls_it(profile: str, template: str, tmp_path: Path) -> None:
    steps: tuple[Step, ...] = (("send", {}), ("send", {"topic": "B", "default": "nowhere"}), ("send", {"topic": "TBW102"}))
    path = performed(steps, tmp_path, profile=profile)
    sends = [exchange.fields for exchange in load(path).exchanges if exchange.op == "send"]
    assert [(send["defaultTopic"], send["topic"] == template) for send in sends][::2] == [(template, False), (template, True)]
    assert found(path, profile) == set()
    assert "send.code" in found(path, "P432" if profile == "P430" else "P430")
