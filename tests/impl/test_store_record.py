"""The record of the commit log, byte by byte, against the records of a real 4.9.4."""

from __future__ import annotations

import struct
import zlib

import pytest
from marks import behaviour, every
from simulated import present
from storing import Stand, appended, listing, message, real_files, real_messages, real_records

from nonempty import nonempty
from rocketproof_impl.message import Message
from rocketproof_impl.store import record
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE


def whole() -> bytearray:
    return bytearray(coded(message(body_crc=record.body_crc(b"hello"))))


def coded(given: Message) -> bytes:
    return record.encode(given, record.parts_of(given))


@behaviour("APP-08", "APP-09", "INV-37", "INV-40", "M-86", "M-88")
def test_records_of_a_real_broker_match_the_listing() -> None:
    assert len(listing()) == 169
    for said, data, found in zip(listing(), real_records(), real_messages(), strict=True):
        assert found.store_size == said["size"] == len(data)
        assert (found.topic, found.queue_id, found.queue_offset) == (said["topic"], said["queueId"], said["queueOffset"])
        assert found.physical_offset == said["physOffset"] == said["offset"]
        assert (found.flag, found.sys_flag, found.reconsume_times) == (said["flag"], said["sysFlag"], said["reconsumeTimes"])
        assert found.prepared_transaction_offset == said["preparedTxOffset"]
        assert len(found.body or b"") == said["bodyLen"]
        # The listing truncates long values and gives their length.
        assert found.properties.keys() == said["props"].keys()
        for name, value in said["props"].items():
            assert found.properties[name] == value or (
                len(value) < len(found.properties[name]) and found.properties[name][:50] == value[:50]
            )


@behaviour("APP-08", "CL-01", "INV-41", "M-85", "M-86", "M-87", "M-88")
def test_records_of_a_real_broker_encode_to_the_same_bytes() -> None:
    for data, found in nonempty(zip(real_records(), real_messages(), strict=True)):
        assert coded(found) == data
        assert record.is_whole(data)
        assert found.body_crc == record.body_crc(found.body or b"")


@behaviour("APP-02", "APP-03", "APP-04", "APP-08", "APP-10", "INV-34", "INV-35", "INV-36", "INV-37", "M-78", "M-79", "M-80", "REC-04")
def test_messages_of_a_real_log_reproduce_log_and_consume_queues() -> None:
    """At case 276 a topic had been deleted: its queues restarted at 0, and those of the half topic were gone."""
    stand = Stand("P494", mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=20_000)
    for said, found in zip(listing(), real_messages(), strict=True):
        if said["golden"] is not None and said["golden"][0] == 276:
            stand.store.dispatch()
            stand.store.clean_unused_topics({entry["topic"] for entry in listing()} - {"w8r4", HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE})
        stand.clock.time = found.store_timestamp
        again = found.copy()
        again.properties = {}  # levels were applied when the record was written
        again.queue_offset = again.physical_offset = again.store_timestamp = again.body_crc = -1
        assert appended(stand.put(again)).msg_id == found.msg_id
    assert stand.log() == real_files()["commitlog/00000000000000000000"][: stand.store.max_phy_offset]
    stand.store.dispatch()
    built = {path: bytes(content) for path, content in stand.disk.files.items() if "consumequeue" in path}
    real = {f"store/{path}": content for path, content in real_files().items() if path.startswith("consumequeue/")}
    assert built.keys() == real.keys()
    assert len(real) > 40
    for path, content in built.items():
        assert content.ljust(20_000, b"\0") == real[path], path


@behaviour("APP-08", "APP-06", "M-86", "M-87", "M-88")
def test_every_field_has_its_offset() -> None:
    given = Message(
        "TopicTest",
        queue_id=1,
        body=b"hello",
        flag=2,
        properties_text="A\x01b",
        sys_flag=3,
        born_timestamp=4,
        born_host=("10.1.2.3", 5),
        store_host=("127.0.0.1", 10911),
        reconsume_times=6,
        prepared_transaction_offset=7,
        store_timestamp=8,
        body_crc=9,
        queue_offset=10,
        physical_offset=11,
    )
    data = coded(given)
    numbers = {0: (4, 108), 8: (4, 9), 12: (4, 1), 16: (4, 2), 20: (8, 10), 28: (8, 11), 36: (4, 3), 40: (8, 4), 56: (8, 8), 72: (4, 6)}
    numbers |= {76: (8, 7), 84: (4, 5)}
    for at, (size, value) in numbers.items():
        assert int.from_bytes(data[at : at + size], "big") == value, at
    assert data[4:8] == bytes.fromhex("DAA320A7")
    assert data[48:56] == bytes((10, 1, 2, 3, 0, 0, 0, 5))
    assert data[64:72] == bytes((127, 0, 0, 1, 0, 0, 0x2A, 0x9F))
    assert data[88:] == b"hello\x09TopicTest\x00\x03A\x01b"
    assert record.decode(data, exact=True) == given.__class__(
        **{name: getattr(given, name) for name in given.__slots__}
        | {"properties": {"A": "b"}, "store_size": 108, "msg_id": "7F00000100002A9F000000000000000B"}
    )


