"""Where 4.5.2 differs from articles about 4.3 to 4.6: administrators, nulls, names of fields."""

from __future__ import annotations

import pytest
from marks import behaviour

from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.remoting.headers import SEND_V2, SendMessageRequestHeader, encode, parse_request_header
from rocketproof_impl.route import QueueData, TopicRouteData, decode_route, encode_route
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_profiles import PROFILES
from rocketproof_protocol.codes import (
    ADD_WRITE_PERM_OF_BROKER,
    DELETE_SUBSCRIPTIONGROUP,
    DELETE_TOPIC_IN_BROKER,
    DELETE_TOPIC_IN_NAMESRV,
    GET_ROUTEINFO_BY_TOPIC,
    PULL_MESSAGE,
    REQUEST_CODE_NOT_SUPPORTED,
    SEND_MESSAGE_V2,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
    UPDATE_AND_CREATE_TOPIC,
)
from rocketproof_protocol.topics import TEMPLATE

GET_CONSUMER_CONNECTION_LIST = 203

CLUSTER = "DefaultCluster"
BOTH = ("P45", "P452")
QUERY_MESSAGE = 12


def administer(cluster: Cluster, code: int, topic: str | None) -> Command:
    named = {} if topic is None else {"topic": topic}
    counts = {"defaultTopic": TEMPLATE, "readQueueNums": "4", "writeQueueNums": "4", "perm": "6", "order": "false"}
    return cluster.call(Command(code, named | counts | {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}), "broker-a")


@pytest.mark.parametrize("topic", ["a b", "x" * 128, TEMPLATE, ""])
@behaviour("TCM-30", "TCM-31")
def test_administrator_can_name_any_topic_in_452(topic: str) -> None:
    guarded, free = (Cluster(1, profile=name) for name in BOTH)
    for code in (UPDATE_AND_CREATE_TOPIC, DELETE_TOPIC_IN_BROKER):
        assert administer(guarded, code, topic).code == SYSTEM_ERROR
        assert administer(free, code, topic).code == SUCCESS
        assert (topic in free.nodes["broker-a"].running.topics.table) is (code == UPDATE_AND_CREATE_TOPIC)


@behaviour("TCM-30", "TCM-31")
def test_452_refuses_only_to_change_the_clusters_topic() -> None:
    cluster = Cluster(1, profile="P452")
    answer = administer(cluster, UPDATE_AND_CREATE_TOPIC, CLUSTER)
    assert (answer.code, answer.remark) == (SYSTEM_ERROR, f"the topic[{CLUSTER}] is conflict with system reserved words.")
    assert administer(cluster, DELETE_TOPIC_IN_BROKER, CLUSTER).code == SUCCESS
    for code in (UPDATE_AND_CREATE_TOPIC, DELETE_TOPIC_IN_BROKER):
        assert (administer(cluster, code, None).remark or "").startswith("java.lang.NullPointerException")


@pytest.mark.parametrize(
    ("profile", "remark"), [("P45", "not set any response code"), ("P452", None), ("P494", "not set any response code")]
)
@behaviour("TCM-30")
def test_remark_of_a_changed_topic_depends_on_release(profile: str, remark: str | None) -> None:
    assert administer(Cluster(1, profile=profile), UPDATE_AND_CREATE_TOPIC, "T").remark == remark


@pytest.mark.parametrize("place", ["broker-a", "name server"])
@behaviour("REM-05")
def test_452_leaves_an_unknown_code_without_an_answer(place: str) -> None:
    cluster = Cluster(1, profile="P452")
    with pytest.raises(TimedOut):
        cluster.call(Command(9999), place)
    assert cluster.network.unmatched == []


@behaviour("REM-05")
def test_unimplemented_code_of_the_release_is_refused() -> None:
    """The refusal keeps clients from waiting for a request that this implementation lacks."""
    assert Cluster(1, profile="P452").call(Command(GET_CONSUMER_CONNECTION_LIST), "broker-a").code == REQUEST_CODE_NOT_SUPPORTED


