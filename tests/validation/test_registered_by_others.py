"""A broker's own registrations may leave a route unchanged, or as a registration of all topics leaves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from performing import performed
from spoilt import Spoilt

from rocketproof_impl.broker.registration import Registration
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.remoting.command import RESPONSE, Command
from rocketproof_impl.remoting.faq import suggestion
from rocketproof_impl.route import QueueData
from rocketproof_impl.routeinfo import Registrant
from rocketproof_impl.topic import TopicConfig
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.reference.registered import Registered
from rocketproof_properties.judging.reference.simulated import ReplayDeployment
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation.confirm import Confirmation
from rocketproof_properties.validation.validate import mark
from rocketproof_protocol import codes

ROUTE: Step = ("route", {"topic": "A"})
QUEUES, CODE = "route.queueDatas", "route.code"
_REGISTERED, _ALONE = Registration._registered, Registration._register_alone
_PERM_0: tuple[Step, ...] = (("topic", {"topic": "A", "perm": 2}), ROUTE)
"""A topic of which a broker that may not write has nothing that it could do."""


def numbers(number: int) -> Step:
    return ("topic", {"topic": "A", "read": number, "write": number})


def found(
    folder: Path, profile: str, steps: tuple[Step, ...], monkeypatch: pytest.MonkeyPatch, changed: dict[str, Callable[..., Any]], perm: str
) -> JudgedProgram:
    """Judge a broker whose registrations are `changed`."""
    with InProcess(profile).open(Setup(settings={"brokerPermission": perm})) as running, monkeypatch.context() as patched:
        for name, otherwise in changed.items():
            patched.setattr(Registration, name, otherwise)
        path = performed(running, folder, *steps)
    return judge_file(path, profile)


def as_all(self: Registration, table: Any, *, alone: bool) -> Any:
    """Register one topic like a registration of all, as if a full one had followed it."""
    del alone
    return _REGISTERED(self, table, alone=False)


def with_more(self: Registration, table: Any, *, alone: bool) -> Any:
    """Add a queue to each topic."""
    sent = {name: config.copy() for name, config in _REGISTERED(self, table, alone=alone).items()}
    for config in sent.values():
        config.read_queue_nums += 1
    return sent


def all_but(*hidden: int) -> Callable[..., Any]:
    """Register single topics, except with a number of queues in `hidden`."""

    async def register(self: Registration, config: Any) -> None:
        if config.read_queue_nums not in hidden:
            await _ALONE(self, config)

    return register


def no_route(request: Command) -> Command | None:
    """Respond like a name server without topics."""
    if request.code != codes.GET_ROUTEINFO_BY_TOPIC:
        return None
    topic, faq = (request.ext_fields or {})["topic"], suggestion(PROFILES["P494"].name_server_faq)
    remark = f"No topic route info in name server for the topic: {topic}{faq}"
    return Command(codes.TOPIC_NOT_EXIST, {}, remark=remark, flag=RESPONSE, opaque=request.opaque)


@pytest.mark.behaviour("NS-11", "NS-10")
@pytest.mark.parametrize(("profile", "changed", "findings"), [
    ("P511", as_all, set()),
    ("P511", with_more, {QUEUES}),
    ("P494", with_more, {QUEUES}),
])  # fmt: skip
def test_limited_broker_may_register_all_topics_after_one(
    profile: str, changed: Callable[..., Any], findings: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = found(tmp_path, profile, _PERM_0, monkeypatch, {"_registered": changed}, "4")
    assert {finding.property for finding in judged.findings if finding.judge == "reference" or not findings} == findings
    assert {finding.property for finding in judged.unconfirmed} == {QUEUES} - findings


@pytest.mark.behaviour("NS-11")
def test_unlimited_broker_registers_one_topic_like_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tolerance for a limited broker does not excuse it."""

    def limited(self: Registration, table: Any, *, alone: bool) -> Any:
        sent = {name: config.copy() for name, config in _REGISTERED(self, table, alone=alone).items()}
        for config in sent.values():
            config.perm = 0
        return sent

    judged = found(tmp_path, "P511", _PERM_0, monkeypatch, {"_registered": limited}, "6")
    assert {finding.property for finding in judged.findings if finding.judge == "reference"} == {QUEUES} and not judged.unconfirmed


