"""Registration of a broker: when it happens, the query before it, the request, and the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from marks import behaviour
from simulated import Simulated

from rocketproof_impl.broker.registration import Registration, period_millis, registered_table
from rocketproof_impl.broker.slave import SlaveSynchronize
from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.simulator.network import HOLD, Packet, SimulatedChannel, SimulatedNetwork
from rocketproof_impl.topic import MULTI_TAG, TopicConfig
from rocketproof_protocol.codes import QUERY_DATA_VERSION, REGISTER_BROKER, SUCCESS, SYSTEM_ERROR

FIRST, SECOND = "127.0.0.1:9876", "127.0.0.1:9877"
IDENTITY = {"brokerName": "broker-a", "brokerAddr": "127.0.0.1:10911", "clusterName": "DefaultCluster", "brokerId": "0"}


class FakeNameServer:
    """Records requests. `version`: body of an answer to 322; `changed`: its header; `order`: body of an answer to 103."""

    def __init__(self) -> None:
        self.requests: list[Command] = []
        self.code = SUCCESS
        self.changed: str | None = None
        self.version: dict[str, int] | None = None
        self.order: dict[str, Any] | None = None

    def receive(self, channel: SimulatedChannel, command: Command) -> None:
        self.requests.append(command)
        if command.is_one_way:
            return
        answer = response_to(command)
        answer.code = self.code
        if command.code == QUERY_DATA_VERSION:
            answer.ext_fields = {} if self.changed is None else {"changed": self.changed}
            body = self.version
        else:
            answer.ext_fields = {}
            body = self.order
        answer.body = None if body is None else json.dumps(body).encode()
        channel.write(answer)

    @property
    def codes(self) -> list[int]:
        return [request.code for request in self.requests]


class Bench(Simulated):
    """A table with its registration and these name servers."""

    def __init__(self, *addresses: str, listening: tuple[str, ...] | None = None, **settings: Any) -> None:
        super().__init__(name_servers=addresses or (FIRST,), **settings)
        self.network = SimulatedNetwork(self.scheduler)
        self.servers = {}
        for address in listening if listening is not None else self.settings.name_servers:
            self.servers[address] = FakeNameServer()
            self.network.listen(address, self.servers[address])
        self.topics = TopicConfigManager(self.settings, self.profile, self.clock, self.disk, self._register)
        self.registered: list[Command] = []
        endpoint = self.network.endpoint("127.0.0.1:40911")
        self.registration = Registration(self.settings, self.profile, self.topics, endpoint, self.registered.append)

    async def _register(self, config: TopicConfig) -> None:
        await self.registration.register_created(config)

    @property
    def server(self) -> FakeNameServer:
        return self.servers[FIRST]

    def create(self) -> TopicConfig | None:
        """Create the topic T as a first send does."""
        return self.scheduler.complete(self.topics.create_topic_in_send_message("T", "TBW102", "127.0.0.1:5", 4, 0))

    def register(self, check_order_config: bool = True, oneway: bool = False, force: bool = True) -> None:
        self.scheduler.complete(self.registration.register_all(check_order_config, oneway, force))

    def version(self) -> dict[str, int]:
        return {"counter": self.topics.data_version.counter, "timestamp": self.topics.data_version.timestamp}


def sent_table(request: Command) -> dict[str, dict[str, Any]]:
    assert request.body is not None
    table: dict[str, dict[str, Any]] = json.loads(request.body)["topicConfigSerializeWrapper"]["topicConfigTable"]
    return table


# The request


@pytest.fixture
def bench() -> Bench:
    return Bench()


@behaviour("NS-10")
def test_a_forced_registration_sends_the_whole_table_at_once(bench: Bench) -> None:
    bench.topics.update(TopicConfig("T", 4, 8, 6, MULTI_TAG, 2, order=True))
    bench.register()
    (request,) = bench.server.requests
    assert request.code == REGISTER_BROKER
    assert not request.is_one_way
    assert request.ext_fields == IDENTITY | {"haServerAddr": "127.0.0.1:10912"}
    assert request.body is not None
    body = json.loads(request.body)
    assert body["filterServerList"] == []
    assert body["topicConfigSerializeWrapper"]["dataVersion"] == bench.version()
    assert set(sent_table(request)) == set(bench.topics.table)
    assert sent_table(request)["T"] == {
        "order": True,
        "perm": 6,
        "readQueueNums": 4,
        "topicFilterType": "MULTI_TAG",
        "topicName": "T",
        "topicSysFlag": 2,
        "writeQueueNums": 8,
    }


@behaviour("NS-10", "TCM-17", "INV-25", "HAZ-11")
def test_creation_registers_one_way_without_waiting(bench: Bench) -> None:
    bench.network.plan = lambda packet: HOLD
    before = bench.scheduler.clock.now()
    assert bench.create() is not None
    assert bench.scheduler.clock.now() == before
    (packet,) = bench.network.held
    assert packet.command.code == REGISTER_BROKER
    assert packet.command.is_one_way
    assert "T" in sent_table(packet.command)


@behaviour("HAZ-11", "NS-10", "LIV-01")
def test_next_periodic_registration_repairs_a_lost_registration() -> None:
    bench = Bench(listening=())
    assert bench.create() is not None
    server = FakeNameServer()
    bench.network.listen(FIRST, server)
    bench.scheduler.complete(bench.registration.register_periodically())
    assert "T" in sent_table(server.requests[0])


@behaviour("NS-11", "HAZ-06")
@pytest.mark.parametrize("permission", [0, 2, 4])
def test_a_restricted_broker_sends_copies_with_its_own_permission(permission: int) -> None:
    bench = Bench(broker_permission=permission)
    own = TopicConfig("T", 4, 8, 7, MULTI_TAG, 3, order=True)
    bench.topics.update(own)
    bench.register()
    table = sent_table(bench.server.requests[0])
    assert {entry["perm"] for entry in table.values()} == {permission}
    assert set(table) == set(bench.topics.table)
    assert table["T"] == {
        "order": False,
        "perm": permission,
        "readQueueNums": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicName": "T",
        "topicSysFlag": 0,
        "writeQueueNums": 8,
    }
    assert bench.topics.table["T"] == TopicConfig("T", 4, 8, 7, MULTI_TAG, 3, order=True)
    assert bench.topics.table["TBW102"].perm == 7


@behaviour("NS-11")
def test_an_unrestricted_broker_sends_its_own_permissions() -> None:
    table = {"T": TopicConfig("T", perm=7)}
    assert registered_table(table, 6) is table
    assert registered_table(table, 14) is table


# The query before it


@behaviour("NS-09", "HAZ-02", "NS-10")
@pytest.mark.parametrize(
    ("changed", "version", "sent"),
    [
        ("false", "same", False),
        ("true", "same", True),
        (None, "same", True),
        ("false", "other", True),
        ("false", None, False),
        (None, None, True),
    ],
)
def test_without_force_the_name_servers_version_is_queried(bench: Bench, changed: str | None, version: str | None, sent: bool) -> None:
    bench.server.changed = changed
    if version is not None:
        bench.server.version = bench.version() | ({} if version == "same" else {"counter": 77})
    bench.register(force=False)
    assert bench.server.codes == [QUERY_DATA_VERSION, REGISTER_BROKER] if sent else [QUERY_DATA_VERSION]
    request = bench.server.requests[0]
    assert request.ext_fields == IDENTITY
    assert request.body is not None
    assert json.loads(request.body) == bench.version()


@behaviour("HAZ-02", "TCM-13", "INV-18")
def test_a_template_changed_in_place_is_not_registered(bench: Bench) -> None:
    bench.server.version, bench.server.changed = bench.version(), "false"
    bench.settings.auto_create_topic_enable = False
    assert bench.create() is None
    assert bench.topics.table["TBW102"].perm == 6
    bench.register(force=False)
    assert bench.server.codes == [QUERY_DATA_VERSION]


@behaviour("TCM-30", "NS-09")
def test_administrators_change_is_registered_without_a_version_query(bench: Bench) -> None:
    config = TopicConfig("T")
    bench.topics.update(config)
    bench.server.version, bench.server.changed = bench.version(), "false"
    bench.scheduler.complete(bench.registration.register_updated(config))
    assert bench.server.codes == [REGISTER_BROKER]


@behaviour("NS-09")
def test_one_name_server_with_another_version_is_enough() -> None:
    bench = Bench(FIRST, SECOND)
    bench.servers[FIRST].changed, bench.servers[SECOND].changed = "true", "false"
    bench.register(force=False)
    assert bench.servers[FIRST].codes == bench.servers[SECOND].codes == [QUERY_DATA_VERSION, REGISTER_BROKER]


@behaviour("NS-09")
def test_failed_version_query_counts_as_changed_and_refusal_does_not() -> None:
    bench = Bench(FIRST, SECOND, listening=(SECOND,))
    bench.servers[SECOND].changed = "false"
    bench.register(force=False)
    assert bench.servers[SECOND].codes == [QUERY_DATA_VERSION, REGISTER_BROKER]
    refusing = Bench()
    refusing.server.code, refusing.server.changed = SYSTEM_ERROR, "true"
    refusing.register(force=False)
    assert refusing.server.codes == [QUERY_DATA_VERSION]


# The answer


@behaviour("NS-12")
def test_order_topics_of_the_answer_are_stored_in_the_table(bench: Bench) -> None:
    bench.topics.update(TopicConfig("listed"))
    bench.topics.update(TopicConfig("not listed", order=True))
    bench.server.order = {"table": {"listed": "broker-a:4", "unknown": "broker-a:4"}}
    counter = bench.topics.data_version.counter
    bench.register()
    assert {name for name, config in bench.topics.table.items() if config.order} == {"listed"}
    assert "unknown" not in bench.topics.table
    assert bench.topics.data_version.counter == counter + 1
    stored = json.loads(bench.disk.files["store/config/topics.json"])
    assert stored["topicConfigTable"]["listed"]["order"] is True
    assert stored["dataVersion"] == bench.version()
    operations = len(bench.disk.operations)
    bench.register()
    assert bench.topics.data_version.counter == counter + 1
    assert len(bench.disk.operations) == operations


@behaviour("NS-12")
@pytest.mark.parametrize(
    ("check", "oneway", "order"), [(False, False, {"table": {}}), (True, True, {"table": {}}), (True, False, None), (True, False, {})]
)
def test_order_flags_stay_without_a_check_or_an_answer(bench: Bench, check: bool, oneway: bool, order: dict[str, Any] | None) -> None:
    bench.topics.update(TopicConfig("T", order=True))
    bench.server.order = order
    bench.register(check_order_config=check, oneway=oneway)
    assert bench.topics.is_order_topic("T")


@behaviour("NS-12", "HAZ-11")
def test_the_first_good_answer_decides() -> None:
    bench = Bench(FIRST, SECOND)
    bench.topics.update(TopicConfig("T"))
    bench.servers[FIRST].order = {"table": {}}
    bench.servers[SECOND].order = {"table": {"T": "broker-a:1"}}
    bench.register()
    assert not bench.topics.is_order_topic("T")
    bench.servers[FIRST].code = SYSTEM_ERROR
    bench.register()
    assert bench.topics.is_order_topic("T")


@behaviour("NS-03", "NS-09", "NS-12", "HAZ-02", "HAZ-36")
def test_a_broker_and_a_name_server_understand_each_other() -> None:
    bench = Bench(listening=())
    bench.topics.update(TopicConfig("T"))
    server = NameServer(bench.scheduler.clock)
    bench.network.listen(FIRST, server)
    server.kv_config.put("ORDER_TOPIC_CONFIG", "T", "broker-a:16")
    bench.register()
    assert bench.topics.is_order_topic("T")
    assert set(server.topic_queue_table) == set(bench.topics.table)
    sent: list[int] = []
    bench.network.watch = lambda packet: None if packet.answer else sent.append(packet.command.code)
    bench.register(force=False)
    bench.register(force=False)
    assert sent == [QUERY_DATA_VERSION, REGISTER_BROKER, QUERY_DATA_VERSION]
    bench.topics.delete("T")
    bench.register(force=False)
    assert "T" in server.topic_queue_table


# Failures and time


@behaviour("HAZ-11")
@pytest.mark.parametrize("oneway", [False, True])
def test_unreachable_name_server_does_not_stop_other_registrations(oneway: bool) -> None:
    bench = Bench(FIRST, SECOND, listening=(SECOND,))
    bench.register(oneway=oneway)
    assert bench.servers[SECOND].codes == [REGISTER_BROKER]


@behaviour("HAZ-11")
def test_a_lost_answer_is_waited_for_six_seconds(bench: Bench) -> None:
    bench.network.plan = lambda packet: []
    before = bench.scheduler.clock.now()
    bench.register()
    assert bench.scheduler.clock.now() - before == 6000


def test_registrations_of_a_broker_run_one_at_a_time(bench: Bench) -> None:
    bench.topics.update(TopicConfig("T"))
    answers: list[Packet] = []

    def plan(packet: Packet) -> list[int] | str:
        if packet.answer:
            answers.append(packet)
            return HOLD
        return [0]

    bench.network.plan = plan
    slow = bench.scheduler.spawn(bench.registration.register_all(True, False, True))
    quick = bench.scheduler.spawn(bench.registration.register_all(False, True, True))
    bench.scheduler.settle()
    assert [request.is_one_way for request in bench.server.requests] == [False]
    bench.network.deliver(answers[0])
    bench.scheduler.settle()
    assert slow.done.done and quick.done.done
    assert [request.is_one_way for request in bench.server.requests] == [False, True]


@behaviour("NS-10")
def test_periodic_registration_starts_after_ten_seconds_and_repeats_every_thirty() -> None:
    (periodic,) = Registration.PERIODIC
    assert (periodic.first, periodic.period) == (10_000, 30_000)
    bench = Bench()
    bench.server.order = {"table": {"T": "broker-a:1"}}
    bench.topics.update(TopicConfig("T"))
    bench.scheduler.complete(getattr(bench.registration, periodic.name)())
    (request,) = bench.server.requests
    assert request.code == REGISTER_BROKER
    assert not request.is_one_way
    assert bench.topics.is_order_topic("T")


@behaviour("NS-10")
@pytest.mark.parametrize(
    ("configured", "period"), [(30_000, 30_000), (9_999, 10_000), (10_000, 10_000), (60_000, 60_000), (60_001, 60_000), (0, 10_000)]
)
def test_period_is_between_ten_and_sixty_seconds(configured: int, period: int) -> None:
    assert period_millis(configured) == period


@pytest.mark.parametrize(("role", "followed"), [("SLAVE", ["ha:1"]), ("ASYNC_MASTER", []), ("SYNC_MASTER", [])])
@behaviour("NS-02")
def test_only_a_slave_follows_the_name_servers_master(role: str, followed: list[str]) -> None:
    bench = Bench(broker_role=role)
    found: list[str] = []
    parts: Any = (None, None, None)  # the tables that it takes over
    slave = SlaveSynchronize(bench.settings, bench.topics, *parts, bench.network.endpoint("127.0.0.1:40911"), found.append)
    slave.registered(Command(0, {"masterAddr": "m:1", "haServerAddr": "ha:1"}))
    assert (found, slave.master_addr) == (followed, "m:1" if followed else None)
