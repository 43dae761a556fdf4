"""Places where a quick reading of the rules goes wrong: producer, name server, headers and store, in all four profiles."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from client_doubles import ADDRESS, NAME_SERVER, Field, register, route
from marks import behaviour, earlier, every, later
from simulated import present
from storing import Stand, appended, message, sized

from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message, parse_properties, properties_text
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.producer.draft import Draft, compress, move_reconsume_times
from rocketproof_impl.producer.errors import BrokerError, ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo, publish_info
from rocketproof_impl.producer.result import SendResult, SendStatus
from rocketproof_impl.producer.selection import Counter, RoundRobin, position
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.producer.validate import check_group, check_topic
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.dispatch import describe
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, parse_request_header
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_impl.store import record
from rocketproof_impl.store.result import AppendMessageStatus, PutMessageStatus
from rocketproof_impl.tasks import Future
from rocketproof_impl.topic import DataVersion, TopicConfig
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, PREPARED, ROLLBACK
from rocketproof_protocol.properties import DELAY, REAL_QID, REAL_TOPIC, UNIQ_KEY, WAIT
from rocketproof_protocol.topics import SCHEDULE

OLD = ("P40", "P45")
A, B = ADDRESS["broker-a"], ADDRESS["broker-b"]
MIB4 = 4 << 20
FACE = "\U0001f600"  # one character, two UTF-16 units, four bytes


# Producer: routes


@pytest.fixture
def field() -> Field:
    """Two brokers with the template, none with a topic."""
    made = Field()
    made.server.routes["TBW102"] = route(("broker-a", 8, 8, 7), ("broker-b", 8, 8, 7))
    return made


def send(field: Field, producer: Producer, message: Message | None = None, timeout: int = 3000) -> SendResult:
    result = field.run(producer.send(message or Message("T", body=b"x"), timeout))
    assert isinstance(result, SendResult)
    return result


def header(command: Command) -> SendMessageRequestHeader:
    return present(parse_request_header(command.code, command.ext_fields))


def queues(info: PublishInfo) -> list[tuple[str, int]]:
    return [(queue.broker_name, queue.queue_id) for queue in info.message_queue_list]


@behaviour("CLI-16", "HAZ-16")
def test_each_broker_of_the_template_has_its_own_minimum(field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 2, 8, 7), ("broker-b", 16, 1, 7))
    producer = field.producer()
    send(field, producer)
    assert queues(producer.topic_publish_info_table["T"]) == [("broker-a", 0), ("broker-a", 1), *(("broker-b", n) for n in range(4))]


@behaviour("CLI-16")
def test_the_templates_own_route_is_not_cut(field: Field) -> None:
    """Only what is kept for an unknown topic is; the refresh of the template itself brings all eight queues of each broker."""
    producer = field.producer()
    send(field, producer)
    field.run(producer.refresh_all())
    assert len(queues(producer.topic_publish_info_table["TBW102"])) == 16
    assert len(queues(producer.topic_publish_info_table["T"])) == 8


@behaviour("CLI-14", "CLI-18", "CLI-20")
def test_a_template_that_is_not_writable_gives_no_queue(field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 5))
    producer = field.producer()
    with pytest.raises(ClientError, match="No route info of this topic: T") as caught:
        send(field, producer)
    assert caught.value.code == 10005
    assert producer.topic_publish_info_table["T"].have_topic_router_info


@behaviour("CLI-14", "CLI-17")
def test_a_route_that_lost_its_queues_is_the_topics_own_for_good(field: Field) -> None:
    """Once a route was there, the template is not asked for again, even when the name server knows the topic no more."""
    producer = field.producer()
    field.server.routes["T"] = route(("broker-a", 4, 4, 4))
    with pytest.raises(ClientError, match="No route info"):
        send(field, producer)
    del field.server.routes["T"]
    field.server.asked.clear()
    with pytest.raises(ClientError, match="No route info"):
        send(field, producer)
    assert field.server.asked == ["T"]


@behaviour("CLI-13", "CLI-17")
def test_an_unknown_topic_is_asked_for_again_with_every_send() -> None:
    field = Field()
    producer = field.producer()
    for _ in range(2):
        with pytest.raises(ClientError):
            send(field, producer)
    assert field.server.asked == ["T", "TBW102"] * 2
    assert producer.topic_publish_info_table["T"] == PublishInfo()


@behaviour("CLI-19", "HAZ-01")
def test_the_topics_own_route_replaces_the_templates(field: Field) -> None:
    """One broker created the topic: the other one leaves the list, though its address stays known."""
    producer = field.producer()
    send(field, producer)
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    field.run(producer.refresh_all())
    assert {name for name, _ in queues(producer.topic_publish_info_table["T"])} == {"broker-a"}
    assert producer.client.find_broker_address_in_publish("broker-b") == B


@behaviour("CLI-19", "CLI-21")
def test_what_another_producer_learnt_is_refreshed_by_both_once(field: Field) -> None:
    first, second = field.producer("first"), field.producer("second")
    send(field, first)
    assert second.topic_publish_info_table["T"].ok
    field.server.asked.clear()
    field.run(second.refresh_all())
    assert sorted(field.server.asked) == ["T", "TBW102"]


@behaviour("CLI-20")
@pytest.mark.parametrize("conf", ["broker-b:2;broker-a:1", "broker-b:2;broker-a:1;", "broker-b:2;broker-a:1;;"])
def test_semicolons_at_the_end_of_an_order_configuration_mean_nothing(conf: str) -> None:
    info = publish_info("T", route(("broker-a", 4, 4, 6), order=conf))
    assert queues(info) == [("broker-b", 0), ("broker-b", 1), ("broker-a", 0)]


@behaviour("CLI-20", "PERM-01")
@pytest.mark.parametrize(("perm", "usable"), [(0, False), (1, False), (2, True), (3, True), (4, False), (5, False), (8, False), (14, True)])
def test_only_the_write_bit_makes_a_queue_usable(perm: int, usable: bool) -> None:
    assert publish_info("T", route(("broker-a", 1, 1, perm))).ok is usable


# Producer: choice of the queue


@behaviour("CLI-23", "HAZ-34")
def test_positions_around_the_smallest_int() -> None:
    """With three queues the smallest int would be at -2; the ints after it count downwards."""
    counter = Counter(2**31 - 1)
    assert [position(counter.next(), 3) for _ in range(4)] == [1, 0, 1, 0]


@behaviour("CLI-24")
def test_a_retry_uses_up_the_positions_that_it_passes_over() -> None:
    info = PublishInfo([MessageQueue("T", name, n) for name in ("broker-a", "broker-b") for n in range(3)])
    chooser = RoundRobin(Counter(0))
    assert chooser.choose(info, None).queue_id == 0
    assert chooser.choose(info, "broker-a").broker_name == "broker-b"
    assert chooser.counter.value == 4, "the two other queues of broker-a are behind it"


@behaviour("CLI-24", "CLI-30")
def test_a_third_attempt_may_come_back_to_the_first_broker(field: Field) -> None:
    """Only the last broker is avoided, not all that failed."""
    for name in ("broker-a", "broker-b"):
        field.brokers[name].script.append(codes.SYSTEM_ERROR)
    assert send(field, field.producer()).queue.broker_name == "broker-a"


# Producer: attempts


@behaviour("CLI-30", "M-112")
def test_a_second_answer_that_is_not_retried_ends_the_send_as_it_is(field: Field) -> None:
    field.brokers["broker-a"].script.append(codes.TOPIC_NOT_EXIST)
    field.brokers["broker-b"].script.append(codes.SYSTEM_BUSY)
    with pytest.raises(BrokerError) as caught:
        send(field, field.producer())
    assert caught.value.code == codes.SYSTEM_BUSY
    assert [len(field.brokers[name].requests) for name in ("broker-a", "broker-b")] == [1, 1]


@behaviour("CLI-30")
def test_the_same_broker_is_named_once_for_each_attempt(field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 7))
    field.brokers["broker-a"].script.extend([codes.SYSTEM_ERROR] * 3)
    with pytest.raises(ClientError) as caught:
        send(field, field.producer())
    text = "Send [3] times, still failed, cost [0]ms, Topic: T, BrokersSent: [broker-a, broker-a, broker-a]"
    assert caught.value.message.startswith(text)
    assert caught.value.code == codes.SYSTEM_ERROR


@behaviour("CLI-28", "CLI-29")
def test_a_kept_result_comes_before_the_end_of_the_time(field: Field) -> None:
    """The first broker answers late that its disk was: no time is left for another one, and the message is stored."""
    producer = field.producer(settings=ProducerSettings(retry_another_broker_when_not_store_ok=True))
    send(field, producer)
    slow = field.brokers["broker-b"]
    slow.script.append(codes.FLUSH_DISK_TIMEOUT)
    producer.choose = lambda info, last: _late(field, last)
    assert send(field, producer, timeout=100).status is SendStatus.FLUSH_DISK_TIMEOUT
    assert len(field.brokers["broker-a"].requests) == 1


def _late(field: Field, last: str | None) -> MessageQueue:
    if last is not None:
        field.clock.time += 101
    return MessageQueue("T", "broker-b" if last is None else "broker-a", 0)


@behaviour("CLI-28", "CLI-30", "M-113")
def test_a_silent_broker_uses_up_the_time_of_all_attempts(field: Field) -> None:
    """The second attempt begins with nothing left, which is allowed, and ends at once; the third likewise."""
    field.network.plan = lambda packet: [0] if NAME_SERVER in (packet.source, packet.target) else []
    begin = field.clock.now()
    with pytest.raises(ClientError, match=r"Send \[3\] times") as caught:
        send(field, field.producer(), timeout=500)
    assert field.clock.now() - begin == 500
    assert caught.value.code == 10002


@behaviour("CLI-29")
@pytest.mark.parametrize(("code", "status"), [(11, SendStatus.SLAVE_NOT_AVAILABLE), (12, SendStatus.FLUSH_SLAVE_TIMEOUT)])
def test_eleven_and_twelve_are_not_in_the_order_of_their_names(field: Field, code: int, status: SendStatus) -> None:
    field.brokers["broker-a"].script.append(code)
    assert send(field, field.producer()).status is status


@behaviour("CLI-31")
def test_an_asynchronous_retry_that_is_answered_with_an_error_is_the_end(field: Field) -> None:
    field.network.close(A)
    field.brokers["broker-b"].script.append(codes.TOPIC_NOT_EXIST)
    outcomes: list[SendResult | Exception] = []
    field.run(field.producer().send_async(Message("T", body=b"x"), outcomes.append))
    (outcome,) = outcomes
    assert isinstance(outcome, BrokerError) and outcome.code == codes.TOPIC_NOT_EXIST
    assert len(field.brokers["broker-b"].requests) == 1


@behaviour("CLI-27", "CLI-32", "HAZ-26")
def test_a_one_way_send_is_not_repeated_whatever_is_answered(field: Field) -> None:
    """An answer that comes all the same, such as a refusal, belongs to nobody."""
    field.brokers["broker-a"].script.append(codes.SYSTEM_BUSY)
    field.run(field.producer().send_oneway(Message("T", body=b"x")))
    assert [len(broker.requests) for broker in field.brokers.values()] == [1, 0, 0]
    assert field.brokers["broker-a"].requests[0].is_one_way


# Producer: start, checks, request


@behaviour("CLI-01")
def test_a_producer_that_was_shut_down_neither_sends_nor_starts(field: Field) -> None:
    producer = field.producer()
    producer.shutdown()
    with pytest.raises(ClientError, match="service state not OK, SHUTDOWN_ALREADY"):
        send(field, producer)
    with pytest.raises(ClientError, match="maybe started once, SHUTDOWN_ALREADY"):
        field.run(producer.start())
    assert field.producer(producer.group).group == producer.group, "its name is free again"


@behaviour("CLI-04")
@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("!" * 256, "longer than group max length 255"),
        ("!" * 255, "contains illegal characters"),
        (FACE * 128, "longer than group max length 255"),  # 256 UTF-16 units
        ("group\n", "contains illegal characters"),
        ("gr\u00fcppe", "contains illegal characters"),
        ("\u3000", "is blank"),
        ("\u00a0", "contains illegal characters"),  # no whitespace to Java
    ],
)
def test_groups_at_the_edges(group: str, text: str) -> None:
    with pytest.raises(ClientError, match=text):
        check_group(group)


@behaviour("CLI-04", "CLI-10")
def test_reserved_names_bind_topics_and_not_groups() -> None:
    check_group("TBW102")
    check_group("default_producer")
    check_topic("DEFAULT_PRODUCER")
    check_topic("%RETRY%TBW102")


@behaviour("CLI-12", "CLI-34")
def test_the_limit_is_on_the_body_before_it_is_compressed(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(max_message_size=5000))
    send(field, producer, Message("T", body=b"a" * 5000))
    with pytest.raises(ClientError, match="MAX: 5000"):
        send(field, producer, Message("T", body=b"a" * 5001))


@behaviour("CLI-34")
def test_compression_begins_at_the_limit_and_has_to_help() -> None:
    assert compress(b"a" * 99, 100) == (b"a" * 99, 0)
    assert compress(b"a" * 100, 100)[1] == 1
    assert compress(bytes(range(100)), 100) == (bytes(range(100)), 0)


@behaviour("CLI-34")
def test_all_attempts_carry_one_body_and_one_flag(field: Field) -> None:
    """A body is compressed once, not again for each attempt."""
    field.brokers["broker-a"].script.append(codes.SYSTEM_ERROR)
    send(field, field.producer(), Message("T", body=b"a" * 9000))
    (first,), (second,) = field.brokers["broker-a"].requests, field.brokers["broker-b"].requests
    assert first.body == second.body
    assert header(first).sys_flag == header(second).sys_flag == 1


@behaviour("CLI-34")
def test_a_second_attempt_still_carries_the_counts(field: Field) -> None:
    field.brokers["broker-a"].script.append(codes.SYSTEM_ERROR)
    counts = {"RECONSUME_TIME": "5", "MAX_RECONSUME_TIMES": "7"}
    send(field, field.producer(), Message("%RETRY%G", body=b"x", properties=counts))
    found = header(field.brokers["broker-b"].requests[0])
    assert (found.reconsume_times, found.max_reconsume_times) == (5, 7)
    assert set(parse_properties(found.properties, exact=False)) == {UNIQ_KEY}


@behaviour("CLI-34")
@pytest.mark.parametrize("topic", ["%retry%G", "x%RETRY%G", "%DLQ%G"])
def test_only_a_name_that_begins_with_the_prefix_is_a_retry_topic(topic: str) -> None:
    given = Message(topic, properties={"RECONSUME_TIME": "5", "MAX_RECONSUME_TIMES": "7"})
    assert move_reconsume_times(given) == (0, None, given.properties)


@behaviour("CLI-34")
def test_the_first_count_alone_leaves_the_second_out_of_the_header() -> None:
    assert move_reconsume_times(Message("%RETRY%G", properties={"RECONSUME_TIME": "5"})) == (5, None, {})
    draft = Draft(Message("%RETRY%G", body=b"x", properties={"RECONSUME_TIME": "5"}), "pg", ProducerSettings())
    fields = draft.request(0, 1).ext_fields or {}
    assert "l" not in fields
    assert fields["j"] == "5"


@behaviour("SEND-26", "CLI-34")
@every
def test_a_producer_ends_properties_as_its_release_does(profile: str) -> None:
    """The older brokers store the text as it came, so their records are a byte longer."""
    cluster = Cluster(1, profile=profile)
    cluster.scheduler.complete(cluster.producer().send(Message("T", body=b"x", properties={UNIQ_KEY: "U", "TAGS": "t"})))
    (found,) = cluster.broker().store.records()
    expected = "UNIQ_KEY\x01U\x02TAGS\x01t\x02" if profile in OLD else "UNIQ_KEY\x01U\x02CLUSTER\x01DefaultCluster\x02TAGS\x01t"
    assert found.properties_text == expected
    assert found.store_size == 91 + 1 + 1 + len(expected)


@behaviour("CLI-34", "CLI-35", "BAT-03")
@every
@pytest.mark.parametrize("wait", [None, "false"])
def test_the_messages_of_a_batch_keep_their_own_keys(profile: str, wait: str | None) -> None:
    """The whole has no key that could take the place of theirs; what it says is whether to wait."""
    cluster = Cluster(1, profile=profile)
    given = [Message("T", body=b"x", properties={} if wait is None else {WAIT: wait}) for _ in range(2)]
    result = cluster.scheduler.complete(cluster.producer().send_batch(given))
    keys = [each.properties[UNIQ_KEY] for each in cluster.broker().store.records()]
    assert keys == [each.properties[UNIQ_KEY] for each in given]
    assert result.msg_id == ",".join(keys)
    waits = [each.properties.get(WAIT) for each in cluster.broker().store.records()]
    assert waits == [wait if profile in OLD else wait or "true"] * 2


@behaviour("CLI-35")
def test_a_level_of_nought_is_no_delay_in_a_batch(field: Field) -> None:
    producer = field.producer()
    field.run(producer.send_batch([Message("T", body=b"x", properties={DELAY: level}) for level in ("0", "-1")]))
    with pytest.raises(ClientError, match="TimeDelayLevel"):
        field.run(producer.send_batch([Message("T", body=b"x", properties={DELAY: "1"})]))


# Name server


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(10_000_001)


@pytest.fixture
def server(clock: SimulatedClock) -> NameServer:
    return NameServer(clock)


def perms(server: NameServer) -> list[int]:
    return [entry.perm for entry in server.topic_queue_table["T"]]


@behaviour("NS-02", "NS-03", "PERM-02")
def test_a_wiped_permission_stays_until_the_version_changes(server: NameServer) -> None:
    register(server, "broker-a", TopicConfig("T", 4, 4))
    server.wipe_write_perm("broker-a")
    register(server, "broker-a", TopicConfig("T", 4, 4))
    assert perms(server) == [4]
    register(server, "broker-a", TopicConfig("T", 4, 4), version=2)
    assert perms(server) == [6]


@behaviour("PERM-02")
@pytest.mark.parametrize(("perm", "wiped", "added"), [(7, 5, 6), (15, 13, 6), (2, 0, 6), (4, 4, 6), (0, 0, 6)])
def test_a_wipe_clears_one_bit_and_an_addition_sets_the_whole(server: NameServer, perm: int, wiped: int, added: int) -> None:
    register(server, "broker-a", TopicConfig("T", 4, 4, perm))
    server.wipe_write_perm("broker-a")
    assert perms(server) == [wiped]
    server.add_write_perm("broker-a")
    assert perms(server) == [added]


@behaviour("NS-02", "NS-05")
def test_a_slaves_version_does_not_hide_its_masters_first_topics(server: NameServer) -> None:
    """A slave has the master's table and version. It changes no topic, and the master's id still has no address."""
    register(server, "broker-a", TopicConfig("T", 4, 4), broker_id=1)
    register(server, "broker-a", TopicConfig("T", 4, 4), broker_id=0)
    assert perms(server) == [6]


@behaviour("NS-03", "NS-08")
def test_a_broker_that_comes_back_with_its_version_is_taken_anew(server: NameServer) -> None:
    register(server, "broker-a", TopicConfig("T", 4, 4))
    server.remove_address(A)
    assert server.topic_queue_table == {}
    register(server, "broker-a", TopicConfig("T", 4, 4))
    assert perms(server) == [6]


@behaviour("NS-02", "NS-08")
def test_a_master_that_registers_as_a_slave_keeps_its_topics_and_loses_its_place(server: NameServer) -> None:
    register(server, "broker-a", TopicConfig("T", 4, 4))
    register(server, "broker-a", broker_id=1, address=A)
    found = present(server.route("T"))
    assert found.broker_datas[0].broker_addrs == {1: A}
    assert publish_info("T", found) == PublishInfo([], have_topic_router_info=True, route=found)


@behaviour("NS-03", "NS-09")
def test_a_query_for_an_unequal_time_with_an_equal_counter_is_a_change(server: NameServer, clock: SimulatedClock) -> None:
    register(server, "broker-a", TopicConfig("T", 4, 4), version=3)
    began = clock.now()
    clock.time += 700
    assert server.query_version(A, DataVersion(1001, 3)) == (True, DataVersion(1000, 3))
    assert server.broker_live_table[A].last_update_timestamp == began


@behaviour("NS-04")
def test_a_topic_with_another_count_only_moves_to_the_end_of_that_topic(server: NameServer) -> None:
    both = (TopicConfig("T", 4, 4), TopicConfig("U", 4, 4))
    register(server, "broker-a", *both)
    register(server, "broker-b", *both)
    register(server, "broker-a", TopicConfig("T", 4, 5), both[1], version=2)
    names = {topic: [entry.broker_name for entry in entries] for topic, entries in server.topic_queue_table.items()}
    assert names == {"T": ["broker-b", "broker-a"], "U": ["broker-a", "broker-b"]}


# Headers and answers

LETTERS = {"a": "pg", "b": "T", "c": "TBW102", "d": "4", "e": "-1", "f": "0", "g": "1700000000000", "h": "0"}


@behaviour("REM-04")
@pytest.mark.parametrize("code", [310, 320])
def test_a_header_is_a_batchs_by_its_flag_and_not_by_its_code(code: int) -> None:
    found = parse_request_header(code, LETTERS)
    assert found is not None and not found.batch
    found = parse_request_header(code, LETTERS | {"m": "TRUE"})
    assert found is not None and found.batch


@behaviour("REM-04")
@pytest.mark.parametrize(("text", "value"), [("true", True), ("True", True), ("1", False), ("yes", False), ("", False), (" true", False)])
def test_booleans_of_a_header_are_javas(text: str, value: bool) -> None:
    found = parse_request_header(310, LETTERS | {"k": text})
    assert found is not None and found.unit_mode is value


@behaviour("REM-04")
def test_an_empty_text_is_not_an_absent_one() -> None:
    found = present(parse_request_header(310, LETTERS | {"b": "", "i": ""}))
    assert (found.topic, found.properties, found.reconsume_times) == ("", "", None)


@behaviour("REM-04")
def test_letters_mean_nothing_to_request_10_and_names_nothing_to_310() -> None:
    with pytest.raises(JavaError, match="the custom field <producerGroup> is null"):
        parse_request_header(10, LETTERS)
    with pytest.raises(JavaError, match="the custom field <a> is null"):
        parse_request_header(310, {"producerGroup": "pg", "topic": "T"})
    with pytest.raises(JavaError, match="the custom field <a> is null"):
        parse_request_header(310, None)


@behaviour("REM-08")
@pytest.mark.parametrize(
    ("error", "start"),
    [
        (JavaError("java.lang.NullPointerException"), "java.lang.NullPointerException, "),
        (JavaError("java.lang.ArithmeticException", "/ by zero"), "java.lang.ArithmeticException: / by zero, "),
    ],
)
def test_an_exception_without_a_message_has_no_colon(error: JavaError, start: str) -> None:
    with pytest.raises(JavaError) as caught:
        raise error
    assert describe(caught.value).startswith(start)


# Properties


@behaviour("SEND-26")
@pytest.mark.parametrize(
    ("text", "exact", "loose"),
    [
        ("K\x01v\x01\x02", {"K": "v"}, {"K": "v\x01"}),  # Java's split drops empty parts at the end
        ("K\x01\x01v\x02", {}, {"K": "\x01v"}),
        ("K\x01\x01\x02", {}, {"K": "\x01"}),
        ("\x01\x02", {}, {}),
        ("K\x01v\x02\x02L\x01w", {"K": "v", "L": "w"}, {"K": "v", "L": "w"}),
        ("K\x01v\x02K\x01\x02", {"K": "v"}, {"K": "v"}),  # the empty one is no value, so the first stays
        ("", {}, {}),
    ],
)
def test_items_that_are_not_quite_a_name_and_a_value(text: str, exact: dict[str, str], loose: dict[str, str]) -> None:
    assert parse_properties(text, exact=True) == exact
    assert parse_properties(text, exact=False) == loose


@behaviour("SEND-25", "SEND-26")
def test_a_property_that_was_taken_out_and_put_back_comes_last_of_its_slot() -> None:
    properties = {"UNIQ_KEY": "U", "CLUSTER": "c"}  # one slot
    assert properties_text(properties, trailing=False) == "UNIQ_KEY\x01U\x02CLUSTER\x01c"
    properties["UNIQ_KEY"] = properties.pop("UNIQ_KEY")
    assert properties_text(properties, trailing=False) == "CLUSTER\x01c\x02UNIQ_KEY\x01U"
    properties["CLUSTER"] = "d"  # another value keeps the place
    assert properties_text(properties, trailing=False) == "CLUSTER\x01d\x02UNIQ_KEY\x01U"


# Store: what is refused, and where


@behaviour("STO-01", "STO-02", "APP-05")
@every
@pytest.mark.parametrize(("count", "units", "size"), [(8191, True, True), (8192, True, False), (16383, True, False), (16384, False, False)])
def test_properties_are_counted_in_units_first_and_in_bytes_later(profile: str, count: int, units: bool, size: bool) -> None:
    """8191 faces have 32764 bytes. 16384 have 32768 units, and fewer characters than that."""
    result = Stand(profile).put(message(properties_text=FACE * count))
    if size:
        assert result.ok
    elif not units:
        expected = PutMessageStatus.PROPERTIES_SIZE_EXCEEDED if profile in OLD else PutMessageStatus.MESSAGE_ILLEGAL
        assert (result.status, result.append) == (expected, None)
    elif profile in OLD:
        assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
        assert appended(result).status is AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED
    else:
        assert (result.status, result.append) == (PutMessageStatus.PROPERTIES_SIZE_EXCEEDED, None)


@behaviour("STO-01", "APP-06")
@earlier
def test_a_topic_has_127_characters_and_its_bytes_count_in_the_record(profile: str) -> None:
    result = appended(Stand(profile).put(message("\u00e9" * 127)))
    assert result.wrote_bytes == 91 + 5 + 254


@behaviour("CL-02", "APP-03", "APP-05")
@every
def test_the_text_of_a_delayed_message_is_tested_again_when_it_is_written_anew(profile: str) -> None:
    """Short enough as it came, too long with its real topic and queue; the message has moved by then."""
    given = message("T", 3, properties={"K": "v" * 32760, DELAY: "2"}, properties_text="K\x01" + "v" * 32760)
    stand = Stand(profile)
    assert not stand.put(given).ok
    assert (given.topic, given.queue_id) == (SCHEDULE, 1)
    assert stand.store.topic_queue_table == ({f"{SCHEDULE}-1": 0} if profile in OLD else {})


@behaviour("CL-02")
@every
@pytest.mark.parametrize("transaction", [PREPARED, ROLLBACK])
def test_the_level_of_a_prepared_message_is_not_even_read(profile: str, transaction: int) -> None:
    stand = Stand(profile)
    assert stand.put(message(sys_flag=transaction, properties={DELAY: "no number"})).ok
    with pytest.raises(JavaError, match="NumberFormatException"):
        stand.put(message(sys_flag=COMMIT, properties={DELAY: "no number"}))


@behaviour("CL-02", "CL-05", "STO-05")
@every
def test_an_exception_before_the_lock_leaves_no_trace(profile: str) -> None:
    stand = Stand(profile)
    with pytest.raises(JavaError):
        stand.put(message(properties={DELAY: "1e1"}))
    stand.scheduler.advance(2000)
    assert not stand.store.is_os_page_cache_busy()
    assert (stand.store.statistics.put_failed, stand.store.topic_queue_table) == (0, {})


@behaviour("CL-02", "INV-45")
@every
def test_real_topic_and_queue_of_the_sender_are_overwritten(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message("T", 3, properties={DELAY: "1", REAL_TOPIC: "elsewhere", REAL_QID: "99"}))
    (found,) = stand.store.records()
    assert (found.properties[REAL_TOPIC], found.properties[REAL_QID]) == ("T", "3")


@behaviour("CL-02", "HAZ-42")
@every
def test_a_delayed_message_to_the_schedule_topic_returns_there(profile: str) -> None:
    """The store rewrites it like any other: its real topic is the schedule topic, so it is delivered into a level's queue."""
    stand = Stand(profile)
    stand.put(message(SCHEDULE, 4, properties={DELAY: "1"}))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    assert stand.deliver() == 1
    first, second = stand.store.records()
    assert (first.queue_id, first.properties[REAL_TOPIC]) == (0, SCHEDULE)
    assert (second.topic, second.queue_id) == (SCHEDULE, 4)


