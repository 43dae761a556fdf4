"""Requests with odd texts for numbers in their headers: the reference broker reads them like Java, and no judge reports it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from performing import judged

from proportion import few
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_protocol.numbers import java_long

TEXTS = ("1_0", " 0", "٣", "３", "+3", "-0", "²", "", "x", "99999999999", "99999999999999999999")
FIELDS = {
    "send": ("defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag", "reconsumeTimes", "maxReconsumeTimes"),
    "back": ("offset", "delayLevel", "maxReconsumeTimes"),
    "end": ("tranStateTableOffset", "commitLogOffset", "commitOrRollback"),
    "topic": ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag"),
    "max_offset": ("queueId",),
    "min_offset": ("queueId",),
    "earliest": ("queueId",),
    "search": ("queueId", "timestamp"),
    "pull": ("queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset", "suspendTimeoutMillis", "subVersion"),
    "progress": ("queueId",),
    "commit": ("queueId", "commitOffset"),
    "find": ("maxNum", "beginTimestamp", "endTimestamp"),
    "view": ("offset",),
}
ALL = [(kind, field, text) for (kind, fields), text in product(FIELDS.items(), TEXTS) for field in fields]
"""Each number of each header with each text."""
DRAWN = [
    *random.Random("numbers in headers").sample(ALL, 4),
    ("send", "bornTimestamp", "1_0"),
    ("send", "queueId", "٣"),
    ("send", "maxReconsumeTimes", " 0"),
    ("back", "maxReconsumeTimes", "1_0"),
    ("commit", "commitOffset", " 0"),
    ("topic", "topicSysFlag", "x"),
]
HALF: Step = ("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})


@pytest.fixture(scope="module", params=["P494", "P533"])
def running(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    with InProcess(request.param).open() as made:
        yield made


def accused(running: Deployment, folder: Path, kind: str, field: str, text: str) -> list[str]:
    """Return the findings against the reference broker for a program whose request has the text in a field."""
    before: tuple[Step, ...] = (("topic", {}), ("send", {}), *([HALF] if kind == "end" else []))
    answered = {"one_way": False} if kind == "end" else {}
    found = judged(running, folder, *before, (kind, {**answered, "altered": (field, text)}), ("send", {}), ("max_offset", {}))
    asked = [exchange for exchange in load(found.path).exchanges if exchange.fields.get(field) == text]
    assert len(asked) == 1 and found.by
    return [str(finding) for finding in (*found.findings, *found.unconfirmed)]


def is_known(kind: str, text: str) -> bool:
    """A request for a record at an offset without one depends on another program's bytes there."""
    return kind in ("view", "back", "end") and java_long(text) is not None


@pytest.mark.parametrize(("kind", "field", "text"), few(DRAWN, 6), ids=[f"{kind} {field} {text!a}" for kind, field, text in DRAWN])
def test_broker_that_reads_numbers_as_java_is_not_accused(running: Deployment, tmp_path: Path, kind: str, field: str, text: str) -> None:
    assert is_known(kind, text) or accused(running, tmp_path, kind, field, text) == []


@pytest.mark.nightly
def test_broker_that_reads_any_number_as_java_is_not_accused(running: Deployment, tmp_path: Path) -> None:
    wrong = {}
    for number, (kind, field, text) in enumerate(ALL):
        folder = tmp_path / str(number)
        folder.mkdir()
        if not is_known(kind, text) and (found := accused(running, folder, kind, field, text)):
            wrong[kind, field, text] = found
    assert len(ALL) > 300
    assert wrong == {}
