"""A faultless target on a connection that loses, garbles and doubles frames: no finding, and the report names hidden data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from faultproxy import LOST, Fault, FaultProxy, FaultyTarget
from rocketproof_properties.brokers.address import AddressTarget
from rocketproof_properties.brokers.deployment import Deployment, TargetError, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client, performing, readback, runner, transport
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.readback import LATE, Reader, late_ends, read_back
from rocketproof_properties.brokers.runs.recording import answer_data
from rocketproof_properties.brokers.runs.runner import Bounds, Gone, Runner
from rocketproof_properties.conformance.witnesses.known import WITNESSES, replay
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.verdicts import JudgedProgram, ProgramFinding
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation import stores
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.confirm import repetitions
from rocketproof_properties.validation.faults.found import FaultTests
from rocketproof_properties.validation.faults.store import PromisedStore
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.show import render
from rocketproof_properties.validation.validate import ValidationRequest, mark, validate
from rocketproof_protocol import codes
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_traces.history import Event

PROFILE = "P494"
SEND: Step = ("send", {"topic": "A", "body": "hello"})
DELAYED: Step = ("send", {"topic": "A", "body": "later", "properties": {"DELAY": "18"}})
KINDS = {
    Fault.CLOSE_BEFORE: transport.CLOSED,
    Fault.CLOSE_AFTER: transport.CLOSED,
    Fault.CLOSE_INSIDE: transport.CLOSED,
    Fault.GARBAGE: transport.UNREADABLE,
    Fault.UNREADABLE: transport.UNREADABLE,
    Fault.HALF: transport.SILENT,
    Fault.SILENT: transport.SILENT,
    Fault.TWICE: transport.TWICE,
    Fault.DOUBLED: transport.TWICE,
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PATIENCE", 1.5)
    monkeypatch.setattr(readback, "SECONDS", 3.0)
    monkeypatch.setattr(runner, "AWAY", 3.0)


@pytest.fixture(scope="module")
def faultless() -> Iterator[Deployment]:
    with InProcess(PROFILE).open() as made:
        yield made


Perform = Callable[..., tuple[JudgedProgram, Runner]]


@pytest.fixture
def performed(faultless: Deployment, tmp_path: Path) -> Iterator[Perform]:
    """Perform programs through a proxy whose faults begin once the runner has started."""
    closing: list[Runner | FaultProxy] = []

    def perform(steps: tuple[Step, ...], *, at: Mapping[int, Fault]) -> tuple[JudgedProgram, Runner]:
        (address,) = faultless.brokers.values()
        begun = 4  # to know the broker, its version and its settings
        proxy = FaultProxy(address, at={begun + number: fault for number, fault in at.items()})
        running = AddressTarget([proxy.address], profile=PROFILE).open()
        made = Runner(running, tmp_path, {"profile": PROFILE}, Bounds(1), mark())
        closing.extend((made, proxy))
        return judge_file(made.perform(Program(1, "plain messages", steps)), PROFILE), made

    yield perform
    for resource in closing:
        resource.close()


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("number", [1, 2])
def test_request_of_unknown_outcome_is_no_finding(performed: Perform, fault: Fault, number: int) -> None:
    judged, _ = performed((SEND, SEND, ("send", {"topic": "B"})), at={number: fault})
    assert [str(finding) for finding in judged.findings] == []
    assert [(fault.kind, fault.at) for fault in judged.faults] == [(KINDS[fault], f"client 0, request {number} (send)")]
    assert {finding.at for finding in judged.unconfirmed} <= {fault.at for fault in judged.faults}
    assert "INV-34.records" not in judged.claims, "nobody knows what the queue holds"


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.CLOSE_AFTER, Fault.CLOSE_BEFORE], ids=lambda fault: fault.name)
def test_messages_after_lost_connection_use_another_port(performed: Perform, fault: Fault) -> None:
    """The second or third one-way send detects that the connection has ended, and no response reveals it."""
    alone: Step = ("send", {"topic": "A", "one_way": True})
    judged, _ = performed((SEND, alone, alone, alone, SEND), at={2: fault})
    assert [str(finding) for finding in judged.findings] == []
    assert (transport.CLOSED, "send") in [(fault.kind, fault.op) for fault in judged.faults]


def test_messages_after_lost_wait_use_another_port(performed: Perform) -> None:
    """Another client's request closes all connections; the client that awaits consumer changes detects that."""
    meet: Step = ("meet", {})
    other: Step = ("send", {"topic": "A", "one_way": True, "client": 1})
    judged, _ = performed((SEND, meet, other, meet, ("notified", {}), meet, SEND), at={2: Fault.REFUSED})
    (told,) = (one.value for one in load(judged.path).items if isinstance(one, Event) and one.op == "notified")
    assert "ConnectionLost" in told["error"]
    assert [str(finding) for finding in judged.findings] == []


