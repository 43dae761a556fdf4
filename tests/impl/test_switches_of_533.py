"""Differences of broker and name server of 5.3.3 differ from 4.9.4, switch by switch, with the behaviour that both profiles share."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from marks import behaviour
from sending import Stand, batch_request

from rocketproof_impl.broker.registration import registered_table
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.routeinfo import RegisterBrokerResult
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_impl.topic import DataVersion, TopicConfig
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import DELETE_TOPIC_IN_BROKER, GET_ROUTEINFO_BY_TOPIC, SUCCESS, UPDATE_AND_CREATE_TOPIC

EARLIER, LATER = "P494", "P533"
BOTH = (EARLIER, LATER)
NEW = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": 8, "writeQueueNums": 4, "perm": 6, "topicFilterType": "SINGLE_TAG"}
NULL = "java.lang.NullPointerException"


def table(*names: str) -> dict[str, TopicConfig]:
    return {name: TopicConfig(name, 4, 4) for name in names}


def name_server(profile: str) -> NameServer:
    return NameServer(SimulatedClock(), profile=PROFILES[profile])


def register(
    server: NameServer, *topics: str, broker_id: int = 0, address: str = "A", version: int = 1, cluster: str = "c", **more: Any
) -> RegisterBrokerResult | None:
    return server.register_broker(cluster, address, "x", broker_id, "", table(*topics), DataVersion(0, version), **more)


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@pytest.mark.parametrize(("profile", "said"), [(EARLIER, "The specified topic is blank."), (LATER, NULL)])
@behaviour("CHK-02")
def test_send_without_a_topic(stand: Stand, said: str) -> None:
    fields = {"producerGroup": "g", "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 0, "sysFlag": 0}
    answer = stand.call(10, b"a", **fields, bornTimestamp=0, flag=0)
    assert answer.code == 1
    assert str(answer.remark).startswith(said)


@pytest.mark.parametrize(("profile", "named", "code"), [(EARLIER, None, 0), (EARLIER, "T", 0), (LATER, None, 1), (LATER, "T", 0)])
@behaviour("BACK-12")
def test_533_requires_the_topic_of_a_dead_letter(stand: Stand, named: str | None, code: int) -> None:
    """The retry topic is created before the check, the dead-letter topic after it."""
    stand.send("T")
    assert stand.send_back(0, "G", -1, origin_topic=named).code == code
    assert ("%RETRY%G" in stand.broker.topics.table, "%DLQ%G" in stand.broker.topics.table) == (True, code == 0)


@pytest.mark.parametrize(("profile", "size", "remark"), [(EARLIER, 32700, "MESSAGE_ILLEGAL"), (LATER, 32650, "PROPERTIES_SIZE_EXCEEDED")])
@behaviour("STO-02", "APP-05", "BACK-16")
def test_send_back_with_too_long_properties_is_refused(stand: Stand, size: int, remark: str) -> None:
    """The later release adds more properties."""
    stand.send("T", properties={"p": "v" * size})
    answer = stand.send_back(0, origin_topic="T")
    assert (answer.code, answer.remark, len(stand.stored())) == (1, remark, 1)


@pytest.mark.parametrize(("profile", "code", "remark"), [(EARLIER, 0, None), (LATER, 1, "MESSAGE_ILLEGAL")])
@behaviour("STO-02", "BACK-16")
def test_send_back_of_a_message_without_a_body(stand: Stand, code: int, remark: str | None) -> None:
    """Only a batch can store such a message."""
    stand.ask(batch_request(bodies=(b"", b"a")))
    answer = stand.send_back(0, origin_topic="T")
    assert (answer.code, answer.remark) == (code, remark)


@pytest.mark.parametrize(("profile", "left"), [(EARLIER, {"M@g", "MM@g", "M@h"}), (LATER, {"MM@g"})])
@behaviour("TCM-31")
def test_topic_deletion_removes_its_group_offsets_in_533(stand: Stand, left: set[str]) -> None:
    for topic, group in (("M", "g"), ("MM", "g"), ("M", "h")):
        stand.broker.topics.update(TopicConfig(topic, 4, 4))
        stand.broker.offsets.commit(group, topic, 0, 5)
    assert stand.call(DELETE_TOPIC_IN_BROKER, topic="M").code == 0
    assert {*stand.broker.offsets.table} == left
    assert stand.call(DELETE_TOPIC_IN_BROKER, topic="gone").code == 0
    assert {*stand.broker.offsets.table} == left


@pytest.mark.parametrize("profile", BOTH)
@behaviour("BACK-13")
def test_retry_needs_no_topic(stand: Stand) -> None:
    stand.send("T")
    assert stand.send_back(0, "G", 0).code == 0


@pytest.mark.parametrize(("profile", "ordered"), [(EARLIER, False), (LATER, True)])
@behaviour("TCM-30")
def test_administrator_makes_an_order_topic_in_533(stand: Stand, ordered: bool) -> None:
    assert stand.call(17, None, **NEW, order="true").code == 0
    assert stand.broker.topics.is_order_topic("T") == ordered


@pytest.mark.parametrize(("profile", "ordered"), [(EARLIER, True), (LATER, False)])
@behaviour("TCM-20")
def test_send_back_removes_the_retry_topics_order_in_533(stand: Stand, ordered: bool) -> None:
    stand.send("T")
    stand.send_back(0, "G", 1)
    topics = stand.broker.topics
    topics.table["%RETRY%G"].order = True
    before = topics.data_version.counter
    assert stand.send_back(0, "G", 1).code == 0
    assert topics.is_order_topic("%RETRY%G") == ordered
    assert topics.data_version.counter == before + (not ordered)


@pytest.mark.parametrize(("profile", "ordered"), list(itertools.product(BOTH, (False, True))))
@behaviour("TCM-20")
def test_heartbeat_creates_a_retry_topic_with_its_topics_order(stand: Stand, profile: str, ordered: bool) -> None:
    stand.broker.topics.table |= {"T": TopicConfig("T", order=ordered)}
    consumer = {"groupName": "G", "consumeType": "", "messageModel": "", "subscriptionDataSet": [{"topic": "T", "subString": "*"}]}
    stand.broker.receive(stand.channel, Command(34, {}, json.dumps({"clientID": "c", "consumerDataSet": [consumer]}).encode()))
    stand.scheduler.advance(1000)
    assert "%RETRY%G" in stand.broker.topics.table
    assert stand.broker.topics.is_order_topic("%RETRY%G") == (ordered and profile == LATER)


@pytest.mark.parametrize(("profile", "ordered"), [(EARLIER, {"U"}), (LATER, {"T", "U"})])
@behaviour("NS-12")
def test_topic_missing_from_the_order_configuration(profile: str, ordered: set[str]) -> None:
    topics = Stand(profile).broker.topics
    topics.table |= table("T", "U")
    topics.table["T"].order = True
    version = topics.data_version.counter
    topics.update_order({"U"})
    assert {name for name, config in topics.table.items() if config.order} == ordered
    assert topics.data_version.counter == version + 1
    topics.update_order({"U"})
    assert topics.data_version.counter == version + 1


@pytest.mark.parametrize(("profile", "versions"), [(EARLIER, 1), (LATER, 0)])
@behaviour("TCM-30")
def test_an_update_that_changes_nothing(stand: Stand, versions: int) -> None:
    stand.call(17, None, **NEW)
    before = stand.broker.topics.data_version.counter
    assert stand.call(17, None, **NEW).code == 0
    assert stand.broker.topics.data_version.counter == before + versions
    assert stand.call(17, None, **NEW | {"perm": 4}).code == 0
    assert stand.broker.topics.data_version.counter == before + versions + 1


@pytest.mark.parametrize(("masks", "perms"), [(False, [4, 4, 4]), (True, [4, 0, 0])])
@behaviour("NS-11")
def test_registered_permissions_of_a_read_only_broker(masks: bool, perms: list[int]) -> None:
    own = {name: TopicConfig(name, perm=perm, order=True) for name, perm in (("A", 7), ("B", 2), ("C", 0))}
    sent = registered_table(own, 4, masks=masks)
    assert [config.perm for config in sent.values()] == perms
    assert not any(config.order for config in sent.values())
    assert [config.perm for config in own.values()] == [7, 2, 0]


@behaviour("NS-02")
def test_a_first_registration_with_one_topic_is_refused() -> None:
    """This holds for any address of the id. What the name server knew under another id is removed nevertheless."""
    server = name_server(LATER)
    assert register(server, "A") is None
    assert (server.route("A"), server.broker_live_table) == (None, {})
    assert register(server, "A", "B") is not None
    assert register(server, "C", version=2) is not None
    assert server.route("C") is not None
    assert register(server, "D", broker_id=1) is None
    assert server.broker_addr_table["x"].broker_addrs == {}
    assert register(server, broker_id=1) is not None
    assert register(name_server(EARLIER), "A") is not None


@pytest.mark.parametrize(("profile", "known"), [(EARLIER, False), (LATER, True)])
@behaviour("NS-03")
def test_same_version_adds_new_topics_in_533(profile: str, known: bool) -> None:
    server = name_server(profile)
    register(server, "A", "B")
    server.topic_queue_table["A"][0].perm = 0
    register(server, "A", "B", "C")
    assert (server.route("C") is not None) == known
    assert server.topic_queue_table["A"][0].perm == 0


@pytest.mark.parametrize(("profile", "left"), [(EARLIER, {1: "S"}), (LATER, {0: "M"})])
@behaviour("NS-08")
def test_a_broker_leaves_by_its_id_or_by_its_address(profile: str, left: dict[int, str]) -> None:
    server = name_server(profile)
    register(server, "A", "B", address="M")
    register(server, "A", "B", address="S", broker_id=1)
    server.unregister_broker("c", "S", "x", 0)
    assert server.broker_addr_table["x"].broker_addrs == left
    assert server.route("A") is not None


@pytest.mark.parametrize("profile", BOTH)
@behaviour("NS-02")
def test_slave_of_another_cluster_gets_no_master_in_533(profile: str) -> None:
    server = name_server(profile)
    register(server, address="M")
    assert register(server, address="S", broker_id=1) == RegisterBrokerResult("M", "")
    alone = register(server, address="S", broker_id=1, cluster="d")
    assert alone == (RegisterBrokerResult() if profile == LATER else RegisterBrokerResult("M", ""))


@pytest.mark.parametrize("profile", BOTH)
@behaviour("NS-03", "NS-09")
def test_version_is_stored_by_address_and_cluster_in_533(profile: str) -> None:
    """A broker that registers the same version for another cluster therefore counts as changed."""
    server, later = name_server(profile), profile == LATER
    register(server, "A", "B", version=3)
    assert server.query_version("d", "A", DataVersion(0, 3)) == ((True, None) if later else (False, DataVersion(0, 3)))
    server.topic_queue_table["A"][0].perm = 0
    register(server, "A", "B", version=3, cluster="d")
    assert server.topic_queue_table["A"][0].perm == (6 if later else 0)


@pytest.mark.parametrize("profile", BOTH)
@behaviour("NS-07", "NS-08")
def test_unregistering_from_another_cluster_keeps_the_live_entry(profile: str) -> None:
    """Addresses are removed by the broker's name, whatever the cluster."""
    server, later = name_server(profile), profile == LATER
    register(server, "A", "B")
    server.unregister_broker("d", "A", "x", 0)
    assert (server.route("A"), server.live_info("c", "A") is not None) == (None, later)


