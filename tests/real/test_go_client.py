"""The real Go client against `rocketproof serve`: what it sends is answered, and is in the log."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from otherclients import go_program

from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record
from rocketproof_properties.brokers.connection import call
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.served import Served
from rocketproof_protocol.codes import GET_MAX_OFFSET, PULL_MESSAGE, SUCCESS, UPDATE_AND_CREATE_TOPIC

COMMANDS = ("go",)
TOPIC, QUEUES = "GoTopic", range(4)
CREATE = {
    "topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6", "topicFilterType": "SINGLE_TAG",
}  # fmt: skip
WANTED = {f"{way}-{number}".encode() for way, most in (("sync", 8), ("async", 8), ("oneway", 8), ("batch", 3)) for number in range(most)}
WANTED |= {b"delayed"}


@dataclass(frozen=True)
class Outcome:
    """The client's reports by step, and the messages that it left, by id."""

    steps: Mapping[str, Any]
    messages: Mapping[str, Message]


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    client = go_program()
    # A busy machine's broker would silently drop a one-way message that waits for 200 ms (TIMEOUT_CLEAN_QUEUE).
    patient = {"waitTimeMillsInSendQueue": "20000"}
    with Served("P494").open(Setup(brokers=2, settings=patient)) as running:
        assert running.name_server is not None
        for address in running.brokers.values():  # otherwise the first broker that takes a message may be the only one
            assert call(address, Command(UPDATE_AND_CREATE_TOPIC, CREATE)).code == SUCCESS
        done = subprocess.run([client, running.name_server], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        steps = {line["step"]: line for line in map(json.loads, done.stdout.splitlines())}
        assert all("error" not in line for line in steps.values()), steps
        yield Outcome({name: line["result"] for name, line in steps.items()}, read_all(list(running.brokers.values())))


def read_all(brokers: list[str]) -> dict[str, Message]:
    """Pull every queue until everything is read, or for 20 seconds."""
    end = time.monotonic() + 20
    while True:
        found = [message for address in brokers for queue in QUEUES for message in pulled(address, queue)]
        if WANTED <= {message.body for message in found} or time.monotonic() > end:
            return {message.msg_id: message for message in found}
        time.sleep(0.1)


def pulled(address: str, queue: int) -> list[Message]:
    fields = {
        "consumerGroup": "reader", "topic": TOPIC, "queueId": str(queue), "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4",
        "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "TagGo", "subVersion": "0",
    }  # fmt: skip
    answer = call(address, Command(PULL_MESSAGE, fields))
    if answer.code != SUCCESS:
        return []
    later = call(address, Command(GET_MAX_OFFSET, fields)).ext_fields or {}
    assert int((answer.ext_fields or {})["maxOffset"]) <= int(later["offset"]), "more may have been dispatched since"
    found, data = [], answer.body or b""
    while data:
        size, _ = record.size_and_magic(data)
        message = record.decode(data[:size], exact=False)
        assert message is not None
        found.append(message)
        data = data[size:]
    return found


def stored(outcome: Outcome, told: dict[str, Any]) -> Message:
    """Return the message that a response names, at its stated position."""
    message = outcome.messages[told["offsetMsgId"]]
    assert (message.queue_id, message.queue_offset) == (told["queueId"], told["queueOffset"])
    return message


@pytest.mark.parametrize("way", ["sync", "async"])
def test_each_answer_names_its_message(outcome: Outcome, way: str) -> None:
    answers = outcome.steps[way]
    assert [told["status"] for told in answers] == [0] * 8
    bodies = [stored(outcome, told).body for told in answers]
    assert sorted(bodies, key=str) == [f"{way}-{number}".encode() for number in range(8)]
    assert {told["broker"] for told in answers} == {"broker-a", "broker-b"}


def test_one_way_messages_arrive(outcome: Outcome) -> None:
    found = sorted(message.body or b"" for message in outcome.messages.values() if (message.body or b"").startswith(b"oneway"))
    assert found == [f"oneway-{number}".encode() for number in range(8)]


def test_batch_is_three_messages_in_row(outcome: Outcome) -> None:
    told = outcome.steps["batch"]
    found = [outcome.messages[id_] for id_ in told["offsetMsgId"].split(",")]
    assert [message.body for message in found] == [b"batch-0", b"batch-1", b"batch-2"]
    assert [message.queue_offset - told["queueOffset"] for message in found] == [0, 1, 2]


def test_delayed_message_arrives_later_with_its_properties(outcome: Outcome) -> None:
    (message,) = (message for message in outcome.messages.values() if message.body == b"delayed")
    assert message.msg_id != outcome.steps["delayed"]["offsetMsgId"]
    assert (message.topic, message.properties["TAGS"], message.properties["KEYS"]) == (TOPIC, "TagGo", "key-delayed")
