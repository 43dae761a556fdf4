"""How a producer finds, caches and refreshes routes, and the queues that it derives from them."""

from __future__ import annotations

from typing import Any

import pytest
from client_doubles import ADDRESS, NAME_SERVER, Field, route
from marks import behaviour

from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import NO_NAME_SERVER_EXCEPTION, NOT_FOUND_TOPIC_EXCEPTION, ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo, publish_info, route_changed
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.route import BrokerData, QueueData, TopicRouteData
from rocketproof_impl.simulator.network import SimulatedChannel
from rocketproof_impl.tasks import TaskInterrupted
from rocketproof_protocol.codes import SUCCESS, TOPIC_NOT_EXIST

A, B = ADDRESS["broker-a"], ADDRESS["broker-b"]


@pytest.fixture
def field() -> Field:
    return Field()


def queues(info: PublishInfo) -> list[tuple[str, int]]:
    return [(queue.broker_name, queue.queue_id) for queue in info.message_queue_list]


def find(field: Field, producer: Producer, topic: str = "T") -> PublishInfo:
    info = field.run(producer.try_to_find_topic_publish_info(topic))
    assert isinstance(info, PublishInfo)
    return info


# Look-up


@pytest.fixture
def producer(field: Field) -> Producer:
    return field.producer()


@behaviour("CLI-13")
def test_route_is_requested_once(producer: Producer, field: Field) -> None:
    field.server.routes["T"] = route(("broker-a", 2, 2, 6))
    info = find(field, producer)
    assert info.have_topic_router_info
    assert queues(info) == [("broker-a", 0), ("broker-a", 1)]
    assert find(field, producer) is info
    assert field.server.asked == ["T"]


@behaviour("CLI-14", "CLI-16", "CLI-18")
def test_an_unknown_topic_takes_the_templates_route(producer: Producer, field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 7), ("broker-b", 8, 8, 7))
    info = find(field, producer)
    assert field.server.asked == ["T", "TBW102"]
    assert queues(info) == [(name, queue_id) for name in ("broker-a", "broker-b") for queue_id in range(4)]
    assert info.message_queue_list[0].topic == "T"


@behaviour("CLI-13", "CLI-14", "CLI-17", "CLI-18", "CLI-20", "CLI-33")
@pytest.mark.parametrize("template", [None, route(("broker-a", 8, 8, 5))], ids=["no template", "a template that is not writable"])
def test_without_a_writable_template_there_is_no_route(producer: Producer, field: Field, template: TopicRouteData | None) -> None:
    if template is not None:
        field.server.routes["TBW102"] = template
    for _ in range(2):
        info = find(field, producer)
        assert (info.ok, info.have_topic_router_info) == (False, template is not None)
        assert field.server.asked[:2] == ["T", "TBW102"]
    assert field.server.asked[2:] == (["T", "TBW102"] if template is None else ["T"])
    with pytest.raises(ClientError) as caught:
        field.run(producer.send(Message("T", body=b"x")))
    assert caught.value.message.startswith("No route info of this topic: T\n")
    assert caught.value.code == NOT_FOUND_TOPIC_EXCEPTION == 10005


@behaviour("CLI-33")
def test_without_a_name_server_there_is_another_error(field: Field) -> None:
    producer = field.producer(name_servers=())
    with pytest.raises(ClientError) as caught:
        field.run(producer.send(Message("T", body=b"x")))
    assert caught.value.message.startswith("No name server address, please set it.")
    assert caught.value.code == NO_NAME_SERVER_EXCEPTION == 10004


@behaviour("CLI-14", "CLI-17", "CLI-20", "HAZ-43", "M-108")
@pytest.mark.parametrize(
    "known", [route(("broker-a", 4, 4, 6), slaves=("broker-a",)), route(("broker-a", 4, 4, 4)), route(("broker-a", 4, 0, 6))]
)
def test_a_route_without_writable_queues_does_not_fall_back(producer: Producer, field: Field, known: TopicRouteData) -> None:
    field.server.routes |= {"T": known, "TBW102": route(("broker-b", 8, 8, 7))}
    for asked in (1, 2, 3):
        info = find(field, producer)
        assert (info.have_topic_router_info, info.ok) == (True, False)
        assert field.server.asked == ["T"] * asked, "a route without queues is requested again, the template never"
        if asked == 2:
            del field.server.routes["T"]
    with pytest.raises(ClientError, match=r"^No route info of this topic: T"):
        field.run(producer.send(Message("T", body=b"x")))


