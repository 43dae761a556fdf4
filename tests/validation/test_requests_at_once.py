"""Administrative requests that overlap are judged by all of their orders."""

from __future__ import annotations

import json
from pathlib import Path

from performing import performed

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


def overlapped(path: Path, told: str) -> None:
    """Make the two commits of a history overlap in either order of arrival, and change the offset in the last response."""
    header, *events = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    asked = [event for event in events if event.get("op") == "commit" and event["type"] == "invoke"]
    answered = [event for event in events if event.get("op") == "commit" and event["type"] == "ok"]
    at = min(events.index(event) for event in (*asked, *answered))
    others = [event for event in events if event not in asked and event not in answered]
    for number, event in enumerate([*others[:at], *asked, *answered, *others[at:]]):
        event["seq"] = number if "seq" in event else event.get("seq")
        if event.get("op") == "progress" and event["type"] == "ok" and "offset" in (event["value"].get("fields") or {}):
            event["value"]["fields"]["offset"] = told
    ordered = [*others[:at], *asked, *answered, *others[at:]]
    path.write_text("".join(json.dumps(event) + "\n" for event in (header, *ordered)), "utf-8")


def test_either_order_of_two_commits_is_accepted_and_no_other_offset(tmp_path: Path) -> None:
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, *STEPS)
    found = {}
    for told in ("1", "3", "2"):
        overlapped(path, told)
        assert len(at_once(load(path)) or ()) == 2
        judged = judge_file(path, PROFILE, ("reference",))
        assert "reference" in judged.by
        found[told] = [finding.property for finding in judged.unconfirmed]
    assert not found["1"] or not found["3"], "the queries afterwards show one of them"
    assert "progress.offset" in found["2"]
