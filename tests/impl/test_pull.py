"""A consumer pulls: messages, refusals, and pulls that wait. The answers are those of a real 4.9.4."""

from __future__ import annotations

import json
from typing import Any

import pytest
from marks import behaviour
from sending import FakeChannel, Stand
from simulated import fields_of, present

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.settingstext import update_settings
from rocketproof_impl.broker.subscription import SubscriptionData, build
from rocketproof_impl.java import string_hash
from rocketproof_impl.periodic import drive
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.store import record
from rocketproof_impl.store.consumequeue import ConsumeQueue, ConsumeQueueEntry
from rocketproof_impl.store.reading import MOST_BYTES

FOUND, SYSTEM_BUSY, NOT_FOUND, RETRY, MOVED = 0, 2, 19, 20, 21
CONSUMER: dict[str, Any] = {
    "groupName": "cg",
    "messageModel": "CLUSTERING",
    "subscriptionDataSet": [{"topic": "T", "subString": "A", "codeSet": [string_hash("A")], "subVersion": 5}],
}


def command(**changed: Any) -> Command:
    fields = {
        "consumerGroup": "cg", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4, "commitOffset": 0,
        "suspendTimeoutMillis": 0, "subscription": "*", "subVersion": 0, **changed,
    }  # fmt: skip
    return Command(11, {name: str(value) for name, value in fields.items() if value is not None}, opaque=3)


class Consumer(Stand):
    """A broker that dispatches at once, and pulls from it."""

    def __init__(self, profile: str = "P494", **settings: Any) -> None:
        super().__init__(profile, **settings)
        self.topic()

    def fill(self, *tags: str, **fields: Any) -> None:
        for tag in tags:
            self.channel.written.clear()
            self.send(body=tag.encode(), properties={"TAGS": tag}, **fields)
        self.broker.store.dispatch()
        self.scheduler.settle()

    def pull(self, **changed: Any) -> Command:
        return self.ask(command(**changed))

    def bodies(self, **changed: Any) -> list[bytes | None]:
        return bodies(self.pull(**changed))

    def beat(self, **changed: Any) -> None:
        body = json.dumps({"clientID": "me", "consumerDataSet": [CONSUMER | changed]}).encode()
        self.broker.receive(self.channel, Command(34, None, body))
        self.scheduler.settle()

    def first_entry(self) -> tuple[ConsumeQueue, ConsumeQueueEntry]:
        """Return the queue T-0, and the entry of its first message."""
        queue = present(self.broker.store.queues.find("T", 0))
        return queue, present(queue.entry(0))

    def beginning(self, **changed: Any) -> int:
        """Deliver a pull that will wait. Return the number of earlier answers."""
        before = len(self.channel.written)
        self.broker.receive(self.channel, command(**changed))
        self.scheduler.settle()
        return before


def bodies(answer: Command) -> list[bytes | None]:
    found, data = [], answer.body or b""
    while data:
        size, _ = record.size_and_magic(data)
        message = present(record.decode(data[:size], exact=False))
        found.append(message.body)
        data = data[size:]
    return found


def places(answer: Command) -> tuple[str, ...]:
    fields = answer.ext_fields or {}
    assert fields["suggestWhichBrokerId"] == "0"
    return fields["nextBeginOffset"], fields["minOffset"], fields["maxOffset"]


@pytest.fixture
def stand() -> Consumer:
    return Consumer()


def test_pull_returns_messages_as_stored(stand: Consumer) -> None:
    stand.fill("A", "B", "A")
    answer = stand.pull()
    assert (answer.code, answer.remark, places(answer)) == (FOUND, "FOUND", ("3", "0", "3"))
    assert answer.body == bytes(stand.disk.files["store/commitlog/00000000000000000000"])[: len(answer.body or b"")]
    assert bodies(answer) == [b"A", b"B", b"A"]
    assert stand.bodies(queueOffset=1, maxMsgNums=1) == [b"B"]
    assert stand.bodies(maxMsgNums=0) == [b"A"]


def test_pull_does_not_see_undispatched_messages(stand: Consumer) -> None:
    stand.send()
    assert stand.pull().code == NOT_FOUND


