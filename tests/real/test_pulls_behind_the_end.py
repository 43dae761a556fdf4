"""The offset a release returns to a consumer that pulls past the end of a queue, compared with the reference."""

from __future__ import annotations

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import PULL_OFFSET_MOVED

COMMANDS = ("java", "mvn")
SECONDS, SOON, LOOK = 10.0, 5.0, 0.05


def seen(deployment: Deployment) -> list[tuple[int, str]]:
    """Return codes and next offsets of pulls at the end of a queue of two messages, past the end, and far past it."""
    with deployment as running, running.connect("broker-a") as line:

        def ask(name: str, **args: object) -> Command:
            return line.ask(plain(name, **args), SECONDS)

        for _ in range(2):
            ask("send", topic="A", queue=0)
        until(lambda: (ask("max_offset", topic="A").ext_fields or {})["offset"], lambda end: end == "2", SOON, LOOK)
        answers = [ask("pull", topic="A", offset=offset) for offset in (2, 3, 100)]
        return [(answer.code, (answer.ext_fields or {})["nextBeginOffset"]) for answer in answers]


@pytest.mark.parametrize(("version", "profile", "there"), [("4.9.3", "P493", "0"), ("4.9.4", "P494", "2"), ("5.5.0", "P550", "2")])
@pytest.mark.behaviour("CL-06")
def test_up_to_493_pull_past_end_restarts_at_begin(version: str, profile: str, there: str) -> None:
    found = seen(Apache(version).open())
    assert found[1:] == [(PULL_OFFSET_MOVED, there)] * 2
    assert found == seen(InProcess(profile).open())
