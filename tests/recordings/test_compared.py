"""The comparison of responses and records: one table, and for each kind of value equal and different examples."""

from __future__ import annotations

import gzip
import json
import lzma
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.judging.reference import masks
from rocketproof_properties.judging.reference.comparison import RecordedResponse, RunComparison
from rocketproof_properties.judging.reference.masks import FIELDS, MOVING, PROPERTIES, How, how
from rocketproof_protocol import properties as named
from rocketproof_protocol.topics import SYSTEM_TOPICS

DATA = Path(__file__).parents[1] / "data"
DUE = 1_795_922_664_001
APART = 5000


def rows(pattern: str) -> Iterator[dict[str, Any]]:
    for path in sorted(DATA.glob(pattern)):
        opened = gzip.open if path.suffix == ".gz" else lzma.open if path.suffix == ".xz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def test_every_property_that_has_name_is_in_table() -> None:
    names = {value for key, value in vars(named).items() if key.isupper() and key not in ("NAME_END", "PROPERTY_END")}
    assert names == PROPERTIES.keys()


def test_every_recorded_field_is_in_table() -> None:
    recorded = {name for row in rows("*.jsonl*") for name in (row.get("response") or {}).get("extFields") or ()}
    answered = {name for row in rows("programs-*.xz") if row.get("type") == "ok" for name in row["value"].get("fields") or ()}
    assert len(recorded | answered) > 15
    assert recorded | answered <= FIELDS.keys()


def test_name_in_both_tables_has_one_comparison() -> None:
    assert {name: FIELDS[name] for name in FIELDS.keys() & PROPERTIES} == {name: PROPERTIES[name] for name in FIELDS.keys() & PROPERTIES}
    assert how("a sender's own") is How.SAME


def test_moving_queues_are_of_system_topics() -> None:
    assert MOVING.keys() <= SYSTEM_TOPICS | {"rmq_sys_wheel_timer"}


VALUES = {
    How.SAME: ("a", "a", "b"),
    How.MADE_UP: ("0" * 32, "1" * 32, "own"),
    How.SECOND: (str(DUE - 1), str(DUE + 999), str(DUE + 500)),
    How.MOMENT: (str(DUE), str(DUE + 1234), str(DUE + 3_600_000)),
}


@pytest.mark.parametrize(("name", "kind"), sorted(PROPERTIES.items()))
def test_wrong_value_of_every_property_is_noticed(name: str, kind: How) -> None:
    if kind is How.PLACE:
        value, other, wrong = "7F" * 16, "70" * 16, "none"
        same = RunComparison("5.3.3", None)
    else:
        value, other, wrong = VALUES[kind]
        same = RunComparison("5.3.3", 0, APART)

    def differing(recorded: dict[str, str], found: dict[str, str]) -> list[str]:
        return [each.field for each in same.record("", {"props": recorded}, {"props": found})]

    assert differing({name: value}, {name: other}) == []
    assert differing({name: value}, {name: wrong}) == differing({name: value}, {}) == differing({}, {name: value}) == [f"props.{name}"]


@pytest.mark.parametrize("name", [name for name, kind in FIELDS.items() if kind is How.SAME])
def test_wrong_value_of_plain_field_is_noticed(name: str) -> None:
    same, fields = RunComparison("5.3.3", 0, APART), {name: "1"}
    assert [each.field for each in same.answer(RecordedResponse(0, None, fields), Command(0, {name: "2"}))] == [f"extFields.{name}"]
    assert list(same.answer(RecordedResponse(0, None, fields), Command(0, fields))) == []


def handle(*parts: object) -> str:
    return urlsafe_b64encode(" ".join(map(str, parts)).encode()).decode()


@pytest.mark.parametrize(
    ("found", "alike"),
    [
        (("v1", "A", "broker-a", DUE, "U1"), True),
        (("v1", "A", "broker-a", DUE + 1000, "U1"), True),
        (("v1", "A", "broker-a", DUE + 1, "U1"), False),
        (("v1", "A", "broker-a", DUE + 3_600_000, "U1"), False),
        (("v1", "A", "broker-a", DUE, "U2"), False),
        (("v1", "B", "broker-a", DUE, "U1"), False),
        (("v1", DUE, "U1"), False),
    ],
)
def test_handle_is_compared_part_by_part(found: tuple[object, ...], alike: bool) -> None:
    assert masks.same_time("recallHandle", handle("v1", "A", "broker-a", DUE, "U1"), handle(*found), APART) is alike


@given(st.text(), st.sampled_from(["recallHandle", *PROPERTIES]))
def test_target_may_answer_anything(text: str, name: str) -> None:
    expected = handle("v1", "A", "broker-a", DUE, "U1")
    assert masks.same_time(name, text, expected, APART) in (True, False)
    assert masks.same_time(name, expected, text) in (True, False)