# Store: the append


@behaviour("APP-11")
@earlier
def test_a_refused_append_takes_its_files_time_away(profile: str) -> None:
    """The file's time is the result's, and that of a refusal is 0; what is refused before the append leaves the file alone."""
    stand = Stand(profile)
    stand.put(message())
    (mapped,) = stand.store.commit_log.files.files
    assert mapped.store_timestamp == stand.clock.now()
    stand.put(message("t" * 128))
    assert mapped.store_timestamp == stand.clock.now()
    stand.put(message(body=b"x" * (MIB4 + 1)))
    assert (mapped.store_timestamp, mapped.wrote_position) == (0, 105)


@behaviour("APP-06", "APP-11")
@later
def test_a_refusal_before_the_lock_does_not_touch_the_file(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message())
    (mapped,) = stand.store.commit_log.files.files
    stand.put(message(body=b"x" * (MIB4 + 1)))
    assert mapped.store_timestamp == stand.clock.now()


@behaviour("APP-06", "CL-07")
@every
def test_where_the_size_is_tested_decides_whether_there_is_a_file(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(body=b"x" * (MIB4 + 1)))
    assert len(stand.store.commit_log.files.files) == (1 if profile in OLD else 0)


@behaviour("APP-03", "APP-04", "INV-35")
@every
def test_a_prepared_message_puts_its_queue_into_the_table_with_0(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message("T", 1, sys_flag=PREPARED))
    assert stand.store.topic_queue_table == {"T-1": 0}
    stand.store.topic_queue_table["T-1"] = 7
    assert appended(stand.put(message("T", 1, sys_flag=ROLLBACK))).queue_offset == 0
    assert stand.store.topic_queue_table == {"T-1": 7}


