"""The real Java client against `rocketproof serve`, and against a real 4.9.4: what it reports step by step is the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Setup, ValidationTarget
from rocketproof_properties.brokers.javaprograms import JavaPrograms
from rocketproof_properties.brokers.served import Served

COMMANDS = ("java", "javac", "mvn")
PROGRAMS = JavaPrograms(Path(__file__).parent / "java")
SETUP = Setup(
    brokers=2,
    settings={"mappedFileSizeCommitLog": str(1 << 25), "transactionTimeOut": "1000", "transactionCheckInterval": "1000"},
)

Steps = dict[str, dict[str, Any]]


def steps(target: ValidationTarget) -> Steps:
    """Run `Clients`, and end broker-b when requested. Return the reports by step name."""
    with target.open(SETUP) as running, PROGRAMS.started("Clients", str(running.name_server), "down") as child:
        assert child.stdout is not None and child.stdin is not None and child.stderr is not None
        found: Steps = {}
        for line in child.stdout:
            if line == "waiting\n":
                running.kill("broker-b")
                child.stdin.write("\n")
                child.stdin.flush()
            else:
                told = json.loads(re.sub(r"127\.0\.0\.1:\d+", "HOST", line))
                found[told.pop("step")] = told
        assert child.wait() == 0, child.stderr.read()
        return found


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Steps, Steps]]:
    with ThreadPoolExecutor(2) as pool:
        real, ours = pool.submit(steps, Apache("4.9.4")), pool.submit(steps, Served("P494"))
        yield real.result(), ours.result()


@pytest.fixture
def ours(both: tuple[Steps, Steps]) -> Steps:
    return both[1]


def test_client_sees_same_on_both(both: tuple[Steps, Steps]) -> None:
    real, ours = both
    assert list(ours) == list(real)
    assert [name for name in real if ours[name] != real[name]] == []


def test_every_way_of_sending_ends_well(ours: Steps) -> None:
    assert ours["sync"]["result"]["sent"]["status"] == "SEND_OK"
    assert ours["sync"]["result"]["stored"]["body"] == "sync"
    assert ours["async"]["result"] == ["SEND_OK"] * 10
    assert ours["one-way"]["result"] == 17
    assert ours["batch"]["result"]["offsetIds"] == 3
    (delayed,) = ours["delayed"]["result"]["stored"]
    assert (delayed["topic"], delayed["queueId"], delayed["queueOffset"]) == ("RealTopic", 1, 20)
    assert ours["illegal queue"]["code"] == 1
    assert ours["too large a message"]["code"] == 13


def test_sent_messages_are_read_back(ours: Steps) -> None:
    bodies = ours["pull small"]["result"]["bodies"]
    sent = ["delayed", *(f"async-{number}" for number in range(10)), *(f"oneway-{number}" for number in range(5))]
    assert bodies == sorted([*sent, *(f"batch-{number}" for number in range(3))])
    assert ours["offsets"]["result"] == {"min": 0, "max": 21}
    assert [each["body"] for each in ours["pull by tag"]["result"]["messages"]] == ["batch-0", "batch-1", "batch-2"]
    assert ours["pull that waits"]["result"]["messages"][0]["body"] == "late"


def test_topics_groups_and_settings_are_administered(ours: Steps) -> None:
    assert len(ours["create topic"]["result"]) == 8
    assert ours["broker config"]["result"]["defaultTopicQueueNums"] == "6"
    assert ours["delete topic"]["result"] == {"before": 4, "code": 17}


def test_message_is_retried_then_dead_lettered(ours: Steps) -> None:
    retried = ours["the message given back"]["result"]
    assert (retried["body"], retried["reconsumeTimes"], retried["properties"]["RETRY_TOPIC"]) == ("sync", 1, "RealTopic")
    assert ours["give up"]["result"]["messages"][0]["topic"] == "%DLQ%RealConsumers"


@pytest.mark.behaviour("TRX-01", "TRX-04")
def test_transactions_end_as_producer_decides(ours: Steps) -> None:
    """The producer is asked about the message without an outcome, and then commits; its flag is lost in transit, on the real broker too."""
    left = ours["what transactions left"]["result"]["messages"]
    assert [(each["body"], each["flag"]) for each in left] == [("COMMIT_MESSAGE", 3), ("UNKNOW", 0)]
    (checked,) = ours["what was checked"]["result"]
    assert (checked["body"], checked["flag"], checked["properties"]["TRANSACTION_CHECK_TIMES"]) == ("UNKNOW", 3, "1")


def test_send_fails_over_if_broker_refuses_or_is_down(ours: Steps) -> None:
    assert ours["spread"]["result"] == {"broker-a SEND_OK": 4, "broker-b SEND_OK": 4}
    assert ours["a broker that refuses"]["result"] == {"broker-b SEND_OK": 8}
    assert ours["no broker that takes it"]["result"]["code"] == 14
    assert ours["a broker that is down"]["result"] == {"broker-a SEND_OK": 8}


def test_new_topics_are_on_one_broker_as_recorded() -> None:
    """With one first message, each of 12 topics stays on one broker; with five, none does."""
    with Served("P494").open(Setup(brokers=2)) as running:
        found = [json.loads(line)["result"] for line in PROGRAMS.run("Skew", str(running.name_server), "12", "1", "5")]
    assert [(each["first"], each["alone"]) for each in found] == [(1, 12), (5, 0)]
