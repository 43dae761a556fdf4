"""A topic of a real release that is deleted before its last message is dispatched, and made again (HAZ-62)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import TcpConnection
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import PULL_NOT_FOUND, SUCCESS
from rocketproof_traces.stored.record import records_in

COMMANDS = ("java", "mvn")
SECONDS, SOON, LOOK = 10.0, 5.0, 0.02
ITEMS = 5000
BUSY = plain("send", topic="other", items=[("a", {"KEYS": " ".join(f"k{number}" for number in range(20))})] * ITEMS)
"""Messages whose entries keep a dispatcher busy for some tens of milliseconds.

With the property CLUSTER, which newer releases add, each has 194 bytes: more of them than these would not fit into one file (HAZ-22).
"""
TRIES = 10


@pytest.mark.parametrize("version", ["4.3.2", "4.9.4", "5.5.0"])
@pytest.mark.behaviour("REC-04", "TCM-31", "HAZ-62")
def test_record_dispatched_after_deletion_takes_place_of_later_messages(version: str) -> None:
    with Apache(version).open() as running, TcpConnection(running.brokers["broker-a"]) as line:

        def ask(name: str, **args: Any) -> Command:
            return line.ask(plain(name, **args), SECONDS)

        def fields(name: str, **args: Any) -> Mapping[str, str]:
            return ask(name, **args).ext_fields or {}

        def end(topic: str, wanted: int) -> int:
            """Return the end of the queue once it reaches `wanted`, or after a timeout."""

            def look() -> int:
                return int(fields("max_offset", topic=topic)["offset"])

            return until(look, lambda found: found >= wanted, SOON, LOOK)

        for number in range(TRIES):
            topic = f"A{number}"
            assert ask("send", topic=topic).code == SUCCESS
            assert end(topic, 1) == 1
            assert {line.ask(request, SECONDS).code for request in (BUSY, BUSY, plain("send", topic=topic))} == {SUCCESS}
            ask("delete", topic=topic)  # a 5.x without timers answers with an error when it is done
            ask("topic", topic=topic)
            if end(topic, 1) == 2:
                break
        else:
            pytest.fail(f"the last message was dispatched before {TRIES} deletions")
        assert [fields("send", topic=topic)["queueOffset"] for _ in range(3)] == ["0", "1", "2"]
        assert end(topic, 3) == 3
        at_begin = ask("pull", topic=topic, offset=1)
        assert (at_begin.ext_fields or {})["minOffset"] == "1"
        assert len(list(records_in(at_begin.body or b""))) == 2
        assert ask("pull", topic=topic, offset=3).code == PULL_NOT_FOUND
        assert end(topic, 4) == 3
        assert end("other", ITEMS) >= ITEMS, "what should keep the dispatcher busy is nowhere"