@pytest.mark.parametrize("name", ["delete", "topic"])
def test_change_that_names_no_topic_may_be_lost(performed: Perform, name: str) -> None:
    judged, _ = performed((SEND, (name, {"topic": "A", "without": "topic"}), SEND), at={3 if name == "delete" else 2: Fault.SILENT})
    assert [str(finding) for finding in judged.findings] == []
    assert any(fault.leaves_doubt for fault in judged.faults)


def test_unsolicited_requests_are_not_judged_after_lost_responses(performed: Perform) -> None:
    half: Step = ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})
    steps = (("heartbeat", {"group": "producers"}), half, SEND, ("question", {}))
    judged, _ = performed(steps, at={3: Fault.SILENT})
    assert [str(finding) for finding in judged.findings] == [] and "AUX-33.asked" not in judged.claims


@pytest.mark.parametrize("fault", [*LOST, Fault.REFUSED], ids=lambda fault: fault.name)
def test_second_query_reveals_effects_of_lost_response(performed: Perform, fault: Fault) -> None:
    """The first lost responses are those to the queries of topics and the message."""
    judged, _ = performed((SEND,), at={2: fault, 4: fault})
    assert [str(finding) for finding in judged.findings] == []
    assert {fault.at for fault in judged.faults} == {transport.READING}
    assert not any(fault.leaves_doubt for fault in judged.faults)
    assert judged.claims["INV-34.records"][0] and judged.claims["INV-06.records"][0]


def test_response_with_other_field_counts_as_seen(performed: Perform) -> None:
    judged, _ = performed((SEND, SEND), at={2: Fault.CHANGED})
    assert judged.findings and not judged.faults


def test_unreadable_data_is_unknown_not_empty(faultless: Deployment) -> None:
    (address,) = faultless.brokers.values()
    of = {codes.GET_MAX_OFFSET: Fault.CLOSE_AFTER, codes.GET_ALL_TOPIC_CONFIG: Fault.GARBAGE, codes.GET_BROKER_CONFIG: Fault.HALF}
    with FaultProxy(address, of=of) as proxy:
        reader = Reader(_Behind(faultless, proxy.address), "broker-a")
        assert reader.next_offset("A", 0) is None
        assert reader.topics() is None
        assert reader.settings() is None
        assert set(late_ends(reader)) == {None}
        assert reader.view(0) is not None
        faults, missed = reader.take()
        reader.close()
    assert missed[0] == "max_offset A 0" and len(faults) >= len(missed)


class _Behind(Deployment):
    """The same brokers at another address."""

    def __init__(self, inner: Deployment, address: str) -> None:
        self.name, self.offers, self.name_server = inner.name, inner.offers, None
        self.brokers = dict.fromkeys(inner.brokers, address)

    def close(self) -> None:
        """Nothing was begun."""


def test_records_of_earlier_run_are_never_own(faultless: Deployment, tmp_path: Path) -> None:
    """Both runs delay messages in a shared topic; the second run does not know its earlier end."""
    found = []
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        made = Runner(faultless, tmp_path / run, {"profile": PROFILE}, Bounds(1), mark())
        under_way = made.begin(Program(1, "messages with a delay", (DELAYED,)))
        performing.perform(under_way.program.steps, under_way.clients, lambda: False)
        if run == "second":
            under_way.before = [0] * len(LATE)  # worse than unknown: what the levels hold is read from their start
        made.end(under_way)
        under_way.close()
        made.close()
        found.append(load(under_way.path))
        assert [str(finding) for finding in judge_file(under_way.path, PROFILE).findings] == []
    assert [len(log.records) for log in found] == [1, 1]
    first, second = found
    assert not first.records.keys() & second.records.keys()


