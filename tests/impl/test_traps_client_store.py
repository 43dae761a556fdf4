"""Places where a quick reading of the rules goes wrong: producer, name server, headers and store, in all four profiles."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from client_doubles import ADDRESS
from marks import behaviour, earlier, every, later
from simulated import present
from storing import Stand, appended, message, sized

from rocketproof_impl.java import JavaError
from rocketproof_impl.store import record
from rocketproof_impl.store.result import AppendMessageStatus, PutMessageStatus
from rocketproof_impl.tasks import Future
from rocketproof_protocol.flags import COMMIT, PREPARED, ROLLBACK
from rocketproof_protocol.properties import DELAY, REAL_QID, REAL_TOPIC, WAIT
from rocketproof_protocol.topics import SCHEDULE

OLD = ("P40", "P45")
A, B = ADDRESS["broker-a"], ADDRESS["broker-b"]
MIB4 = 4 << 20
FACE = "\U0001f600"  # one character, two UTF-16 units, four bytes


# Producer: routes


# Producer: choice of the queue


# Producer: attempts


# Producer: start, checks, request


# Name server


# Headers and answers

LETTERS = {"a": "pg", "b": "T", "c": "TBW102", "d": "4", "e": "-1", "f": "0", "g": "1700000000000", "h": "0"}


# Properties


# Store: what is refused, and where


@behaviour("STO-01", "STO-02", "APP-05")
@every
@pytest.mark.parametrize(("count", "units", "size"), [(8191, True, True), (8192, True, False), (16383, True, False), (16384, False, False)])
def test_properties_are_counted_in_units_first_and_in_bytes_later(profile: str, count: int, units: bool, size: bool) -> None:
    """8191 faces have 32764 bytes. 16384 have 32768 units, and fewer characters than that."""
    result = Stand(profile).put(message(properties_text=FACE * count))
    if size:
        assert result.ok
    elif not units:
        expected = PutMessageStatus.PROPERTIES_SIZE_EXCEEDED if profile in OLD else PutMessageStatus.MESSAGE_ILLEGAL
        assert (result.status, result.append) == (expected, None)
    elif profile in OLD:
        assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
        assert appended(result).status is AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED
    else:
        assert (result.status, result.append) == (PutMessageStatus.PROPERTIES_SIZE_EXCEEDED, None)


@behaviour("STO-01", "APP-06")
@earlier
def test_a_topic_has_127_characters_and_its_bytes_count_in_the_record(profile: str) -> None:
    result = appended(Stand(profile).put(message("\u00e9" * 127)))
    assert result.wrote_bytes == 91 + 5 + 254


@behaviour("CL-02", "APP-03", "APP-05")
@every
def test_the_text_of_a_delayed_message_is_tested_again_when_it_is_written_anew(profile: str) -> None:
    """Short enough as it came, too long with its real topic and queue; the message has moved by then."""
    given = message("T", 3, properties={"K": "v" * 32760, DELAY: "2"}, properties_text="K\x01" + "v" * 32760)
    stand = Stand(profile)
    assert not stand.put(given).ok
    assert (given.topic, given.queue_id) == (SCHEDULE, 1)
    assert stand.store.topic_queue_table == ({f"{SCHEDULE}-1": 0} if profile in OLD else {})


@behaviour("CL-02")
@every
@pytest.mark.parametrize("transaction", [PREPARED, ROLLBACK])
def test_the_level_of_a_prepared_message_is_not_even_read(profile: str, transaction: int) -> None:
    stand = Stand(profile)
    assert stand.put(message(sys_flag=transaction, properties={DELAY: "no number"})).ok
    with pytest.raises(JavaError, match="NumberFormatException"):
        stand.put(message(sys_flag=COMMIT, properties={DELAY: "no number"}))


@behaviour("CL-02", "CL-05", "STO-05")
@every
def test_an_exception_before_the_lock_leaves_no_trace(profile: str) -> None:
    stand = Stand(profile)
    with pytest.raises(JavaError):
        stand.put(message(properties={DELAY: "1e1"}))
    stand.scheduler.advance(2000)
    assert not stand.store.is_os_page_cache_busy()
    assert (stand.store.statistics.put_failed, stand.store.topic_queue_table) == (0, {})


@behaviour("CL-02", "INV-45")
@every
def test_real_topic_and_queue_of_the_sender_are_overwritten(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message("T", 3, properties={DELAY: "1", REAL_TOPIC: "elsewhere", REAL_QID: "99"}))
    (found,) = stand.store.records()
    assert (found.properties[REAL_TOPIC], found.properties[REAL_QID]) == ("T", "3")


@behaviour("CL-02", "HAZ-42")
@every
def test_a_delayed_message_to_the_schedule_topic_returns_there(profile: str) -> None:
    """The store rewrites it like any other: its real topic is the schedule topic, so it is delivered into a level's queue."""
    stand = Stand(profile)
    stand.put(message(SCHEDULE, 4, properties={DELAY: "1"}))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    assert stand.deliver() == 1
    first, second = stand.store.records()
    assert (first.queue_id, first.properties[REAL_TOPIC]) == (0, SCHEDULE)
    assert (second.topic, second.queue_id) == (SCHEDULE, 4)