@behaviour("APP-03", "APP-10", "CL-08")
@every
def test_a_write_that_fails_half_way_leaves_a_queue_at_0_and_the_place_free(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message("T"))
    with stand.failing(), pytest.raises(JavaError):
        stand.put(message("U"))
    assert stand.store.topic_queue_table == {"T-0": 1, "U-0": 0}
    assert stand.store.max_phy_offset == 101 - 4
    assert stand.store.statistics.put_times == {"T": 1}
    assert stand.store.statistics.put_failed == 0


@behaviour("CL-08", "HAZ-22", "INV-34")
@every
def test_the_queue_offset_of_a_lost_message_is_used_again(profile: str) -> None:
    """The lost one is answered with the next one's place in the queue."""
    stand = Stand(profile, mapped_file_size_commit_log=200)
    lost = appended(stand.put(sized(193)))
    assert (lost.status, lost.queue_offset) == (AppendMessageStatus.END_OF_FILE, 0)
    stored = appended(stand.put(sized(192)))
    assert (stored.status, stored.queue_offset, stored.wrote_offset) == (AppendMessageStatus.PUT_OK, 0, 400)
    assert stand.store.statistics.put_times == {"T": 2}
    assert stand.store.statistics.put_sizes == {"T": 200 + 192}


@behaviour("REC-01", "HAZ-22")
@every
def test_the_id_of_a_lost_message_points_at_a_blank(profile: str) -> None:
    """Nothing asks for the magic number, so what is read there is a message without topic or body, or none."""
    stand = Stand(profile, mapped_file_size_commit_log=100)
    end = appended(stand.put(message()))
    assert int(end.msg_id[16:], 16) == end.wrote_offset == 100
    found = present(stand.store.look_message_by_offset(100))
    assert (found.topic, found.body, found.msg_id) == ("", None, "0" * 32)
    small = Stand(profile, mapped_file_size_commit_log=90)
    assert small.store.look_message_by_offset(appended(small.put(message())).wrote_offset) is None


