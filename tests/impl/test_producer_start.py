"""A producer's start, the name of its group, and its shared client instance."""

from __future__ import annotations

import json

import pytest
from client_doubles import ADDRESS, NAME_SERVER, Field, route
from marks import behaviour

from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.producer.instance import ClientInstance, ServiceState
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import PublishInfo
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.producer.validate import check_group
from rocketproof_protocol.codes import HEART_BEAT


@pytest.fixture
def field() -> Field:
    return Field()


# Life


def state_of(producer: Producer) -> str:
    return producer.state.value


@behaviour("CLI-01")
def test_a_producer_starts_once(field: Field) -> None:
    producer = field.new()
    assert state_of(producer) == "CREATE_JUST"
    with pytest.raises(ClientError, match="service state not OK, CREATE_JUST"):
        field.run(producer.send(Message("T", body=b"x")))
    field.run(producer.start())
    assert state_of(producer) == "RUNNING"
    with pytest.raises(ClientError, match="service state not OK, maybe started once, RUNNING"):
        field.run(producer.start())
    producer.shutdown()
    assert state_of(producer) == "SHUTDOWN_ALREADY"
    assert "group" not in field.clients["127.0.0.1@1"].producer_table
    with pytest.raises(ClientError, match="service state not OK, maybe started once, SHUTDOWN_ALREADY"):
        field.run(producer.start())
    with pytest.raises(ClientError, match="service state not OK, SHUTDOWN_ALREADY"):
        field.run(producer.send(Message("T", body=b"x")))


@behaviour("CLI-01", "CLI-04")
def test_a_start_that_failed_cannot_be_repeated(field: Field) -> None:
    producer = field.new("a b")
    with pytest.raises(ClientError, match="contains illegal characters"):
        field.run(producer.start())
    assert state_of(producer) == "START_FAILED"
    assert field.clients == {}, "the configuration is checked before anything else"
    with pytest.raises(ClientError, match="service state not OK, maybe started once, START_FAILED"):
        field.run(producer.start())


@behaviour("CLI-01", "CLI-06")
def test_state_during_the_start_is_start_failed(field: Field) -> None:
    seen: list[ServiceState] = []

    async def fetch() -> tuple[str, ...]:
        seen.extend((producer.state, field.clients["127.0.0.1@1"].state))
        return (NAME_SERVER,)

    producer = field.new(name_servers=(), fetch_name_servers=fetch)
    field.run(producer.start())
    assert seen == [ServiceState.START_FAILED, ServiceState.START_FAILED]
    assert producer.client.name_servers == (NAME_SERVER,)
    assert producer.client.state is ServiceState.RUNNING


@behaviour("CLI-02", "CLI-05")
def test_the_templates_entry_is_published_from_the_start(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(create_topic_key="Base"))
    assert producer.topic_publish_info_table == {"Base": PublishInfo()}
    assert field.server.asked == []
    field.run(producer.refresh_all())
    assert "Base" in field.server.asked


@behaviour("CLI-02", "CLI-06")
def test_producers_of_a_process_share_a_client_instance(field: Field) -> None:
    first, second = field.producer("first"), field.producer("second")
    third = field.producer("third", instance_name="other")
    assert first.client is second.client is not third.client
    assert set(field.clients) == {"127.0.0.1@1", "127.0.0.1@other"}
    assert set(first.client.producer_table) == {"first", "second", "CLIENT_INNER_PRODUCER"}
    assert first.client.producer_table["second"] is second.topic_publish_info_table
    assert first.client.producer_table["CLIENT_INNER_PRODUCER"] == {"TBW102": PublishInfo()}


@behaviour("CLI-02")
def test_a_start_ends_with_heartbeats_to_known_brokers(field: Field) -> None:
    first = field.producer("first")
    field.server.routes["T"] = route(("broker-a", 4, 4, 6), ("broker-b", 4, 4, 6))
    field.run(first.update_route("T"))
    assert not field.brokers["broker-a"].beats
    field.producer("second")
    for name in ("broker-a", "broker-b"):
        (beat,) = field.brokers[name].beats
        assert beat.code == HEART_BEAT
        assert json.loads(beat.body or b"") == {
            "clientID": first.client.client_id,
            "consumerDataSet": [],
            "producerDataSet": [{"groupName": group} for group in ("first", "CLIENT_INNER_PRODUCER", "second")],
        }


@behaviour("CLI-03")
def test_a_group_is_taken_once_in_a_client_instance(field: Field) -> None:
    first = field.producer("G")
    second = field.new("G")
    with pytest.raises(ClientError, match=r"^The producer group\[G\] has been created before, specify another name please\."):
        field.run(second.start())
    assert state_of(second) == "CREATE_JUST"
    assert first.client.producer_table["G"] is first.topic_publish_info_table
    first.shutdown()
    field.run(second.start())
    assert state_of(second) == "RUNNING"