def test_queue_with_unknown_end_is_not_read_from_start(faultless: Deployment) -> None:
    pulled: list[str] = []

    class Watched(Reader):
        def pull(self, topic: str, queue: int, start: int, end: int) -> Iterator[bytes]:
            pulled.append(topic)
            return super().pull(topic, queue, start, end)

    def queues(before: readback.Ends) -> object:
        reader = Watched(faultless, "broker-a")
        seen = dict(read_back(reader, ProgramNames("r000000-1-", 1), [], [], before, range(1), 0))
        reader.close()
        return seen["queues"]

    assert queues([None] * len(LATE)) == {"queues": [], "pulled": False} and pulled == []
    assert queues([0] * len(LATE)) == {"queues": [], "pulled": True} and set(pulled) == {SCHEDULE, HALF_TOPIC}


def test_two_runs_have_no_time_of_birth_in_common(faultless: Deployment, tmp_path: Path) -> None:
    births = []
    for run in range(20):
        made = Runner(faultless, tmp_path / str(run), {}, Bounds(1), f"r{run:06x}-")
        first, last = (Context(made._names(number, "broker-a"), "broker-a").births for number in (1, 500))
        births.append(range(first.start, last.stop))
        made.close()
    assert all(birth.stop <= other.start or other.stop <= birth.start for birth in births for other in births if birth is not other)
    assert min(birth.start for birth in births) > 0


def test_broker_without_reported_settings_cannot_be_judged(faultless: Deployment, tmp_path: Path) -> None:
    (address,) = faultless.brokers.values()
    with (
        FaultProxy(address, of={codes.GET_BROKER_CONFIG: Fault.CLOSE_AFTER}) as proxy,
        pytest.raises(Gone, match="did not tell its settings"),
    ):
        Runner(_Behind(faultless, proxy.address), tmp_path, {"profile": PROFILE}, Bounds(1), mark())


# Whole validations


def run(target: ValidationTarget, folder: Path, programs: int, seed: int, shrink: float = 0) -> ValidationReport:
    return validate(ValidationRequest(target, folder, programs, seed, shrink=shrink))


def accusations(found: ValidationReport) -> list[str]:
    return [f"{finding.verdict.property}: {finding.verdict.text}" for finding in found.findings] + [row.id for row in found.vanished]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("fault", "properties"),
    [(Fault.CLOSE_AFTER, {"send_back.answer"}), (Fault.DOUBLED, {"INV-01", "INV-02"})],
    ids=["never answered", "always twice"],
)
def test_broker_never_answering_one_request_is_found(tmp_path: Path, fault: Fault, properties: set[str]) -> None:
    target = FaultyTarget(InProcess(PROFILE), of={codes.CONSUMER_SEND_MSG_BACK: fault})
    result = run(target, tmp_path / "r", 8, 3)
    assert {finding.verdict.property for finding in result.open} == properties
    assert all(finding.reproduced and "(send_back)" in finding.verdict.at for finding in result.open)
    assert result.exit_code == 1
    anew = again(tmp_path / "r", None, ())
    assert {finding.verdict.property for finding in anew.open} == {finding.verdict.property for finding in result.open}


