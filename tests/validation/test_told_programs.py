"""Programs that query a name server and register consumers at a broker: correct responses give no finding, and wrong ones do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from performing import judged, performed, profile_of

from proportion import few
from rocketproof_impl import nameserver
from rocketproof_impl.broker import inspection, sending, settingstext, transaction
from rocketproof_impl.broker.clients import ConsumerGroupInfo, ConsumerManager
from rocketproof_impl.broker.heartbeat import ClientManageProcessor
from rocketproof_impl.broker.hold import PullRequestHoldService
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.broker.transactioncheck import HalfQueueRound
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.remoting import headers
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import batch
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_lab.mutation.patch import Text, prepare
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.recording import KEPT
from rocketproof_properties.catalogue import conditions as about
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.boundaries import BOUNDARIES
from rocketproof_properties.programs.pool import PHRASES
from rocketproof_properties.programs.settings import ASKED, ENDED, STARTED
from rocketproof_properties.programs.vocabulary import EVERY, Step, plain
from rocketproof_protocol.codes import CHECK_TRANSACTION_STATE
from rocketproof_traces.history import Event

ARRIVING = PullRequestHoldService.arriving
WRONG: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "a version that a broker has": (NameServer, "is_topic_config_changed", lambda *_: True),
    "a broker on another connection": (NameServer, "channel_closed", lambda *of: left(*of)),
    "two requests to commit at once": (ConsumerOffsetManager, "commit", lambda *_: None),
    "two requests to topic at once": (inspection, "table_to_data", lambda *of: nameless(*of)),
    "write permission in a name server": (NameServer, "_change_perm", lambda *_: 0),
    "a topic that a name server forgets": (NameServer, "delete_topic", lambda *_: None),
    "brokers and clusters": (nameserver, "broker_to_data", lambda broker: {"brokerName": broker.broker_name, "brokerAddrs": {}}),
    "a value that a name server keeps": (nameserver, "_kv_table", lambda *_: b'{"table":{"k":"v"}}'),
    "what a consumer has subscribed to": (ConsumerGroupInfo, "update_subscriptions", lambda *_: False),
    "progress of a deleted group": (ConsumerOffsetManager, "remove", lambda *_: None),
    "a pull that waits for its tag": (PullRequestHoldService, "arriving", lambda self, *queue: ARRIVING(self, *queue[:-1], None)),
    "a pull whose client is gone": (PullRequestHoldService, "channel_closed", lambda self, _: self.held.clear()),
    "the end of a half message of no group": (transaction, "check_prepare_message", lambda *_: "The producer group wrong"),
    "comments among settings": (settingstext, "properties_of", lambda text: {text[len(text)]: ""}),
    "a topic changed": (inspection, "table_to_data", lambda *of: nameless(*of)),
    "consumers that are told of each other": (ClientManageProcessor, "_notify", lambda *_: None),
    "a consumer whose connection is closed": (ConsumerManager, "channel_closed", lambda *_: {}),
    "a batch that ends early": (batch, "_properties", lambda data, at, length: (data[at : at + length], at + length)),
}


def left(server: NameServer, _: object) -> None:
    """Remove a broker with every connection of its address that is closed, whether it has registered over another one since or not."""
    for who in [who for who in server.broker_live_table if "10.0.0.4" in str(who)]:
        server.remove(who)


BOUND = {"a pull that waits for its tag"}
"""The changes of methods that a broker binds when it starts."""


def nameless(table: dict[str, TopicConfig], version: DataVersion) -> dict[str, Any]:
    """The topics, none of which states its name."""
    found = table_to_data(table, version)
    for config in found["topicConfigTable"].values():
        del config["topicName"]
    return found


def ordinary(name: str) -> list[Step]:
    (phrase,) = (phrase for phrase in PHRASES if phrase.name == name)
    return [(kind, {key: of[0] for key, of in values.items()}) for kind, values in phrase.steps]


@pytest.fixture(scope="module", params=["P494", "P533"])
def running(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    with InProcess(request.param).open() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WRONG, "a subscription that changes", "no broadcast", "a pull whose time is over"])
def test_correct_programs_have_no_findings(name: str, running: Deployment, tmp_path: Path) -> None:
    found = judged(running, tmp_path, *ordinary(name))
    assert "reference" in found.by and not found.findings and not found.unconfirmed


@pytest.mark.parametrize("name", few(WRONG, 3))
def test_wrong_responses_are_found(name: str, running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, otherwise = WRONG[name]
    with monkeypatch.context() as changed:
        changed.setattr(owner, attribute, otherwise)
        with InProcess(profile_of(running)).open() if name in BOUND else nullcontext(running) as broker:
            path = performed(broker, tmp_path, *ordinary(name))
    judged = judge_file(path, profile_of(running))
    assert [*judged.findings, *judged.unconfirmed]


def test_queue_that_is_no_number_is_found(running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half = {"TRAN_MSG": "true", "PGROUP": "producers"}
    with monkeypatch.context() as changed:
        changed.setattr(sending, "queue_id_of", lambda *_: None)
        path = performed(running, tmp_path, ("send", {"queue": -1}), ("send", {"queue": -1, "properties": half}))
    assert judge_file(path, profile_of(running)).deviations


@pytest.mark.parametrize("asking_", [("pull", {}), ("find", {"key": "k"})], ids=["by its place", "by its key"])
def test_record_too_large_to_write_is_pulled_and_found(asking_: Step, running: Deployment, tmp_path: Path) -> None:
    """Its replacement in a history is not a record."""
    large = ("send", {"size": 2 * KEPT, "queue": 0, "properties": {"KEYS": "k"}})
    found = judged(running, tmp_path, large, asking_)
    assert "reference" in found.by and not found.findings and not found.unconfirmed


LACKING = [phrase for phrase in PHRASES if any(EVERY in values.get("without", ()) for _, values in phrase.steps)]


def without_any_field() -> list[Step]:
    """Return the requests of all phrases without their fields."""
    return [(kind, {**args, "without": EVERY}) for step in LACKING for kind, args in ordinary(step.name) if "without" in args]


def test_request_without_fields_is_answered_like_reference(running: Deployment, tmp_path: Path) -> None:
    assert plain("max_offset", without=EVERY).ext_fields is None
    half = ("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})
    found = judged(running, tmp_path, half, *without_any_field())
    assert {"end", "pull", "find", "delete"} <= {kind for kind, _ in without_any_field()}
    assert "reference" in found.by and not found.findings and not found.unconfirmed


def test_broker_defaulting_missing_field_is_found(running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def filled(kind: Any, names: headers.Layout) -> Any:
        return kind(*(("" if parse is headers.text else 0) if headers.is_missing(absent) else absent for _, _, parse, absent in names))

    with monkeypatch.context() as changed:
        changed.setattr(headers, "_empty", filled)
        path = performed(running, tmp_path, ("send", {}), ("max_offset", {"without": EVERY}))
    assert [finding.property for finding in judge_file(path, profile_of(running)).findings]


@pytest.fixture(scope="module", params=few(["P494", "P533"], 1))
def asking(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    with InProcess(request.param).open(Setup(settings=STARTED[ASKED])) as made:
        yield made


ABOUT_HALVES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "nobody is asked": (HalfQueueRound, "_ask", lambda *_: None),
    "it tells of another message": (HalfQueueRound, "_question", lambda self, message: Command(CHECK_TRANSACTION_STATE, {}, b"x")),
    "the question says nothing of the place": (HalfQueueRound, "_question", lambda self, message: without_fields(self, message)),
}
_QUESTION = HalfQueueRound._question


def without_fields(round_: HalfQueueRound, message: Any) -> Command:
    found = _QUESTION(round_, message)
    found.ext_fields = {}
    return found


def test_producer_is_asked_about_its_half_message(asking: Deployment, tmp_path: Path) -> None:
    found = judged(asking, tmp_path, *ordinary("a half message that is asked about"))
    assert "reference" in found.by and not found.findings and not found.unconfirmed
    (question,) = (one for one in load(found.path).items if isinstance(one, Event) and one.op == "question")
    assert question.value["code"] == CHECK_TRANSACTION_STATE and question.value["fields"]["commitLogOffset"]


OFTEN = "a half message that is asked about as often as may be"


@pytest.mark.behaviour("TRX-05")
def test_half_message_is_checked_up_to_limit(asking: Deployment, tmp_path: Path) -> None:
    found = judged(asking, tmp_path, *ordinary(OFTEN))
    assert "reference" in found.by and not found.findings and not found.unconfirmed
    *_, last = (one.value["asked"] for one in load(found.path).items if isinstance(one, Event) and one.op == "checked")
    assert last == ["2"]  # a step has waited for the first question


@pytest.mark.parametrize("wrong", ["times > ", "times - 7 >="], ids=["once more", "for ever"])
def test_excess_checks_are_found(wrong: str, asking: Deployment, tmp_path: Path) -> None:
    profile = profile_of(asking)
    planted = Text(f"{HalfQueueRound.__module__}:HalfQueueRound._asked_often_enough", "times >=", wrong)
    with prepare([planted]).applied(), InProcess(profile).open(Setup(settings=STARTED[ASKED])) as own:
        path = performed(own, tmp_path, *ordinary(OFTEN))
    assert "event.checked" in [finding.property for finding in judge_file(path, profile).findings]


@pytest.mark.parametrize("what", ABOUT_HALVES)
def test_wrong_question_about_half_message_is_found(what: str, asking: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, otherwise = ABOUT_HALVES[what]
    monkeypatch.setattr(client, "PATIENCE", 2.0)
    with monkeypatch.context() as changed:
        changed.setattr(owner, attribute, otherwise)
        path = performed(asking, tmp_path, *ordinary("a half message that is asked about"))
    assert [finding.property for finding in judge_file(path, profile_of(asking)).findings]


_COMMIT = HalfQueueRound._commit
HOW_FAR: dict[str, Callable[..., None]] = {
    "it does not say how far it is": lambda *_: None,
    "it says that it is further": lambda self, topic, offset: _COMMIT(self, topic, offset + 100),
}


@pytest.mark.parametrize("what", HOW_FAR)
def test_check_at_wrong_offset_is_found(what: str, asking: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that restarts its transaction ends after each start, or skips some."""
    profile = profile_of(asking)
    steps = [("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}), ("end", {"one_way": False}), ("checked", {})]
    monkeypatch.setattr(client, "QUESTION", 2.0)
    with monkeypatch.context() as changed, InProcess(profile).open(Setup(settings=STARTED[ASKED])) as own:
        changed.setattr(HalfQueueRound, "_commit", HOW_FAR[what])
        path = performed(own, tmp_path, *steps)
    assert "event.checked" in [finding.property for finding in judge_file(path, profile).findings]


def test_unfollowed_program_is_undecided_by_reference(asking: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A one-way request may be lost, so it is undecided which half message the broker asks about."""
    monkeypatch.setattr(client, "QUESTION", 3.0)  # it never asks about the second program's
    steps = [("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}), ("question", {})]
    found = judged(asking, tmp_path, *steps)
    unknown = judged(asking, tmp_path, *steps, ("send", {"one_way": True}))
    assert found.decides("reference") and not found.findings
    assert not unknown.decides("reference") and "reference" not in unknown.by


@pytest.mark.behaviour("TRX-04", "HAZ-61")
@pytest.mark.parametrize("side", [0, 1])
def test_half_message_without_count_space_blocks_all_checks(
    side: int, asking: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim holds at the limit, and its violation above it is known; nothing else is found, since the implementation agrees."""
    monkeypatch.setattr(client, "QUESTION", 3.0)
    (unchecked,) = (boundary for boundary in BOUNDARIES if boundary.unread == about.UNCOUNTED)
    with InProcess(profile_of(asking)).open(Setup(settings=STARTED[ENDED])) as own:
        found = judged(own, tmp_path, *unchecked.at(side, PROFILES[profile_of(asking)]))
    assert not found.findings and not found.unconfirmed and "AUX-33.asked" in found.exercised
    held, expected, condition = found.claims["AUX-33.asked"]
    assert (held, expected, condition) == ((True, "holds", "") if side == 0 else (False, "violated", about.UNCOUNTED))


@pytest.mark.behaviour("TRX-04", "HAZ-61")
def test_broker_stopping_checks_for_other_reason_is_found(asking: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Knowledge about too long messages excuses no others."""

    async def refused(self: HalfQueueRound, message: Any) -> bool:
        return False

    monkeypatch.setattr(client, "QUESTION", 3.0)
    with monkeypatch.context() as changed:
        changed.setattr(HalfQueueRound, "_put_back", refused)
        with InProcess(profile_of(asking)).open(Setup(settings=STARTED[ASKED])) as own:
            path = performed(own, tmp_path, *ordinary("a half message that is asked about"))
    (found, *_) = (finding for finding in judge_file(path, profile_of(asking)).findings if finding.judge == "claims")
    assert found.property == "AUX-33.asked" and "was asked about none of its half messages" in found.text
