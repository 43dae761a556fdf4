"""Messages sent to be retried while their group holds a queue lock: the judges expect dead letters from 5.1.1 on, and none before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.validation.handwritten import programfile
from rocketproof_properties.validation.handwritten.trial import perform

SENT = ("send", {"topic": "%RETRY%g", "queue": 0})
LOCK, UNLOCK = ("lock", {"queues": (0, 1)}), ("unlock", {"queues": (0, 1)})
LAST = ("max_offset", {"topic": "%DLQ%g", "queue": 0})
NOTICED = {"specification.topics", "INV-47", "max_offset.offset", "topic.the broker's entry"}


def judged(tmp_path: Path, steps: list[object], profile: str, by: str) -> JudgedProgram:
    """Perform a program on the reference implementation of a profile, and judge its history by another one."""
    (tmp_path / "a.py").write_text(f"STEPS = {steps!r}")
    (trial,) = perform(programfile.load(str(tmp_path / "a.py")), InProcess(profile), tmp_path)
    return judge_file(Path(shutil.copy(trial.judged.path, tmp_path / "copy.ndjson")), by)


@pytest.mark.behaviour("DLQ-07", "INV-47")
@pytest.mark.parametrize(
    ("steps", "dead"),
    [
        ([LOCK, SENT, LAST], True),
        ([LOCK, ("unlock", {"queues": (0,)}), ("unlock", {"queues": (1,), "holder": "other"}), SENT, LAST], True),
        ([LOCK, UNLOCK, SENT, LAST], False),
        ([("lock", {"group": "h"}), SENT, LAST], False),
        ([LOCK, ("send", {"topic": "%RETRY%g", "items": [("a", {})]}), LAST], False),
        ([LOCK, ("send", {"topic": "A"}), ("back", {"group": "g", "level": 1}), LAST], False),
    ],
    ids=["locked", "one of two locks", "freed", "another group", "a batch", "given back"],
)
def test_releases_differ_only_for_sends_under_a_lock(steps: list[object], dead: bool, tmp_path: Path) -> None:
    assert judged(tmp_path, steps, "P511", "P511").findings == []
    found = {one.property for one in judged(tmp_path, steps, "P511", "P510").findings}
    assert bool(found & NOTICED) is dead


@pytest.mark.behaviour("DLQ-07")
def test_a_retry_that_is_stored_as_sent_is_a_finding_from_511_on(tmp_path: Path) -> None:
    found = {one.property for one in judged(tmp_path, [LOCK, SENT, LAST], "P510", "P511").findings}
    assert found & NOTICED


def test_route_of_a_rejected_broker_is_a_known_violation(tmp_path: Path) -> None:
    steps: list[object] = [
        ("register", {"topics": {"A": (4, 4, 6)}}),
        ("register_topic", {"topic": "R", "brokers": {"broker-x": (4, 4, 6)}}),
        ("route", {"topic": "R"}),
    ]
    result = judged(tmp_path, steps, "P533", "P533")
    assert [(one.property, one.known) for one in result.deviations if one.property == "PRO-74"] == [("PRO-74", True)]
    assert result.findings == []
