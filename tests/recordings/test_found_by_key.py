"""The messages a broker has to find under a key, derived from those that the reference finds and from the target's store times."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from rocketproof_properties.brokers.runs.queries import REACHES
from rocketproof_properties.judging.reference import keys

STORED = {100: 5_000, 200: 8_000, 300: 20_000}
THERE = [100, 200, 200, 300]
"""The second one has the key twice."""


def reaches(found: Collection[int]) -> dict[str, str]:
    """The extent of an index whose last record is the last one found."""
    return dict(zip(REACHES, ("20000", "300") if found else ("0", "0"), strict=True))


def wrong(found: list[int], late: Collection[int] = (), /, *, most: int = 32, begin: int = 0, end: int = 1 << 62) -> list[str]:
    told = reaches(found)
    return [difference.field for difference in keys.differences(keys.Sought(most, begin, end), THERE, STORED, told, found, late=late)]


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (THERE, {}),
        ([300], {"most": 1}),
        ([200, 300], {"most": 2}),
        ([], {"most": 0}),
        ([300], {"begin": 19_000}),
        ([100], {"end": 5_000}),
        ([200, 200], {"begin": 6_000, "end": 9_000}),
        ([], {"begin": 20_001}),
        ([], {"end": 4_000}),
    ],
)
def test_newest_records_of_time(found: list[int], asked: dict[str, int]) -> None:
    assert wrong(found, **asked) == []
    for other in (THERE, [300], [200, 300], [], [100], [200, 200], [300, 100], [200]):
        assert (wrong(other, **asked) == []) is (other == found)


def test_message_within_second_of_bound_is_optional() -> None:
    for found in ([200, 200, 300], [300]):
        assert wrong(found, begin=7_500) == []
    for found in ([100, 200, 200], [100]):
        assert wrong(found, end=7_500) == []
    for found in ([200, 200], [100, 300], [300, 200, 200], [200, 200, 200, 300]):
        assert wrong(found, begin=7_500) == ["records"]


def test_just_sent_message_is_optional_in_index() -> None:
    for found in (THERE, [100], [100, 200, 200]):
        assert wrong(found, {200, 300}) == []
    for found in ([], [200, 200, 300], [100, 100], [200, 100]):
        assert wrong(found, {200, 300}) == ["records"]
    assert wrong([100, 200], {200, 300}, most=1) == ["records"]


@pytest.mark.parametrize(
    ("found", "told", "fields"),
    [
        ([300], {}, [f"extFields.{name}" for name in REACHES]),
        ([300], {REACHES[0]: "19999", REACHES[1]: "300"}, [f"extFields.{REACHES[0]}"]),
        ([300], {REACHES[0]: "20000", REACHES[1]: "299"}, [f"extFields.{REACHES[1]}"]),
        ([300], {REACHES[0]: "50000", REACHES[1]: "5000"}, []),
        ([], {REACHES[0]: "20000", REACHES[1]: "0"}, [f"extFields.{REACHES[0]}"]),
    ],
)
def test_index_extends_to_last_found_message(found: list[int], told: dict[str, str], fields: list[str]) -> None:
    asked = keys.Sought(1 if found else 0, 0, 1 << 62)
    assert [difference.field for difference in keys.differences(asked, THERE, STORED, told, found)] == fields


def test_record_at_place_of_dropped_one_is_optional_and_has_its_time() -> None:
    """A restart drops a damaged record, and its entry in the index leads to the next record, which lacks the key (REC-02)."""

    def differing(found: list[int], end: int, told: dict[str, str]) -> list[str]:
        asked = keys.Sought(32, 0, end)
        return [each.field for each in keys.differences(asked, [100, 300], STORED, told, found, replaced={300})]

    for found in ([100, 300], [100]):
        assert differing(found, 1 << 62, {REACHES[0]: "5000", REACHES[1]: "100"}) == []
    assert differing([100, 300], 9_000, {REACHES[0]: "8000", REACHES[1]: "300"}) == []
    assert differing([300], 1 << 62, reaches([300])) == ["records"]


def test_refused_query_constrains_nothing() -> None:
    fields = {"topic": "T", "key": "k", "maxNum": "100", "beginTimestamp": "1", "endTimestamp": "9"}
    assert keys.sought(fields) == keys.Sought(64, 1, 9)
    assert keys.sought({**fields, "maxNum": "-1", "_UNIQUE_KEY_QUERY": "true"}) == keys.Sought(32, 1, 9)
    for name, text in (("maxNum", "-1"), ("maxNum", "x"), ("beginTimestamp", ""), ("topic", None), ("key", None)):
        assert keys.sought({each: value for each, value in {**fields, name: text}.items() if value is not None}) is None
    assert keys.sought(keys.at_any_time(fields)) == keys.Sought(64, 0, 2**63 - 1)


def test_generated_key_differs_between_target_and_recording() -> None:
    asked = {"topic": "T", "key": "theirs", "begin": 1, "unique": True}
    assert keys.all_of(asked, {"theirs": "ours"}) == {"topic": "T", "key": "ours", "most": 64}
    assert keys.all_of(asked, {}) == {"topic": "T", "key": "theirs", "most": 64}