@behaviour("APP-02", "APP-08")
@every
def test_signed_numbers_are_stored_signed(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(queue_id=-1, flag=-(2**31), reconsume_times=-3, born_timestamp=-1))
    data = stand.log()
    assert struct.unpack_from(">ii", data, 12) == (-1, -(2**31))
    assert struct.unpack_from(">q", data, 40) == (-1,)
    assert struct.unpack_from(">i", data, 72) == (-3,)
    assert stand.store.topic_queue_table == {"TopicTest--1": 1}


@behaviour("CL-01", "APP-08")
@pytest.mark.parametrize(("body", "crc"), [(None, 0), (b"", 0), (b"a", 1756872259), (b"123456789", 0xCBF43926 & 0x7FFFFFFF)])
def test_the_checksum_loses_its_sign_bit_and_nothing_else(body: bytes | None, crc: int) -> None:
    assert record.body_crc(body) == crc


@behaviour("CL-06", "REC-04")
@every
def test_the_time_of_delivery_counts_from_the_lock(profile: str) -> None:
    """A message that waits for the lock is later in every respect."""
    stand = Stand(profile)
    stand.store.commit_log.lock.held = True
    task = stand.scheduler.spawn(stand.store.put_message(message(properties={DELAY: "3"})))
    stand.scheduler.advance(400)
    stand.store.commit_log.lock.release()
    assert stand.scheduler.run(task.done).ok
    stand.store.dispatch()
    queue = stand.store.queues.find(SCHEDULE, 2)
    entry = present(queue.entry(0) if queue is not None else None)
    assert entry.tags_code == stand.clock.now() + 10_000