@behaviour("APP-02", "APP-08")
@every
def test_signed_numbers_are_stored_signed(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(queue_id=-1, flag=-(2**31), reconsume_times=-3, born_timestamp=-1))
    data = stand.log()
    assert struct.unpack_from(">ii", data, 12) == (-1, -(2**31))
    assert struct.unpack_from(">q", data, 40) == (-1,)
    assert struct.unpack_from(">i", data, 72) == (-3,)
    assert stand.store.topic_queue_table == {"TopicTest--1": 1}


@behaviour("APP-06", "INV-40", "M-88")
def test_the_smallest_example_has_105_bytes() -> None:
    assert record.parts_of(message()).size == len(coded(message())) == 105


@behaviour("APP-02", "INV-43", "M-86", "M-87")
def test_message_id_is_store_host_and_physical_offset() -> None:
    assert record.message_id(("127.0.0.1", 10911), 1234) == "7F00000100002A9F00000000000004D2"
    given = message(born_host=("10.0.0.1", 1), store_host=("127.0.0.1", 10911))
    given.physical_offset = 1234
    found = present(record.decode(coded(given), exact=False))
    assert found.msg_id == "7F00000100002A9F00000000000004D2"


@behaviour("CL-01", "INV-41", "M-85")
def test_checksum_has_31_bits() -> None:
    assert zlib.crc32(b"a") == 3904355907
    assert record.body_crc(b"a") == 1756872259
    assert record.body_crc(b"123456789") == 0xCBF43926 & 0x7FFFFFFF
    assert record.body_crc(None) == 0
    assert record.body_crc(b"") == 0


@behaviour("REC-01")
@pytest.mark.parametrize(("topic", "readable"), [("t" * 127, True), ("é" * 63, True), ("é" * 64, False)])
def test_topics_up_to_127_bytes_can_be_read(topic: str, readable: bool) -> None:
    found = record.decode(coded(message(topic)), exact=False)
    assert (found and found.topic) == (topic if readable else None)


@behaviour("REC-01", "REC-02")
@pytest.mark.parametrize("end", [0, 4, 90, 91, 104])
def test_truncated_record_is_none(end: int) -> None:
    data = coded(message())
    assert record.decode(data[:end], exact=False) is None
    assert not record.is_whole(data[:end])


@behaviour("REC-02")
@pytest.mark.parametrize(("at", "detected"), [*((at, True) for at in (0, 3, 4, 7, 11, 87, 88, 92, 93, 103, 104)), (12, False), (95, False)])
def test_a_damaged_record_is_not_whole(at: int, detected: bool) -> None:
    """Detected: size, magic number, checksum, length of the body, body, length of the topic, length of the properties.

    No checksum covers the other fixed fields, the topic or the properties.
    """
    data = whole()
    assert record.is_whole(bytes(data))
    data[at] ^= 1
    assert record.is_whole(bytes(data)) is not detected


@behaviour("REC-01")
def test_reader_detects_lengths_that_do_not_add_up() -> None:
    data = whole()
    assert record.shape(bytes(data)) is record.RecordLengths.WHOLE
    data[8] ^= 1
    assert record.shape(bytes(data)) is record.RecordLengths.WHOLE, "the checksum is not a length"
    assert record.shape(bytes(data) + b"x") is record.RecordLengths.UNEQUAL
    assert record.shape(bytes(data[:-1])) is record.RecordLengths.UNREADABLE
    data[3] ^= 1
    assert record.shape(bytes(data)) is record.RecordLengths.UNEQUAL


@behaviour("APP-08")
def test_texts_are_utf8_and_lone_surrogates_are_question_marks() -> None:
    data = coded(message("T", body=None, properties_text="K\x01é\ud800"))
    assert data[88:] == b"\x01T\x00\x05K\x01\xc3\xa9?"