@pytest.mark.behaviour("HAZ-37", "HAZ-55", "TCM-34")
@pytest.mark.parametrize(
    ("profile", "hidden", "property", "certain"),
    [
        ("P494", (2,), QUEUES, False),  # as it was before the last change
        ("P494", (1, 2), CODE, True),  # as it was two changes before
        ("P533", (2,), QUEUES, False),  # another program's change at the same time hides it
        ("P533", (1, 2), CODE, True),  # a name server takes a topic that it does not have
    ],
)
def test_route_may_precede_last_change_of_topic(
    profile: str, hidden: tuple[int, ...], property: str, certain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (numbers(1), numbers(2), ROUTE)
    judged = found(tmp_path, profile, steps, monkeypatch, {"_register_alone": all_but(*hidden)}, "6")
    assert {finding.property for finding in judged.findings if finding.judge == "reference" or not certain} == (
        {property} if certain else set()
    )
    assert ({finding.property for finding in judged.unconfirmed} == {property}) is not certain


@pytest.mark.behaviour("HAZ-37")
def test_topic_with_late_first_registration_may_lack_route(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = found(tmp_path, "P494", (numbers(1), ROUTE), monkeypatch, {"_register_alone": all_but(1)}, "6")
    assert not judged.findings
    assert [(finding.property, finding.at) for finding in judged.unconfirmed] == [(CODE, "client 0, request 5 (route)")]


@pytest.mark.behaviour("HAZ-37")
def test_other_faults_after_stale_route_are_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (numbers(1), numbers(2), ROUTE, numbers(3), numbers(4), ROUTE)
    judged = found(tmp_path, "P494", steps, monkeypatch, {"_register_alone": all_but(2, 3, 4)}, "6")
    assert [finding.property for finding in judged.unconfirmed] == [QUEUES]
    assert QUEUES in {finding.property for finding in judged.findings}


@pytest.mark.behaviour("HAZ-37", "TCM-30")
@pytest.mark.parametrize("always", [True, False])
def test_broker_that_hides_change_each_time_is_accused(always: bool, tmp_path: Path) -> None:
    """The program is repeated: accidental effects of another registration do not recur."""
    hides = [True]
    with Spoilt(lambda request: no_route(request) if hides[0] else None).open() as running:
        runner = Runner(running, tmp_path, {"profile": "P494"}, Bounds(1), mark())
        try:
            program = Program(1, "", (numbers(1), ROUTE))
            path = runner.perform(program)
            judged = judge_file(path, "P494")
            assert not judged.findings and {finding.property for finding in judged.unconfirmed} == {CODE}
            hides[0] = always
            repeated: set[tuple[str, str]] = set()
            Confirmation(runner, tmp_path / "again", "P494", (), lambda: False, repeated).confirm([judged], {path: program})
        finally:
            runner.close()
    assert {finding.property for finding in judged.findings} == ({CODE} if always else set())
    assert (repeated == set()) is always, "one that did not come again is no longer open"


@pytest.mark.behaviour("NS-08")
@pytest.mark.parametrize("profile", ["P494", "P540"])
@pytest.mark.parametrize("backwards", [False, True])
def test_of_two_brokers_with_lost_address_either_may_leave(
    profile: str, backwards: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server keeps them in arbitrary order, which is stable over all losses. A real 5.4.0 was wrongly reported after an even
    number.
    """
    remove, known, both = NameServer.remove, {"address": "10.0.0.1:1"}, {"A": (4, 4, 6), "B": (4, 4, 6)}

    def last(self: NameServer, who: Registrant) -> None:
        self.broker_addr_table = dict(reversed(self.broker_addr_table.items()))
        remove(self, who)
        self.broker_addr_table = dict(reversed(self.broker_addr_table.items()))

    steps: tuple[Step, ...] = (
        ("register", {"name": "broker-x", "broker_id": 1, "address": "10.0.0.2:1"}),
        ("register", {"name": "broker-x", "broker_id": 1, **known}),
        ("register", {"name": "broker-y", "topics": both, **known}),
        ("lose", {"address": "10.0.0.2:1"}),
        ("lose", known),
        ROUTE,
    )
    with InProcess(profile).open() as running, monkeypatch.context() as patched:
        if backwards:
            patched.setattr(NameServer, "remove", last)
        path = performed(running, tmp_path, *steps)
    told = [exchange.outcome.get("code") for exchange in load(path).exchanges if exchange.op == "route"]
    assert told[-1] == (codes.TOPIC_NOT_EXIST if backwards else codes.SUCCESS)
    assert not judge_file(path, profile).findings


@pytest.mark.behaviour("NS-08")
@pytest.mark.parametrize(("requests", "in_time"), [(2, True), (9, False)])
def test_closed_connection_may_be_noticed_after_later_requests(
    requests: int, in_time: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy name server removes the broker late. One that needs more than the next eight requests is accused."""
    lost: list[Callable[[], None]] = []
    closed, route = NameServer.channel_closed, NameServer.route
    asked = 0

    def late(self: NameServer, channel: Any) -> None:
        lost.append(lambda: closed(self, channel))

    def notice(self: NameServer, topic: str) -> Any:
        nonlocal asked
        found = route(self, topic)
        asked += bool(lost)
        if lost and asked == requests:
            lost.pop()()
        return found

    address = {"address": "10.0.0.1:1"}
    other: Step = ("route", {"topic": "B", "again": False})  # two queries of one topic would be one query and its repetition
    queries = [("route", {"topic": "A", "again": False}), other] * 5
    registered: Step = ("register", {"topics": {"A": (4, 4, 6), "B": (4, 4, 6)}, **address})
    steps: tuple[Step, ...] = (registered, ("lose", address), *queries[: requests + 1])
    with InProcess("P494").open() as running, monkeypatch.context() as patched:
        patched.setattr(NameServer, "channel_closed", late)
        patched.setattr(NameServer, "route", notice)
        path = performed(running, tmp_path, *steps)
    codes_ = [exchange.outcome.get("code") for exchange in load(path).exchanges if exchange.op == "route"]
    assert codes_ == [codes.SUCCESS] * requests + [codes.TOPIC_NOT_EXIST]
    judged = judge_file(path, "P494", ("reference",))
    assert (bool(judged.unconfirmed), bool(judged.findings)) == (in_time, not in_time)


@pytest.mark.parametrize(("profile", "topic"), [("P494", "TBW102"), ("P511", "T")])
def test_name_server_knows_everything_after_all_attempts(profile: str, topic: str) -> None:
    deployment = ReplayDeployment(PROFILES[profile], BrokerSettings(broker_permission=4))
    server, broker = deployment.cluster.name_server, deployment.broker
    had = Registered(server, in_turn=False)
    broker.topics.table["T"] = TopicConfig("T", 4, 4, 2)

    def known() -> dict[str, list[QueueData]]:
        return {name: [row.copy() for row in rows] for name, rows in server.topic_queue_table.items()}

    before = known()
    others = had.others(topic, broker)
    assert others
    for other in others:
        with had.knowing(topic, broker, other):
            assert known().get(topic, [None]) == [other] != before.get(topic)
        assert known() == before


@pytest.mark.behaviour("HAZ-55")
@pytest.mark.parametrize("in_turn", [True, False])
def test_change_is_hidden_only_by_another_change_at_the_same_time(in_turn: bool) -> None:
    deployment = ReplayDeployment(PROFILES["P533"], BrokerSettings())
    server, broker = deployment.cluster.name_server, deployment.broker
    had = Registered(server, in_turn=in_turn)
    for queues in (1, 2):
        broker.topics.table["T"] = TopicConfig("T", queues, queues)
        server.topic_queue_table["T"] = [broker.registration.queues_of(broker.topics.table["T"], alone=True)]
        had.note("T", broker)
    assert [entry and entry.read_queue_nums for entry in had.others("T", broker)] == ([] if in_turn else [1])
