"""Where 5.4.0 differs from 5.3.3: names of topics and groups, their remarks; and how 5.5.0 deletes a group."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sending import Stand

from rocketproof_impl.names import is_group_illegal, topic_problem
from rocketproof_profiles import PROFILES, classify, lineage
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import INVALID_PARAMETER, SUCCESS

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
def test_legal_topic_names_since_540(name: str, before: str | None, since: str | None) -> None:
    for profile, said in ((P533, before), (P540, since)):
        problem = topic_problem(name, profile)
        assert (problem is None) if said is None else (problem is not None and said in problem)
        assert (classify(name, profile) in ("ordinary", "retry")) is (said is None)


@pytest.mark.behaviour("DLQ-02")
def test_groups_have_120_characters_at_most_since_540() -> None:
    assert [is_group_illegal("g" * size, P533.group_limit) for size in (120, 121, 255, 256)] == [False, False, False, True]
    assert [is_group_illegal("g" * size, P540.group_limit) for size in (120, 121)] == [False, True]


@pytest.mark.behaviour("DLQ-02")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, "The specified group is blank."),
        (" ", "The specified group is blank."),
        ("a b" * 60, "contains illegal characters, allowing only"),
        ("x" * 121, f"The specified group: {'x' * 121}, is longer than group max length: 120"),
        ("x" * 120, None),
    ],
)
def test_administrator_must_name_groups_legally_since_540(name: str | None, said: str | None) -> None:
    for profile in ("P533", "P540"):
        at = Stand(profile)
        request = plain("group", group=name) if name is not None else plain("group", named=False)
        answer = at.ask(request)
        refused = profile == "P540" and said is not None
        assert (answer.code == INVALID_PARAMETER and said in (answer.remark or "")) if refused else answer.code == (0 if name else 1)
        assert (name in at.broker.groups.table) is (name is not None and not refused)


@pytest.mark.behaviour("DLQ-02")
@pytest.mark.parametrize(("profile", "offsets", "there"), [("P540", False, False), ("P550", False, True), ("P550", True, False)])
def test_deletion_that_keeps_offsets_recreates_the_group_in_550(profile: str, offsets: bool, there: bool) -> None:
    at = Stand(profile)
    for _ in range(2):
        assert at.ask(plain("delete_group", PROFILES[profile], group="g", offsets=offsets)).code == SUCCESS
        assert ("g" in at.broker.groups.table) is there


@pytest.mark.parametrize("profile", ["P533", "P540", "P550"])
def test_whole_tables_come_with_their_size_since_540(profile: str) -> None:
    at = Stand(profile)
    at.ask(plain("topic", topic="A"))
    topics, groups = (at.ask(plain(name)).ext_fields or {} for name in ("topics", "groups"))
    expected = [] if profile == "P533" else [str(len(at.broker.topics.table)), str(len(at.broker.groups.table))]
    assert [*topics.values(), *groups.values()] == expected


def test_profile_refines_its_predecessor() -> None:
    assert lineage("P540") == ("P540", "P533", "P494", "P49", "P45", "P40")
    assert set(P540.reasons) == {
        "retry_limit",
        "group_limit",
        "tests_groups",
        "names_illegal_topic",
        "batch_properties",
        "trusts_failed_force",
        "commit_keeps_place",
        "recalls_by_topic",
        "message_types",
        "tells_totals",
    }
    back = {name: getattr(P533, name) for name in P540.reasons}
    assert replace(P540, **back, name="P533", about=P533.about, base=P533.base, reasons=P533.reasons) == P533
