"""When a timer message is due on a real 5.3.3 and on the reference under its profile: which messages are put, and what stops them (HAZ-54,
HAZ-58). The deletion of a topic leaves the other topics' timers (TCM-31).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import until

from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import Connection
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.properties import TIMER_DEQUEUE_MS, TIMER_ENQUEUE_MS, TIMER_OUT_MS, UNIQ_KEY
from rocketproof_protocol.topics import HALF_TOPIC, WHEEL_TIMER_TOPIC

COMMANDS = ("java", "mvn")
BROKER = "broker-a"
SECONDS = 6.0
WHEEL = Setup(settings={"timerWheelEnable": "true"})


class Client:
    def __init__(self, line: Connection) -> None:
        self.line = line

    def send(self, topic: str, key: str, **properties: object) -> int:
        """Send a message with this key and return the response code. `place` gets its offsets in the log and in its queue."""
        named = {name: str(value) for name, value in properties.items()}
        answer = self.line.ask(plain("send", topic=topic, properties=named | {UNIQ_KEY: key}), SECONDS)
        fields = answer.ext_fields or {}
        self.place = int(fields["msgId"][16:], 16), int(fields["queueOffset"])
        return answer.code

    def commit(self) -> Command:
        end = plain("end", offset=self.place[0], queue_offset=self.place[1])
        end.flag = 0  # it is to be answered
        return self.line.ask(end, SECONDS)

    def stored(self, topic: str) -> list[Message]:
        body, found = self.line.ask(plain("pull", topic=topic), SECONDS).body or b"", []
        while body:
            size, _ = record.size_and_magic(body)
            message = record.decode(body[:size], exact=False)
            assert message is not None
            found.append(message)
            body = body[size:]
        return found

    def keys(self, topic: str) -> list[str]:
        return sorted(message.properties[UNIQ_KEY] for message in self.stored(topic))


def seen(running: Deployment) -> Iterator[Any]:
    with running, running.connect(BROKER) as line:
        client = Client(line)
        began = round(time.time() * 1000)
        due = began // 1000 * 1000 + 3001
        yield [client.send("T", key, TIMER_DELIVER_MS=due) for key in ("kept", "gone", "late")]
        yield client.send("T", "a", TIMER_DELIVER_MS=due, TIMER_DEL_UNIQKEY="kept")
        yield client.send("T", "b", TIMER_DELIVER_MS=due, TIMER_DEL_UNIQKEY="T+gone")
        yield client.send("T", "c", TIMER_DELIVER_MS=due + 2000, TIMER_DEL_UNIQKEY="T+late")
        yield client.send("T", "half", TIMER_DELIVER_MS=due, TRAN_MSG="true", PGROUP="producers")
        yield client.commit().code
        time.sleep(6)
        yield client.keys("T")
        yield client.keys(HALF_TOPIC)
        first = client.stored("T")[0]
        times = [int(first.properties[name]) for name in (TIMER_ENQUEUE_MS, TIMER_OUT_MS, TIMER_DEQUEUE_MS)]
        yield [times[0] % 1000, times[1] == due - 1, began - 1000 <= times[0] < due, times[1] <= times[2] <= first.store_timestamp]
        yield sorted(first.properties)
        yield client.send(WHEEL_TIMER_TOPIC, "anybody's")
        yield client.send("T", "behind", TIMER_DELAY_SEC=1)
        time.sleep(5)
        yield client.keys("T")


EXPECTED = [
    [0, 0, 0], 0, 0, 0, 0, 0, ["kept", "late"], ["half", "half"], [0, True, True, True],
    sorted(["CLUSTER", "MSG_REGION", "TRACE_ON", "UNIQ_KEY", "TIMER_DELIVER_MS", "TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS",
            "REAL_TOPIC", "REAL_QID"]),
    0, 0, ["kept", "late"],
]  # fmt: skip


@pytest.mark.behaviour("CL-02", "REC-05", "HAZ-54", "HAZ-58")
@pytest.mark.parametrize("target", [Apache("5.3.3"), InProcess("P533")], ids=["5.3.3", "ours"])
def test_due_messages_are_put_until_blocked(target: Apache | InProcess) -> None:
    assert list(seen(target.open(WHEEL))) == EXPECTED


@pytest.mark.behaviour("TCM-31")
@pytest.mark.parametrize("target", [Apache("5.0.0"), Apache("5.2.0"), InProcess("P520")], ids=["5.0.0", "5.2.0", "ours"])
def test_timers_survive_deletion_of_a_topic(target: Apache | InProcess) -> None:
    """Their topic is in no table of these releases."""
    with target.open(WHEEL) as running, running.connect(BROKER) as line:
        client = Client(line)
        assert client.send("B", "of another topic") == 0
        assert client.send("T", "kept", TIMER_DELAY_SEC=2) == 0
        assert line.ask(plain("delete", topic="B"), SECONDS).code == 0
        until(lambda: bool(client.keys("T")), "the timer is gone", 5)
        assert client.keys("T") == ["kept"]
