"""A send to a retry topic that wants no answer may be checked, and not stored yet, when a program is over."""

from __future__ import annotations

from pathlib import Path

import pytest
from performing import performed

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.judging.reference.following import Follower


@pytest.mark.parametrize(("topic", "groups"), [("%RETRY%g", {"g"}), ("A", set())])
@pytest.mark.behaviour("DLQ-02")
def test_topic_and_group_are_created_on_arrival(topic: str, groups: set[str], tmp_path: Path) -> None:
    """A busy 4.7.0 had both, but no record, 200 ms after such a send."""
    with InProcess("P470").open() as running:
        history = load(performed(running, tmp_path, ("send", {"topic": topic, "one_way": True, "times": 1})))
    follower = Follower(history, PROFILES["P470"])
    (asked,) = history.exchanges
    before = set(follower.broker.groups.table)
    follower.arrive(asked)
    assert set(follower.broker.groups.table) - before == {history.names.group(group) for group in groups}
    assert history.names.topic(topic) in follower.broker.topics.table
    assert not list(follower.broker.store.records())
