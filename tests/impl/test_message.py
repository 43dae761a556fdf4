"""A message's properties as text and as a map."""

import pytest
from marks import behaviour

from rocketproof_impl.message import Message, parse_properties, properties_text


@behaviour("SEND-26")
def test_properties_text_has_the_order_of_a_java_hash_map() -> None:
    names = ["TAGS", "UNIQ_KEY", "DELAY", "CLUSTER", "KEYS"]
    text = properties_text(dict.fromkeys(names, "v"), trailing=False)
    # As a real broker stored them; CLUSTER and UNIQ_KEY share a slot and keep the order of insertion.
    assert [item.split("\x01")[0] for item in text.split("\x02")] == ["KEYS", "UNIQ_KEY", "CLUSTER", "DELAY", "TAGS"]


@behaviour("SEND-26")
@pytest.mark.parametrize(("others", "order"), [(9, ["q", "a", "b"]), (10, ["a", "b", "q"])])
def test_a_large_map_has_more_slots(others: int, order: list[str]) -> None:
    """The codes of q, a and b are 113, 97 and 98: with 16 slots q shares the slot of a, with 32 it is last."""
    names = ["q", "a", "b", *(f"name{k}" for k in range(others))]
    text = properties_text(dict.fromkeys(names, "v"), trailing=False)
    assert [n for n in (item.split("\x01")[0] for item in text.split("\x02")) if n in "qab"] == order


@behaviour("SEND-26")
@pytest.mark.parametrize("trailing", [True, False])
def test_the_text_is_read_back(trailing: bool) -> None:
    properties = {"TAGS": "t", "KEYS": "a b", "empty?": "no"}
    text = properties_text(properties, trailing=trailing)
    assert text.endswith("\x02") is trailing
    assert parse_properties(text, exact=trailing) == properties
    assert properties_text({}, trailing=trailing) == ""


@behaviour("SEND-26")
@pytest.mark.parametrize(
    ("text", "exact", "loose"),
    [
        ("K\x01v\x02", {"K": "v"}, {"K": "v"}),
        ("K\x01\x02", {}, {}),
        ("K\x01a\x01b\x02", {}, {"K": "a\x01b"}),
        ("\x01v\x02", {"": "v"}, {}),
        ("garbage", {}, {}),
        ("K\x01v\x01\x02", {"K": "v"}, {"K": "v\x01"}),  # Java's split drops empty parts at the end
        ("K\x01\x01v\x02", {}, {"K": "\x01v"}),
        ("K\x01\x01\x02", {}, {"K": "\x01"}),
        ("\x01\x02", {}, {}),
        ("K\x01v\x02\x02L\x01w", {"K": "v", "L": "w"}, {"K": "v", "L": "w"}),
        ("K\x01a\x02K\x01b\x02", {"K": "b"}, {"K": "b"}),
        ("K\x01v\x02K\x01\x02", {"K": "v"}, {"K": "v"}),  # the empty value is ignored, so the first stays
        ("", {}, {}),
        (None, {}, {}),
    ],
)
def test_odd_property_texts(text: str | None, exact: dict[str, str], loose: dict[str, str]) -> None:
    assert parse_properties(text, exact=True) == exact
    assert parse_properties(text, exact=False) == loose


@behaviour("SEND-25", "SEND-26")
def test_reinserted_property_is_last_in_its_slot() -> None:
    properties = {"UNIQ_KEY": "U", "CLUSTER": "c"}  # one slot
    assert properties_text(properties, trailing=False) == "UNIQ_KEY\x01U\x02CLUSTER\x01c"
    properties["UNIQ_KEY"] = properties.pop("UNIQ_KEY")
    assert properties_text(properties, trailing=False) == "CLUSTER\x01c\x02UNIQ_KEY\x01U"
    properties["CLUSTER"] = "d"  # another value keeps the position
    assert properties_text(properties, trailing=False) == "CLUSTER\x01d\x02UNIQ_KEY\x01U"


def test_changing_a_copys_properties_leaves_the_message_unchanged() -> None:
    message = Message("T", properties={"TAGS": "t"})
    copied = message.copy()
    assert copied == message
    copied.properties["KEYS"] = "k"
    assert message.properties == {"TAGS": "t"}