# Store: the append


@behaviour("APP-11")
@earlier
def test_a_refused_append_takes_its_files_time_away(profile: str) -> None:
    """The file's time is the result's, and that of a refusal is 0; what is refused before the append leaves the file alone."""
    stand = Stand(profile)
    stand.put(message())
    (mapped,) = stand.store.commit_log.files.files
    assert mapped.store_timestamp == stand.clock.now()
    stand.put(message("t" * 128))
    assert mapped.store_timestamp == stand.clock.now()
    stand.put(message(body=b"x" * (MIB4 + 1)))
    assert (mapped.store_timestamp, mapped.wrote_position) == (0, 105)


@behaviour("APP-06", "APP-11")
@later
def test_a_refusal_before_the_lock_does_not_touch_the_file(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message())
    (mapped,) = stand.store.commit_log.files.files
    stand.put(message(body=b"x" * (MIB4 + 1)))
    assert mapped.store_timestamp == stand.clock.now()


@behaviour("APP-06", "CL-07")
@every
def test_where_the_size_is_tested_decides_whether_there_is_a_file(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(body=b"x" * (MIB4 + 1)))
    assert len(stand.store.commit_log.files.files) == (1 if profile in OLD else 0)


@behaviour("APP-03", "APP-04", "INV-35")
@every
def test_a_prepared_message_puts_its_queue_into_the_table_with_0(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message("T", 1, sys_flag=PREPARED))
    assert stand.store.topic_queue_table == {"T-1": 0}
    stand.store.topic_queue_table["T-1"] = 7
    assert appended(stand.put(message("T", 1, sys_flag=ROLLBACK))).queue_offset == 0
    assert stand.store.topic_queue_table == {"T-1": 7}


@behaviour("APP-03", "APP-10", "CL-08")
@every
def test_a_write_that_fails_half_way_leaves_a_queue_at_0_and_the_place_free(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message("T"))
    with stand.failing(), pytest.raises(JavaError):
        stand.put(message("U"))
    assert stand.store.topic_queue_table == {"T-0": 1, "U-0": 0}
    assert stand.store.max_phy_offset == 101 - 4
    assert stand.store.statistics.put_times == {"T": 1}
    assert stand.store.statistics.put_failed == 0


@behaviour("CL-08", "HAZ-22", "INV-34")
@every
def test_the_queue_offset_of_a_lost_message_is_used_again(profile: str) -> None:
    """The lost one is answered with the next one's place in the queue."""
    stand = Stand(profile, mapped_file_size_commit_log=200)
    lost = appended(stand.put(sized(193)))
    assert (lost.status, lost.queue_offset) == (AppendMessageStatus.END_OF_FILE, 0)
    stored = appended(stand.put(sized(192)))
    assert (stored.status, stored.queue_offset, stored.wrote_offset) == (AppendMessageStatus.PUT_OK, 0, 400)
    assert stand.store.statistics.put_times == {"T": 2}
    assert stand.store.statistics.put_sizes == {"T": 200 + 192}


