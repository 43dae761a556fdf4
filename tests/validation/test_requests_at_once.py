"""Administrative requests that overlap are judged by all of their orders."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from performing import performed, rewrite

from rocketproof_impl.broker.registration import Registration
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.reference.orders import at_once
from rocketproof_properties.programs.vocabulary import Step

PROFILE = "P494"
STEPS: tuple[Step, ...] = (
    ("group", {}), ("send", {}), ("meet", {}), ("commit", {"offset": 1}), ("commit", {"offset": 3, "client": 1}), ("meet", {}),
    ("progress", {}),
)  # fmt: skip


def overlapped(path: Path, op: str, told: str = "", field: str = "", value: str = "") -> None:
    """Make the last two requests of an operation overlap, and change a field in the last response of another operation."""

    def changed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        asked, answered = ([each for each in events if each.get("op") == op and each["type"] == kind][-2:] for kind in ("invoke", "ok"))
        at = min(map(events.index, (*asked, *answered)))
        others = [event for event in events if event not in asked and event not in answered]
        for event in others:
            if event.get("op") == told and event["type"] == "ok" and field in (event["value"].get("fields") or {}):
                event["value"]["fields"][field] = value
        return [*others[:at], *asked, *answered, *others[at:]]

    rewrite(path, changed)


def test_either_order_of_two_commits_is_accepted_and_no_other_offset(tmp_path: Path) -> None:
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, *STEPS)
    found = {}
    for told in ("1", "3", "2"):
        overlapped(path, "commit", "progress", "offset", told)
        assert len(at_once(load(path)) or ()) == 2
        judged = judge_file(path, PROFILE, ("reference",))
        assert "reference" in judged.by
        found[told] = [finding.property for finding in judged.unconfirmed]
    assert not found["1"] or not found["3"], "the queries afterwards show one of them"
    assert "progress.offset" in found["2"]


@pytest.mark.parametrize("value", ["1", "7"])
def test_responses_before_an_overlap_are_compared(tmp_path: Path, value: str) -> None:
    """Two sends at once have no known order; a wrong response before them is a finding, and the rest is judged by the others."""
    queue = {"topic": "A", "queue": 0}
    with InProcess(PROFILE).open() as running:
        path = performed(
            running, tmp_path, ("send", queue), ("max_offset", queue), ("meet", {}), ("send", queue), ("send", {**queue, "client": 1})
        )
    overlapped(path, "send", "max_offset", "offset", value)
    judged = judge_file(path, PROFILE, ("reference",))
    assert judged.by == ()
    assert [finding.property for finding in judged.deviations] == ([] if value == "1" else ["max_offset.offset"])


def one_after_the_other(first: Step, second: Step) -> tuple[Step, ...]:
    """Return requests of two clients that do not overlap yet."""
    return first, ("meet", {}), (second[0], {**second[1], "client": 1}), ("meet", {})


@pytest.mark.behaviour("TCM-30", "HAZ-55")
@pytest.mark.parametrize(("hidden", "queues", "found", "open_"), [
    ((), 3, set(), set()),
    ((3,), 3, set(), {"route.queueDatas"}),  # the route has the other update: chance
    ((3,), 2, set(), set()),  # the updates in the other order
    ((), 4, {"topic.readQueueNums"}, set()),  # a topic of neither update
    ((2, 3), 3, set(), {"route.queueDatas"}),  # a route of neither update: a finding if it recurs
])  # fmt: skip
def test_route_and_table_may_show_different_overlapping_updates(
    hidden: tuple[int, ...], queues: int, found: set[str], open_: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server ignores a registration with the version of the one before. The order of the updates is that of the broker's table."""
    profile, alone = "P533", Registration._register_alone

    async def register(self: Registration, config: Any) -> None:
        if config.read_queue_nums not in hidden:
            await alone(self, config)

    def with_queues(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for event in events:
            if event["type"] == "state" and event["op"] == "topics":
                for row in event["value"]["topics"].values():
                    row["readQueueNums"] = queues
        return [event for event in events if event.get("op") not in ("looks", "deleted")]  # their queues are those of the last update

    updates = [("topic", {"topic": "A", "read": number, "write": 1}) for number in (1, 2, 3)]
    with InProcess(profile).open() as running, monkeypatch.context() as patched:
        patched.setattr(Registration, "_register_alone", register)
        path = performed(running, tmp_path, updates[0], *one_after_the_other(*updates[1:]), ("route", {"topic": "A"}))
    overlapped(path, "update_topic")
    rewrite(path, with_queues)
    judged = judge_file(path, profile, ("reference",))
    assert {finding.property for finding in judged.findings} == found
    assert {finding.property for finding in judged.unconfirmed if not found} == open_


@pytest.mark.parametrize("offset", [0, 5])
def test_one_way_batch_is_late_in_history_with_overlapping_commits(tmp_path: Path, offset: int) -> None:
    """The batch is served first or last whatever the order of the commits. No order gives the record another offset."""
    queue = {"topic": "A", "queue": 0}
    batch = {**queue, "nums": 8, "items": [("a", {}), ("bb", {})], "one_way": True}
    topic = {"topic": "A", "read": 8, "write": 8}
    steps: list[Step] = [("topic", topic), ("send", queue), ("send", batch), ("topics", {}), ("group", {})]

    def batch_first(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for event in events:
            if event["type"] == "state" and event["op"] == "records":
                first = event["value"]["records"][0]
                data = bytearray(b64decode(first["data"]))
                data[20:28] = offset.to_bytes(8, "big")  # its queue offset
                first["data"] = b64encode(data).decode()
        return sorted((event for event in events if event.get("op") != "update_topic"), key=lambda event: event.get("op") != "batch")

    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, *steps, *one_after_the_other(("commit", {"offset": 1}), ("commit", {"offset": 3})))
    rewrite(path, batch_first)
    overlapped(path, "commit")
    judged = judge_file(path, PROFILE, ("reference",))
    assert judged.by == ("reference",)
    assert bool(judged.findings) is bool(offset) and (offset or not judged.unconfirmed)