@pytest.mark.parametrize("profile", ["P452", "P471", "P491"])
@behaviour("PERM-02", "REM-05")
def test_name_server_leaves_later_codes_without_an_answer(profile: str) -> None:
    given = Command(ADD_WRITE_PERM_OF_BROKER, {"brokerName": "nobody"})
    with pytest.raises(TimedOut):
        Cluster(1, profile=profile).call(given, "name server")
    assert Cluster(1, profile="P492").call(given, "name server").ext_fields == {"addTopicCount": "0"}


@pytest.mark.parametrize(("profile", "code"), [("P452", TOPIC_NOT_EXIST), ("P493", TOPIC_NOT_EXIST), ("P494", SUCCESS)])
@behaviour("NS-04")
def test_a_name_server_forgets_a_topic_whatever_cluster_is_named(profile: str, code: int) -> None:
    cluster = Cluster(1, profile=profile)
    assert administer(cluster, UPDATE_AND_CREATE_TOPIC, "T").code == SUCCESS
    forgotten = cluster.call(Command(DELETE_TOPIC_IN_NAMESRV, {"topic": "T", "clusterName": "another"}), "name server")
    assert forgotten.code == SUCCESS
    assert cluster.call(Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), "name server").code == code


@pytest.mark.parametrize(("profile", "kept"), [("P452", True), ("P480", True), ("P490", False), ("P494", False)])
@behaviour("PER-08")
def test_offsets_of_a_deleted_group_stay_up_to_480(profile: str, kept: bool) -> None:
    cluster = Cluster(1, profile=profile)
    offsets = cluster.nodes["broker-a"].running.offsets
    offsets.commit("g", "T", 0, 5)
    fields = {"groupName": "g", "removeOffset": "true"}
    assert cluster.call(Command(DELETE_SUBSCRIPTIONGROUP, fields), "broker-a").code == SUCCESS
    assert (offsets.query("g", "T", 0) == 5) is kept


@behaviour("REM-04")
def test_452_reads_an_invalid_number_as_null() -> None:
    texts = encode(SendMessageRequestHeader("p", "T", TEMPLATE, 4, 0, 0, 0, 0), SEND_V2) | {"h": "x"}
    with pytest.raises(JavaError, match="NumberFormat"):
        parse_request_header(SEND_MESSAGE_V2, texts, PROFILES["P494"])
    header = parse_request_header(SEND_MESSAGE_V2, texts, PROFILES["P452"])
    assert header is not None
    with pytest.raises(JavaError, match="NullPointer"):
        _ = header.flag


@pytest.mark.parametrize(("profile", "code"), [("P494", SYSTEM_ERROR), ("P452", TOPIC_NOT_EXIST)])
@behaviour("REM-04")
def test_452_reads_an_invalid_number_of_a_pull_as_null(profile: str, code: int) -> None:
    asked = {"consumerGroup": "g", "topic": "nowhere", "queueId": "x", "sysFlag": "0"}
    assert Cluster(1, profile=profile).call(Command(PULL_MESSAGE, asked), "broker-a").code == code


@pytest.mark.parametrize(("profile", "name"), [("P45", "topicSysFlag"), ("P452", "topicSynFlag")])
@behaviour("NS-06")
def test_name_of_a_topics_flag_in_routes(profile: str, name: str) -> None:
    cluster = Cluster(1, profile=profile)
    assert administer(cluster, UPDATE_AND_CREATE_TOPIC, "T").code == SUCCESS
    answer = cluster.call(Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), "name server")
    assert f'"{name}":0'.encode() in (answer.body or b"")


@behaviour("NS-06")
def test_client_reads_both_names_of_the_flag() -> None:
    route = TopicRouteData([QueueData("broker-a", 1, 1, 6, 3)], [])
    assert decode_route(encode_route(route, "topicSynFlag")) == decode_route(encode_route(route)) == route
