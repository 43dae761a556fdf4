"""The one function that knows names as text (CHK-02, CHK-03, CHK-04, CLI-11)."""

import pytest

from rocketproof_profiles import PROFILES, classify, java_length

P40, P49, P494 = PROFILES["P40"], PROFILES["P49"], PROFILES["P494"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, "blank"),
        ("", "blank"),
        ("  ", "blank"),
        ("a b", "illegal"),
        ("a.b", "illegal"),
        ("a$b", "illegal"),
        ("topic\n", "illegal"),
        ("中文", "illegal"),
        ("é", "illegal"),
        ("a%b", "ordinary"),
        ("a|b_c-9", "ordinary"),
        ("x" * 127, "ordinary"),
        ("x" * 128, "long"),
        ("$" * 128, "illegal"),
        ("SCHEDULE_TOPIC_XXXX", "forbidden"),
        ("schedule_topic_xxxx", "ordinary"),
        ("TBW102", "template"),
        ("%RETRY%group", "retry"),
        ("%retry%group", "ordinary"),
        ("%DLQ%group", "ordinary"),
    ],
)
def test_p49_classifies_in_brokers_order(name: str | None, expected: str) -> None:
    assert classify(name, P49) == expected


@pytest.mark.parametrize("name", ["", "a b", "x" * 128, "SCHEDULE_TOPIC_XXXX"])
def test_p40_knows_only_template_and_retry_names(name: str) -> None:
    assert classify(name, P40) == "ordinary"
    assert classify("TBW102", P40) == "template"


def test_p494_refuses_five_more_system_topics_each_with_its_case() -> None:
    assert len(P494.forbidden - P49.forbidden) == 5
    assert all(classify(name, P494) == "forbidden" and classify(name, P49) == "ordinary" for name in P494.forbidden - P49.forbidden)
    assert "A-136" in P494.reasons["forbidden"]


def test_length_counts_utf16_units() -> None:
    assert java_length("a\U0001f600") == 3