@behaviour("REC-04")
@every
def test_a_negative_hash_fills_all_eight_bytes(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(properties_text="TAGS\x01TagB-negative"))
    stand.put(message(properties_text="TAGS\x01polygenelubricants\x02"))  # the smallest int
    stand.store.dispatch()
    data = bytes(stand.disk.files["store/consumequeue/TopicTest/0/00000000000000000000"])
    assert data[32:40] == (-(2**31)).to_bytes(8, "big", signed=True)


@behaviour("REC-05", "CL-09", "APP-10")
@every
def test_a_delivery_is_a_put_of_its_own(profile: str) -> None:
    """Another place, another time of storing, counted for its own topic; its birth and its count of consumptions stay."""
    stand = Stand(profile)
    for _ in range(2):
        stand.put(message("T", 5))
    stand.put(message("T", 5, born_timestamp=77, born_host=("10.0.0.9", 9), reconsume_times=4, properties={DELAY: "1"}))
    stand.store.dispatch()
    stand.scheduler.advance(999)
    assert stand.deliver() == 0
    stand.scheduler.advance(1)
    assert stand.deliver() == 1
    *_, delayed, found = stand.store.records()
    assert (found.topic, found.queue_id, found.queue_offset) == ("T", 5, 2)
    assert found.store_timestamp == delayed.store_timestamp + 1000
    assert found.msg_id != delayed.msg_id
    assert (found.born_timestamp, found.born_host, found.reconsume_times) == (77, ("10.0.0.9", 9), 4)
    assert stand.store.statistics.put_times == {"T": 3, SCHEDULE: 1}


