"""Effects of one-way requests may be late: a batch creates its topic and is stored after a later send, or no route has the topic yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from performing import performed, rewrite

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file

PROFILE = "P494"
BATCH = {"topic": "A", "queue": 0, "nums": 8, "items": [("a", {}), ("bb", {})], "one_way": True}


def first(path: Path, op: str, without: str = "") -> None:
    """Make the requests of an operation the first of a history, and leave out another operation."""

    def ordered(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        rest = [event for event in events if event.get("op") != without]
        return sorted(rest, key=lambda event: event.get("op") != op)

    rewrite(path, ordered)


def test_batch_is_stored_after_the_send_behind_it(tmp_path: Path) -> None:
    with InProcess(PROFILE).open() as running:
        steps = [("topic", {"topic": "A", "read": 8, "write": 8}), ("send", {"topic": "A", "queue": 0}), ("send", BATCH)]
        path = performed(running, tmp_path, *steps, ("topics", {}))
    first(path, "batch", without="update_topic")
    judged = judge_file(path, PROFILE, ("reference",))
    assert judged.by == ("reference",) and [str(each) for each in judged.findings] == []


@pytest.mark.parametrize("one_way", [True, False])
def test_topic_of_one_way_message_may_be_in_no_route_yet(tmp_path: Path, one_way: bool) -> None:
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, ("route", {"topic": "A"}), ("send", {"topic": "A", "queue": 0, "one_way": one_way}))
    first(path, "send")
    judged = judge_file(path, PROFILE, ("reference",))
    assert judged.findings == [] and bool(judged.unconfirmed) != one_way
