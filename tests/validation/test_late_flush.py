"""Releases without a second check report a late flush for a message that begins a file (HAZ-21). No program controls where that happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from performing import judged

from proportion import few
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.vocabulary import Step, plain
from rocketproof_protocol.codes import FLUSH_DISK_TIMEOUT, SUCCESS

BROKER = "broker-a"
SETUP = Setup(settings={"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": "65536"})
LARGE: Step = ("send", {"topic": "T", "body": "a" * 20_000, "queue": 0})


@pytest.mark.behaviour("FLU-03", "HAZ-21")
@pytest.mark.parametrize("profile", few(["P452", "P45"], 1))
def test_message_that_begins_file_may_be_late(profile: str, tmp_path: Path) -> None:
    with InProcess(profile).open(SETUP) as running:
        with running.connect(BROKER) as line:
            line.ask(plain("send", topic="other", body="a" * 30_000))
        found = judged(running, tmp_path, LARGE, LARGE, LARGE, ("back", {"record": 0, "level": 1}))
    asked = [one for one in load(found.path).exchanges if one.op == "send"]
    assert [one.code for one in asked] == [SUCCESS, FLUSH_DISK_TIMEOUT, SUCCESS]
    assert not found.findings
    assert [one.property for one in judge_file(found.path, "P494").deviations if one.text.count("[10, null]")] == ["send.code"]
