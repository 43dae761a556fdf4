"""Producers and consumers connect, send heartbeats and leave."""

from __future__ import annotations

import json
from typing import Any

import pytest
from marks import behaviour
from sending import FakeChannel, Stand

from rocketproof_impl.broker.clients import ClientChannelInfo, ConsumerGroupInfo, ProducerManager
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_impl.topic import TopicConfig


class Clients(Stand):
    """A broker, and connections of its clients."""

    def beat(self, channel: FakeChannel | None = None, *, producers: tuple[str, ...] = (), **consumer: Any) -> None:
        channel = channel or self.channel
        data = {
            "clientID": f"client-{id(channel)}",
            "producerDataSet": [{"groupName": name} for name in producers],
            "consumerDataSet": [consumer] if consumer else [],
        }
        self.tell(channel, Command(34, None, json.dumps(data).encode()))

    def group(self, **settings: Any) -> None:
        """Return the group c with these settings."""
        assert self.call(200, json.dumps({"groupName": "c", **settings}).encode()).code == 0
        self.channel.written.clear()

    def leave(self, channel: FakeChannel, **fields: str) -> None:
        self.tell(channel, Command(35, {"clientID": "me", **fields}))

    def tell(self, channel: FakeChannel, command: Command) -> None:
        self.broker.receive(channel, command)
        self.scheduler.settle()
        (answer,) = (each for each in channel.written if each.is_response)
        assert (answer.code, answer.remark, answer.ext_fields) == (0, None, None)
        channel.written.remove(answer)


def subscription(topic: str, version: int = 1, text: str = "*") -> dict[str, Any]:
    return {"topic": topic, "subString": text, "subVersion": version, "codeSet": [], "tagsSet": []}


@pytest.fixture
def stand() -> Clients:
    return Clients()


@behaviour("REM-03")
def test_a_producer_is_known_until_it_leaves(stand: Clients) -> None:
    stand.beat(producers=("p", "q"))
    assert {group: list(channels) for group, channels in stand.broker.producers.groups.items()} == {
        "p": [stand.channel],
        "q": [stand.channel],
    }
    info = stand.broker.producers.groups["p"][stand.channel]
    assert (info.language, info.version, info.client_id) == ("JAVA", 399, f"client-{id(stand.channel)}")
    stand.leave(stand.channel, producerGroup="p")
    assert list(stand.broker.producers.groups) == ["q"]
    stand.leave(stand.channel, producerGroup="nosuch")
    stand.broker.channel_closed(stand.channel)
    assert stand.broker.producers.groups == {"q": {}}


@pytest.mark.parametrize("another", [False, True])
def test_client_info_stays_until_another_client_takes_its_connection(another: bool) -> None:
    info, channel = ConsumerGroupInfo(), FakeChannel()
    first = ClientChannelInfo(channel, "c", "JAVA", 399, 1)
    again = ClientChannelInfo(channel, "d" if another else "c", "GO", 400, 2)
    assert [info.update_channel(one) for one in (first, again)] == [True, False]
    assert info.channels == {channel: again if another else ClientChannelInfo(channel, "c", "JAVA", 399, 2)}


def test_a_silent_client_is_forgotten_after_two_minutes(stand: Clients) -> None:
    other = FakeChannel()
    stand.beat(producers=("p",), groupName="c", subscriptionDataSet=[])
    stand.scheduler.advance(120_000)
    stand.beat(other, producers=("p",), groupName="c", subscriptionDataSet=[])
    assert stand.broker.scan_clients() == []
    stand.scheduler.advance(1)
    assert stand.broker.scan_clients() == [stand.channel]
    assert list(stand.broker.producers.groups["p"]) == list(stand.broker.consumers.groups["c"].channels) == [other]
    stand.scheduler.advance(120_000)
    assert stand.broker.scan_clients() == [other]
    assert (stand.broker.producers.groups, stand.broker.consumers.groups) == ({"p": {}}, {})