@behaviour("CLI-16", "HAZ-16", "M-109")
@pytest.mark.parametrize(("read", "write", "expected"), [(8, 2, 4), (2, 8, 2), (4, 4, 4), (5, 5, 4), (3, 0, 3)])
def test_the_fallback_counts_by_read_queues(producer: Producer, field: Field, read: int, write: int, expected: int) -> None:
    field.server.routes["TBW102"] = route(("broker-a", read, write, 7), ("broker-b", 16, 1, 7))
    found = queues(find(field, producer))
    assert found == [*(("broker-a", queue_id) for queue_id in range(expected)), *(("broker-b", queue_id) for queue_id in range(4))]
    entry, _ = producer.client.topic_route_table["T"].queue_datas
    assert (entry.read_queue_nums, entry.write_queue_nums) == (expected, expected)


@behaviour("CLI-16")
def test_the_fallbacks_key_and_count_are_settings(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(create_topic_key="Base", default_topic_queue_nums=6))
    field.server.routes["Base"] = route(("broker-a", 8, 8, 7))
    assert len(find(field, producer).message_queue_list) == 6


@behaviour("CLI-16", "M-110")
def test_fallback_route_is_cached_under_the_topics_name(producer: Producer, field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 7))
    find(field, producer)
    assert set(producer.client.topic_route_table) == {"T"}
    assert producer.topic_publish_info_table["TBW102"] == PublishInfo()
    assert producer.topic_publish_info_table["T"].ok
    find(field, producer)
    assert field.server.asked == ["T", "TBW102"], "the client takes the topic for known (CLI-22)"


# Refresh


@behaviour("CLI-17", "CLI-19", "CLI-22", "HAZ-01", "M-111")
def test_topic_unknown_to_the_name_server_keeps_its_route(producer: Producer, field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 7), ("broker-b", 8, 8, 7))
    info = find(field, producer)
    for _ in range(2):
        assert field.run(producer.update_route("T")) is False
        assert producer.topic_publish_info_table["T"] is info
        assert "T" in producer.client.topic_route_table
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    assert field.run(producer.update_route("T")) is True
    assert queues(find(field, producer)) == [("broker-a", queue_id) for queue_id in range(4)]
    assert producer.client.find_broker_address_in_publish("broker-b") == B, "its address stays known"


@behaviour("CLI-17")
def test_refusal_has_remark_and_code_of_the_answer(field: Field) -> None:
    with pytest.raises(ClientError) as caught:
        field.run(field.producer().client._topic_route("T"))
    assert (caught.value.message, caught.value.code) == ("unknown", TOPIC_NOT_EXIST)


class RoutesNowhere:
    """A name server whose successful answers have this body."""

    def __init__(self, body: bytes | None) -> None:
        self.body = body

    def receive(self, channel: SimulatedChannel, command: Command) -> None:
        answer = response_to(command)
        answer.code, answer.remark, answer.body = SUCCESS, None, self.body
        channel.write(answer)


@behaviour("CLI-17")
@pytest.mark.parametrize("body", [None, b""])
def test_successful_answer_without_a_route_is_ignored(producer: Producer, field: Field, body: bytes | None) -> None:
    field.server.routes["T"] = route(("broker-a", 1, 1, 6))
    info = find(field, producer)
    field.network.listen(NAME_SERVER, RoutesNowhere(body))
    assert field.run(producer.update_route("T")) is False
    assert producer.topic_publish_info_table["T"] is info