@behaviour("REC-03", "APP-04")
@every
def test_after_a_restart_the_queues_count_on_from_their_entries(profile: str) -> None:
    stand = Stand(profile)
    for flag in (0, PREPARED, COMMIT, PREPARED):
        stand.put(message("T", sys_flag=flag))
    stand.put(message("U", sys_flag=PREPARED))
    stand.store.dispatch()
    fresh = stand.reopen()
    assert fresh.store.topic_queue_table == {"T-0": 2}
    assert appended(fresh.put(message("T"))).queue_offset == 2


# Store: flush and replica


class Silent:
    """A flush or a set of replicas that never answers; it notes what it is asked for."""

    def __init__(self) -> None:
        self.connections = 1
        self.push2_slave_max_offset = 0
        self.asked: list[int] = []
        self.woken = 0

    def request(self, next_offset: int) -> Future[bool]:
        self.asked.append(next_offset)
        return Future()

    def wakeup(self) -> None:
        self.woken += 1


def waiting(profile: str, **settings: Any) -> tuple[Stand, Silent, Silent]:
    chosen: dict[str, Any] = {"flush_disk_type": "SYNC_FLUSH", "broker_role": "SYNC_MASTER"} | settings
    stand = Stand(profile, **chosen)
    flush, replicas = Silent(), Silent()
    stand.store.flush, stand.store.replicas = flush, replicas
    return stand, flush, replicas


