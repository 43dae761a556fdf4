"""The name server: registration, versions, expiry, route look-up, and its requests."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from client_doubles import ADDRESS, register
from hypothesis import given
from hypothesis import strategies as st
from marks import behaviour
from simulated import FakeChannel, present

from rocketproof_impl import kvconfig, routeinfo
from rocketproof_impl.bounds import ENTRY
from rocketproof_impl.java import JavaError
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.nameserversettings import NameServerSettings
from rocketproof_impl.producer.publish import PublishInfo, publish_info
from rocketproof_impl.registered import compressed, decompressed
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.route import BrokerData, QueueData, TopicRouteData, decode_route, encode_route
from rocketproof_impl.routeinfo import BrokerLiveInfo, RegisterBrokerResult
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_impl.topic import DataVersion, TopicConfig, table_from_data, table_to_data, version_to_data
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes

A, B = ADDRESS["broker-a"], ADDRESS["broker-b"]
T = TopicConfig("T", 4, 4)


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def server(clock: SimulatedClock) -> NameServer:
    return NameServer(clock)


def ask(server: NameServer, code: int, body: Any = None, channel: FakeChannel | None = None, /, **fields: str) -> Command:
    """Send a request and return its only answer."""
    channel = channel or FakeChannel()
    server.receive(channel, Command(code, fields, None if body is None else json.dumps(body).encode(), opaque=77))
    (answer,) = channel.written
    assert answer.is_response and answer.opaque == 77
    channel.written.clear()
    return answer


def brokers_of(server: NameServer, topic: str = "T") -> list[str]:
    return [entry.broker_name for entry in server.topic_queue_table.get(topic, [])]


def check_tables(server: NameServer) -> None:
    """INV-58, INV-59, INV-60."""
    for entries in server.topic_queue_table.values():
        names = [entry.broker_name for entry in entries]
        assert entries and len(names) == len(set(names))
        assert set(names) <= set(server.broker_addr_table)
    for broker in server.broker_addr_table.values():
        addresses = list(broker.broker_addrs.values())
        assert addresses and len(addresses) == len(set(addresses))


# Registration


@pytest.mark.parametrize(("profile", "shown"), [("P494", [None, None]), ("P533", [True, False])])
def test_route_shows_acting_master_of_last_registration(profile: str, shown: list[bool | None], clock: SimulatedClock) -> None:
    server = NameServer(clock, profile=PROFILES[profile])
    table = {"topicConfigSerializeWrapper": table_to_data({"T": T, "U": TopicConfig("U", 1, 1)}, DataVersion(1)), "filterServerList": []}
    fields = {"clusterName": "c", "brokerAddr": A, "brokerName": "broker-a", "brokerId": "0", "haServerAddr": A}
    found = []
    for acting in ({"enableActingMaster": "true"}, {}):
        ask(server, codes.REGISTER_BROKER, table, **fields, **acting)
        (broker,) = json.loads(ask(server, codes.GET_ROUTEINFO_BY_TOPIC, topic="T").body or b"")["brokerDatas"]
        found.append(broker.get("enableActingMaster"))
    assert found == shown


@pytest.mark.behaviour("NS-05", "NS-08")
@pytest.mark.parametrize(
    ("profile", "acting", "perms"),
    [
        ("P494", "true", [None, 6, 6]),
        ("P514", None, [None, 6, 6]),
        ("P514", "false", [4, 6, 6]),
        ("P533", "false", [6, 6, 6]),
        ("P533", "true", [4, 6, 4]),
    ],
)
def test_slave_that_mentions_acting_registers_topics(
    profile: str, acting: str | None, perms: list[int | None], clock: SimulatedClock
) -> None:
    """The permission after the slave's registration, after the master's, and after the master has left."""
    server = NameServer(clock, profile=PROFILES[profile])
    table = {"topicConfigSerializeWrapper": table_to_data({"T": T, "U": TopicConfig("U", 1, 1)}, DataVersion(1)), "filterServerList": []}
    fields = {"clusterName": "c", "brokerName": "broker-a", **({} if acting is None else {"enableActingMaster": acting})}
    found = []
    for code, address, id_ in ((codes.REGISTER_BROKER, B, "1"), (codes.REGISTER_BROKER, A, "0"), (codes.UNREGISTER_BROKER, A, "0")):
        ask(server, code, table, **fields, brokerAddr=address, brokerId=id_, haServerAddr=address)
        found.append(next((entry.perm for entry in server.topic_queue_table.get("T", ())), None))
    assert found == perms


@pytest.mark.parametrize(
    ("profile", "checksum", "code"),
    [("P494", "0", 0), ("P494", "1", 1), ("P533", "1", 1), ("P494", "own", 0), ("P420", "1", 0)],
)
def test_registration_with_another_checksum_is_rejected(profile: str, checksum: str, code: int, clock: SimulatedClock) -> None:
    server = NameServer(clock, profile=PROFILES[profile])
    table = {"topicConfigSerializeWrapper": table_to_data({"T": T, "U": TopicConfig("U", 1, 1)}, DataVersion(1)), "filterServerList": []}
    own = str(zlib.crc32(json.dumps(table).encode()) & 0x7FFFFFFF)
    fields = {"clusterName": "c", "brokerAddr": A, "brokerName": "broker-a", "brokerId": "0", "haServerAddr": A}
    answer = ask(server, codes.REGISTER_BROKER, table, bodyCrc32=own if checksum == "own" else checksum, **fields)
    assert answer.code == code
    assert answer.remark == ("crc32 not match" if code else None)
    assert brokers_of(server) == ([] if code else ["broker-a"])


@behaviour("NS-02")
def test_registration_without_a_body_has_no_filter_servers(server: NameServer) -> None:
    """Recorded with 4.2.0 to 5.5.0: they are no longer in the route, and the topics stay."""
    table = {"topicConfigSerializeWrapper": table_to_data({"T": T}, DataVersion(1)), "filterServerList": ["10.0.0.9:9"]}
    fields = {"clusterName": "c", "brokerAddr": A, "brokerName": "broker-a", "brokerId": "0", "haServerAddr": A}
    found = []
    for body in (table, None):
        ask(server, codes.REGISTER_BROKER, body, **fields)
        route = server.route("T")
        assert route is not None
        found.append(route.filter_server_table)
    assert found == [{A: ["10.0.0.9:9"]}, {}]


@behaviour("NS-02")
def test_compressed_registration_equals_the_plain_registration(server: NameServer) -> None:
    """The compressed form has no flags and no order of a topic."""
    body = {"topicConfigSerializeWrapper": table_to_data({"T": T}, DataVersion(5, 2)), "filterServerList": ["10.0.0.9:9"]}
    told = decompressed(compressed(body))
    assert table_from_data(told["topicConfigSerializeWrapper"]) == ({"T": T}, DataVersion(5, 2))
    assert told["filterServerList"] == ["10.0.0.9:9"]
    fields = {"clusterName": "c", "brokerAddr": A, "brokerName": "broker-a", "brokerId": "0", "haServerAddr": A, "compressed": "true"}
    server.receive(channel := FakeChannel(), Command(codes.REGISTER_BROKER, fields, compressed(body), opaque=1))
    assert [answer.code for answer in channel.written] == [codes.SUCCESS]
    assert brokers_of(server) == ["broker-a"]


@behaviour("NS-02")
@pytest.mark.parametrize("keep", [0, 1, 20])
def test_truncated_compressed_registration_is_an_error(keep: int, server: NameServer) -> None:
    body = {"topicConfigSerializeWrapper": table_to_data({"T": T}, DataVersion(5, 2)), "filterServerList": list[str]()}
    whole = zlib.decompress(compressed(body))
    fields = {"clusterName": "c", "brokerAddr": A, "brokerName": "broker-a", "brokerId": "0", "haServerAddr": A, "compressed": "true"}
    server.receive(channel := FakeChannel(), Command(codes.REGISTER_BROKER, fields, zlib.compress(whole[:keep]), opaque=1))
    assert [answer.code for answer in channel.written] == [codes.SYSTEM_ERROR]
    assert not brokers_of(server)


@behaviour("NS-01", "NS-02")
def test_a_master_registers_its_topics(server: NameServer, clock: SimulatedClock) -> None:
    channel = FakeChannel()
    register(server, "broker-a", TopicConfig("T", 4, 5, 6, topic_sys_flag=3), version=7, channel=channel)
    assert server.cluster_addr_table == {"DefaultCluster": {"broker-a"}}
    assert server.broker_addr_table == {"broker-a": BrokerData("DefaultCluster", "broker-a", {0: A})}
    assert server.topic_queue_table == {"T": [QueueData("broker-a", 4, 5, 6, 3)]}
    assert server.broker_live_table == {A: BrokerLiveInfo(clock.now(), DataVersion(1000, 7), channel, f"ha-{A}")}


@behaviour("NS-03")
def test_same_version_changes_no_topic_but_extends_the_lifetime(server: NameServer, clock: SimulatedClock) -> None:
    register(server, "broker-a", T)
    clock.time += 1000
    register(server, "broker-a", TopicConfig("T", 8, 8))
    assert server.topic_queue_table["T"] == [QueueData("broker-a", 4, 4, 6)]
    assert server.broker_live_table[A].last_update_timestamp == clock.now()


@behaviour("NS-03", "PER-08", "HAZ-37", "M-114")
@pytest.mark.parametrize("version", [DataVersion(1000, 4), DataVersion(1000, 6), DataVersion(999, 5), DataVersion(1001, 5)])
def test_any_different_version_counts_as_a_change(server: NameServer, version: DataVersion) -> None:
    register(server, "broker-a", T, version=5)
    server.register_broker("DefaultCluster", A, "broker-a", 0, "ha", {"T": TopicConfig("T", 8, 8)}, version)
    assert server.topic_queue_table["T"] == [QueueData("broker-a", 8, 8, 6)]
    assert server.broker_live_table[A].data_version == version


@behaviour("NS-02", "NS-03")
def test_stored_version_is_a_copy_of_the_senders(server: NameServer) -> None:
    version = DataVersion(1000, 1)
    server.register_broker("DefaultCluster", A, "broker-a", 0, "ha", {}, version)
    version.next_version(2000)
    assert server.is_topic_config_changed(A, version)
    assert not server.is_topic_config_changed(A, DataVersion(1000, 1))
    assert server.is_topic_config_changed(B, DataVersion(1000, 1)), "an address without live info"


@behaviour("NS-02")
def test_registration_under_a_new_id_is_a_first_registration(server: NameServer) -> None:
    """A slave that becomes master keeps address and version; its topics are stored nevertheless."""
    register(server, "broker-a", T, broker_id=1, address=A)
    register(server, "broker-a", T, broker_id=0)
    assert brokers_of(server) == ["broker-a"]


@pytest.mark.parametrize(
    ("profile", "registered", "addresses"),
    [
        ("P440", [(1, A), (0, A)], {0: A, 1: A}),
        ("P452", [(1, A), (0, A)], {0: A}),
        ("P494", [(1, A), (2, B), (0, A)], {2: B, 0: A}),
        ("P494", [(0, A), (0, B)], {0: B}),
    ],
)
@behaviour("NS-02", "INV-60")
def test_address_moves_to_its_last_id_since_452(
    clock: SimulatedClock, profile: str, registered: list[tuple[int, str]], addresses: dict[int, str]
) -> None:
    server = NameServer(clock, profile=PROFILES[profile])
    for broker_id, address in registered:
        register(server, "broker-a", T, broker_id=broker_id, address=address)
    assert server.broker_addr_table["broker-a"].broker_addrs == addresses
    assert set(server.broker_live_table) == {address for _, address in registered}
    if profile != "P440":
        check_tables(server)


@pytest.mark.parametrize(("profile", "reads"), [("P420", False), ("P432", True)])
@behaviour("NS-02", "NS-09")
def test_up_to_42_versions_and_compression_are_ignored(clock: SimulatedClock, profile: str, reads: bool) -> None:
    server = NameServer(clock, profile=PROFILES[profile])
    fields = {"clusterName": "c", "brokerAddr": A, "brokerName": "broker-a", "brokerId": "0", "haServerAddr": A}
    body = compressed({"topicConfigSerializeWrapper": table_to_data({}, DataVersion(1)), "filterServerList": []})
    server.receive(channel := FakeChannel(), Command(codes.REGISTER_BROKER, {**fields, "compressed": "true"}, body, opaque=1))
    (answer,) = channel.written
    assert (answer.code == codes.SUCCESS) is reads
    assert reads or (answer.remark or "").startswith("com.alibaba.fastjson.JSONException: syntax error, expect {, actual error, pos 0")
    version = json.dumps(version_to_data(DataVersion(1))).encode()
    server.receive(channel := FakeChannel(), Command(codes.QUERY_DATA_VERSION, fields, version, opaque=2))
    assert len(channel.written) == reads


@behaviour("NS-04", "INV-59", "M-116")
@pytest.mark.parametrize(("queues", "order"), [(4, ["broker-a", "broker-b"]), (8, ["broker-b", "broker-a"])])
def test_only_changed_content_moves_the_brokers_entry_to_the_end(server: NameServer, queues: int, order: list[str]) -> None:
    register(server, "broker-a", T)
    register(server, "broker-b", T)
    register(server, "broker-a", TopicConfig("T", queues, queues), version=2)
    sizes = {"broker-a": queues, "broker-b": 4}
    assert server.topic_queue_table["T"] == [QueueData(broker, sizes[broker], sizes[broker], 6) for broker in order]
    check_tables(server)


@behaviour("NS-04", "HAZ-36", "M-115")
def test_a_topic_that_is_missing_from_a_registration_stays(server: NameServer) -> None:
    register(server, "broker-a", T, TopicConfig("U", 4, 4))
    register(server, "broker-a", TopicConfig("U", 4, 4), version=2)
    assert brokers_of(server) == ["broker-a"]
    register(server, "broker-a", version=3)
    assert set(server.topic_queue_table) == {"T", "U"}


@behaviour("NS-05", "M-117")
def test_a_slaves_registration_leaves_the_topics_alone(server: NameServer) -> None:
    register(server, "broker-a", TopicConfig("S", 1, 1), broker_id=1)
    assert server.topic_queue_table == {}
    register(server, "broker-a", T)
    register(server, "broker-a", TopicConfig("T", 9, 9), broker_id=1, version=9)
    assert server.topic_queue_table == {"T": [QueueData("broker-a", 4, 4, 6)]}


@behaviour("NS-02")
def test_only_a_slave_gets_the_masters_address(server: NameServer) -> None:
    slave: tuple[Any, ...] = ("DefaultCluster", B, "broker-a", 1, "ha-b", {}, DataVersion(1))
    assert server.register_broker(*slave) == RegisterBrokerResult()
    assert server.register_broker("DefaultCluster", A, "broker-a", 0, "ha-a", {}, DataVersion(1)) == RegisterBrokerResult()
    assert server.register_broker(*slave) == RegisterBrokerResult(A, "ha-a")
    del server.broker_live_table[A]
    assert server.register_broker(*slave) == RegisterBrokerResult(), "a master without live info is no news"


# Version query


@behaviour("NS-03", "NS-09")
def test_query_of_the_stored_version_extends_the_lifetime(server: NameServer, clock: SimulatedClock) -> None:
    register(server, "broker-a", T, version=3)
    clock.time += 500
    assert server.query_version("DefaultCluster", A, DataVersion(1000, 3)) == (False, DataVersion(1000, 3))
    assert server.broker_live_table[A].last_update_timestamp == clock.now()
    clock.time += 500
    for other in (DataVersion(1000, 4), DataVersion(1001, 3)):
        assert server.query_version("DefaultCluster", A, other) == (True, DataVersion(1000, 3))
    assert server.broker_live_table[A].last_update_timestamp == clock.now() - 500
    assert server.query_version("DefaultCluster", B, DataVersion(1000, 3)) == (True, None)
    assert B not in server.broker_live_table


# Leaving


@behaviour("NS-07", "NS-08", "LIV-04", "M-118")
def test_a_broker_leaves_after_more_than_120_seconds_of_silence(server: NameServer, clock: SimulatedClock) -> None:
    channel = FakeChannel()
    register(server, "broker-a", T, TopicConfig("U", 4, 4), channel=channel, filter_servers=["f"])
    register(server, "broker-b", T)
    clock.time += 119_999
    register(server, "broker-b", T)
    clock.time += 1
    assert server.scan() == []
    assert brokers_of(server) == ["broker-a", "broker-b"]
    clock.time += 1
    assert server.scan() == [channel]
    assert server.topic_queue_table == {"T": [QueueData("broker-b", 4, 4, 6)]}
    assert set(server.broker_addr_table) == set(server.cluster_addr_table["DefaultCluster"]) == {"broker-b"}
    assert set(server.broker_live_table) == {B}
    assert server.filter_server_table == {}
    check_tables(server)


@behaviour("NS-07", "LIV-04")
def test_dead_broker_is_removed_after_120_seconds_and_one_scan(server: NameServer, clock: SimulatedClock) -> None:
    (task,) = server.PERIODIC
    assert (task.name, task.first, task.period) == ("scan", 5000, 10_000)
    register(server, "broker-a", T)
    silent_since = clock.time
    clock.time += task.first
    while server.scan() or server.route("T") is not None:
        clock.time += task.period
    assert 120_000 < clock.time - silent_since <= 130_000


@behaviour("NS-03", "NS-08")
def test_removing_the_last_broker_removes_cluster_and_topics(server: NameServer) -> None:
    channel = FakeChannel()
    register(server, "broker-a", T, channel=channel)
    server.channel_closed(FakeChannel())
    assert brokers_of(server) == ["broker-a"], "no broker registered over that connection"
    server.channel_closed(channel)
    assert (server.topic_queue_table, server.broker_addr_table, server.cluster_addr_table, server.broker_live_table) == ({}, {}, {}, {})
    register(server, "broker-a", T)
    assert brokers_of(server) == ["broker-a"], "it is accepted again with the same version"


@behaviour("NS-08")
def test_closing_an_earlier_connection_keeps_the_broker(server: NameServer) -> None:
    old, new = FakeChannel(), FakeChannel()
    register(server, "broker-a", T, channel=old)
    register(server, "broker-a", T, channel=new)
    server.channel_closed(old)
    assert server.route("T") is not None


@behaviour("NS-08", "HAZ-43")
def test_with_a_slave_left_the_queues_stay(server: NameServer) -> None:
    master = FakeChannel()
    register(server, "broker-a", T, channel=master)
    register(server, "broker-a", broker_id=1, address=B)
    server.channel_closed(master)
    route = present(server.route("T"))
    assert route.broker_datas == [BrokerData("DefaultCluster", "broker-a", {1: B})]
    assert route.queue_datas == [QueueData("broker-a", 4, 4, 6)]
    check_tables(server)


@behaviour("NS-08", "INV-58")
def test_a_broker_that_unregisters_leaves(server: NameServer) -> None:
    register(server, "broker-a", T)
    register(server, "broker-b", T)
    answer = ask(server, codes.UNREGISTER_BROKER, clusterName="DefaultCluster", brokerName="broker-a", brokerAddr=A, brokerId="0")
    assert answer.code == codes.SUCCESS
    assert brokers_of(server) == ["broker-b"]
    assert set(server.broker_live_table) == {B}
    server.unregister_broker("DefaultCluster", "nowhere", "broker-x", 0)
    check_tables(server)


def register_in(server: NameServer, *clusters: str) -> FakeChannel:
    """Register the broker broker-a in several clusters, all over one connection."""
    channel = FakeChannel()
    for cluster in clusters:
        server.register_broker(cluster, A, "broker-a", 0, A, {}, DataVersion(1), channel=channel)
    return channel


@behaviour("NS-08")
@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_unregistration_removes_a_name_from_its_own_cluster_only(profile: str, clock: SimulatedClock) -> None:
    server = NameServer(clock, profile=PROFILES[profile])
    register_in(server, "one", "two")
    leaving = {"brokerName": "broker-a", "brokerAddr": A, "brokerId": "0"}
    ask(server, codes.UNREGISTER_BROKER, clusterName="three", **leaving)
    assert (server.cluster_addr_table, server.broker_addr_table) == ({"one": {"broker-a"}, "two": {"broker-a"}}, {})
    register_in(server, "two")
    ask(server, codes.UNREGISTER_BROKER, clusterName="two", **leaving)
    assert server.cluster_addr_table == {"one": {"broker-a"}}


@behaviour("NS-08")
@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_closed_connection_removes_a_name_from_one_cluster_only(profile: str, clock: SimulatedClock) -> None:
    server = NameServer(clock, profile=PROFILES[profile])
    server.channel_closed(register_in(server, "one", "two"))
    assert (server.cluster_addr_table, server.broker_addr_table) == ({"two": {"broker-a"}}, {})


# Route look-up


@behaviour("NS-06")
def test_a_route_needs_queue_data_and_one_known_broker(server: NameServer) -> None:
    assert server.route("T") is None
    server.topic_queue_table["T"] = [QueueData("broker-a", 4, 4, 6), QueueData("broker-b", 4, 4, 6)]
    assert server.route("T") is None
    server.broker_addr_table["broker-b"] = BrokerData("DefaultCluster", "broker-b", {0: B})
    route = present(server.route("T"))
    assert [entry.broker_name for entry in route.queue_datas] == ["broker-a", "broker-b"]
    assert [broker.broker_name for broker in route.broker_datas] == ["broker-b"]


@behaviour("NS-06")
def test_a_route_is_a_copy(server: NameServer) -> None:
    register(server, "broker-a", T)
    route = present(server.route("T"))
    route.queue_datas[0].write_queue_nums = 99
    route.broker_datas[0].broker_addrs.clear()
    assert server.topic_queue_table["T"] == [QueueData("broker-a", 4, 4, 6)]
    assert server.broker_addr_table["broker-a"].broker_addrs == {0: A}


@behaviour("NS-06")
@pytest.mark.parametrize(("enabled", "expected"), [(False, None), (True, "broker-a:4")])
def test_order_topics_are_in_the_route_if_enabled(clock: SimulatedClock, enabled: bool, expected: str | None) -> None:
    server = NameServer(clock, settings=NameServerSettings(order_message_enable=enabled))
    register(server, "broker-a", T, TopicConfig("U"))
    ask(server, codes.PUT_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key="T", value="broker-a:4")
    answer = ask(server, codes.GET_ROUTEINFO_BY_TOPIC, topic="T")
    assert answer.body is not None
    assert json.loads(answer.body).get("orderTopicConf") == expected
    assert decode_route(answer.body).order_topic_conf == expected
    other = server.route("U")
    assert other is not None and other.order_topic_conf is None


@behaviour("NS-12")
@pytest.mark.parametrize(("profile", "listed"), [("P494", True), ("P533", False)])
def test_setting_of_later_releases_leaves_order_topics_out(profile: str, listed: bool, clock: SimulatedClock) -> None:
    settings = NameServerSettings(return_order_topic_config_to_broker=False)
    server = NameServer(clock, settings=settings, profile=PROFILES[profile])
    ask(server, codes.PUT_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key="T", value="broker-a:4")
    fields = {"clusterName": "c", "haServerAddr": "ha", "brokerName": "broker-a", "brokerAddr": A, "brokerId": "0"}
    assert (ask(server, codes.REGISTER_BROKER, None, None, **fields).body is not None) is listed


@behaviour("NS-04", "HAZ-36")
@pytest.mark.parametrize(
    ("profile", "enabled", "kept"), [("P511", True, True), ("P514", True, False), ("P533", True, False), ("P533", False, True)]
)
def test_setting_of_later_releases_removes_topics_that_registration_lacks(
    profile: str, enabled: bool, kept: bool, clock: SimulatedClock
) -> None:
    server = NameServer(clock, settings=NameServerSettings(delete_topic_with_broker_registration=enabled), profile=PROFILES[profile])
    others = (TopicConfig("U"), TopicConfig("V"))
    register(server, "broker-a", T, *others)
    register(server, "broker-b", T, *others)
    register(server, "broker-a", *others, version=2)
    assert brokers_of(server) == (["broker-a", "broker-b"] if kept else ["broker-b"])
    register(server, "broker-b", *others, version=2)
    assert ("T" in server.topic_queue_table) is kept
    assert brokers_of(server, "U") == ["broker-a", "broker-b"]


@behaviour("NS-02")
def test_malformed_numbers_of_registration_are_null(server: NameServer) -> None:
    fields = {"clusterName": "c", "haServerAddr": "ha", "brokerName": "broker-a", "brokerAddr": A, "brokerId": "0"}
    assert ask(server, codes.REGISTER_BROKER, None, None, **fields, bodyCrc32="x").code == codes.SUCCESS
    answer = ask(server, codes.REGISTER_BROKER, None, None, **fields | {"brokerId": "x"})
    assert answer.code == codes.SYSTEM_ERROR and "NullPointerException" in (answer.remark or "")


@behaviour("NS-06")
def test_filter_servers_are_listed_by_address(server: NameServer) -> None:
    register(server, "broker-a", T, filter_servers=["127.0.0.1:30000"])
    route = server.route("T")
    assert route is not None and route.filter_server_table == {A: ["127.0.0.1:30000"]}
    assert decode_route(encode_route(route)) == route
    assert b"orderTopicConf" not in encode_route(route)
    register(server, "broker-a", T, filter_servers=[])
    assert server.filter_server_table == {}


@behaviour("NS-06")
@pytest.mark.parametrize("more", [b"", b',"filterServerTable":null'])
def test_route_without_filter_servers_has_none(more: bytes) -> None:
    route = decode_route(b'{"brokerDatas":[],"queueDatas":[]%b}' % more)
    assert route.copy() == route == TopicRouteData([], [])


def test_a_route_survives_its_json() -> None:
    route = TopicRouteData(
        [QueueData("broker-b", 1, 2, 6, 3), QueueData("broker-a", 4, 5, 4)], [BrokerData("c", "broker-a", {0: A, 10: B, 2: "x"})]
    )
    assert decode_route(encode_route(route)) == route


# Requests


def registration(version: DataVersion, *topics: TopicConfig) -> dict[str, Any]:
    table = {config.topic_name: config for config in topics}
    return {"topicConfigSerializeWrapper": table_to_data(table, version), "filterServerList": []}


@behaviour("NS-02", "NS-12")
def test_a_registration_over_the_wire(server: NameServer) -> None:
    channel = FakeChannel()
    fields = {"clusterName": "DefaultCluster", "haServerAddr": "ha-a"}
    master = fields | {"brokerName": "broker-a", "brokerAddr": A, "brokerId": "0"}
    answer = ask(server, codes.REGISTER_BROKER, registration(DataVersion(5, 6), T), channel, **master)
    assert (answer.code, answer.remark, answer.ext_fields, answer.body) == (codes.SUCCESS, None, {}, None)
    assert server.topic_queue_table == {"T": [QueueData("broker-a", 4, 4, 6)]}
    assert server.broker_live_table[A].channel is channel
    assert server.broker_live_table[A].data_version == DataVersion(5, 6)
    ask(server, codes.PUT_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key="T", value="broker-a:4")
    slave = fields | {"brokerName": "broker-a", "brokerAddr": B, "brokerId": "1"}
    answer = ask(server, codes.REGISTER_BROKER, registration(DataVersion(5, 6)), None, **slave)
    assert answer.ext_fields == {"masterAddr": A, "haServerAddr": "ha-a"}
    assert answer.body is not None and json.loads(answer.body) == {"table": {"T": "broker-a:4"}}


@behaviour("NS-02")
def test_a_registration_without_a_body_has_no_topics(server: NameServer) -> None:
    fields = {"clusterName": "c", "haServerAddr": "ha", "brokerName": "broker-a", "brokerAddr": A, "brokerId": "0"}
    assert ask(server, codes.REGISTER_BROKER, None, None, **fields).code == codes.SUCCESS
    assert server.broker_live_table[A].data_version == DataVersion(0)
    assert server.topic_queue_table == {}


@behaviour("NS-09")
def test_a_version_query_over_the_wire(server: NameServer) -> None:
    register(server, "broker-a", T, version=3)
    fields = {"clusterName": "c", "brokerName": "broker-a", "brokerId": "0"}
    for counter, changed in ((3, "false"), (4, "true")):
        answer = ask(server, codes.QUERY_DATA_VERSION, version_to_data(DataVersion(1000, counter)), None, brokerAddr=A, **fields)
        assert (answer.code, answer.ext_fields) == (codes.SUCCESS, {"changed": changed})
        assert answer.body is not None and json.loads(answer.body) == {"counter": 3, "timestamp": 1000}
    answer = ask(server, codes.QUERY_DATA_VERSION, version_to_data(DataVersion(1)), None, brokerAddr=B, **fields)
    assert (answer.ext_fields, answer.body) == ({"changed": "true"}, None)


def test_key_value_configuration(server: NameServer) -> None:
    answer = ask(server, codes.GET_KVLIST_BY_NAMESPACE, namespace="N")
    assert (answer.code, answer.remark) == (codes.QUERY_NOT_FOUND, "No config item, Namespace: N")
    for key, value in (("a", "1"), ("b", "2"), ("a", "3")):
        assert ask(server, codes.PUT_KV_CONFIG, namespace="N", key=key, value=value).code == codes.SUCCESS
    answer = ask(server, codes.GET_KVLIST_BY_NAMESPACE, namespace="N")
    assert answer.code == codes.SUCCESS
    assert answer.body is not None and json.loads(answer.body) == {"table": {"a": "3", "b": "2"}}


@behaviour("PERM-02")
@pytest.mark.parametrize(("perm", "wiped", "added"), [(7, 5, 6), (6, 4, 6), (4, 4, 6), (2, 0, 6), (15, 13, 6), (0, 0, 6)])
def test_write_permission_is_wiped_and_added(server: NameServer, perm: int, wiped: int, added: int) -> None:
    register(server, "broker-a", TopicConfig("T", 4, 4, perm), TopicConfig("U", 4, 4, perm))
    register(server, "broker-b", TopicConfig("T", 4, 4, perm))
    answer = ask(server, codes.WIPE_WRITE_PERM_OF_BROKER, brokerName="broker-a")
    assert (answer.code, answer.ext_fields) == (codes.SUCCESS, {"wipeTopicCount": "2"})
    assert [entry.perm for entry in server.topic_queue_table["T"]] == [wiped, perm]
    assert [entry.perm for entry in server.topic_queue_table["U"]] == [wiped]
    answer = ask(server, codes.ADD_WRITE_PERM_OF_BROKER, brokerName="broker-a")
    assert (answer.code, answer.ext_fields) == (codes.SUCCESS, {"addTopicCount": "2"})
    assert [entry.perm for entry in server.topic_queue_table["T"]] == [added, perm]


def test_unknown_or_unreadable_requests_are_errors(server: NameServer) -> None:
    answer = ask(server, 9999)
    assert (answer.code, answer.remark) == (codes.REQUEST_CODE_NOT_SUPPORTED, " request type 9999 not supported")
    answer = ask(server, codes.GET_ROUTEINFO_BY_TOPIC)
    assert answer.code == codes.SYSTEM_ERROR
    assert answer.remark is not None and "the custom field <topic> is null" in answer.remark


def test_a_one_way_registration_is_served_and_not_answered(server: NameServer) -> None:
    channel = FakeChannel()
    fields = {"clusterName": "c", "haServerAddr": "ha", "brokerName": "broker-a", "brokerAddr": A, "brokerId": "0"}
    body = json.dumps(registration(DataVersion(1), T)).encode()
    server.receive(channel, Command(codes.REGISTER_BROKER, fields, body, flag=ONE_WAY))
    assert channel.written == []
    assert brokers_of(server) == ["broker-a"]


# Clusters, and deleted topics


def test_cluster_query_lists_brokers_by_cluster(server: NameServer) -> None:
    register(server, "broker-a", T)
    register(server, "broker-b", T)
    answer = ask(server, codes.GET_BROKER_CLUSTER_INFO)
    assert answer.code == 0
    assert json.loads(answer.body or b"") == {
        "brokerAddrTable": {
            "broker-a": {"brokerAddrs": {"0": A}, "brokerName": "broker-a", "cluster": "DefaultCluster"},
            "broker-b": {"brokerAddrs": {"0": B}, "brokerName": "broker-b", "cluster": "DefaultCluster"},
        },
        "clusterAddrTable": {"DefaultCluster": ["broker-a", "broker-b"]},
    }


@behaviour("HAZ-36")
def test_deleted_topic_returns_with_the_next_registration(server: NameServer) -> None:
    register(server, "broker-a", T, version=1)
    assert ask(server, codes.DELETE_TOPIC_IN_NAMESRV, topic="T").code == 0
    answer = ask(server, codes.GET_ROUTEINFO_BY_TOPIC, topic="T")
    assert (answer.code, str(answer.remark).split("\n")[0]) == (17, "No topic route info in name server for the topic: T")
    register(server, "broker-a", T, version=1)
    assert ask(server, codes.GET_ROUTEINFO_BY_TOPIC, topic="T").code == 17
    register(server, "broker-a", T, version=2)
    assert ask(server, codes.GET_ROUTEINFO_BY_TOPIC, topic="T").code == 0


def test_topic_is_deleted_for_one_cluster(server: NameServer) -> None:
    register(server, "broker-a", T)
    register(server, "broker-b", T)
    server.cluster_addr_table = {"one": {"broker-a"}, "two": {"broker-b"}}
    for cluster, left in (("three", ["broker-a", "broker-b"]), ("one", ["broker-b"]), ("two", [])):
        assert ask(server, codes.DELETE_TOPIC_IN_NAMESRV, topic="T", clusterName=cluster).code == 0
        assert brokers_of(server) == left
    assert "T" not in server.topic_queue_table
    assert ask(server, codes.DELETE_TOPIC_IN_NAMESRV, topic="nosuch", clusterName="one").code == 0


@behaviour("NS-02", "NS-03", "PERM-02")
def test_a_wiped_permission_stays_until_the_version_changes(server: NameServer) -> None:
    register(server, "broker-a", T)
    server.wipe_write_perm("broker-a")
    for version, perm in ((1, 4), (2, 6)):
        register(server, "broker-a", T, version=version)
        assert [entry.perm for entry in server.topic_queue_table["T"]] == [perm]


@behaviour("NS-02", "NS-08")
def test_master_registered_as_slave_keeps_topics_but_not_its_id(server: NameServer) -> None:
    register(server, "broker-a", T)
    register(server, "broker-a", broker_id=1, address=A)
    found = present(server.route("T"))
    assert found.broker_datas[0].broker_addrs == {1: A}
    assert publish_info("T", found) == PublishInfo([], have_topic_router_info=True, route=found)


@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_topics_are_stored_by_name_not_by_table_key(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routeinfo, "MAX_TOPICS", 10)
    server = NameServer(SimulatedClock(), profile=PROFILES[profile])
    keys = ("T0", "T1", "T2")
    register_named(server, "c", {key: key for key in keys}, 1)
    for number in (2, 3):
        register_named(server, "c", {key: f"{key} {number}" for key in keys}, number)
    with pytest.raises(JavaError, match="Java heap space"):
        register_named(server, "c", {key: f"{key} 4" for key in keys}, 4)
    assert sum(map(len, server.topic_queue_table.values())) == 9


@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_clusters_of_a_broker_are_bounded(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routeinfo, "MAX_BROKERS", 5)
    server = NameServer(SimulatedClock(), profile=PROFILES[profile])
    for number in range(5):
        register_named(server, f"cluster-{number}", {"T0": "T0", "T1": "T1"}, number)
    with pytest.raises(JavaError, match="Java heap space"):
        register_named(server, "another", {"T0": "T0", "T1": "T1"}, 5)
    assert sum(map(len, server.cluster_addr_table.values())) == 5


@given(puts=st.lists(st.tuples(*[st.text(max_size=3)] * 2, st.text(max_size=40)), max_size=12), most=st.integers(0, 6))
def test_key_value_configuration_is_bounded_in_bytes(puts: list[tuple[str, str, str]], most: int) -> None:
    """A value counts once, also if it replaces another, and a refused value changes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kvconfig, "MAX_FRAME", most * ENTRY)
        server = NameServer(SimulatedClock())
    kept: dict[tuple[str, str], str] = {}
    for namespace, key, value in puts:
        then = kept | {(namespace, key): value}
        fits = sum(ENTRY + len(space) + len(name) + len(text) for (space, name), text in then.items()) <= most * ENTRY
        answer = ask(server, codes.PUT_KV_CONFIG, namespace=namespace, key=key, value=value)
        assert (answer.code == codes.SUCCESS) is fits, answer.remark
        kept = then if fits else kept
    assert {(space, name): text for space, _, _ in puts for name, text in server.kv_config.table(space).items()} == kept