@pytest.mark.parametrize("profile", BOTH)
@behaviour("NS-07", "NS-08")
def test_silent_address_stays_if_its_cluster_lacks_the_broker(profile: str) -> None:
    """The address has the cluster of the first registration under its name."""
    server, later = name_server(profile), profile == LATER
    register(server, address="S", broker_id=1)
    register(server, "A", "B", address="M", cluster="d", filter_servers=["F"])
    route = server.route("A")
    assert route is not None and route.filter_server_table == ({} if later else {"M": ["F"]})
    live = server.live_info("d", "M")
    assert live is not None
    live.last_update_timestamp -= 120_001
    server.scan()
    assert (server.live_info("d", "M") is not None, server.broker_addr_table["x"].broker_addrs) == (
        later,
        {1: "S"} | ({0: "M"} if later else {}),
    )


@pytest.mark.parametrize(("profile", "code"), [("P49", 1), (EARLIER, 17), (LATER, 17)])
@behaviour("NS-06", "REM-04")
def test_route_query_without_a_topic(profile: str, code: int) -> None:
    """A topic can be named "null"."""
    server, answers = name_server(profile), []
    register(server, "null", "T")
    channel: Any = SimpleNamespace(write=answers.append)
    server.receive(channel, Command(GET_ROUTEINFO_BY_TOPIC, {}))
    (answer,) = answers
    assert answer.code == code
    assert code == 1 or answer.remark.startswith("No topic route info in name server for the topic: null\n")


