"""The index: its files byte by byte, the messages that get an entry, and the results of a query."""

from __future__ import annotations

import struct
from datetime import datetime

import pytest
from marks import behaviour
from storing import Stand, message, real_files, real_messages, real_stand

from rocketproof_impl.message import Message
from rocketproof_impl.store.index import file_name, keys_of
from rocketproof_impl.store.indexfile import IndexEntry, key_hash
from rocketproof_impl.store.service import WRITE_INDEX_FILE_ERROR
from rocketproof_protocol.flags import COMMIT, PREPARED, ROLLBACK

FOREVER = 1 << 62


def stand(slots: int = 10, limit: int = 100) -> Stand:
    made = Stand("P494", max_hash_slot_num=slots, max_index_num=limit)
    assert made.store.load()
    made.store.start()
    return made


def put(at: Stand, keys: str | None = None, unique: str | None = None, *, sys_flag: int = 0) -> int:
    """Put a message with these keys, dispatch it, and return its offset."""
    properties = {name: value for name, value in (("KEYS", keys), ("UNIQ_KEY", unique)) if value is not None}
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    where = at.store.max_phy_offset
    at.put(message("T", properties=properties, properties_text=text, sys_flag=sys_flag))
    at.store.dispatch()
    return where


def query(at: Stand, key: str, most: int = 64, begin: int = 0, end: int = FOREVER) -> list[int]:
    return at.store.index.query("T", key, most, begin, end)


@behaviour("REC-04")
def test_a_file_byte_by_byte() -> None:
    at = stand(slots=3, limit=5)
    began = at.clock.now()
    places = [put(at, "a", "u"), put(at, "a b")]
    name = file_name(began)
    assert at.disk.names("store/index") == [name]
    data = (at.disk.read(f"store/index/{name}") or b"").ljust(40 + 3 * 4 + 5 * 20, b"\0")
    assert at.disk.size(f"store/index/{name}") == len(data)
    hashes = [key_hash(key) for key in ("T#u", "T#a", "T#a", "T#b")]
    slots, previous, expected = [0, 0, 0], [], b""
    for number, hashed in enumerate(hashes, 1):
        previous.append(slots[hashed % 3])
        slots[hashed % 3] = number
    for hashed, place, before in zip(hashes, (places[0], places[0], places[1], places[1]), previous, strict=True):
        expected += struct.pack(">iqii", hashed, place, 0, before)
    header = struct.pack(">qqqqii", began, began, places[0], places[1], previous.count(0), 5)
    assert data == header + struct.pack(">3i", *slots) + bytes(20) + expected


@behaviour("REC-04")
def test_index_has_the_unique_key_and_each_other_key() -> None:
    found = keys_of(Message("T", properties={"KEYS": " a  b ", "UNIQ_KEY": "u"}))
    assert list(found) == ["T#u", "T#a", "T#b"]
    assert list(keys_of(Message("T", properties={"UNIQ_KEY": ""}))) == ["T#"]
    assert list(keys_of(Message("T"))) == []


@behaviour("REC-04", "INV-36")
def test_index_has_prepared_but_no_rolled_back_messages() -> None:
    at = stand()
    places = {flag: put(at, f"k{flag}", sys_flag=flag) for flag in (0, PREPARED, COMMIT, ROLLBACK)}
    found = {flag: query(at, f"k{flag}") for flag in places}
    assert found == {0: [places[0]], PREPARED: [places[PREPARED]], COMMIT: [places[COMMIT]], ROLLBACK: []}


@behaviour("REC-04")
def test_message_without_keys_creates_an_empty_first_file() -> None:
    at = stand()
    put(at)
    (file,) = at.store.index.files
    assert bytes(at.disk.files[file.path]) == b""
    assert query(at, "") == []


@behaviour("REC-04")
def test_query_returns_the_time_range_newest_first() -> None:
    at = stand(slots=1)
    began = at.clock.now()
    places = []
    for number in range(5):
        places.append(put(at, "a" if number % 2 == 0 else "b"))
        at.clock.time += 1500
    assert query(at, "a") == [places[4], places[2], places[0]]
    assert query(at, "a", 2) == [places[4], places[2]]
    assert query(at, "a", begin=began, end=began + 2999) == [places[0]]
    assert query(at, "a", begin=began, end=began + 3000) == [places[2], places[0]]
    assert query(at, "a", begin=began + 3000) == [places[4], places[2]]
    assert query(at, "a", begin=began - 1000, end=began + 2000) == [places[0]]
    assert query(at, "a", begin=began - 1000, end=began + 60_000) == [places[4], places[2], places[0]]
    assert query(at, "a", begin=began - 2000, end=began - 1000) == query(at, "a", begin=began + 60_000) == []
    assert query(at, "b", begin=began + 1001, end=began + 2000) == []  # seconds, rounded down: 1.5 counts as 1
    assert query(at, "b", begin=began + 1000, end=began + 2000) == [places[1]]