@pytest.mark.parametrize(
    ("offset", "code", "remark", "next_offset"),
    [
        (2, NOT_FOUND, "OFFSET_OVERFLOW_ONE", "2"),
        (3, MOVED, "OFFSET_OVERFLOW_BADLY", "2"),
        (-1, MOVED, "OFFSET_TOO_SMALL", "0"),
    ],
)
def test_pull_outside_the_queue_gets_a_corrected_offset(stand: Consumer, offset: int, code: int, remark: str, next_offset: str) -> None:
    stand.fill("A", "B")
    answer = stand.pull(queueOffset=offset)
    assert (answer.code, answer.remark, places(answer)) == (code, remark, (next_offset, "0", "2"))


def test_pull_from_an_empty_queue(stand: Consumer) -> None:
    for offset, code in ((0, NOT_FOUND), (5, MOVED)):
        answer = stand.pull(queueOffset=offset)
        assert (answer.code, answer.remark, places(answer)) == (code, "NO_MESSAGE_IN_QUEUE", ("0", "0", "0"))


def test_corrected_offset_is_stored_in_its_own_topic(stand: Consumer) -> None:
    stand.fill("A")
    stand.pull(queueOffset=9)
    note = stand.last()
    assert (note.topic, note.properties) == ("OFFSET_MOVED_EVENT", {"TAGS": "cg", "KEYS": "cg", "DELAY": "0"})
    assert json.loads(note.body or b"") == {
        "consumerGroup": "cg",
        "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": "T"},
        "offsetNew": 1,
        "offsetRequest": 9,
    }


def test_a_slave_corrects_no_offset(stand: Consumer) -> None:
    stand.fill("A")
    stand.settings.broker_role = "SLAVE"
    count = len(stand.stored())
    answer = stand.pull(queueOffset=9)
    assert (answer.code, fields_of(answer)["nextBeginOffset"], len(stand.stored())) == (RETRY, "9", count)


def test_only_matching_tags_are_given(stand: Consumer) -> None:
    stand.fill("A", "B", "C")
    answer = stand.pull(subscription=" A || C ")
    assert (bodies(answer), places(answer)[0]) == ([b"A", b"C"], "3")
    answer = stand.pull(subscription="X")
    assert (answer.code, answer.remark, places(answer)[0]) == (RETRY, "NO_MATCHED_MESSAGE", "3")


def test_one_answer_is_bounded_by_number_and_size(stand: Consumer) -> None:
    for _ in range(40):
        stand.send()
    stand.broker.store.dispatch()
    assert len(stand.bodies(maxMsgNums=100)) == 32
    stand.topic("L")
    for _ in range(3):
        stand.send("L", body=bytes(200_000))
    stand.broker.store.dispatch()
    assert len(stand.bodies(topic="L")) == 1