@behaviour("CLI-06")
def test_a_client_instance_that_failed_to_start_stays_so(field: Field) -> None:
    async def fetch() -> tuple[str, ...]:
        raise JavaError("java.lang.IllegalStateException", "no address server")

    with pytest.raises(JavaError):
        field.run(field.new("first", name_servers=(), fetch_name_servers=fetch).start())
    with pytest.raises(ClientError, match=r"^The Factory object\[127.0.0.1@1\] has been created before, and failed\.$"):
        field.run(field.new("second").start())


@behaviour("CLI-06")
def test_name_servers_are_fetched_only_without_configuration(field: Field) -> None:
    async def fetch() -> tuple[str, ...]:
        raise AssertionError("not wanted")

    assert field.producer(fetch_name_servers=fetch).client.name_servers == (NAME_SERVER,)


# Groups


@behaviour("CLI-04")
@pytest.mark.parametrize(
    ("group", "text"),
    [
        (None, "the specified group is blank"),
        ("", "the specified group is blank"),
        (" \t", "the specified group is blank"),
        ("\u3000", "the specified group is blank"),
        ("\u00a0", "the specified group[\u00a0] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),  # no whitespace for Java
        ("\U0001f600" * 128, "the specified group is longer than group max length 255."),  # 256 UTF-16 units
        ("g" * 256, "the specified group is longer than group max length 255."),
        ("ä" * 256, "the specified group is longer than group max length 255."),
        ("a b", "the specified group[a b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("gruß", "the specified group[gruß] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("group\n", "the specified group[group\n] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("DEFAULT_PRODUCER", "producerGroup can not equal DEFAULT_PRODUCER, please specify another one."),
        ("CLIENT_INNER_PRODUCER", "producerGroup can not equal CLIENT_INNER_PRODUCER, please specify another one."),
    ],
)
def test_illegal_groups_are_refused(group: str | None, text: str) -> None:
    with pytest.raises(ClientError) as caught:
        check_group(group)
    assert caught.value.message == text
    assert caught.value.code == -1


@behaviour("CLI-04")
@pytest.mark.parametrize("group", ["g", "g" * 255, "%RETRY%a|b_c-9", "default_producer", "TBW102"])
def test_legal_groups_are_accepted(group: str) -> None:
    check_group(group)


# Periodic tasks


@behaviour("CLI-07")
def test_the_periodic_tasks(field: Field) -> None:
    client = field.producer().client
    assert [tuple(task) for task in client.periodic()] == [("refresh_all", 10, 30_000), ("maintain_brokers", 1000, 30_000)]

    async def fetch() -> tuple[str, ...]:
        return ()

    other = ClientInstance("x", field.clock, field.network.endpoint("127.0.0.1:50002"), (), fetch)
    assert tuple(other.periodic()[0]) == ("fetch_name_servers", 10_000, 120_000)
    assert all(callable(getattr(other, task.name)) for task in other.periodic())


@behaviour("CLI-07")
def test_an_empty_list_of_name_servers_changes_nothing(field: Field) -> None:
    fetched: list[tuple[str, ...]] = [("a:1",), (), ("b:1",)]

    async def fetch() -> tuple[str, ...]:
        return fetched.pop(0)

    client = field.producer(name_servers=(), fetch_name_servers=fetch).client
    assert client.name_servers == ("a:1",)
    field.run(client.fetch_name_servers())
    assert client.name_servers == ("a:1",)
    field.run(client.fetch_name_servers())
    assert client.name_servers == ("b:1",)


@behaviour("CLI-07")
def test_brokers_that_left_all_routes_are_forgotten_before_the_heartbeat(field: Field) -> None:
    producer = field.producer()
    client = producer.client
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    field.run(producer.update_route("T"))
    client.broker_addr_table["broker-b"] = {0: ADDRESS["broker-b"]}
    client.broker_addr_table["broker-a"][1] = ADDRESS["broker-c"]
    field.run(client.maintain_brokers())
    assert client.broker_addr_table == {"broker-a": {0: ADDRESS["broker-a"]}}
    assert len(field.brokers["broker-a"].beats) == 1
    assert not field.brokers["broker-b"].beats


@behaviour("CLI-07")
def test_heartbeats_go_to_masters_and_survive_a_dead_broker(field: Field) -> None:
    producer = field.producer()
    producer.client.broker_addr_table |= {
        "broker-x": {0: "127.0.0.1:1"},
        "broker-a": {0: ADDRESS["broker-a"], 1: ADDRESS["broker-b"]},
        "broker-c": {1: ADDRESS["broker-c"]},
    }
    field.run(producer.heartbeat())
    assert [len(broker.beats) for broker in field.brokers.values()] == [1, 0, 0]


@behaviour("CLI-07")
def test_one_round_of_heartbeats_at_a_time(field: Field) -> None:
    producer = field.producer()
    producer.client.broker_addr_table["broker-a"] = {0: ADDRESS["broker-a"]}
    field.lose(to=ADDRESS["broker-a"], answers=True)
    first = field.scheduler.spawn(producer.heartbeat())
    field.scheduler.settle()
    field.run(producer.heartbeat())
    assert not first.done.done, "the second heartbeat did not wait"
    assert len(field.brokers["broker-a"].beats) == 1
    field.scheduler.advance(3000)
    assert first.done.done
