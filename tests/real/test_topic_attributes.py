"""Changes of a topic's attributes, on real releases and on the reference under their profiles: responses, and the attributes afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rocketproof_profiles.releases import line_of
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.values import VALUES
from rocketproof_properties.programs.vocabulary import plain

COMMANDS = ("java", "mvn")
SECONDS = 6.0
THROWN = re.compile(r", [^ ]+\([\w.]+:\d+\)$")
"""The line of code that threw."""
FIRST = "+queue.type=SimpleCQ,+message.type=FIFO"


def seen(running: Deployment) -> Iterator[Any]:
    with running, running.connect("broker-a") as line:
        for number, text in enumerate(VALUES["topic"]["attributes"]):
            for topic, change in ((f"new{number}", text), ("T", FIRST if not number else text)):
                answer = line.ask(plain("topic", topic=topic, attributes=change), SECONDS)
                yield change, answer.code, answer.remark and THROWN.sub("", answer.remark)
                table = json.loads(line.ask(plain("topics"), SECONDS).body or b"{}")["topicConfigTable"]
                yield table.get(topic, {}).get("attributes")


@pytest.mark.behaviour("TCM-01", "TCM-30")
@pytest.mark.parametrize("version", ["4.9.4", "5.0.0", "5.1.0", "5.1.1", "5.1.4", "5.2.0", "5.3.3", "5.4.0", "5.5.0"])
def test_changes_of_attributes(version: str) -> None:
    settings = Setup(settings=dict(line_of(version).start.settings))
    target = Apache(version)
    assert list(seen(target.open())) == list(seen(InProcess(target.profile).open(settings)))