@pytest.mark.parametrize(("beyond", "given"), [(0, 2), (1, 1)])
def test_records_of_one_answer_have_a_maximum_size(beyond: int, given: int) -> None:
    stand = Consumer()
    stand.send(body=b"")
    empty = stand.last().store_size
    for size in (MOST_BYTES // 2, MOST_BYTES // 2 + beyond):
        stand.send(body=bytes(size - empty))
    stand.broker.store.dispatch()
    assert len(stand.bodies(queueOffset=1)) == given


def test_pull_ends_at_its_file_of_the_queue() -> None:
    stand = Consumer(mapped_file_size_consume_queue=60)
    stand.fill("A", "B", "C", "D", "E")
    assert stand.bodies() == [b"A", b"B", b"C"]
    assert stand.bodies(queueOffset=2) == [b"C"]
    assert stand.bodies(queueOffset=3) == [b"D", b"E"]


def test_filter_without_matches_stops_after_800_entries(stand: Consumer) -> None:
    stand.fill("A")
    queue, entry = stand.first_entry()
    for index in range(1, 1000):
        queue.put(index, entry._replace(physical_offset=entry.physical_offset + index * 1000))
    answer = stand.pull(subscription="X")
    assert places(answer)[0] == "800"


def test_pull_skips_messages_deleted_from_the_log(stand: Consumer) -> None:
    stand.fill("A")
    queue, entry = stand.first_entry()
    queue.put(1, entry._replace(physical_offset=1 << 30))
    answer = stand.pull(queueOffset=1)
    assert (answer.code, answer.remark) == (RETRY, "MESSAGE_WAS_REMOVING")
    assert (stand.pull().code, stand.bodies()) == (FOUND, [b"A"])
    queue.max_physical_offset = 0  # an earlier record at this offset
    queue.put(2, entry)
    assert (stand.pull().code, stand.bodies()) == (FOUND, [b"A", b"A"])


# Refusals


@pytest.mark.parametrize(
    ("changed", "code", "remark"),
    [
        ({"queueId": 4}, 1, "queueId[4] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/127.0.0.1:50001]"),
        ({"queueId": -1}, 1, "queueId[-1] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/127.0.0.1:50001]"),
        ({"topic": "X"}, 17, "topic[X] not exist, apply first please! \nSee http://rocketmq.apache.org/docs/faq/ for further details."),
        ({"topic": "W"}, 16, "the topic[W] pulling message is forbidden"),
        ({"consumerGroup": "closed"}, 16, "subscription group no permission, closed"),
        ({"subscription": "||"}, 23, "parse the consumer's subscription failed"),
        ({"subscription": "", "expressionType": "SQL92"}, 23, "parse the consumer's subscription failed"),
        ({"subscription": "a=1", "expressionType": "SQL92"}, 1, "The broker does not support consumer to filter message by SQL92"),
        ({"sysFlag": 0}, 24, "the consumer's group info not exist\nSee http://rocketmq.apache.org/docs/faq/ for further details."),
    ],
)
def test_pull_is_refused_with_code_and_remark(stand: Consumer, changed: dict[str, Any], code: int, remark: str) -> None:
    stand.topic("W", perm=2)
    stand.call(200, b'{"groupName":"closed","consumeEnable":false}')
    answer = stand.pull(**changed)
    assert (answer.code, answer.remark, answer.ext_fields) == (code, remark, {})


@pytest.mark.parametrize(("profile", "told"), [("P494", [None] * 4), ("P533", ["1", "2", "3", None])])
def test_later_releases_name_the_cause_of_a_forbidden_pull(profile: str, told: list[str | None]) -> None:
    """Measured on a real 5.3.3: the broker, the group, or the topic. A missing topic forbids nothing."""
    stand = Consumer(profile)
    stand.topic("W", perm=2)
    stand.call(200, b'{"groupName":"closed","consumeEnable":false}')
    answers = [Consumer(profile, broker_permission=2).pull()]
    answers += [stand.pull(**changed) for changed in ({"consumerGroup": "closed"}, {"topic": "W"}, {"topic": "X"})]
    assert [answer.code for answer in answers] == [16, 16, 16, 17]
    assert [(answer.ext_fields or {}).get("forbiddenType") for answer in answers] == told


def test_broker_and_group_can_forbid_all_pulls() -> None:
    stand = Consumer(broker_permission=2)
    assert stand.pull().remark == "the broker[127.0.0.1] pulling message is forbidden"
    stand = Consumer(auto_create_subscription_group=False)
    answer = stand.pull(consumerGroup="new")
    assert (answer.code, str(answer.remark).split(",")[0]) == (26, "subscription group [new] does not exist")
    stand = Consumer()
    stand.broker.store.shutdown = True
    assert stand.pull().remark == "store getMessage return null"


@behaviour("REM-04")
@pytest.mark.parametrize("name", ["consumerGroup", "topic", "queueOffset", "subVersion"])
def test_missing_pull_fields_are_errors(name: str) -> None:
    stand = Consumer("P49")
    assert f"the custom field <{name}> is null" in str(stand.pull(**{name: None}).remark)
    remark = str(Consumer("P494").pull(**{name: None}).remark)
    assert remark.startswith("java.lang.NullPointerException") == (name != "subVersion")


# Subscriptions from heartbeats


def test_last_heartbeat_decides_the_subscription(stand: Consumer) -> None:
    stand.fill("A", "B")
    stand.beat()
    assert stand.bodies(sysFlag=0, subscription=None, subVersion=5) == [b"A"]
    answer = stand.pull(sysFlag=0, subVersion=6)
    assert (answer.code, answer.remark) == (25, "the consumer's subscription not latest")
    stand.topic("U")
    assert str(stand.pull(sysFlag=0, topic="U").remark).startswith("the consumer's subscription not exist\n")


def test_group_can_forbid_broadcasting(stand: Consumer) -> None:
    stand.call(200, b'{"groupName":"cg","consumeBroadcastEnable":false}')
    stand.beat(messageModel="BROADCASTING")
    answer = stand.pull(sysFlag=0)
    assert (answer.code, answer.remark) == (16, "the consumer group[cg] can not consume by broadcast way")
    assert not answer.ext_fields or "forbiddenType" not in answer.ext_fields
    newer = Consumer("P533")
    newer.call(200, b'{"groupName":"cg","consumeBroadcastEnable":false}')
    newer.beat(messageModel="BROADCASTING")
    assert (newer.pull(sysFlag=0).ext_fields or {}).get("forbiddenType") == "4"


def test_expression_types_are_accepted_or_refused() -> None:
    assert build("T", None, None) == build("T", "*", "TAG") == build("T", "", "TAG") == SubscriptionData("T")
    found = build("T", "A|| ||B ", "TAG")
    assert (found.code_set, found.sub_string) == ({string_hash("A"), string_hash("B")}, "A|| ||B ")
    assert found.matches(string_hash("A")) and not found.matches(string_hash("C")) and found.matches(None)
    assert found.matches(string_hash("A") + (1 << 32))


# Offsets


def test_pull_can_commit_the_consumers_offset(stand: Consumer) -> None:
    stand.fill("A")
    stand.pull(commitOffset=1)
    assert stand.broker.offsets.table == {}
    stand.pull(sysFlag=5, commitOffset=1)
    stand.pull(sysFlag=5, commitOffset=0, queueId=3)
    assert stand.broker.offsets.table == {"T@cg": {0: 1, 3: 0}}
    stand.broker.persist_offsets()
    file = stand.disk.files["store/config/consumerOffset.json"]
    assert b'"T@cg":{0:1,3:0}' in file
    again = Consumer()
    again.disk.files["store/config/consumerOffset.json"] = file
    assert again.broker.load()
    assert (again.broker.offsets.query("cg", "T", 0), again.broker.offsets.query("cg", "T", 1)) == (1, None)
    again.disk.files["store/config/consumerOffset.json"] = bytearray(b"{")
    again.disk.files["store/config/consumerOffset.json.bak"] = bytearray(b"{")
    assert not again.broker.load()


# Pulls that wait

WAITING = {"queueOffset": 1, "sysFlag": 6, "suspendTimeoutMillis": 15_000}


def test_a_pull_waits_for_a_message(stand: Consumer) -> None:
    stand.fill("A")
    stand.beginning(**WAITING)
    stand.fill("B")
    sent, answer = stand.channel.written
    assert (sent.opaque, answer.opaque, answer.is_response, bodies(answer)) == (1, 3, True, [b"B"])
    stand.fill("C")
    assert len(stand.channel.written) == 1


def test_waiting_pull_commits_its_offset_once(stand: Consumer) -> None:
    stand.fill("A")
    stand.beginning(**WAITING | {"sysFlag": 7, "commitOffset": 1})
    assert stand.broker.offsets.query("cg", "T", 0) == 1
    stand.broker.offsets.commit("cg", "T", 0, 5)
    stand.fill("B")
    assert (bodies(stand.channel.written[-1]), stand.broker.offsets.query("cg", "T", 0)) == ([b"B"], 5)


def test_a_pull_waits_for_its_own_queue_and_tags(stand: Consumer) -> None:
    stand.fill("A")
    stand.beginning(**WAITING | {"subscription": "C", "suspendTimeoutMillis": 1_000_000})
    for tag, queue_id, answers in (("A", 1, 1), ("C", 1, 1), ("B", 0, 1), ("C", 0, 2)):
        stand.fill(tag, queue_id=queue_id)
        assert len(stand.channel.written) == answers
    assert bodies(stand.channel.written[-1]) == [b"C"]


def test_a_pull_that_waited_long_enough_is_answered(stand: Consumer) -> None:
    stand.fill("A")
    drive(stand.scheduler, stand.broker, (each for each in Broker.PERIODIC if each.name == "check_held"))
    before = stand.beginning(**WAITING)
    stand.scheduler.advance(14_999)
    assert len(stand.channel.written) == before
    stand.scheduler.advance(5001)
    (answer,) = stand.channel.written[before:]
    assert (answer.code, answer.remark, places(answer)) == (NOT_FOUND, "OFFSET_OVERFLOW_ONE", ("1", "0", "1"))


def test_pull_waits_only_with_permission_and_while_connected(stand: Consumer) -> None:
    stand.fill("A")
    assert stand.pull(**WAITING | {"sysFlag": 4}).code == NOT_FOUND
    assert stand.pull(**WAITING | {"queueOffset": 7}).code == MOVED
    stand.beginning(**WAITING)
    stand.broker.channel_closed(stand.channel)
    stand.fill("B")
    assert [answer.opaque for answer in stand.channel.written] == [1]


@pytest.mark.parametrize("left", [0, 1])
def test_lost_connection_removes_only_its_own_waiting_pulls(stand: Consumer, left: int) -> None:
    stand.fill("A")
    channels = [FakeChannel(), FakeChannel()]
    for channel in channels:
        stand.broker.receive(channel, command(**WAITING))
    stand.scheduler.settle()
    stand.broker.channel_closed(channels.pop(1 - left))
    stand.fill("B")
    assert [bodies(answer) for answer in channels[0].written] == [[b"B"]]


@pytest.mark.parametrize(("profile", "answers"), [("P494", 1), ("P500", 1), ("P510", 0), ("P533", 0)])
@behaviour("HAZ-26")
def test_waiting_one_way_pull_is_answered_up_to_5_0(profile: str, answers: int) -> None:
    stand = Consumer(profile)
    stand.fill("A")
    request = command(**WAITING)
    request.flag |= ONE_WAY
    stand.broker.receive(stand.channel, request)
    stand.fill("B")
    assert [bodies(answer) for answer in stand.channel.written if answer.opaque == request.opaque] == [[b"B"]] * answers


@pytest.mark.parametrize(
    ("profile", "readable", "code"), [("P494", "false", FOUND), ("P533", "false", SYSTEM_BUSY), ("P533", "true", FOUND)]
)
@behaviour("REM-06")
def test_slave_rejects_pulls_from_5_0_on_unless_readable(profile: str, readable: str, code: int) -> None:
    stand = Consumer(profile)
    stand.fill("A")
    stand.settings.broker_role = "SLAVE"
    update_settings(stand.settings, f"slaveReadEnable={readable}")
    answer = stand.pull()
    assert answer.code == code
    assert code == FOUND or str(answer.remark).startswith("[REJECTREQUEST]")


def test_slave_wakes_no_waiting_pull(stand: Consumer) -> None:
    stand.fill("A")
    stand.send()
    before = stand.beginning(**WAITING)
    stand.settings.broker_role = "SLAVE"
    stand.broker.store.dispatch()
    stand.scheduler.settle()
    assert len(stand.channel.written) == before


@pytest.mark.parametrize(
    ("profile", "expected"), [("P410", [1, 1, 2, 4, 5]), ("P420", [1, 2, 3, 5, 5]), ("P494", [1, 2, 3, 5, 5]), ("P533", [1, 2, 3, 5, 5])]
)
def test_a_pull_of_at_most_n_stops_early_in_410(profile: str, expected: list[int]) -> None:
    """As 4.1.0 and 4.2.0 answered."""
    consumer = Consumer(profile)
    consumer.fill(*"abcde", queue_id=0)
    assert [len(consumer.bodies(maxMsgNums=most)) for most in (1, 2, 3, 5, 6)] == expected