@pytest.mark.parametrize(("profile", "remark"), [(EARLIER, None), (LATER, "")])
def test_remark_of_the_first_offset(profile: str, remark: str | None) -> None:
    answer = Stand(profile).call(31, None, topic="T", queueId=0)
    assert (answer.code, answer.remark, answer.ext_fields) == (0, remark, {"offset": "0"})


@pytest.mark.parametrize(
    ("profile", "name", "code"),
    [(EARLIER, "a b", 1), (LATER, "a b", 0), (LATER, "x" * 200, 0), (LATER, " ", 29), (LATER, "TBW102", 29), (EARLIER, "TBW102", 1)],
)
@behaviour("TCM-31")
def test_deletion_under_an_illegal_name(profile: str, name: str, code: int) -> None:
    assert Stand(profile).call(215, None, topic=name).code == code


@pytest.mark.parametrize(("name_server", "millis", "code"), [("P533", 0, 0), ("P494", 3000, 17), ("P49", 0, 17)])
@behaviour("TCM-30", "TCM-34", "REM-05")
def test_name_server_may_not_know_single_topic_registration(name_server: str, millis: int, code: int) -> None:
    """It refuses the request, or does not answer, and then the administrator waits too. The next full registration adds the topic."""
    cluster = Cluster(1, profile=f"P533+{name_server}", enable_single_topic_register=True)
    began = cluster.clock.now()
    wanted = NEW | {"topicSysFlag": 3, "order": "false"}
    queues = {"brokerName": cluster.broker().settings.broker_name, "readQueueNums": 8, "writeQueueNums": 4, "perm": 6, "topicSysFlag": 3}
    assert cluster.call(Command(UPDATE_AND_CREATE_TOPIC, {name: str(value) for name, value in wanted.items()})).code == 0
    assert cluster.clock.now() - began == millis

    def route() -> list[Any] | None:
        """Return the queues in the name server's route, each field of its own value; None without a route."""
        answer = cluster.call(Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), "name server")
        assert answer.code in (0, code)
        return json.loads(answer.body or b"")["queueDatas"] if answer.code == 0 else None

    assert route() == (None if code else [queues])
    cluster.scheduler.complete(cluster.broker().registration.register_periodically())
    assert route() == [queues]


@pytest.mark.parametrize(("profile", "named", "code"), [(EARLIER, "G", 0), (LATER, "G", 26), (LATER, None, 1)])
def test_commit_of_a_missing_group_is_refused_in_533(profile: str, named: str | None, code: int) -> None:
    """A missing topic name is an error before the group is checked."""
    topic = {} if named is None else {"topic": "T"}
    answer = Stand(profile).call(15, None, consumerGroup="G", **topic, queueId=0, commitOffset=0)
    assert answer.code == code
    assert code != 1 or str(answer.remark).startswith(NULL)


@pytest.mark.parametrize(("profile", "heard"), [(EARLIER, True), ("P510", True), ("P511", False), (LATER, False)])
@behaviour("DLQ-02")
def test_consumers_of_a_missing_group_are_registered_by_release(profile: str, heard: bool) -> None:
    at = Stand(profile)
    for made in (True, False):
        at.broker.settings.auto_create_subscription_group = made
        at.broker.receive(at.channel, plain("consumer", group=f"g{made}"))
        at.scheduler.advance(10_000)
    assert sum(one.code == SUCCESS for one in at.channel.written) == 2
    assert list(at.broker.consumers.groups) == ["gTrue", *(["gFalse"] if heard else [])]
