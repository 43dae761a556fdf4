"""What programs send: every field of a request, message property and setting that matters has several values, or a reason."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from rocketproof_lab.bench import fields
from rocketproof_lab.bench.released import PROPERTIES, ReleasedField, fields_of, released
from rocketproof_profiles.releases import startable
from rocketproof_properties.brokers import jars
from rocketproof_properties.programs.program import Program


@pytest.mark.slow
def test_every_field_that_matters_has_two_values() -> None:
    rows = fields.measure("P533", 2000, 1)
    mattering = [row for row in rows if not row["reason"]]
    assert len(mattering) > 150
    assert len(fields.missing(rows)) <= 0.05 * len(mattering), fields.missing(rows)
    paired = [row for row in mattering if row["pairs"] is not None]
    assert sum(row["pairs"] > 0 for row in paired) >= 0.95 * len(paired)


def test_values_and_pairs_are_counted_from_requests() -> None:
    plain = Program(1, "", (("send", {"topic": "A"}), ("send", {"topic": "A", "flag": 7, "queue": 3})))
    found = fields.sent([plain], "P494")
    assert found.values("SendMessageRequestHeader", "flag") == Counter({"0": 1, "7": 1})
    usual = {name: found.values("SendMessageRequestHeader", name).most_common(1)[0][0] for name in ("flag", "queueId", "topic")}
    pairs = found.pairs("SendMessageRequestHeader", usual)
    assert "queueId" in pairs["flag"] or "flag" in pairs["queueId"]
    assert not pairs["topic"]


def test_absent_field_counts_as_a_value() -> None:
    steps = (("max_offset", {"topic": "A"}), ("max_offset", {"topic": "A", "altered": ("committed", "true")}))
    found = fields.sent([Program(1, "", steps)], "P533")
    assert found.values("GetMaxOffsetRequestHeader", "committed") == Counter({fields.ABSENT: 1, "true": 1})
    assert not found.values("GetMaxOffsetRequestHeader", "lo")


def test_field_without_reason_is_missing() -> None:
    unknown = ReleasedField("SendMessageRequestHeader", "colour", "6.0.0", "6.0.0")
    assert fields.reason(unknown) == ""
    assert fields.missing([{"owner": "A", "name": "b", "values": 1, "reason": ""}]) == ["A.b"]
    assert fields.missing([{"owner": "A", "name": "b", "values": 1, "reason": "none reads it"}]) == []


def test_released_fields_have_known_spans() -> None:
    spans = {(row.owner, row.name): (row.first, row.last) for row in released()}
    assert spans["CreateTopicRequestHeader", "attributes"][0] == "5.0.0"
    assert spans["DeleteSubscriptionGroupRequestHeader", "removeOffset"][1] < "5"
    assert spans[PROPERTIES, "UNIQ_KEY"] == (min(startable()), max(startable()))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javap") is None, reason="javap is not installed")
def test_jars_have_the_fields_of_the_table() -> None:
    found = set(fields_of(jars.folder("4.9.4")))
    assert {(row.owner, row.name) for row in released() if row.exists_in("4.9.4")} >= found
    assert ("SendMessageRequestHeader", "queueId") in found
