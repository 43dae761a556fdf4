"""Consumers of a group learn its members (request 38), and lock queues (41 and 42)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sending import FakeChannel, Stand

from rocketproof_impl import bounds
from rocketproof_impl.broker.locks import LOCKED_MILLIS, LockedQueue, RebalanceLockManager
from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_protocol.codes import GET_CONSUMER_LIST_BY_GROUP, HEART_BEAT, LOCK_BATCH_MQ, UNLOCK_BATCH_MQ

QUEUES = [{"topic": "T", "brokerName": "broker-a", "queueId": number} for number in range(2)]
NULL_POINTER = "java.lang.NullPointerException"


def beat(stand: Stand, name: str) -> None:
    heartbeat = {"clientID": name, "consumerDataSet": [{"groupName": "g"}]}
    stand.broker.receive(FakeChannel(), Command(HEART_BEAT, None, json.dumps(heartbeat).encode()))
    stand.scheduler.settle()


def held(stand: Stand, client: str, queues: list[dict[str, Any]] = QUEUES, group: str = "g") -> list[int]:
    """Ask for locks. Return the ids of the queues that the client holds."""
    answer = stand.call(LOCK_BATCH_MQ, json.dumps({"consumerGroup": group, "clientId": client, "mqSet": queues}).encode())
    assert (answer.code, answer.remark) == (0, None)
    return [queue["queueId"] for queue in json.loads(answer.body or b"")["lockOKMQSet"]]


def test_members_are_clients_that_sent_a_heartbeat() -> None:
    stand = Stand()
    answer = stand.call(GET_CONSUMER_LIST_BY_GROUP, consumerGroup="g")
    assert (answer.code, answer.remark) == (1, "no consumer for this group, g")
    beat(stand, "one")
    beat(stand, "two")
    answer = stand.call(GET_CONSUMER_LIST_BY_GROUP, consumerGroup="g")
    assert (answer.code, json.loads(answer.body or b"")) == (0, {"consumerIdList": ["one", "two"]})


def test_queue_is_locked_until_its_consumer_unlocks_it() -> None:
    stand = Stand()
    assert held(stand, "one", QUEUES[:1]) == [0]
    assert held(stand, "two") == [1]
    assert held(stand, "two", group="h") == [0, 1]
    for client in ("two", "one"):  # only the second one holds queue 0
        assert held(stand, "two") == [1]
        stand.call(UNLOCK_BATCH_MQ, json.dumps({"consumerGroup": "g", "clientId": client, "mqSet": QUEUES[:1]}).encode())
    assert held(stand, "two") == [0, 1]


def test_lock_expires_when_it_is_not_renewed() -> None:
    clock = SimulatedClock()
    locks, queue = RebalanceLockManager(clock), LockedQueue("T", "broker-a", 0)
    assert locks.lock("g", [queue], "one") == [queue]
    clock.time += LOCKED_MILLIS
    assert locks.lock("g", [queue], "two") == []
    assert locks.lock("g", [queue], "one") == [queue]
    clock.time += LOCKED_MILLIS + 1
    assert locks.lock("g", [queue], "two") == [queue]


@pytest.mark.parametrize(("profile", "topic"), [("P494", "%RETRY%g"), ("P510", "%RETRY%g"), ("P511", "%DLQ%g"), ("P550", "%DLQ%g")])
@pytest.mark.behaviour("DLQ-07")
def test_sent_retry_is_dead_letter_while_its_group_holds_a_lock(profile: str, topic: str) -> None:
    stand = Stand(profile)
    assert held(stand, "one") == [0, 1]
    topics = []
    for _ in range(LOCKED_MILLIS // 10_000 + 1):  # a request takes 10 s
        stand.send("%RETRY%g", max_reconsume_times=16)
        topics.append(stand.last().topic)
    assert topics == [topic] * (len(topics) - 1) + ["%RETRY%g"]


def test_locks_of_a_group_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketproof_impl.broker.locks.MAX_QUEUES", 1)
    assert bounds.MAX_QUEUES > 1
    locks = RebalanceLockManager(SimulatedClock())
    with pytest.raises(JavaError, match="OutOfMemoryError"):
        locks.lock("g", [LockedQueue("T", "broker-a", number) for number in range(2)], "one")


@pytest.mark.parametrize("body", [None, b"[]", b"{}", b'{"consumerGroup":"g"}', b'{"consumerGroup":"g","clientId":"c","mqSet":[null]}'])
def test_lock_request_needs_group_client_and_queues(body: bytes | None) -> None:
    answer = Stand().call(LOCK_BATCH_MQ, body)
    assert (answer.code, str(answer.remark).split(",")[0]) == (1, NULL_POINTER)