@behaviour("CLI-17")
@pytest.mark.parametrize("is_default", [False, True])
def test_a_transport_failure_raises(producer: Producer, field: Field, is_default: bool) -> None:
    field.network.close(NAME_SERVER)
    with pytest.raises(JavaError, match=r"java\.lang\.IllegalStateException: ConnectFailed"):
        field.run(producer.update_route("T", is_default))
    assert not producer.client.name_server_lock.held


@behaviour("CLI-17")
def test_name_server_request_times_out_after_three_seconds(producer: Producer, field: Field) -> None:
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    begin = field.clock.now()
    field.delay(to=NAME_SERVER, millis=2999)
    assert field.run(producer.update_route("T")) is True
    assert field.clock.now() - begin == 2999
    field.lose(to=NAME_SERVER)
    begin = field.clock.now()
    with pytest.raises(JavaError, match="TimedOut"):
        field.run(producer.update_route("T"))
    assert field.clock.now() - begin == 3000


@behaviour("CLI-17")
def test_unreachable_name_server_is_replaced_by_the_next(field: Field) -> None:
    producer = field.producer(name_servers=("127.0.0.1:1", NAME_SERVER))
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    assert field.run(producer.update_route("T")) is True


@behaviour("CLI-15")
def test_refresh_waits_three_seconds_for_a_running_refresh(producer: Producer, field: Field) -> None:
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    lock = producer.client.name_server_lock
    field.run(lock.acquire())
    begin = field.clock.now()
    assert field.run(producer.update_route("T")) is False
    assert field.clock.now() - begin == 3000
    assert field.server.asked == []
    waiting = field.scheduler.spawn(producer.update_route("T"))
    field.scheduler.advance(2999)
    lock.release()
    assert field.scheduler.run(waiting.done) is True
    assert not lock.held


@behaviour("CLI-15")
def test_an_interrupted_refresh_changes_nothing(producer: Producer, field: Field) -> None:
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    field.lose(to=NAME_SERVER)
    task = field.scheduler.spawn(producer.update_route("T"))
    field.scheduler.settle()
    field.scheduler.interrupt(task, TaskInterrupted())
    assert task.result() is False
    assert not producer.client.name_server_lock.held
    assert producer.client.topic_route_table == {}


@behaviour("CLI-19")
def test_only_changed_routes_reach_the_producers(producer: Producer, field: Field) -> None:
    client = producer.client
    field.server.routes["T"] = route(("broker-a", 4, 4, 6), ("broker-b", 4, 4, 6))
    assert field.run(producer.update_route("T")) is True
    info = producer.topic_publish_info_table["T"]
    field.server.routes["T"] = route(("broker-b", 4, 4, 6), ("broker-a", 4, 4, 6))
    assert field.run(producer.update_route("T")) is False, "the same brokers in another order"
    assert producer.topic_publish_info_table["T"] is info
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    assert field.run(producer.update_route("T")) is True
    assert queues(producer.topic_publish_info_table["T"]) == [("broker-a", n) for n in range(4)]
    assert client.topic_route_table["T"] == field.server.routes["T"]
    assert client.broker_addr_table == {"broker-a": {0: A}, "broker-b": {0: B}}, "addresses are only added here"


@behaviour("CLI-19")
@pytest.mark.parametrize(
    "change",
    [
        lambda r: setattr(r.queue_datas[0], "perm", 7),
        lambda r: setattr(r.queue_datas[0], "topic_sys_flag", 1),
        lambda r: r.broker_datas[0].broker_addrs.update({1: "x"}),
        lambda r: setattr(r, "order_topic_conf", "broker-a:1"),
        lambda r: r.filter_server_table.update({A: ["f"]}),
    ],
)
def test_any_difference_counts_as_a_change(change: Any) -> None:
    old, new = route(("broker-a", 4, 4, 6)), route(("broker-a", 4, 4, 6))
    assert not route_changed(old, new)
    change(new)
    assert route_changed(old, new)
    assert route_changed(None, new)