@behaviour("FLU-02", "CL-08", "HAZ-22")
@every
def test_a_lost_message_is_waited_for_too(profile: str) -> None:
    """Its blank ends where its file ends, and that has to be flushed and copied."""
    stand, flush, replicas = waiting(profile, mapped_file_size_commit_log=100)
    result = stand.put(message())
    assert (result.status, result.ok) == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, False)
    assert flush.asked == replicas.asked == [200]


@behaviour("FLU-02", "SEND-25")
@every
def test_the_map_decides_whether_to_wait_and_not_the_text(profile: str) -> None:
    stand, flush, replicas = waiting(profile)
    assert stand.put(message(properties={WAIT: "false"}, properties_text="K\x01v")).status is PutMessageStatus.PUT_OK
    assert (flush.asked, flush.woken, replicas.asked) == ([], 1, [])
    assert stand.put(message(properties={}, properties_text="WAIT\x01false")).status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT


@behaviour("FLU-07")
@every
def test_the_lag_counts_to_the_end_of_the_record(profile: str) -> None:
    stand, _, replicas = waiting(profile, flush_disk_type="ASYNC_FLUSH", ha_slave_fall_behind_max=210)
    stand.put(message())
    assert stand.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE, "210 bytes behind are too many"
    replicas.push2_slave_max_offset = 106
    assert stand.put(message()).status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT, "209 are not"
    assert replicas.asked == [105, 315]


