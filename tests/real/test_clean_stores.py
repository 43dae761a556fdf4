"""The store of a cleanly stopped broker has no false finding for any client: messages of every kind, to queues of all numbers.

A run tries one old release; `ROCKETPROOF_RELEASES="4.3.2 4.5.2 …"` in the environment names others.
"""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

import pytest
from test_real_stores import COMMANDS, audited, await_end, fill, put

from rocketproof_impl.message import Message, properties_text
from rocketproof_impl.producer.draft import batch_of
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.headers import (
    EndTransactionRequestHeader,
    SendMessageBackRequestHeader,
    SendMessageRequestHeader,
    WithNulls,
    encode,
    encode_v2,
    layout,
)
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.probe import ask
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, PREPARED, ROLLBACK

__all__ = ["COMMANDS"]
RELEASES = os.environ.get("ROCKETPROOF_RELEASES", "4.7.1").split()
TRUE = {"HAZ-31.stored", "INV-47.stored", "INV-30.drawn", "INV-57.stored"}
"""What is so: dead letters that no consumer reads, and that were sent back at once; in 4.7.1 records of queues that no consumer reads."""
DRAWS = 60  # sends to a queue below 0: some of them are drawn below 0 where Java's Math.abs and remainder allow it


def batch(address: str, topic: str, queue: int, sizes: list[int]) -> None:
    """Send messages of these sizes as one batch."""
    number = count()
    messages = [Message(topic, bytes(size), properties={"KEYS": f"b{size}"}) for size in sizes]
    whole = batch_of(messages, lambda: f"B{topic}{queue}{next(number)}")
    text = properties_text(whole.properties, trailing=False)
    header = SendMessageRequestHeader("producers", topic, "TBW102", 4, queue, 0, 1_600_000_000_000, 0, text, 0, False, None, True)
    answer = ask(address, Command(codes.SEND_BATCH_MESSAGE, encode_v2(header), whole.body))
    assert answer.code == codes.SUCCESS, answer.remark


def done(address: str, code: int, header: WithNulls) -> None:
    answer = ask(address, Command(code, encode(header, layout(type(header)))))
    assert answer.code == codes.SUCCESS, answer.remark


def place(answer: dict[str, str]) -> int:
    """Return the log offset of a stored message."""
    return int(answer["msgId"][16:], 16)


def everything(address: str) -> None:
    """Send batches, delayed messages, transactions of each outcome, send-backs to a retry topic and to the dead letters, odd queues."""
    fill(address, rounds=20)
    for queue in range(3):
        batch(address, "Batches", queue, [1, 200, 3000])
    batch(address, "Batches", -1, [10, 20])
    for outcome in (COMMIT, ROLLBACK):
        half = put(address, "Pay", b"half", sys_flag=PREPARED, TRAN_MSG="true", PGROUP="producers", UNIQ_KEY=f"P{outcome}")
        ended = EndTransactionRequestHeader("producers", int(half["queueOffset"]), place(half), outcome, half["msgId"])
        done(address, codes.END_TRANSACTION, ended)
    for level in (0, 1, -1):
        sent = put(address, "Orders", b"comes back", UNIQ_KEY=f"S{level}")
        back = SendMessageBackRequestHeader(place(sent), "readers", level, sent["msgId"], "Orders", max_reconsume_times=16)
        done(address, codes.CONSUMER_SEND_MSG_BACK, back)
    for number in range(DRAWS):
        put(address, "Drawn", b"any", -1 - number % 3, UNIQ_KEY=f"D{number}")
    for queue in (2_147_483_647, 9, 5):
        header = SendMessageRequestHeader("producers", "Drawn", "TBW102", 4, queue, 0, 1_600_000_000_000, 0, "", 0, False, None)
        assert ask(address, Command(codes.SEND_MESSAGE_V2, encode_v2(header), b"nowhere")).code != codes.SUCCESS


@pytest.mark.behaviour("INV-30", "INV-36", "INV-42")
@pytest.mark.parametrize("version", RELEASES)
def test_store_with_everything_in_it_has_no_false_finding(version: str, tmp_path: Path) -> None:
    root = tmp_path / "store"
    with Apache(version).open(Setup(stores={"broker-a": root})) as running:
        address = running.brokers["broker-a"]
        everything(address)
        await_end(address, "Orders", 0, 20 // 4 + 2)  # two that were delayed for a second are delivered
        time.sleep(2)  # and what was sent back at level 1
        running.stop("broker-a")
    assert audited(root, version).keys() <= TRUE