@behaviour("REC-01", "HAZ-22")
@every
def test_the_id_of_a_lost_message_points_at_a_blank(profile: str) -> None:
    """Nothing asks for the magic number, so what is read there is a message without topic or body, or none."""
    stand = Stand(profile, mapped_file_size_commit_log=100)
    end = appended(stand.put(message()))
    assert int(end.msg_id[16:], 16) == end.wrote_offset == 100
    found = present(stand.store.look_message_by_offset(100))
    assert (found.topic, found.body, found.msg_id) == ("", None, "0" * 32)
    small = Stand(profile, mapped_file_size_commit_log=90)
    assert small.store.look_message_by_offset(appended(small.put(message())).wrote_offset) is None


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


@behaviour("CL-01", "APP-08")
@pytest.mark.parametrize(("body", "crc"), [(None, 0), (b"", 0), (b"a", 1756872259), (b"123456789", 0xCBF43926 & 0x7FFFFFFF)])
def test_the_checksum_loses_its_sign_bit_and_nothing_else(body: bytes | None, crc: int) -> None:
    assert record.body_crc(body) == crc


@behaviour("CL-06", "REC-04")
@every
def test_the_time_of_delivery_counts_from_the_lock(profile: str) -> None:
    """A message that waits for the lock is later in every respect."""
    stand = Stand(profile)
    stand.store.commit_log.lock.held = True
    task = stand.scheduler.spawn(stand.store.put_message(message(properties={DELAY: "3"})))
    stand.scheduler.advance(400)
    stand.store.commit_log.lock.release()
    assert stand.scheduler.run(task.done).ok
    stand.store.dispatch()
    queue = stand.store.queues.find(SCHEDULE, 2)
    entry = present(queue.entry(0) if queue is not None else None)
    assert entry.tags_code == stand.clock.now() + 10_000


@behaviour("REC-04")
@every
def test_a_negative_hash_fills_all_eight_bytes(profile: str) -> None:
    stand = Stand(profile)
    stand.put(message(properties_text="TAGS\x01TagB-negative"))
    stand.put(message(properties_text="TAGS\x01polygenelubricants\x02"))  # the smallest int
    stand.store.dispatch()
    data = bytes(stand.disk.files["store/consumequeue/TopicTest/0/00000000000000000000"])
    assert data[32:40] == (-(2**31)).to_bytes(8, "big", signed=True)


@behaviour("REC-05", "CL-09", "APP-10")
@every
def test_a_delivery_is_a_put_of_its_own(profile: str) -> None:
    """Another place, another time of storing, counted for its own topic; its birth and its count of consumptions stay."""
    stand = Stand(profile)
    for _ in range(2):
        stand.put(message("T", 5))
    stand.put(message("T", 5, born_timestamp=77, born_host=("10.0.0.9", 9), reconsume_times=4, properties={DELAY: "1"}))
    stand.store.dispatch()
    stand.scheduler.advance(999)
    assert stand.deliver() == 0
    stand.scheduler.advance(1)
    assert stand.deliver() == 1
    *_, delayed, found = stand.store.records()
    assert (found.topic, found.queue_id, found.queue_offset) == ("T", 5, 2)
    assert found.store_timestamp == delayed.store_timestamp + 1000
    assert found.msg_id != delayed.msg_id
    assert (found.born_timestamp, found.born_host, found.reconsume_times) == (77, ("10.0.0.9", 9), 4)
    assert stand.store.statistics.put_times == {"T": 3, SCHEDULE: 1}


@behaviour("REC-03", "APP-04")
@every
def test_after_a_restart_the_queues_count_on_from_their_entries(profile: str) -> None:
    stand = Stand(profile)
    for flag in (0, PREPARED, COMMIT, PREPARED):
        stand.put(message("T", sys_flag=flag))
    stand.put(message("U", sys_flag=PREPARED))
    stand.store.dispatch()
    fresh = stand.reopen()
    assert fresh.store.topic_queue_table == {"T-0": 2}
    assert appended(fresh.put(message("T"))).queue_offset == 2


# Store: flush and replica


class Silent:
    """A flush or a set of replicas that never answers; it notes what it is asked for."""

    def __init__(self) -> None:
        self.connections = 1
        self.push2_slave_max_offset = 0
        self.asked: list[int] = []
        self.woken = 0

    def request(self, next_offset: int) -> Future[bool]:
        self.asked.append(next_offset)
        return Future()

    def wakeup(self) -> None:
        self.woken += 1