@behaviour("FLU-08", "FLU-07")
@every
def test_a_missing_slave_is_answered_after_the_disk(profile: str) -> None:
    """The answer is known at once, and given when the flush is over."""
    stand, _, replicas = waiting(profile)
    replicas.connections = 0
    began = stand.clock.now()
    assert stand.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE
    assert stand.clock.now() - began == 5000


@behaviour("STO-05", "FLU-02")
@every
def test_the_longest_put_has_its_waiting_in_it_and_is_no_failure(profile: str) -> None:
    stand, _, _ = waiting(profile, broker_role="ASYNC_MASTER", sync_flush_timeout=321)
    assert stand.put(message()).ok
    assert (stand.store.statistics.put_longest, stand.store.statistics.put_failed) == (321, 0)


@behaviour("CL-04", "FLU-02")
@every
def test_the_lock_is_free_while_a_put_waits(profile: str) -> None:
    stand, _, _ = waiting(profile)
    stand.scheduler.spawn(stand.store.put_message(message()))
    stand.scheduler.advance(2000)
    assert not stand.store.commit_log.lock.held
    assert not stand.store.is_os_page_cache_busy()
    assert appended(stand.put(message(properties={WAIT: "false"}))).queue_offset == 1


# Store: its state


@behaviour("STO-03", "STO-01")
@every
def test_a_refused_put_is_still_refused_by_the_same_holder(profile: str) -> None:
    """A put that holds the lock for a second makes the store busy for the others, and its end makes it free."""
    stand = Stand(profile)
    log = stand.store.commit_log
    log.begin_time_in_lock = stand.clock.now()
    stand.scheduler.advance(1000)
    assert stand.put(message()).status is PutMessageStatus.PUT_OK, "exactly a second is not busy"
    assert log.begin_time_in_lock == 0, "the put itself has set it anew"
    stand.scheduler.advance(5000)
    assert stand.put(message()).status is PutMessageStatus.PUT_OK


@behaviour("STO-01", "STO-02")
@every
def test_a_slave_stays_a_slave_whatever_else_is_wrong(profile: str) -> None:
    stand = Stand(profile, broker_role="SLAVE")
    stand.store.commit_log.begin_time_in_lock = stand.clock.now() - 2000
    assert stand.put(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    stand.settings.broker_role = "ASYNC_MASTER"
    assert stand.put(message()).status is PutMessageStatus.OS_PAGECACHE_BUSY
    assert stand.store.statistics.put_failed == 0