@behaviour("CLI-19")
def test_changed_route_reaches_every_producer_of_the_instance(field: Field) -> None:
    first, second = field.producer("first"), field.producer("second")
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    assert field.run(first.update_route("T")) is True
    assert second.topic_publish_info_table["T"] is first.topic_publish_info_table["T"]
    assert field.run(first.update_route("T")) is False
    third = field.producer("third")
    assert field.run(first.update_route("T")) is True, "a producer lacks it"
    assert third.topic_publish_info_table["T"].ok


@behaviour("CLI-19")
def test_unchanged_route_reaches_a_producer_without_queues(producer: Producer, field: Field) -> None:
    field.server.routes["T"] = route(("broker-a", 4, 4, 4))
    assert field.run(producer.update_route("T")) is True
    assert field.run(producer.update_route("T")) is True


@behaviour("CLI-05", "CLI-16", "CLI-19", "CLI-21")
def test_refresh_requests_every_published_topic_once(field: Field) -> None:
    first, second = field.producer("first"), field.producer("second")
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 7))
    find(field, first, "T")
    find(field, second, "U")
    field.server.asked.clear()
    field.run(first.refresh_all())
    assert sorted(field.server.asked) == ["T", "TBW102", "U"]
    assert first.topic_publish_info_table["TBW102"].ok
    assert len(first.topic_publish_info_table["TBW102"].message_queue_list) == 8, "only the cached route of an unknown topic is reduced"


@behaviour("CLI-21", "LIV-02")
def test_refresh_updates_queues_from_the_name_server(producer: Producer, field: Field) -> None:
    field.server.routes["TBW102"] = route(("broker-a", 8, 8, 7), ("broker-b", 8, 8, 7))
    find(field, producer)
    field.server.routes["T"] = route(("broker-b", 2, 2, 6))
    field.run(producer.refresh_all())
    assert queues(producer.topic_publish_info_table["T"]) == [("broker-b", 0), ("broker-b", 1)]


@behaviour("CLI-21")
def test_refresh_ignores_an_unreachable_name_server(producer: Producer, field: Field) -> None:
    field.network.close(NAME_SERVER)
    field.run(producer.refresh_all())
    assert not producer.client.name_server_lock.held


# From a route to queues


@behaviour("CLI-20")
def test_queues_are_sorted_by_broker_and_counted_by_write_queues() -> None:
    info = publish_info("T", route(("broker-b", 9, 1, 6), ("broker-a", 1, 3, 2)))
    assert info.message_queue_list == [
        MessageQueue("T", "broker-a", 0),
        MessageQueue("T", "broker-a", 1),
        MessageQueue("T", "broker-a", 2),
        MessageQueue("T", "broker-b", 0),
    ]
    assert not info.order_topic


@behaviour("CLI-20", "PERM-01")
def test_unwritable_unknown_and_masterless_brokers_are_skipped() -> None:
    full = route(("broker-a", 1, 1, 4), ("broker-b", 1, 1, 6), ("broker-c", 1, 1, 6), slaves=("broker-b",))
    assert queues(publish_info("T", full)) == [("broker-c", 0)]
    assert [perm for perm in range(9) if publish_info("T", route(("broker-a", 1, 1, perm))).ok] == [2, 3, 6, 7], "by the write bit"
    full.broker_datas.pop()
    assert queues(publish_info("T", full)) == []
    full.broker_datas.append(BrokerData("c", "broker-c", {0: ""}))
    full.queue_datas.append(QueueData("broker-x", 1, 1, 6))
    assert queues(publish_info("T", full)) == [("broker-c", 0)]


@behaviour("CLI-20")
def test_an_order_configuration_lists_the_queues() -> None:
    for semicolons in ("", ";", ";;"):
        info = publish_info("T", route(("broker-a", 1, 1, 4), order=f"broker-b:2;broker-a:1{semicolons}"))
        assert queues(info) == [("broker-b", 0), ("broker-b", 1), ("broker-a", 0)]
        assert info.order_topic and info.have_topic_router_info and info.route is not None
    assert not publish_info("T", route(("broker-a", 1, 1, 6), order="")).order_topic
    with pytest.raises(JavaError, match="NumberFormatException"):
        publish_info("T", route(("broker-a", 1, 1, 6), order="broker-a:x"))
