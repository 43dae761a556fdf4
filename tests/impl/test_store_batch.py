"""The store's side of a batch: all messages of one body, in one file, with consecutive offsets."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from marks import behaviour, either
from simulated import present
from storing import Stand, appended, listing, message, real_messages

from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.store.result import AppendMessageStatus, PutMessageStatus
from rocketproof_protocol.properties import CLUSTER, DELAY


def item(body: bytes, properties: str = "", flag: int = 0) -> bytes:
    text = properties.encode()
    size = 4 * 5 + len(body) + 2 + len(text)
    return struct.pack(">iiiii", size, 0, 0, flag, len(body)) + body + struct.pack(">h", len(text)) + text


def batch(*items: bytes, topic: str = "T", **fields: Any) -> Message:
    return Message(topic, body=b"".join(items), **fields)


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@behaviour("BAT-04", "INV-34", "INV-43")
@either
def test_messages_of_a_batch_have_consecutive_offsets(stand: Stand) -> None:
    stand.put(message("T"))
    result = stand.put_batch(batch(item(b"a", flag=7), item(b"bb", "K\x01v"), item(b"ccc"), sys_flag=1, reconsume_times=2))
    assert result.ok
    found = list(stand.store.records())[1:]
    assert [each.body for each in found] == [b"a", b"bb", b"ccc"]
    assert [each.flag for each in found] == [7, 0, 0]
    assert [each.queue_offset for each in found] == [1, 2, 3]
    assert found[0].body_crc == 1756872259
    assert {(each.sys_flag, each.reconsume_times, each.store_timestamp) for each in found} == {(1, 2, stand.clock.now())}
    assert appended(result).msg_id == ",".join(each.msg_id for each in found)
    assert (appended(result).msg_num, appended(result).queue_offset) == (3, 1)
    assert appended(result).wrote_bytes == sum(each.store_size for each in found)
    assert stand.store.topic_queue_table == {"T-0": 4}
    assert stand.store.statistics.put_times == {"T": 4}
    stand.store.dispatch()
    there = present(stand.store.get_message("T", 0, 3))
    assert there.body == b"ccc"


@behaviour("BAT-04", "CL-06", "INV-42")
@either
def test_messages_of_a_batch_have_the_locks_time(stand: Stand) -> None:
    stand.store.commit_log.lock.held = True
    task = stand.scheduler.spawn(stand.store.put_messages(batch(item(b"a"), item(b"b"))))
    stand.scheduler.advance(70)
    stand.store.commit_log.lock.release()
    assert stand.scheduler.run(task.done).ok
    assert {record.store_timestamp for record in stand.store.records()} == {stand.clock.now()}


@behaviour("BAT-04", "BAT-03")
@pytest.mark.parametrize(("case", "header"), [(207, {}), (211, {}), (213, {}), (217, {"TRAN_MSG": "true"})])
def test_recorded_batches(case: int, header: dict[str, str]) -> None:
    """Flags, properties and sizes that 4.9.4 stored: the header's properties and CLUSTER follow the item's."""
    recorded = [each for each, said in zip(real_messages(), listing(), strict=True) if (said["golden"] or [0])[0] == case]
    assert recorded
    properties = header | {CLUSTER: "DefaultCluster"}
    items = []
    for each in recorded:
        own = {name: value for name, value in each.properties.items() if name not in properties}
        items.append(item(each.body or b"", "\x02".join(f"{name}\x01{value}" for name, value in own.items())))
    stand = Stand("P494")
    assert stand.put_batch(batch(*items, topic=recorded[0].topic, properties=properties)).ok
    for stored, each in zip(stand.store.records(), recorded, strict=True):
        assert stored.properties == each.properties
        assert stored.store_size == each.store_size


@behaviour("BAT-04")
@pytest.mark.parametrize(
    ("profile", "own", "stored"),
    [
        ("P45", "K\x01v\x02", "K\x01v\x02"),
        ("P45", "", None),
        ("P49", "K\x01v\x02", "K\x01v\x02CLUSTER\x01c"),
        ("P49", "K\x01v", "K\x01v\x02CLUSTER\x01c"),
        ("P49", "", "CLUSTER\x01c"),
    ],
)
def test_how_the_batch_properties_are_joined(stand: Stand, profile: str, own: str, stored: str | None) -> None:
    stand.put_batch(batch(item(b"a", own), properties={CLUSTER: "c"}))
    assert next(stand.store.records()).properties_text == stored
    if profile == "P49":
        stand.put_batch(batch(item(b"a", own)))
        assert list(stand.store.records())[1].properties_text == (own or None)


@behaviour("BAT-04", "M-94")
@either
@pytest.mark.parametrize("fields", [{"sys_flag": 4}, {"sys_flag": 8}, {"sys_flag": 12}, {"properties": {DELAY: "1"}}])
def test_batches_are_neither_transactional_nor_delayed(stand: Stand, fields: dict[str, Any]) -> None:
    result = stand.put_batch(batch(item(b"a"), **fields))
    assert (result.status, result.append) == (PutMessageStatus.MESSAGE_ILLEGAL, None)
    assert stand.store.max_phy_offset == 0
    assert stand.store.statistics.put_failed == 1


@behaviour("BAT-04", "HAZ-38")
@either
def test_level_0_and_item_levels_cause_no_delay(stand: Stand) -> None:
    assert stand.put_batch(batch(item(b"a", "DELAY\x013\x02"), properties={DELAY: "0", "TRAN_MSG": "true"})).ok
    (found,) = stand.store.records()
    assert (found.topic, found.sys_flag) == ("T", 0)


@behaviour("BAT-04", "STO-01", "STO-02")
@either
def test_limits_of_a_batch(profile: str) -> None:
    stand = Stand(profile, max_message_size=1000)
    for illegal in (batch(item(b"a"), topic="t" * 128), batch(item(b"x" * 979))):
        result = stand.put_batch(illegal)
        assert (result.status, result.append) == (PutMessageStatus.MESSAGE_ILLEGAL, None)
    assert stand.store.statistics.put_failed == 0
    with pytest.raises(JavaError, match="message size exceeded"):
        stand.put_batch(batch(item(b"x" * 978)))  # the body has 1000 bytes, the record more
    with pytest.raises(JavaError, match="NullPointerException"):
        stand.put_batch(Message("T", body=None))


@behaviour("BAT-04", "APP-06")
@either
@pytest.mark.parametrize(("last", "fits"), [(724, True), (725, False)])
def test_all_records_of_a_batch_together_have_the_limit(profile: str, last: int, fits: bool) -> None:
    stand = Stand(profile, max_message_size=1000)
    given = batch(item(b"a"), item(b"x" * last), item(b""))
    if fits:
        assert stand.put_batch(batch(item(b"a"), item(b"x" * (1000 - 93 - 92)))).ok
        assert stand.store.max_phy_offset == 1000
    else:
        with pytest.raises(JavaError, match="message size exceeded"):
            stand.put_batch(given)


@behaviour("BAT-04", "INV-39", "M-81", "M-82", "M-83")
@either
@pytest.mark.parametrize(("first", "rolls"), [(1000 - 8 - 3 * 93, False), (1000 - 7 - 3 * 93, True)])
def test_batch_is_stored_in_one_file(profile: str, first: int, rolls: bool) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=1000)
    stand.put(message("T", body=b"x" * (first - 92)))
    result = appended(stand.put_batch(batch(item(b"a"), item(b"b"), item(b"c"))))
    start = 1000 if rolls else first
    assert result.wrote_offset == start
    assert [record.physical_offset for record in stand.store.records()] == [0, start, start + 93, start + 186]
    assert [record.queue_offset for record in stand.store.records()] == [0, 1, 2, 3]
    assert stand.store.topic_queue_table == {"T-0": 4}


@behaviour("BAT-04", "HAZ-22")
@either
def test_a_batch_larger_than_a_file_is_lost_too(profile: str) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=200)
    result = stand.put_batch(batch(item(b"a"), item(b"b"), item(b"c")))
    assert result.status is PutMessageStatus.PUT_OK
    assert appended(result).status is AppendMessageStatus.END_OF_FILE
    assert list(stand.store.records()) == []
    assert stand.store.topic_queue_table == {"T-0": 0}


@behaviour("BAT-04")
@either
@pytest.mark.parametrize(
    ("cut", "thrown"),
    [
        (1, r"IllegalArgumentException: newPosition > limit: \(51 > 50\)"),
        (3, r"IllegalArgumentException: newPosition > limit: \(51 > 48\)"),
        (4, "BufferUnderflowException"),
        (5, "BufferUnderflowException"),
        (6, "ArrayIndexOutOfBoundsException"),
        (24, "BufferUnderflowException"),
    ],
)
def test_a_body_that_ends_too_early_raises(stand: Stand, cut: int, thrown: str) -> None:
    """The error of 4.9.4 for a body that ends in the properties, in their length, in the body, or in the head."""
    data = item(b"abc", "K\x01v")
    with pytest.raises(JavaError, match=thrown):
        stand.put_batch(batch(item(b"a"), data[:-cut]))
    assert stand.store.max_phy_offset == 0


@behaviour("BAT-04")
@either
@pytest.mark.parametrize("length", [-1, 4, 2**20])
def test_body_without_a_length_raises(stand: Stand, length: int) -> None:
    data = item(b"a")
    with pytest.raises(JavaError, match="ArrayIndexOutOfBoundsException"):
        stand.put_batch(batch(data[:16] + length.to_bytes(4, "big", signed=True) + data[20:]))


@behaviour("BAT-04")
@either
def test_empty_batch_stores_nothing(stand: Stand) -> None:
    result = stand.put_batch(batch())
    assert result.ok
    assert (appended(result).msg_num, appended(result).wrote_bytes, appended(result).msg_id) == (0, 0, "")
    assert stand.store.topic_queue_table == {"T-0": 0}
