"""The checks of the store before an append, and its counters afterwards."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from marks import behaviour, earlier, either, every
from storing import Stand, appended, message, sized

from rocketproof_impl.java import JavaError
from rocketproof_impl.store.files import MappedFile, MappedFileQueue
from rocketproof_impl.store.result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult
from rocketproof_protocol.flags import COMPRESSED
from rocketproof_protocol.properties import DELAY, REAL_QID, REAL_TOPIC, WAIT
from rocketproof_protocol.topics import SCHEDULE

FACE = "\U0001f600"  # one character, two UTF-16 units, four bytes


def busy(stand: Stand, millis: int = 5000) -> None:
    """Return a store whose put lock has been held for this long."""
    stand.store.commit_log.begin_time_in_lock = stand.clock.now() - millis


def status(stand: Stand, **fields: Any) -> PutMessageStatus:
    """Return the status of a refused put; it has no append result and changes nothing."""
    result = stand.put(message(**fields))
    assert result.append is None
    assert stand.store.statistics.put_failed == 0
    assert stand.store.max_phy_offset == 0
    assert not stand.store.topic_queue_table
    return result.status


# G.1


@behaviour("STO-01", "STO-02", "M-96")
@either
@pytest.mark.parametrize("why", ["shutdown", "slave", "flags"])
def test_unavailable_store_refuses_before_it_checks_the_message(profile: str, why: str) -> None:
    stand = Stand(profile, broker_role="SLAVE" if why == "slave" else "ASYNC_MASTER")
    stand.store.shutdown = why == "shutdown"
    stand.store.flags.bits = 2 if why == "flags" else 0
    busy(stand)
    assert status(stand, topic="t" * 128, properties_text="p" * 40_000) is PutMessageStatus.SERVICE_NOT_AVAILABLE
    batch = message("t" * 128)
    assert stand.put_batch(batch).status is PutMessageStatus.SERVICE_NOT_AVAILABLE


@behaviour("STO-04")
@pytest.mark.parametrize(
    ("bits", "writable"), [(0, True), (1, True), (2, False), (4, False), (8, False), (16, False), (32, True), (17, False)]
)
def test_four_bits_forbid_writing(bits: int, writable: bool) -> None:
    stand = Stand()
    stand.store.flags.bits = bits
    assert stand.store.flags.writable is writable
    assert (stand.put(message()).status is PutMessageStatus.PUT_OK) is writable


@behaviour("STO-01", "STO-02")
@either
def test_topic_has_127_characters_at_most(profile: str) -> None:
    assert Stand(profile).put(message("t" * 127)).status is PutMessageStatus.PUT_OK
    assert status(Stand(profile), topic="t" * 128) is PutMessageStatus.MESSAGE_ILLEGAL
    assert status(Stand(profile), topic=FACE * 64) is PutMessageStatus.MESSAGE_ILLEGAL  # 128 UTF-16 units


@behaviour("STO-01", "APP-06")
@earlier
def test_topics_length_in_bytes_counts_in_the_record(profile: str) -> None:
    assert appended(Stand(profile).put(message("\u00e9" * 127))).wrote_bytes == 91 + 5 + 254


PROPERTIES = {
    "none": (None, "fit"),
    "32767 characters": ("p" * 32767, "fit"),
    "32767 bytes": ("\u00e9" * 16383 + "x", "fit"),
    "32764 bytes in pairs of units": (FACE * 8191, "fit"),
    "32768 characters": ("p" * 32768, "too many units"),
    "32768 units in fewer characters": (FACE * 16384, "too many units"),
    "32768 bytes": ("\u00e9" * 16384, "too many bytes"),
    "32768 bytes in pairs of units": (FACE * 8192, "too many bytes"),
    "32766 units": (FACE * 16383, "too many bytes"),
}


@pytest.mark.parametrize(("text", "expected"), PROPERTIES.values(), ids=PROPERTIES.keys())
@every
@behaviour("STO-01", "STO-02", "APP-05", "M-90")
def test_properties_are_counted_in_units_first_and_in_bytes_later(profile: str, text: str | None, expected: str) -> None:
    earlier_one, stand = profile in ("P40", "P45"), Stand(profile)
    result = stand.put(message(properties_text=text))
    assert len(list(stand.store.records())) == (expected == "fit")
    if expected == "fit":
        assert result.ok
    elif expected == "too many units":
        refused = PutMessageStatus.PROPERTIES_SIZE_EXCEEDED if earlier_one else PutMessageStatus.MESSAGE_ILLEGAL
        assert (result.status, result.append) == (refused, None)
    elif earlier_one:
        assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
        assert (appended(result).status, appended(result).wrote_bytes) == (AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED, 0)
    else:
        assert (result.status, result.append) == (PutMessageStatus.PROPERTIES_SIZE_EXCEEDED, None)


@behaviour("STO-01", "STO-02")
@either
def test_page_cache_is_checked_last_or_first(profile: str) -> None:
    for fields in ({"topic": "t" * 128}, {"properties_text": "p" * 32768}):
        stand = Stand(profile)
        expected = PutMessageStatus.OS_PAGECACHE_BUSY if profile == "P49" else status(Stand(profile), **fields)
        busy(stand)
        assert status(stand, **fields) is expected
    stand = Stand(profile)
    busy(stand)
    assert status(stand) is PutMessageStatus.OS_PAGECACHE_BUSY
    assert stand.put_batch(message()).status is PutMessageStatus.OS_PAGECACHE_BUSY


@behaviour("STO-01", "STO-02")
def test_the_topic_is_tested_before_the_properties() -> None:
    assert status(Stand("P45"), topic="t" * 128, properties_text="p" * 32768) is PutMessageStatus.MESSAGE_ILLEGAL


@behaviour("STO-03", "M-95")
@pytest.mark.parametrize(("held", "is_busy"), [(0, False), (1000, False), (1001, True), (9_999_999, True), (10_000_000, False)])
def test_the_page_cache_is_busy_between_two_bounds(held: int, is_busy: bool) -> None:
    stand = Stand()
    busy(stand, held)
    assert stand.store.is_os_page_cache_busy() is is_busy
    assert (stand.put(message()).status is PutMessageStatus.OS_PAGECACHE_BUSY) is is_busy


@behaviour("STO-03", "M-95")
def test_clock_near_zero_makes_an_idle_store_busy() -> None:
    stand = Stand()
    stand.clock.time = 5000
    assert status(stand) is PutMessageStatus.OS_PAGECACHE_BUSY
    stand.clock.time = 10_000_001
    assert stand.put(message()).status is PutMessageStatus.PUT_OK
    stand.scheduler.advance(5000)
    assert not stand.store.is_os_page_cache_busy()


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@behaviour("STO-05", "CL-09")
@either
def test_failed_puts_are_counted_only_after_the_checks(stand: Stand) -> None:
    stand.put(message("t" * 128))
    assert stand.store.statistics.put_failed == 0
    stand.put(message(body=b"x" * (4 << 20)))
    assert stand.store.statistics.put_failed == 1
    stand.put(message())
    assert stand.store.statistics.put_failed == 1
    assert stand.store.statistics.put_times == {"TopicTest": 1}
    assert stand.store.statistics.put_sizes == {"TopicTest": 105}


@behaviour("STO-05")
def test_longest_put_is_kept_and_slow_puts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    stand = Stand("P49", flush_disk_type="SYNC_FLUSH")
    for pause in (500, 501, 100):
        stand.store.commit_log.lock.held = True
        task = stand.scheduler.spawn(stand.store.put_message(message()))
        stand.scheduler.advance(pause)
        stand.store.commit_log.lock.release()
        stand.scheduler.run(task.done)
    assert stand.store.statistics.put_longest == 501
    assert [record.getMessage() for record in caplog.records] == ["not in lock elapsed time(ms)=501"]


# G.2


@behaviour("CL-01", "INV-41", "M-85")
@either
def test_checksum_covers_the_body_as_sent(profile: str) -> None:
    stand, compressed = Stand(profile), zlib.compress(b"a" * 5000)
    stand.put(message(body=b"a", properties_text="K\x01v"))
    stand.put(message(body=None))
    stand.put(message(body=compressed, sys_flag=COMPRESSED))
    assert [record.body_crc for record in stand.store.records()] == [1756872259, 0, zlib.crc32(compressed) & 0x7FFFFFFF]


@behaviour("CL-01", "CL-06", "INV-42")
@either
def test_store_timestamp_is_the_time_of_the_lock(stand: Stand) -> None:
    began = stand.clock.now()
    stand.store.commit_log.lock.held = True
    given = message()
    task = stand.scheduler.spawn(stand.store.put_message(given))
    stand.scheduler.settle()
    assert given.store_timestamp == began
    stand.scheduler.advance(70)
    stand.store.commit_log.lock.release()
    result = stand.scheduler.run(task.done)
    assert given.store_timestamp == appended(result).store_timestamp == began + 70
    assert next(stand.store.records()).store_timestamp == began + 70
    assert stand.store.commit_log.files.files[0].store_timestamp == began + 70


@behaviour("CL-03")
@pytest.mark.parametrize(("profile", "early"), [("P45", True), ("P49", False)])
def test_last_file_is_read_before_or_inside_the_lock(stand: Stand, early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    files = stand.store.commit_log.files
    asked: list[bool] = []
    last = type(files).last

    def spy(queue: MappedFileQueue) -> MappedFile | None:
        asked.append(True)
        return last(queue)

    monkeypatch.setattr(type(files), "last", spy)
    stand.store.commit_log.lock.held = True
    task = stand.scheduler.spawn(stand.store.put_message(message()))
    stand.scheduler.settle()
    assert bool(asked) is early
    stand.store.commit_log.lock.release()
    assert stand.scheduler.run(task.done).ok


@behaviour("CL-04")
@either
def test_puts_wait_for_the_lock_and_release_it(stand: Stand) -> None:
    stand.store.commit_log.lock.held = True
    tasks = [stand.scheduler.spawn(stand.store.put_message(message(queue_id=number))) for number in range(3)]
    stand.scheduler.settle()
    assert stand.store.max_phy_offset == 0
    stand.store.commit_log.lock.release()
    stand.scheduler.settle()
    assert [appended(task.result()).wrote_offset for task in tasks] == [0, 105, 210]
    assert not stand.store.commit_log.lock.held


@behaviour("CL-05", "STO-03")
@either
def test_begin_time_in_lock_is_set_and_reset(stand: Stand) -> None:
    """Also if no file can be created, and if the record is too large."""
    seen: list[int] = []

    def failing(operation: str, path: str) -> None:
        del operation, path
        seen.append(stand.store.commit_log.begin_time_in_lock)

    stand.disk.failing = failing
    for given in (message(), message(body=b"x" * (4 << 20))):
        stand.put(given)
        assert stand.store.commit_log.begin_time_in_lock == 0
    assert set(seen) == {stand.clock.now()}


@behaviour("CL-05", "HAZ-23", "APP-03", "APP-10", "CL-08")
@pytest.mark.parametrize(("profile", "stuck"), [("P40", True), ("P45", True), ("P49", False), ("P494", False)])
def test_throwing_append_leaves_a_queue_at_0(stand: Stand, stuck: bool) -> None:
    stand.put(message("T"))
    began = stand.clock.now()
    with stand.failing(), pytest.raises(JavaError, match="InternalError"):
        stand.put(message("U"))
    assert (stand.store.topic_queue_table, stand.store.max_phy_offset) == ({"T-0": 1, "U-0": 0}, 97)
    assert (stand.store.statistics.put_times, stand.store.statistics.put_failed) == ({"T": 1}, 0)
    assert not stand.store.commit_log.lock.held
    assert stand.store.commit_log.begin_time_in_lock == (began if stuck else 0)
    stand.scheduler.advance(1001)
    assert (stand.put(message("U")).status is PutMessageStatus.OS_PAGECACHE_BUSY) is stuck
    stand.scheduler.advance(10_000_000 - 1001 - 1)
    assert stand.store.is_os_page_cache_busy() is stuck
    stand.scheduler.advance(1)
    assert stand.put(message("U")).ok
    assert [(found.topic, found.queue_offset) for found in stand.store.records()] == [("T", 0), ("U", 0), ("U", 1)][: 2 if stuck else 3]


@behaviour("CL-07")
@either
def test_without_a_file_nothing_is_appended(stand: Stand) -> None:
    with stand.failing():
        result = stand.put(message())
        assert (result.status, result.append, result.ok) == (PutMessageStatus.CREATE_MAPEDFILE_FAILED, None, False)
        assert stand.store.statistics.put_failed == 1
        assert not stand.store.statistics.put_times
    assert stand.put(message()).ok


@behaviour("CL-07")
@either
def test_a_full_file_is_followed_by_the_next(profile: str) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=200)
    for _ in range(3):
        stand.put(sized(192))  # the rest of the file has no room for a record and becomes a blank
    assert [appended(stand.put(sized(150))).wrote_offset for _ in range(2)] == [600, 800]
    assert sorted(stand.disk.files) == [f"store/commitlog/{number * 200:020d}" for number in range(5)]


@behaviour("CL-08", "APP-07", "APP-11", "M-84")
@either
def test_without_a_next_file_the_blanks_result_is_returned(profile: str) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=200)
    stand.put(sized(120))
    stand.scheduler.advance(5)
    with stand.failing(f"{200:020d}"):
        result = stand.put(sized(120))
    end = appended(result)
    assert (result.status, end.status) == (PutMessageStatus.CREATE_MAPEDFILE_FAILED, AppendMessageStatus.END_OF_FILE)
    assert (end.wrote_offset, end.wrote_bytes, end.msg_id) == (120, 80, f"7F00000100002A9F{120:016X}")
    assert stand.store.commit_log.files.files[0].store_timestamp == stand.clock.now()
    assert stand.store.topic_queue_table == {"T-0": 1}
    assert stand.store.commit_log.begin_time_in_lock == 0
    assert appended(stand.put(sized(120))).queue_offset == 1


@behaviour("CL-08", "HAZ-22", "INV-06")
@either
def test_record_larger_than_a_file_is_acknowledged_and_lost(profile: str) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=100)
    result = stand.put(message())
    assert result.status is PutMessageStatus.PUT_OK
    assert not result.ok
    end = appended(result)
    assert (end.status, end.wrote_offset, end.wrote_bytes) == (AppendMessageStatus.END_OF_FILE, 100, 100)
    assert end.msg_id == "7F00000100002A9F" + f"{100:016X}"
    assert list(stand.store.records()) == []
    assert stand.store.topic_queue_table == {"TopicTest-0": 0}
    assert stand.store.statistics.put_sizes == {"TopicTest": 100}
    assert stand.store.statistics.put_failed == 1
    assert appended(stand.put(message())).wrote_offset == 300


@behaviour("CL-08", "HAZ-22", "INV-34")
@every
def test_queue_offset_of_a_lost_message_is_reused(profile: str) -> None:
    """The answer for the lost message has the queue offset of the next message."""
    stand = Stand(profile, mapped_file_size_commit_log=200)
    lost = appended(stand.put(sized(193)))
    assert (lost.status, lost.queue_offset) == (AppendMessageStatus.END_OF_FILE, 0)
    stored = appended(stand.put(sized(192)))
    assert (stored.status, stored.queue_offset, stored.wrote_offset) == (AppendMessageStatus.PUT_OK, 0, 400)
    assert stand.store.statistics.put_times == {"T": 2}
    assert stand.store.statistics.put_sizes == {"T": 200 + 192}


@behaviour("CL-08", "CL-10", "APP-01")
def test_an_append_to_a_full_file_is_an_unknown_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand("P49", mapped_file_size_commit_log=200)
    stand.put(sized(192))
    stand.put(sized(100))
    full = stand.store.commit_log.files.files[0]
    assert full.is_full
    monkeypatch.setattr(type(full), "is_full", False)
    monkeypatch.setattr(stand.store.commit_log.files, "files", [full])
    result = stand.put(message("U"))
    assert result.status is PutMessageStatus.UNKNOWN_ERROR
    assert appended(result).status is AppendMessageStatus.UNKNOWN_ERROR
    assert "U-0" not in stand.store.topic_queue_table


@behaviour("CL-10", "M-62")
def test_ok_depends_on_the_append_alone() -> None:
    good, bad = AppendResult(AppendMessageStatus.PUT_OK), AppendResult(AppendMessageStatus.END_OF_FILE)
    assert PutResult(PutMessageStatus.FLUSH_DISK_TIMEOUT, good).ok
    assert not PutResult(PutMessageStatus.PUT_OK, bad).ok
    assert not PutResult(PutMessageStatus.PUT_OK, None).ok


@behaviour("CL-02", "INV-45", "M-91", "M-92", "M-93", "HAZ-13", "CL-09", "HAZ-14")
@either
@pytest.mark.parametrize(("level", "stored"), [("1", 1), ("3", 3), ("18", 18), ("19", 18), ("100", 18), ("2147483647", 18), ("+2", 2)])
def test_a_level_sends_a_message_to_the_schedule_topic(stand: Stand, profile: str, level: str, stored: int) -> None:
    sent = {"KEYS": "k", WAIT: "true", DELAY: level, REAL_TOPIC: "elsewhere", REAL_QID: "99"}  # the last two are overwritten
    given = message("T", 2, properties=sent, properties_text="as sent")
    result = stand.put(given)
    assert (given.topic, given.queue_id) == (SCHEDULE, stored - 1)
    (found,) = stand.store.records()
    assert (found.topic, found.queue_id, found.queue_offset) == (SCHEDULE, stored - 1, appended(result).queue_offset)
    expected = {"KEYS": "k", WAIT: "true", DELAY: str(stored) if stored == 18 else level, REAL_TOPIC: "T", REAL_QID: "2"}
    assert found.properties == expected
    assert found.properties_text is not None
    assert found.properties_text.endswith("\x02") is (profile == "P45")
    assert stand.store.topic_queue_table == {f"{SCHEDULE}-{stored - 1}": 1}
    assert stand.store.statistics.put_times == {SCHEDULE: 1}
    assert stand.store.statistics.put_sizes == {SCHEDULE: appended(result).wrote_bytes}


@behaviour("CL-02", "APP-03", "APP-05")
@every
def test_properties_of_a_delayed_message_are_checked_again_after_rewriting(profile: str) -> None:
    """The properties fit as sent, but not with the real topic and queue. The message has been moved to the schedule topic by then."""
    given = message("T", 3, properties={"K": "v" * 32760, DELAY: "2"}, properties_text="K\x01" + "v" * 32760)
    stand = Stand(profile)
    assert not stand.put(given).ok
    assert (given.topic, given.queue_id) == (SCHEDULE, 1)
    assert stand.store.topic_queue_table == ({f"{SCHEDULE}-1": 0} if profile in ("P40", "P45") else {})


@behaviour("CL-02")
@either
@pytest.mark.parametrize("level", ["0", "-1", "-2147483648", None])
def test_no_level_and_levels_below_one_change_nothing(stand: Stand, level: str | None) -> None:
    stand.put(message(properties={} if level is None else {DELAY: level}, properties_text="DELAY\x01" + (level or "9")))
    (found,) = stand.store.records()
    assert (found.topic, found.queue_id) == ("TopicTest", 0)
    assert found.properties == {DELAY: level or "9"}


@behaviour("CL-02", "CL-05", "STO-05")
@either
@pytest.mark.parametrize("level", ["x", "", "2147483648", "1.5", "1e1"])
def test_invalid_level_raises_before_the_lock_without_effects(stand: Stand, level: str) -> None:
    with pytest.raises(JavaError, match="NumberFormatException"):
        stand.put(message(properties={DELAY: level}))
    assert (stand.store.max_phy_offset, stand.store.topic_queue_table, stand.store.statistics.put_failed) == (0, {}, 0)
    assert not stand.store.commit_log.lock.held
    assert stand.store.commit_log.begin_time_in_lock == 0


@behaviour("CL-02", "M-94")
@either
@pytest.mark.parametrize(("sys_flag", "delayed"), [(0, True), (3, True), (4, False), (8, True), (9, True), (12, False)])
def test_only_ordinary_and_committed_messages_are_delayed(stand: Stand, sys_flag: int, delayed: bool) -> None:
    stand.put(message(sys_flag=sys_flag, properties={DELAY: "2" if delayed else "x"}))
    (found,) = stand.store.records()
    assert (found.topic == SCHEDULE) is delayed


@behaviour("HAZ-13", "INV-44")
def test_two_messages_of_a_queue_can_have_one_offset() -> None:
    stand = Stand()
    answers = [appended(stand.put(message("T", 2, properties=properties))).queue_offset for properties in ({}, {DELAY: "3"})]
    assert answers == [0, 0]
