"""A send whose topic another client changes before the response: either number of queues may have decided it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from performing import performed

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.claimhistory import claim_histories
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.programs.program import Step


@pytest.mark.behaviour("CHK-10", "INV-30")
@pytest.mark.parametrize("overlaps", [False, True])
def test_counts_are_unknown_if_a_change_overlaps_the_send(overlaps: bool, tmp_path: Path) -> None:
    with InProcess("P494").open() as running:
        path = performed(running, tmp_path, ("topic", {"read": 2, "write": 4}), ("send", {"queue": 3}))
    parsed = load(path)
    update, send = (each for each in parsed.recorded.exchanges if each.op in ("update_topic", "send"))
    if overlaps:
        parsed.items[parsed.items.index(update)] = replace(update, end=send.end)
    counts = [each.queues for each in claim_histories(parsed, PROFILES["P494"]).whole.exchanges if each.request.kind == "send"]
    assert counts == [None if overlaps else (2, 4)]


@pytest.mark.behaviour("CHK-10", "INV-30")
@pytest.mark.parametrize(("overlaps", "expected"), [(False, (4, 1)), (True, (4, 8))])
def test_counts_are_the_largest_of_overlapping_changes(overlaps: bool, expected: tuple[int, int], tmp_path: Path) -> None:
    steps: tuple[Step, ...] = (("topic", {"read": 2, "write": 8}), ("topic", {"read": 4, "write": 1}), ("send", {"queue": 0}))
    with InProcess("P494").open() as running:
        path = performed(running, tmp_path, *steps)
    parsed = load(path)
    first, second = (each for each in parsed.recorded.exchanges if each.op == "update_topic")
    if overlaps:
        parsed.items[parsed.items.index(first)] = replace(first, end=second.end)
    counts = [each.queues for each in claim_histories(parsed, PROFILES["P494"]).whole.exchanges if each.request.kind == "send"]
    assert counts == [expected]
