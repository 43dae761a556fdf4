"""A one-way batch may create its topic, and be stored after the next send, as a single one-way message may."""

from __future__ import annotations

import json
from pathlib import Path

from performing import performed

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file

PROFILE = "P494"
BATCH = {"topic": "A", "queue": 0, "nums": 8, "items": [("a", {}), ("bb", {})], "one_way": True}


def sent_before(path: Path) -> None:
    """Make the history one of a batch, which created the topic, and a send after it: leave out the change of the topic."""
    header, *events = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    rest = [event for event in events if event.get("op") != "update_topic"]
    batch = [event for event in rest if event.get("op") == "batch"]
    ordered = [*batch, *(event for event in rest if event not in batch)]
    for number, event in enumerate(ordered):
        event["seq"] = number if "seq" in event else event.get("seq")
    path.write_text("".join(json.dumps(event) + "\n" for event in (header, *ordered)), "utf-8")


def test_batch_is_stored_after_the_send_behind_it(tmp_path: Path) -> None:
    with InProcess(PROFILE).open() as running:
        steps = [("topic", {"topic": "A", "read": 8, "write": 8}), ("send", {"topic": "A", "queue": 0}), ("send", BATCH)]
        path = performed(running, tmp_path, *steps, ("topics", {}))
    sent_before(path)
    judged = judge_file(path, PROFILE, ("reference",))
    assert judged.by == ("reference",) and [str(each) for each in judged.findings] == []