def register_named(server: NameServer, cluster: str, names: dict[str, str], version: int) -> None:
    """Register topics of these names, by the keys of a table."""
    table = {key: TopicConfig(name, 4, 4) for key, name in names.items()}
    server.register_broker(cluster, A, "broker-a", 0, A, table, DataVersion(version))


# Missing fields


@behaviour("REM-04")
@pytest.mark.parametrize(
    ("code", "fields", "answered"),
    [
        (codes.PUT_KV_CONFIG, {"namespace": "n"}, (codes.SYSTEM_ERROR, "namespace or key is null", None)),
        (codes.GET_KVLIST_BY_NAMESPACE, {}, (codes.QUERY_NOT_FOUND, "No config item, Namespace: null", None)),
        (codes.DELETE_TOPIC_IN_NAMESRV, {}, (codes.SUCCESS, None, None)),
        (codes.WIPE_WRITE_PERM_OF_BROKER, {}, (codes.SUCCESS, None, {"wipeTopicCount": "0"})),
        (codes.ADD_WRITE_PERM_OF_BROKER, {}, (codes.SUCCESS, None, {"addTopicCount": "0"})),
        (codes.QUERY_DATA_VERSION, {"clusterName": "c"}, (codes.SUCCESS, None, {"changed": "true"})),
    ],
)
def test_missing_field_is_null_if_profile_reads_on(
    code: int, fields: dict[str, str], answered: tuple[int, str | None, dict[str, str] | None], clock: SimulatedClock
) -> None:
    body = version_to_data(DataVersion(1)) if code == codes.QUERY_DATA_VERSION else None
    answer = ask(NameServer(clock, profile=PROFILES["P494"]), code, body, **fields)
    assert (answer.code, answer.remark, answer.ext_fields) == answered
    assert ask(NameServer(clock), code, body, **fields).code == codes.SYSTEM_ERROR


@behaviour("REM-04", "NS-02")
def test_registration_needs_no_address_for_slaves_but_its_id(clock: SimulatedClock) -> None:
    server = NameServer(clock, profile=PROFILES["P494"])
    fields = {"clusterName": "c", "brokerName": "broker-a", "brokerAddr": A}
    assert "NullPointerException" in (ask(server, codes.REGISTER_BROKER, None, None, **fields).remark or "")
    assert ask(server, codes.REGISTER_BROKER, None, None, **fields, brokerId="0").code == codes.SUCCESS
