"""Which record each of two send-backs of a message stored, if not all of their effects are readable."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from performing import performed

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.claimhistory import claim_histories
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.sendbacks import Group, choose
from rocketproof_properties.catalogue.history import BrokerRequest
from rocketproof_properties.judging.judging import judge_file
from rocketproof_protocol.properties import REAL_TOPIC
from rocketproof_protocol.topics import SCHEDULE

TWICE = Path(__file__).parents[1] / "data" / "history-4.5.1-given-back-twice.ndjson.gz"


@dataclass(frozen=True)
class Row:
    """A record of a message; all are born at the same time."""

    topic: str
    properties: Mapping[str, str] = field(default_factory=dict)
    reconsume_times: int = 0
    born_timestamp: int = 7


def found(path: Path, profile: str) -> set[str]:
    """Return the findings under this profile, by property."""
    return {finding.property for finding in judge_file(path, profile).findings}


@pytest.mark.behaviour("INV-48", "BACK-11", "BACK-12", "HAZ-31")
def test_retried_message_belongs_to_request_naming_limit() -> None:
    """A real 4.5.1 was wrongly reported: its group retries nothing, so that the first request, without a limit, made a dead letter. The
    judge took the second request's record and drawn queue for the first one's.
    """
    assert found(TWICE, "P452") == set()
    rebuilt = claim_histories(load(TWICE), PROFILES["P452"]).whole
    (retried,) = (one for one in rebuilt.exchanges if one.request.kind == "send_back" and one.stored)
    assert (retried.request.version, retried.retries) == (399, 0)


@pytest.mark.parametrize(
    ("record", "group", "level", "asked", "any_"),
    [
        (Row(SCHEDULE, {REAL_TOPIC: "%RETRY%g"}), Group(), 0, True, True),
        (Row(SCHEDULE, {REAL_TOPIC: "%RETRY%h"}), Group(), 0, False, True),
        (Row(SCHEDULE, {REAL_TOPIC: "%RETRY%g"}), Group(retries=0), 0, False, True),
        (Row(SCHEDULE, {REAL_TOPIC: "%RETRY%g"}), Group(queues=0), 0, False, True),
        (Row(SCHEDULE, {REAL_TOPIC: "%RETRY%g"}), Group(), -1, False, False),
        (Row(SCHEDULE, {REAL_TOPIC: "%RETRY%g"}, born_timestamp=8), Group(), 0, False, False),
        (Row("%RETRY%g", {REAL_TOPIC: "%RETRY%g"}), Group(), 0, False, False),
        (Row("%DLQ%g", {REAL_TOPIC: "%RETRY%g"}), Group(), 0, False, True),
        (Row("%DLQ%g", {REAL_TOPIC: "%RETRY%g"}), Group(retries=0), 0, True, True),
        (Row("%DLQ%g", {REAL_TOPIC: "%RETRY%g"}), Group(), -1, True, True),
        (Row("%DLQ%g", {REAL_TOPIC: "%DLQ%g"}), Group(), -1, False, True),  # delivered: its own send-back has another
        (Row(SCHEDULE, {REAL_TOPIC: "%DLQ%g"}), Group(), -1, True, True),
    ],
)
@pytest.mark.behaviour("BACK-05", "BACK-12", "BACK-13")
def test_send_back_chooses_its_requested_message_first(record: Row, group: Group, level: int, asked: bool, any_: bool) -> None:
    request = BrokerRequest("send_back", 1, group="g", delay_level=level, offset=10, version=120)
    for first, expected in ((True, asked), (False, any_)):
        assert choose(request, group, Row("T"), [(10, record), (11, record)], asked=first) == (11 if expected else None)


@pytest.mark.behaviour("INV-48", "BACK-11")
def test_retry_beyond_limit_is_found_with_unreadable_dead_letters(tmp_path: Path) -> None:
    path = tmp_path / "history.ndjson"
    path.write_text(gzip.decompress(TWICE.read_bytes()).decode().replace('"version": 399', '"version": 120'), "utf-8")
    assert "INV-48" in found(path, "P452")


@pytest.mark.behaviour("INV-48", "DLQ-02")
def test_limit_of_group_is_deleted_with_group(tmp_path: Path) -> None:
    steps = (("group", {"retries": 0}), ("delete_group", {}), ("send", {}), ("back", {"version": 120}))
    with InProcess("P494").open() as running:
        path = performed(running, tmp_path, *steps)
    assert found(path, "P494") == set()
    assert [one.retries for one in claim_histories(load(path), PROFILES["P494"]).whole.exchanges if one.request.kind == "send_back"] == [16]