@pytest.mark.nightly
def test_unconfirmed_finding_is_reported_as_unconfirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single response of the run has another remark."""
    left = iter([True])
    monkeypatch.setattr(client, "answer_data", lambda answer: answer_data(answer) | ({"remark": "once"} if next(left, False) else {}))
    result = run(InProcess(PROFILE), tmp_path / "r", 4, 3, shrink=2)
    assert result.findings and result.open == [] and result.exit_code == 3
    (finding,) = result.not_seen_again
    assert (finding.again, finding.reproduced, finding.record()["reproduced"]) == (0, False, False)
    render(result, tmp_path / "r")
    said = capsys.readouterr().out
    assert "? not reproduced 1: " in said and "no finding, 1 not reproduced" in said
    assert "not reproduced in" in (tmp_path / "r" / "junit.xml").read_text()
    assert again(tmp_path / "r", None, ()).exit_code == 3


@pytest.mark.nightly
def test_witness_with_lost_responses_is_not_judged(tmp_path: Path) -> None:
    """Each response to the query of topics is lost, also in the repetition."""
    target = FaultyTarget(InProcess(PROFILE), of={codes.GET_ALL_TOPIC_CONFIG: Fault.CLOSE_AFTER})
    (wanted,) = (witness for witness in WITNESSES if witness.hazard == "HAZ-02")
    replayed = replay(target, wanted, mark())
    assert replayed.reproduced is None
    assert "closed the connection" in replayed.said[-1]


def test_unreadable_data_after_kill_is_not_missing(faultless: Deployment, tmp_path: Path) -> None:
    faults = FaultTests("kill")
    gone = _Behind(faultless, "127.0.0.1:9")  # the port of discard, without a listener
    store = PromisedStore(gone, PROFILE, random.Random(0), faults, tmp_path)
    assert store.missing("topics", {"T"}) == []
    assert list(store.wrong_next_offsets({("T", 0): 1})) == []
    assert [message.partition(": ")[2].partition(":")[0] for message in faults.unknown] == ["topics", "next offset"]
    report = ValidationReport({}, PROFILE, 0, 1, judged=[JudgedProgram(1, tmp_path, "", frozenset())])
    assert report.exit_code == 0
    report.faults.append(faults)
    assert report.exit_code == 3


def test_response_without_position_is_finding_after_kill(faultless: Deployment, tmp_path: Path) -> None:
    faults = FaultTests("kill")
    store = PromisedStore(faultless, PROFILE, random.Random(0), faults, tmp_path)
    store.where = "kill 1"
    assert store.remember({"topic": "T"}, {"msgId": "?", "queueId": "0", "queueOffset": "0"}, b"") is None
    assert faults.findings == ["kill 1: place: an answer names none: {'msgId': '?', 'queueId': '0', 'queueOffset': '0'}"]


def test_probe_retries_after_lost_connection(faultless: Deployment) -> None:
    (address,) = faultless.brokers.values()
    with FaultProxy(address, at={1: Fault.CLOSE_AFTER, 2: Fault.GARBAGE, 4: Fault.CLOSE_INSIDE}) as proxy:
        with AddressTarget([proxy.address], profile=PROFILE).open() as running:
            assert running.brokers == {"broker-a": proxy.address}
        assert len(proxy.happened) == 3


@pytest.mark.nightly
def test_target_failing_after_programs_keeps_their_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bool:
        raise TargetError("the files are gone")

    monkeypatch.setattr(stores, "record", refuse)
    result = run(InProcess(PROFILE), tmp_path / "r", 3, 3)
    assert (result.stopped, result.exit_code, len(result.judged)) == ("the files are gone", 3, 3)


@pytest.mark.parametrize(("lost", "wanted", "times"), [(0, 10**8, 3), (0, 200, 4), (6, 200, 5), (60, 200, 14), (200, 200, 20)])
def test_lossier_connection_requires_more_repeated_losses(lost: int, wanted: int, times: int) -> None:
    """Only requests of other kinds count: a broker that answers no send-back shows nothing about the connection."""
    back = transport.TransportFault(transport.SILENT, "client 0, request 2 (send_back)", 3, "", "send_back")
    others = [
        transport.TransportFault(transport.SILENT, f"client 0, request {number} (send)", number, "", "send") for number in range(lost)
    ]
    judged = JudgedProgram(1, Path(), "", frozenset(), faults=(back, *others), wanted=Counter(send=wanted, send_back=50))
    verdict = ProgramFinding("claims", "INV-01", "", at=back.at)
    assert repetitions([judged], judged, verdict) == times
