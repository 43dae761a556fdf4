"""On real brokers: requests whose sizes make later data unreadable.

The later data was acknowledged and flushed, and is gone after kill -9 and a restart (HAZ-49 to HAZ-51). A half message can also block
checks of later half messages (HAZ-61).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.comeback import come_back
from rocketproof_properties.brokers.connection import Connection
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.catalogue import conditions as about
from rocketproof_properties.conformance.drivers.sizes import SizedRequest, own_bytes
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.boundaries import BOUNDARIES
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ENDED, STARTED
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_properties.validation.validate import mark
from rocketproof_protocol import codes

COMMANDS = ("java", "mvn")
BROKER = "broker-a"
SECONDS = 10.0
NAME = SizedRequest("send-back", "more bytes", "fits", longer=False)
PROPERTIES = SizedRequest("batch", "fits", "near", longer=False)
FLAG = SizedRequest("message", "fits", "fits", longer=True)


def ask(line: Connection, request: Command) -> Command:
    return line.ask(request, SECONDS)


@pytest.mark.behaviour("APP-08", "REC-02", "HAZ-49", "HAZ-50", "HAZ-51")
@pytest.mark.parametrize(
    ("version", "asked", "answer"),
    [
        ("4.9.4", NAME, codes.SUCCESS),
        ("4.9.4", PROPERTIES, codes.SUCCESS),
        ("4.9.4", FLAG, codes.SUCCESS),
        ("5.3.3", NAME, codes.SUBSCRIPTION_GROUP_NOT_EXIST),
        ("5.3.3", PROPERTIES, codes.SUCCESS),
        ("5.3.3", FLAG, codes.SUCCESS),
    ],
)
def test_unreadable_record_hides_following_records(version: str, asked: SizedRequest, answer: int) -> None:
    target = Apache(version)
    with target.open(Setup(settings={"flushDiskType": "SYNC_FLUSH"})) as running:
        with running.connect(BROKER) as line:
            first = ask(line, plain("send", topic="before"))
            place = int((first.ext_fields or {})["msgId"][16:], 16)
            assert ask(line, asked.command(own_bytes(target.profile, asked.kind), place)).code == answer
            assert [ask(line, plain("send", topic="behind")).code for _ in range(3)] == [codes.SUCCESS] * 3
        running.kill(BROKER)
        come_back(running, BROKER)
        with running.connect(BROKER) as line:
            left = [(ask(line, plain("max_offset", topic=topic)).ext_fields or {})["offset"] for topic in ("before", "behind")]
            assert left == ["1", "3" if answer else "0"]


@pytest.mark.behaviour("TRX-04", "HAZ-61")
@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_half_message_without_count_space_blocks_later_checks(version: str, tmp_path: Path) -> None:
    target = Apache(version)
    (unchecked,) = (boundary for boundary in BOUNDARIES if boundary.unread == about.UNCOUNTED)
    held = {}
    for side in (0, 1):
        with target.open(Setup(settings=STARTED[ENDED])) as running:
            folder = tmp_path / str(side)
            folder.mkdir()
            runner = Runner(running, folder, {"profile": target.profile}, Bounds(1), mark())
            path = runner.perform(Program(1 + side, "", tuple(unchecked.at(side, PROFILES[target.profile])), ENDED))
            runner.close()
            running.kill(BROKER)  # 5.5.0 does not stop by itself within half a minute
        judged = judge_file(path, target.profile)
        assert not judged.findings and not judged.unconfirmed
        held[side] = judged.claims["AUX-33.asked"]
    assert held == {0: (True, "holds", ""), 1: (False, "violated", about.UNCOUNTED)}