def test_each_heartbeat_extends_a_clients_lifetime(stand: Clients) -> None:
    for _ in range(3):
        stand.beat(producers=("p",), groupName="c", subscriptionDataSet=[])
        stand.scheduler.advance(100_000)
    assert stand.broker.scan_clients() == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_producers_of_a_group_take_turns(count: int) -> None:
    producers = ProducerManager(SimulatedClock())
    channels = [FakeChannel() for _ in range(count)]
    for channel in channels:
        producers.register("p", ClientChannelInfo(channel, "id", "JAVA", 1, 0))
    found = [producers.available_channel("p") for _ in range(2 * count)]
    assert found[:count] == found[count:] and {id(each) for each in found} == {id(each) for each in channels}
    assert producers.available_channel("nosuch") is None
    for channel in channels:
        producers.channel_closed(channel)
    assert producers.available_channel("p") is None


def test_first_heartbeat_creates_the_retry_topic() -> None:
    stand = Clients()
    stand.group(retryQueueNums=3)
    stand.beat(groupName="c", unitMode=True, subscriptionDataSet=[])
    assert stand.broker.topics.select("%RETRY%c") == TopicConfig("%RETRY%c", 3, 3, 6, topic_sys_flag=2)
    stand = Clients(auto_create_subscription_group=False)
    stand.beat(groupName="c", subscriptionDataSet=[])
    assert "%RETRY%c" not in stand.known()
    assert "c" in stand.broker.consumers.groups


def test_newest_subscription_counts_and_absent_topics_are_removed(stand: Clients) -> None:
    for version, text in ((5, "A"), (4, "B"), (5, "C"), (6, "D")):
        stand.beat(groupName="c", subscriptionDataSet=[subscription("T", version, text), subscription("U")])
        found = stand.broker.consumers.groups["c"].subscriptions["T"]
        assert (found.sub_version, found.sub_string) == ((6, "D") if version == 6 else (5, "A"))
    stand.beat(groupName="c", subscriptionDataSet=[subscription("U")])
    assert list(stand.broker.consumers.groups["c"].subscriptions) == ["U"]


def notices(channel: FakeChannel) -> list[tuple[int, Any, int]]:
    found = [(each.code, each.ext_fields, each.flag) for each in channel.written]
    channel.written.clear()
    return found


def test_consumers_are_notified_when_their_group_changes(stand: Clients) -> None:
    first, second = FakeChannel(), FakeChannel()
    change = [(40, {"consumerGroup": "c"}, ONE_WAY)]

    def beat(channel: FakeChannel, *topics: str) -> None:
        stand.beat(channel, groupName="c", subscriptionDataSet=[subscription(topic) for topic in topics])

    beat(first, "T")
    assert notices(first) == change
    beat(first, "T")
    assert notices(first) == []
    beat(second, "T")
    assert (notices(first), notices(second)) == (change, change)
    beat(first, "T", "U")
    assert (notices(first), notices(second)) == (change, change)
    stand.leave(second, consumerGroup="c")
    assert (notices(first), notices(second)) == (change, [])
    beat(second, "T", "U")
    notices(first), notices(second)
    stand.broker.channel_closed(first)
    assert (notices(first), notices(second)) == ([], change)
    stand.leave(second, consumerGroup="c")
    assert stand.broker.consumers.groups == {}


def test_group_can_decline_notifications(stand: Clients) -> None:
    stand.group(notifyConsumerIdsChangedEnable=False)
    other = FakeChannel()
    stand.beat(groupName="c", subscriptionDataSet=[])
    stand.beat(other, groupName="c", subscriptionDataSet=[])
    stand.leave(other, consumerGroup="c")
    assert [each for each in [*stand.channel.written, *other.written] if each.code == 40] == []


def test_a_client_with_another_id_takes_the_connection_over(stand: Clients) -> None:
    for name in ("one", "two"):
        stand.tell(stand.channel, Command(34, None, json.dumps({"clientID": name, "consumerDataSet": [{"groupName": "c"}]}).encode()))
        assert stand.broker.consumers.groups["c"].channels[stand.channel].client_id == name


def test_heartbeat_needs_a_body() -> None:
    answer = Stand().call(34)
    assert (answer.code, str(answer.remark).split(",")[0]) == (1, "java.lang.NullPointerException")