def waiting(profile: str, **settings: Any) -> tuple[Stand, Silent, Silent]:
    chosen: dict[str, Any] = {"flush_disk_type": "SYNC_FLUSH", "broker_role": "SYNC_MASTER"} | settings
    stand = Stand(profile, **chosen)
    flush, replicas = Silent(), Silent()
    stand.store.flush, stand.store.replicas = flush, replicas
    return stand, flush, replicas


@behaviour("FLU-02", "CL-08", "HAZ-22")
@every
def test_a_lost_message_is_waited_for_too(profile: str) -> None:
    """Its blank ends where its file ends, and that has to be flushed and copied."""
    stand, flush, replicas = waiting(profile, mapped_file_size_commit_log=100)
    result = stand.put(message())
    assert (result.status, result.ok) == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, False)
    assert flush.asked == replicas.asked == [200]


@behaviour("FLU-02", "SEND-25")
@every
def test_the_map_decides_whether_to_wait_and_not_the_text(profile: str) -> None:
    stand, flush, replicas = waiting(profile)
    assert stand.put(message(properties={WAIT: "false"}, properties_text="K\x01v")).status is PutMessageStatus.PUT_OK
    assert (flush.asked, flush.woken, replicas.asked) == ([], 1, [])
    assert stand.put(message(properties={}, properties_text="WAIT\x01false")).status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT


@behaviour("FLU-07")
@every
def test_the_lag_counts_to_the_end_of_the_record(profile: str) -> None:
    stand, _, replicas = waiting(profile, flush_disk_type="ASYNC_FLUSH", ha_slave_fall_behind_max=210)
    stand.put(message())
    assert stand.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE, "210 bytes behind are too many"
    replicas.push2_slave_max_offset = 106
    assert stand.put(message()).status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT, "209 are not"
    assert replicas.asked == [105, 315]


@behaviour("FLU-08", "FLU-07")
@every
def test_a_missing_slave_is_answered_after_the_disk(profile: str) -> None:
    """The answer is known at once, and given when the flush is over."""
    stand, _, replicas = waiting(profile)
    replicas.connections = 0
    began = stand.clock.now()
    assert stand.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE
    assert stand.clock.now() - began == 5000


@behaviour("STO-05", "FLU-02")
@every
def test_the_longest_put_has_its_waiting_in_it_and_is_no_failure(profile: str) -> None:
    stand, _, _ = waiting(profile, broker_role="ASYNC_MASTER", sync_flush_timeout=321)
    assert stand.put(message()).ok
    assert (stand.store.statistics.put_longest, stand.store.statistics.put_failed) == (321, 0)


@behaviour("CL-04", "FLU-02")
@every
def test_the_lock_is_free_while_a_put_waits(profile: str) -> None:
    stand, _, _ = waiting(profile)
    stand.scheduler.spawn(stand.store.put_message(message()))
    stand.scheduler.advance(2000)
    assert not stand.store.commit_log.lock.held
    assert not stand.store.is_os_page_cache_busy()
    assert appended(stand.put(message(properties={WAIT: "false"}))).queue_offset == 1


# Store: its state


@behaviour("STO-03", "STO-01")
@every
def test_a_refused_put_is_still_refused_by_the_same_holder(profile: str) -> None:
    """A put that holds the lock for a second makes the store busy for the others, and its end makes it free."""
    stand = Stand(profile)
    log = stand.store.commit_log
    log.begin_time_in_lock = stand.clock.now()
    stand.scheduler.advance(1000)
    assert stand.put(message()).status is PutMessageStatus.PUT_OK, "exactly a second is not busy"
    assert log.begin_time_in_lock == 0, "the put itself has set it anew"
    stand.scheduler.advance(5000)
    assert stand.put(message()).status is PutMessageStatus.PUT_OK


@behaviour("STO-01", "STO-02")
@every
def test_a_slave_stays_a_slave_whatever_else_is_wrong(profile: str) -> None:
    stand = Stand(profile, broker_role="SLAVE")
    stand.store.commit_log.begin_time_in_lock = stand.clock.now() - 2000
    assert stand.put(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    stand.settings.broker_role = "ASYNC_MASTER"
    assert stand.put(message()).status is PutMessageStatus.OS_PAGECACHE_BUSY
    assert stand.store.statistics.put_failed == 0