@pytest.mark.parametrize(("count", "number"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_file_continues_after_its_last_entry_from_number_1(count: int, number: int) -> None:
    at = stand()
    put(at, "a")
    file = at.store.index.files[0]
    file.region.write(36, count.to_bytes(4))
    file.load()
    assert file.header.index_count == number


@behaviour("REC-04")
def test_at_most_64_are_found() -> None:
    at = stand()
    for _ in range(70):
        put(at, "a")
    assert len(query(at, "a", 1000)) == 64


@behaviour("REC-04")
def test_keys_with_equal_hashes_match_each_other() -> None:
    at = stand()
    place = put(at, "Aa")
    assert query(at, "BB") == [place]


@behaviour("REC-04")
def test_full_file_is_forced_when_the_next_begins() -> None:
    at = stand(limit=3)  # numbers 1 and 2
    began = at.clock.now()
    places = [put(at, "a b c")]
    at.clock.time += 5000
    places.append(put(at, "d"))
    first, second = at.store.index.files
    assert (first.header.index_count, second.header.index_count) == (3, 3)
    assert first.entry(2) == IndexEntry(key_hash("T#b"), places[0], 0, 0)
    assert second.header.begin_timestamp == began  # the record that did not fit
    assert second.entry(2).seconds == 5
    assert at.store.checkpoint.index_msg_timestamp == began
    assert at.disk.regions[first.path].forced > 0
    assert (query(at, "a"), query(at, "c"), query(at, "d")) == ([places[0]], [places[0]], [places[1]])
    assert first.path != second.path


@behaviour("REC-04", "REC-02")
def test_next_file_does_not_repeat_entries_of_the_previous() -> None:
    at = stand(limit=3)
    places = [put(at, key) for key in "ab"]
    put(at)  # begins the next file
    _, second = at.store.index.files
    assert (second.header.begin_physical_offset, second.header.end_physical_offset) == (places[1], places[1])
    at.store.dispatched_to = 0
    at.store.dispatch()
    assert query(at, "a") == [places[0]]


@behaviour("REC-04", "REC-02")
def test_last_file_does_not_repeat_its_own_entries() -> None:
    at = stand()
    put(at, "a")
    place = put(at, "b")
    at.store.dispatched_to = 0
    at.store.dispatch()
    # The last record itself does not end after the end offset, so it is indexed once more.
    assert [at.store.index.files[0].entry(number).physical_offset for number in (1, 2, 3)] == [0, place, place]


@behaviour("REC-02")
def test_index_continues_after_a_clean_stop() -> None:
    at = stand()
    place = put(at, "a")
    at.scheduler.complete(at.store.stop())
    at = at.reopen()
    assert query(at, "a") == [place]
    again = put(at, "a")
    assert query(at, "a") == [again, place]


@behaviour("REC-02")
def test_after_a_crash_index_entries_after_the_checkpoint_are_rebuilt() -> None:
    at = stand(limit=3)
    for key in "abc":
        put(at, key)
        at.clock.time += 2000
    old, new = at.store.index.files
    at.disk.write("store/index/" + new.path.rpartition("/")[2], b"\xff" * int(at.disk.size(new.path) or 0))
    at = at.reopen()
    assert at.store.index.files[0].path == old.path
    assert len(query(at, "c")) == 1
    assert at.store.index.files[-1].path != new.path


@behaviour("REC-02")
def test_after_a_crash_without_checkpoint_the_index_is_rebuilt() -> None:
    at = stand()
    place = put(at, "a")
    (file,) = at.store.index.files
    at.clock.time += 1000
    at = at.reopen()
    assert query(at, "a") == [place]
    assert [each.path for each in at.store.index.files] != [file.path]


@behaviour("REC-04", "STO-04")
def test_an_index_that_cannot_be_built_stops_puts() -> None:
    at = stand()
    with at.failing("/index/", error=OSError("no room")):
        put(at, "a")
        assert at.store.flags.bits == WRITE_INDEX_FILE_ERROR
        assert at.store.max_offset("T", 0) == 1
        assert not at.put(message()).ok


@behaviour("REC-04")
def test_a_store_can_be_without_an_index() -> None:
    at = Stand(message_index_enable=False)
    put(at, "a")
    assert at.disk.names("store/index") == []
    assert query(at, "a") == []


@behaviour("REC-04")
@pytest.mark.parametrize(("key", "hashed"), [("", 0), ("a", 97), ("T#u", key_hash("T#u")), ("polygenelubricants", 0)])
def test_a_hash_is_never_negative(key: str, hashed: int) -> None:
    """The last key's hash is the smallest int, which is its own absolute value."""
    assert key_hash(key) == hashed


def test_a_file_is_named_by_the_local_time() -> None:
    moment = datetime(2026, 11, 21, 6, 26, 9).astimezone()
    assert file_name(int(moment.timestamp()) * 1000 + 7) == "20261121062609007"


@behaviour("REC-04", "REC-02")
def test_the_real_index_is_read_and_built_byte_for_byte() -> None:
    at = real_stand()
    at.settings.max_hash_slot_num, at.settings.max_index_num = 1000, 4000
    at = at.reopen()
    (name,) = (path for path in real_files() if path.startswith("index/"))
    (file,) = at.store.index.files
    assert file.header.index_count == 49
    for each in real_messages():
        for key in keys_of(each):
            found = at.store.index.query(each.topic, key.partition("#")[2], 64, 0, FOREVER)
            assert (each.physical_offset in found) is (each.transaction != ROLLBACK)
    fresh = real_stand(log_end=91_270)
    fresh.settings.max_hash_slot_num, fresh.settings.max_index_num = 1000, 4000
    fresh = fresh.reopen()
    (built,) = fresh.store.index.files
    data = real_files()[name]
    assert bytes(fresh.disk.files[built.path]).ljust(len(data), b"\0") == data
    assert file.header == built.header
