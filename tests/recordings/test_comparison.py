"""The one comparison of replays: what counts as the same where places, ids and bodies are each side's own."""

from __future__ import annotations

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.judging.reference import comparison, masks
from rocketproof_properties.judging.reference.comparison import RecordedResponse, RunComparison

HERE, THERE = (f"7F00000100002A9F{place:016X}" for place in (100, 300))
NULL = "java.lang.NullPointerException, f(x.py:1)"
MADE_UP, OTHER = "C000020265A94E0E2F2A68626D850000", "C000020265A94E0E2F2A68626D850001"


def fields(comparing: RunComparison, recorded: dict[str, str], found: dict[str, str], *counted: str) -> list[str]:
    return [difference.field for difference in comparing.answer(RecordedResponse(0, None, recorded), Command(0, found), counted)]


@pytest.mark.parametrize(
    ("drift", "recorded", "found", "same"),
    [
        (0, HERE, HERE, True),
        (0, HERE, THERE, False),
        (200, HERE, THERE, True),
        (200, f"{HERE},{HERE}", f"{THERE},{THERE}", True),
        (None, HERE, THERE, True),
        (None, HERE, f"{THERE},{THERE}", False),
    ],
)
def test_ids_of_messages_are_moved_or_counted(drift: int | None, recorded: str, found: str, same: bool) -> None:
    assert (fields(RunComparison("4.9.4", drift), {"msgId": recorded}, {"msgId": found}) == []) is same


def test_shared_queue_compares_only_number_of_values() -> None:
    assert fields(RunComparison("4.9.4"), {"queueOffset": "3"}, {"queueOffset": "0"}) == ["extFields.queueOffset"]
    assert not fields(RunComparison("4.9.4"), {"queueOffset": "3"}, {"queueOffset": "0"}, "queueOffset")
    assert fields(RunComparison("4.9.4"), {"queueOffset": "3"}, {}, "queueOffset")


@pytest.mark.parametrize(("found", "same"), [({"totalTopicNum": "9"}, True), ({"totalTopicNum": "x"}, False), ({}, False)])
def test_total_of_all_topics_is_any_number(found: dict[str, str], same: bool) -> None:
    assert (not fields(RunComparison("5.5.0"), {"totalTopicNum": "70"}, found)) is same


def test_generated_ids_match_singly_and_in_lists() -> None:
    assert masks.made_up(f"{MADE_UP},{OTHER}", f"{OTHER},{MADE_UP}") and not masks.made_up(f"{MADE_UP},mine")
    for version, same in (("5.3.3", True), ("4.9.4", False)):
        assert (not fields(RunComparison(version), {"transactionId": MADE_UP}, {"transactionId": OTHER})) is same


def test_offset_in_property_is_normalized_only_for_offset_properties() -> None:
    recorded, found = ({"physOffset": place, "props": {"ORIGIN_MESSAGE_ID": id_}} for place, id_ in ((100, HERE), (300, THERE)))
    assert not list(RunComparison("4.9.4", None).record("", recorded, found))
    assert [difference.field for difference in RunComparison("4.9.4").record("", recorded, found)] == [
        "physOffset",
        "props.ORIGIN_MESSAGE_ID",
    ]


def test_routes_share_queues_addresses_and_filter_servers_of_named_brokers() -> None:
    body = (
        b'{"brokerDatas":[{"brokerAddrs":{0:"h:1"},"brokerName":"mine","cluster":"c"}],"queueDatas":[{"brokerName":"x","perm":6}],'
        b'"filterServerTable":{"h:1":["f:1"],"h:2":["f:2"]}}'
    )
    nobody = {"brokerDatas": [], "queueDatas": [[("perm", 6)]], "filterServerTable": {}, "orderTopicConf": None}
    assert comparison.route(body, str.isupper) == nobody
    shared = comparison.route(body, str.islower)
    assert (shared["brokerDatas"], shared["filterServerTable"]) == ([["mine", "c", "", [("0", "h:1")]]], {"h:1": ["f:1"]})
    assert comparison.route(b"nothing", str.islower) == "no JSON"


def test_route_states_location_of_master() -> None:
    body = b'{"brokerDatas":[{"brokerAddrs":{1:"h:2"},"brokerName":"a"},{"brokerAddrs":{0:"h:1",1:"h:2"},"brokerName":"b"}]}'
    assert [comparison.address(data, name) for data, name in ((body, "b"), (body, "c"), (body, "a"), (b"nothing", "b"), (None, "b"))] == [
        "h:1", None, None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("recorded", "found", "same"),
    [
        ('Cannot invoke "java.lang.Integer.intValue()" because the return value of "Header.getPerm()" is null', NULL, True),
        (f"{NULL}: Cannot invoke it because it is null, A.b(A.java:1)", NULL, True),
        ("Cannot invoke it", NULL, False),
        (None, NULL, False),
    ],
)
def test_null_error_matches_with_and_without_class(recorded: str | None, found: str, same: bool) -> None:
    assert masks.same_remark(recorded, found) is same


@pytest.mark.parametrize(
    ("data", "found"), [(b'{"a":1,"c":2}', {"a": 1, "b": None}), (b"?", "no JSON"), (b"[]", "no JSON"), (None, {"a": None, "b": None})]
)
def test_name_server_body_is_always_compared(data: bytes | None, found: object) -> None:
    assert comparison.fields(data, ("a", "b")) == found


def test_route_has_its_order_and_null_is_none() -> None:
    def order(body: bytes) -> str | None:
        found: str | None = comparison.route(body, lambda name: True)["orderTopicConf"]
        return found

    assert order(b'{"queueDatas":[],"brokerDatas":[],"orderTopicConf":"broker-x:4"}') == "broker-x:4"
    assert order(b'{"queueDatas":[],"brokerDatas":[],"orderTopicConf":null}') is order(b'{"queueDatas":[],"brokerDatas":[]}') is None


@pytest.mark.parametrize(
    ("body", "own"), [(b'{"table":{"p-R":"x:1","q-R":"y:2"}}', {"p-R": "x:1"}), (b'{"table":null}', {}), (None, {}), (b"no JSON", None)]
)
def test_order_topics_of_other_programs_are_ignored(body: bytes | None, own: dict[str, str] | None) -> None:
    found = comparison.listed(body, lambda topic: topic.startswith("p-"))
    assert found == own if own is not None else isinstance(found, str)
