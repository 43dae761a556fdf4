"""What 5.4.0 does otherwise than 5.3.3, on the implementation: names of topics, their remarks, properties of batches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocketproof_impl.names import is_group_illegal, topic_problem
from rocketproof_profiles import PROFILES, classify, lineage

P533, P540 = PROFILES["P533"], PROFILES["P540"]


@pytest.mark.behaviour("CHK-02")
@pytest.mark.parametrize(
    ("name", "before", "since"),
    [
        (" ", "The specified topic is blank.", "The specified topic is blank."),
        ("a b", "contains illegal characters", "The specified topic: a b, contains illegal characters"),
        ("x" * 127, None, None),
        ("x" * 128, "is longer than topic max length.", f"The specified topic: {'x' * 128}, is longer than topic max length: 127"),
        ("%RETRY%" + "g" * 121, "is longer than topic max length.", None),
        ("%DLQ%" + "g" * 250, "is longer than topic max length.", None),
        ("%RETRY%" + "g" * 249, "is longer than topic max length.", "is longer than topic max length: 255"),
    ],
)
def test_what_a_topic_may_be_called(name: str, before: str | None, since: str | None) -> None:
    for profile, said in ((P533, before), (P540, since)):
        problem = topic_problem(name, profile)
        assert (problem is None) if said is None else (problem is not None and said in problem)
        assert (classify(name, profile) in ("ordinary", "retry")) is (said is None)


@pytest.mark.behaviour("DLQ-02")
def test_how_long_a_group_may_be_called() -> None:
    assert [is_group_illegal("g" * size, P533.group_limit) for size in (120, 121, 255, 256)] == [False, False, False, True]
    assert [is_group_illegal("g" * size, P540.group_limit) for size in (120, 121)] == [False, True]


def test_a_profile_refines_the_one_before_it() -> None:
    assert lineage("P540") == ("P540", "P533", "P494", "P49", "P45", "P40")
    assert set(P540.reasons) == {
        "retry_limit",
        "group_limit",
        "names_illegal_topic",
        "batch_properties",
        "trusts_failed_force",
        "commit_keeps_place",
    }
    back = {name: getattr(P533, name) for name in P540.reasons}
    assert replace(P540, **back, name="P533", about=P533.about, base=P533.base, reasons=P533.reasons) == P533
