"""Queries of a broker: tables, settings, offsets; and JSON as the described system writes it."""

from __future__ import annotations

import json
import re

import pytest
from marks import behaviour
from sending import Stand, batch_request, send_request
from simulated import fields_of, present

from rocketproof_impl.broker.settingstext import FIELDS, properties_of
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store.bytime import offset_at
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_protocol.fastjson import loads, map_text


def test_query_returns_the_whole_topic_table() -> None:
    stand = Stand()
    stand.topic("T", 3, 2, perm=4, order=True)
    answer = stand.call(21)
    assert (answer.code, answer.remark, answer.ext_fields) == (0, None, None)
    table, version = table_from_data(json.loads(answer.body or b""))
    assert table == stand.broker.topics.table
    assert table["T"] == TopicConfig("T", 2, 3, 4, order=True)
    assert version == stand.broker.topics.data_version


def test_settings_have_rocketmqs_names_and_a_version() -> None:
    stand = Stand(name_servers=("h:1", "i:2"), region_id="R")
    answer = stand.call(26)
    assert (answer.code, answer.remark) == (0, None)
    found = properties_of((answer.body or b"").decode())
    assert found.keys() == FIELDS.keys()
    assert list(found) == sorted(found)
    expected = {
        "brokerIP1": "127.0.0.1", "namesrvAddr": "h:1;i:2", "regionId": "R", "traceOn": "true", "maxMessageSize": "4194304",
        "haSlaveFallbehindMax": "268435456", "transactionTimeOut": "6000", "transactionCheckInterval": "60000", "fileReservedTime": "72",
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    before = json.loads(fields_of(answer)["version"])
    assert stand.call(25, b"regionId=S\n").code == 0
    answer = stand.call(26)
    assert "regionId=S" in (answer.body or b"").decode().splitlines()
    assert json.loads(fields_of(answer)["version"])["counter"] == before["counter"] + 1


def test_returned_settings_can_be_set() -> None:
    stand = Stand()
    before = stand.call(26).body
    assert stand.call(25, before).code == 0
    assert stand.call(26).body == before


def test_the_smallest_offset_of_a_queue() -> None:
    stand = Stand()
    for _ in range(5):
        stand.send(queue_id=1)
    stand.broker.store.dispatch()
    assert stand.call(31, None, topic="T", queueId=1).ext_fields == {"offset": "0"}
    queue = present(stand.broker.store.queues.find("T", 1))
    queue.min_offset = 3
    assert stand.call(31, None, topic="T", queueId=1).ext_fields == {"offset": "3"}
    assert stand.call(31, None, topic="T", queueId=0).ext_fields == {"offset": "0"}


FOREVER = 1 << 62
NOT_FOUND = (22, "can not find message, maybe time range not correct", {"indexLastUpdateTimestamp": "0", "indexLastUpdatePhyoffset": "0"})


def keyed(stand: Stand, *keys: str) -> list[bytes]:
    """Return the records of messages with these keys, in order."""
    for each in keys:
        stand.send(properties=f"KEYS\x01{each}\x02")
    stand.broker.store.dispatch()
    return [stand.broker.store.commit_log.select(one.physical_offset) or b"" for one in stand.broker.store.records()]


def found(stand: Stand, key: str, most: object = 32, begin: int = 0, end: int = FOREVER, **more: object) -> Command:
    return stand.call(12, None, topic="T", key=key, maxNum=most, beginTimestamp=begin, endTimestamp=end, **more)


@behaviour("REC-04")
def test_records_under_a_key_in_the_order_of_the_log() -> None:
    stand = Stand("P494")
    records = keyed(stand, "a b", "a  a", "Aa", "BB")
    last = stand.last()
    answer = found(stand, "a")
    reaches = {"indexLastUpdateTimestamp": str(last.store_timestamp), "indexLastUpdatePhyoffset": str(last.physical_offset)}
    assert (answer.code, answer.remark, answer.ext_fields) == (0, None, reaches)
    assert answer.body == records[0] + records[1] + records[1]  # once per occurrence of the key
    assert found(stand, "b").body == records[0]
    assert found(stand, "Aa").body == found(stand, "BB").body == records[2] + records[3]  # with the same hash
    assert found(stand, "a", 1).body == records[1]  # the newest
    assert found(stand, "a", 0, _UNIQUE_KEY_QUERY="true").body == answer.body


@behaviour("REC-04")
def test_key_query_filters_by_key_topic_and_time() -> None:
    stand = Stand("P494")
    keyed(stand, "a b")
    stored = stand.last().store_timestamp
    nothing = [
        *(found(stand, key) for key in ("", "c", "a b")),
        stand.call(12, None, topic="U", key="a", maxNum=32, beginTimestamp=0, endTimestamp=FOREVER),
        found(stand, "a", 0),
        found(stand, "a", begin=stored + 1),
        found(stand, "a", end=stored - 1),
        found(stand, "a", 0, _UNIQUE_KEY_QUERY="TRUE"),
    ]
    assert [(answer.code, answer.remark, answer.ext_fields) for answer in nothing] == [NOT_FOUND] * len(nothing)


@behaviour("REM-08")
def test_key_query_rejects_a_negative_maximum() -> None:
    stand = Stand("P494")
    answer = found(stand, "a", -1)
    assert (answer.code, str(answer.remark).partition(",")[0]) == (1, "java.lang.IllegalArgumentException: Illegal Capacity: -1")
    assert found(stand, "a", -1, _UNIQUE_KEY_QUERY="true").code == 22


@behaviour("REM-04")
def test_key_query_reads_a_missing_topic_or_key_as_null() -> None:
    stand = Stand("P494")
    (record,) = keyed(stand, "null")
    assert stand.call(12, None, topic="T", maxNum=32, beginTimestamp=0, endTimestamp=FOREVER).body == record
    assert stand.call(12, None, key="null", maxNum=32, beginTimestamp=0, endTimestamp=FOREVER).code == 22


def test_the_offsets_of_a_topic() -> None:
    stand = Stand()
    stand.topic("U", write=3, read=5)
    stand.send("U", queue_id=1)
    stand.send("U", queue_id=1)
    stored = stand.last().store_timestamp
    stand.broker.store.dispatch()
    answer = stand.call(202, None, topic="U")
    assert (answer.code, answer.remark) == (0, None)
    text = (answer.body or b"").decode()
    queues = re.findall(r'\{"brokerName":"broker-a","queueId":(\d),"topic":"U"\}:(\{[^}]*\})', text)
    assert {int(queue): json.loads(offsets) for queue, offsets in queues} == {
        0: {"minOffset": 0, "maxOffset": 0, "lastUpdateTimestamp": 0},
        1: {"minOffset": 0, "maxOffset": 2, "lastUpdateTimestamp": stored},
        2: {"minOffset": 0, "maxOffset": 0, "lastUpdateTimestamp": 0},
    }
    answer = stand.call(202, None, topic="nosuch")
    assert (answer.code, answer.remark) == (17, "topic[nosuch] not exist")


def test_a_queue_whose_last_record_is_gone_has_no_time() -> None:
    stand = Stand()
    stand.send()
    stand.broker.store.dispatch()
    queue = present(stand.broker.store.queues.find("T", 0))
    entry = present(queue.entry(0))
    queue.put(1, entry._replace(physical_offset=1 << 30))
    assert b'"lastUpdateTimestamp":-1' in (stand.call(202, None, topic="T").body or b"")


STORED = (0, 225, 225, 225, 464)
"""Store times (ms) of the messages in the queue; the three equal ones are a batch."""
SEARCHED = {
    "LOWER": {-1: 0, 0: 0, 1: 1, 100: 1, 224: 1, 225: 1, 226: 4, 463: 4, 464: 4, 465: 5, 9999: 5},
    "UPPER": {-1: 0, 0: 0, 1: 0, 100: 0, 224: 0, 225: 3, 226: 3, 463: 3, 464: 4, 465: 4, 9999: 4},
    "": {-1: 0, 0: 0, 1: 0, 100: 0, 224: 1, 225: 2, 226: 3, 344: 3, 345: 4, 463: 4, 464: 4, 465: 4, 9999: 4},
}
"""Offset for a time, by the given bound, as 4.9.4 ("", no bound) and 5.3.3 answered for this queue."""


def searched(profile: str, bound: str | None = None, *, per_file: int = 1000) -> dict[int, int]:
    """Return the answered offset for each time."""
    stand = Stand(profile, mapped_file_size_consume_queue=20 * per_file)
    began = stand.clock.now()
    for at, bodies in ((0, 1), (225, 3), (464, 1)):
        stand.scheduler.advance(began + at - stand.clock.now())
        stand.broker.receive(stand.channel, batch_request(bodies=(b"a",) * bodies) if bodies > 1 else send_request())
        stand.scheduler.settle()
        stand.broker.store.dispatch()
    stored = [message.store_timestamp - began for message in stand.broker.store.records()]
    assert stored == list(STORED)
    more = {} if bound is None else {"boundaryType": bound}
    times = sorted({*SEARCHED["LOWER"], *SEARCHED[""]})
    answers = {at: stand.call(29, None, topic="T", queueId=0, timestamp=began + at, **more) for at in times}
    assert all(answer.code == 0 for answer in answers.values())
    return {at: int(fields_of(answer)["offset"]) for at, answer in answers.items()}


@pytest.mark.parametrize(
    ("profile", "bound", "wanted"),
    [
        ("P494", None, ""), ("P494", "UPPER", ""), ("P510", "UPPER", ""), ("P511", "UPPER", "LOWER"),
        ("P533", None, "LOWER"), ("P533", "LOWER", "LOWER"), ("P533", "upper", "UPPER"), ("P533", "any", "LOWER"),
    ],
)  # fmt: skip
def test_offset_by_time_depends_on_release_and_bound(profile: str, bound: str | None, wanted: str) -> None:
    found = searched(profile, bound)
    assert {at: found[at] for at in SEARCHED[wanted]} == SEARCHED[wanted]


@pytest.mark.parametrize(("profile", "bound"), [("P533", None), ("P533", "UPPER")])
def test_offset_by_time_ignores_file_boundaries_in_later_releases(profile: str, bound: str | None) -> None:
    assert searched(profile, bound, per_file=2) == searched(profile, bound)


def test_offset_by_time_searches_a_single_file_in_494() -> None:
    """With two messages per file, the first file ends at 225. For 226 only the last file is searched, however near other messages are."""
    found = searched("P494", per_file=2)
    assert (found[1], found[225], found[226], found[9999]) == (0, 1, 4, 4)


@pytest.mark.parametrize(("bounds", "upper", "found"), [("none", False, 0), ("both", False, 9), ("both", True, 8)])
def test_offset_by_time_without_records_depends_on_release(bounds: str, upper: bool, found: int) -> None:
    """An earlier release returns the first offset. A later release treats missing records as old, so the bounds are after them."""
    stand = Stand()
    for _ in range(9):
        stand.send(queue_id=0)
    stand.broker.store.dispatch()
    queue = present(stand.broker.store.queues.find("T", 0))
    assert offset_at(queue, lambda _: None, 250, bounds=bounds, upper=upper) == found


@pytest.mark.parametrize("profile", ["P494", "P533"])
def test_queue_without_messages_has_offset_0_at_any_time(profile: str) -> None:
    stand = Stand(profile)
    stand.send()
    asked = [("T", 1), ("T", 0), ("T", 9), ("T", -1), ("nowhere", 0)]  # queue 0 has a message that is not dispatched
    answers = [stand.call(29, None, topic=topic, queueId=queue, timestamp=FOREVER) for topic, queue in asked]
    assert [fields_of(answer) for answer in answers] == [{"offset": "0"}] * len(asked)


@behaviour("REM-04")
@pytest.mark.parametrize("code", [29, 30, 31, 33, 202])
def test_fields_that_are_missing(code: int) -> None:
    assert "RemotingCommandException: the custom field <" in str(Stand("P49").call(code).remark)
    assert str(Stand("P494").call(code).remark).startswith("java.lang.NullPointerException")


@behaviour("REM-04")
def test_administrators_may_leave_fields_out_too() -> None:
    stand = Stand("P494")
    assert (
        stand.call(215, None, x="").remark == stand.call(17, None, topicFilterType="SINGLE_TAG").remark == "The specified topic is blank."
    )
    assert "topicFilterType = [null] value invalid" in str(stand.call(17, None, topic="N").remark)
    assert str(stand.call(37, None, msgId="m").remark).startswith("java.lang.NullPointerException")
    for body in (None, b"{}"):
        assert str(stand.call(200, body).remark).startswith("java.lang.NullPointerException")


# JSON


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{0:"a", -1 : {2:3},"b":[1,2]}', {"0": "a", "-1": {"2": 3}, "b": [1, 2]}),
        ('{name:1,"text":"{2:3},4:5"}', {"name": 1, "text": "{2:3},4:5"}),
        ('{"a\\"{1:":2,3:"\\\\"}', {'a"{1:': 2, "3": "\\"}),
        ('{"standard":true}', {"standard": True}),
        ("[]", []),
    ],
)
def test_names_without_quotes_are_read(text: str, value: object) -> None:
    assert loads(text) == loads(text.encode()) == value


def test_invalid_json_is_an_error() -> None:
    for text in ("", "{", "{1}", "nonsense"):
        with pytest.raises(ValueError, match=r"."):
            loads(text)


def test_a_name_can_be_an_object() -> None:
    assert map_text([({"b": 1, "a": 2}, [3]), (4, None)]) == '{{"a":2,"b":1}:[3],4:null}'
