"""Administrative requests that overlap are judged by all of their orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from performing import performed, rewrite

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


def overlapped(path: Path, op: str, told: str, field: str, value: str) -> None:
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
