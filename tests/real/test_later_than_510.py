"""Differences between 5.0.0, 5.1.0 and 5.1.1, and between 5.1.4 and 5.2.0, compared with the reference under their profiles.

They concern deletions, refused pulls, timed messages without a timer wheel, and dead letters.
"""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import CONSUMER_SEND_MSG_BACK, NO_PERMISSION, SERVICE_NOT_AVAILABLE, SUCCESS, SYSTEM_ERROR

COMMANDS = ("java", "mvn")
SECONDS = 10.0
NO_WHEEL = Setup(settings={"timerWheelEnable": "false"})
MISSING = "the return value of"  # 5.2.0 counts timers after a deletion


def seen(deployment: Deployment) -> tuple[Any, ...]:
    """Return whether illegal and long names are refused, codes of a dead letter and a timed message, and the cause of a refused pull."""
    with deployment as running, running.connect("broker-a") as line:

        def ask(name: str, **args: object) -> Command:
            return line.ask(plain(name, **args), SECONDS)

        deleted = [ask("delete", topic=name) for name in ("a b", "a" * 200)]
        refused = [MISSING not in (answer.remark or "") and answer.code == SYSTEM_ERROR for answer in deleted]
        known = (ask("send", topic="A").ext_fields or {})["msgId"]
        fields = {"offset": str(int(known[16:], 16)), "group": "g", "delayLevel": "-1", "unitMode": "false", "maxReconsumeTimes": "16"}
        given_up = line.ask(Command(CONSUMER_SEND_MSG_BACK, fields), SECONDS).code
        timed = ask("send", topic="A", properties={"TIMER_DELAY_SEC": "100"}).code
        ask("topic", topic="W", perm=2)
        by_topic = ask("pull", topic="W", queue=0, offset=0)
        assert ask("configure", line="brokerPermission=2").code == SUCCESS
        by_broker = ask("pull", topic="W", queue=0, offset=0)
        assert {by_topic.code, by_broker.code} == {NO_PERMISSION}
        return refused, timed, given_up, [(answer.ext_fields or {}).get("forbiddenType") for answer in (by_topic, by_broker)]


@pytest.mark.parametrize(
    ("version", "profile", "expected"),
    [
        ("5.0.0", "P500", ([True, True], SERVICE_NOT_AVAILABLE, SUCCESS, ["3", None])),
        ("5.1.0", "P510", ([True, True], SERVICE_NOT_AVAILABLE, SYSTEM_ERROR, ["3", None])),
        ("5.1.1", "P511", ([True, True], SYSTEM_ERROR, SYSTEM_ERROR, ["3", "1"])),
        ("5.1.4", "P514", ([True, True], SYSTEM_ERROR, SYSTEM_ERROR, ["3", "1"])),
        ("5.2.0", "P520", ([False, False], SYSTEM_ERROR, SYSTEM_ERROR, ["3", "1"])),
    ],
)
@pytest.mark.behaviour("TCM-31", "SEND-41")
def test_each_release_does_as_its_profile(version: str, profile: str, expected: tuple[Any, ...]) -> None:
    assert seen(Apache(version).open()) == expected
    assert seen(InProcess(profile).open(NO_WHEEL)) == expected
