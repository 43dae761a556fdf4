"""A broker that registers all its topics with each new one: the name server lists the last of them soon, however many there are."""

from __future__ import annotations

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import SUCCESS

COMMANDS = ("java", "mvn")
SECONDS = 10.0
TOPICS = 150


@pytest.mark.parametrize("version", ["4.1.0-incubating", "4.2.0"])
@pytest.mark.behaviour("NS-01", "TCM-17")
def test_last_of_many_new_topics_gets_route_within_seconds(version: str) -> None:
    with Apache(version).open() as running, running.connect("broker-a") as broker, running.connect(NAME_SERVER) as server:
        for number in range(TOPICS):
            assert broker.ask(plain("send", topic=f"T{number}"), SECONDS).code == SUCCESS
        last = plain("route", topic=f"T{TOPICS - 1}")
        answer = until(lambda: server.ask(last, SECONDS), lambda response: response.code == SUCCESS, SECONDS, 0.1)
        assert answer.code == SUCCESS, f"behind {SECONDS} s the name server says {answer.code}: {answer.remark}"
