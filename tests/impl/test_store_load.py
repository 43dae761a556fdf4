"""Reads by offset, by queue, and by a new process on an old disk."""

from __future__ import annotations

import pytest
from marks import behaviour, every
from simulated import present
from storing import LOG, Stand, appended, listing, message, real_messages, real_stand, sized

from rocketproof_impl.simulator.disk import ProcessEnded
from rocketproof_impl.store.consumequeue import ENTRY_SIZE, ConsumeQueueEntry
from rocketproof_protocol.flags import COMMIT, PREPARED, ROLLBACK

QUEUE = "store/consumequeue/TopicTest/0/00000000000000000000"


# By offset


@pytest.fixture
def stand() -> Stand:
    return Stand()


@behaviour("REC-01")
@pytest.mark.parametrize("offset", [-1, -105, 210, 211, 207, 1 << 40])
def test_read_outside_the_log_is_none(stand: Stand, offset: int) -> None:
    stand.put(message())
    stand.put(message())
    assert stand.store.look_message_by_offset(offset) is None


@behaviour("REC-01")
def test_read_inside_a_record_is_garbage_or_none(stand: Stand) -> None:
    stand.put(message())
    assert all(stand.store.look_message_by_offset(offset) is None for offset in range(1, 105))
    inner = bytes(stand.log())
    stand.put(message(body=inner))
    found = present(stand.store.look_message_by_offset(105 + 88))
    assert found.physical_offset == 0  # the offset in the record, not the offset of the read


@behaviour("REC-01", "HAZ-22")
@every
def test_the_id_of_a_lost_message_points_at_a_blank(profile: str) -> None:
    """The reader does not check the magic number, so it returns a message without topic and body, or None."""
    stand = Stand(profile, mapped_file_size_commit_log=100)
    end = appended(stand.put(message()))
    assert int(end.msg_id[16:], 16) == end.wrote_offset == 100
    found = present(stand.store.look_message_by_offset(100))
    assert (found.topic, found.body, found.msg_id) == ("", None, "0" * 32)
    small = Stand(profile, mapped_file_size_commit_log=90)
    assert small.store.look_message_by_offset(appended(small.put(message())).wrote_offset) is None


@behaviour("REC-01")
def test_a_record_in_the_second_file_is_found() -> None:
    stand = Stand(mapped_file_size_commit_log=200)
    for number in range(3):
        stand.put(message(body=b"%05d" % number))
    found = present(stand.store.look_message_by_offset(400))
    assert found.body == b"00002"


# Dispatch


@behaviour("REC-04", "HAZ-12", "INV-36")
def test_prepared_and_rolled_back_messages_have_no_queue_entry(stand: Stand) -> None:
    for flag in (0, PREPARED, COMMIT, ROLLBACK):
        stand.put(message(sys_flag=flag))
    assert stand.store.dispatch() == 4
    assert stand.store.max_offset("TopicTest", 0) == 2
    entries = [stand.store.queues.queues["TopicTest", 0].entry(index) for index in range(3)]
    assert entries == [ConsumeQueueEntry(0, 105, 0), ConsumeQueueEntry(210, 105, 0), None]
    assert bytes(stand.disk.files[QUEUE])[:20] == (0).to_bytes(8, "big") + (105).to_bytes(4, "big") + bytes(8)


@behaviour("REC-04")
def test_dispatch_goes_in_order_and_can_stop_anywhere() -> None:
    stand = Stand(mapped_file_size_commit_log=400)
    for number in range(8):
        stand.put(message(queue_id=number % 2))
    ends = []
    while stand.store.dispatch(3):
        ends.append((stand.store.dispatched_to, stand.store.max_offset("TopicTest", 0), stand.store.max_offset("TopicTest", 1)))
    assert ends == [(315, 2, 1), (715, 3, 3), (1010, 4, 4)]
    assert stand.store.dispatched_to == stand.store.max_phy_offset
    assert stand.store.dispatch() == 0


@behaviour("REC-04")
def test_dispatch_skips_existing_entries(stand: Stand) -> None:
    for _ in range(3):
        stand.put(message())
    stand.store.dispatch()
    queue = stand.store.queues.queues["TopicTest", 0]
    before = bytes(stand.disk.files[QUEUE])
    stand.store.dispatched_to = 0
    assert stand.store.dispatch() == 3
    assert (bytes(stand.disk.files[QUEUE]), queue.max_offset) == (before, 3)
    queue.put(3, ConsumeQueueEntry(314, 1, 0))
    assert queue.max_offset == 3
    queue.put(3, ConsumeQueueEntry(314, 2, 0))
    assert queue.max_offset == 4
    queue.put(0, ConsumeQueueEntry(316, 1, 0))
    assert queue.entry(0) == ConsumeQueueEntry(0, 105, 0)


@behaviour("REC-04")
def test_a_consume_queue_has_many_files() -> None:
    stand = Stand(mapped_file_size_consume_queue=3 * ENTRY_SIZE)
    for _ in range(8):
        stand.put(message())
    stand.store.dispatch()
    names = [path for path in stand.disk.files if "consumequeue" in path]
    assert names == [f"store/consumequeue/TopicTest/0/{offset:020d}" for offset in (0, 60, 120)]
    found = [stand.store.get_message("TopicTest", 0, index) for index in range(-1, 9)]
    assert [each and each.queue_offset for each in found] == [None, *range(8), None]
    assert stand.reopen().store.max_offset("TopicTest", 0) == 8


@behaviour("REC-04")
def test_a_queue_file_that_cannot_be_made_stops_dispatch_there(stand: Stand) -> None:
    stand.put(message("A"))
    stand.put(message("B"))
    with stand.failing("/B/"):
        with pytest.raises(OSError, match="next file"):
            stand.store.dispatch()
        assert stand.store.dispatched_to == 101 - 4
    assert stand.store.dispatch() == 1
    assert stand.store.max_offset("B", 0) == 1


# A new process


@behaviour("REC-02", "REC-04", "INV-34", "INV-36")
@pytest.mark.parametrize("dispatched", [0, 4, 9])
def test_new_process_continues_the_queues(dispatched: int) -> None:
    stand = Stand(mapped_file_size_commit_log=400)
    for number in range(9):
        stand.put(message(queue_id=number % 2, sys_flag=PREPARED if number == 8 else 0))
    stand.store.dispatch(dispatched)
    end, table = stand.store.max_phy_offset, dict(stand.store.topic_queue_table)
    before = list(stand.store.records())
    stand = stand.reopen()
    assert (stand.store.max_phy_offset, stand.store.flushed_where) == (end, end)
    assert list(stand.store.records()) == before
    assert stand.store.topic_queue_table == table == {"TopicTest-0": 4, "TopicTest-1": 4}
    result = appended(stand.put(message()))
    assert (result.wrote_offset, result.queue_offset) == (1200, 4)
    assert stand.store.dispatch() == 1
    assert stand.store.max_offset("TopicTest", 0) == 5


@behaviour("REC-02", "APP-07")
@pytest.mark.parametrize("last", [100, 192, 292])
def test_full_last_file(last: int) -> None:
    """The log ends with a record and free space, a record and eight bytes, or a blank."""
    stand = Stand(mapped_file_size_commit_log=300)
    stand.put(sized(100))
    stand.put(sized(last))
    end = stand.store.max_phy_offset
    again = stand.reopen()
    assert again.store.max_phy_offset == end
    assert [record.store_size for record in again.store.records()] == [100, last]


@behaviour("REC-02")
@pytest.mark.parametrize("steps", [0, 1])
def test_torn_record_is_truncated_and_its_offset_reused(steps: int) -> None:
    stand = Stand()
    stand.put(message())
    stand.store.dispatch()
    stand.disk.end_after(steps)
    with pytest.raises(ProcessEnded):
        stand.put(message(body=b"y" * 500))
    stand.disk.end_after(None)
    stand = stand.reopen()
    assert stand.store.max_phy_offset == 105
    result = appended(stand.put(message()))
    assert (result.wrote_offset, result.queue_offset) == (105, 1)


@behaviour("REC-02", "REC-03", "INV-34")
def test_truncated_entries_reappear_when_the_log_grows_past_them() -> None:
    """Truncation does not wipe them. A real 4.9.4 with such a store also continues from 1 to 5."""
    stand = Stand()
    for _ in range(5):
        stand.put(message())
    stand.store.dispatch()
    stand.disk.files[LOG][105 + 90] ^= 0xFF
    stand = stand.reopen()
    assert stand.store.max_offset("TopicTest", 0) == 1
    for _ in range(9):
        stand.put(message("U"))
    stand = stand.reopen()
    assert stand.store.max_offset("TopicTest", 0) == stand.store.topic_queue_table["TopicTest-0"] == 5
    assert stand.store.get_message("TopicTest", 0, 4) is None


@behaviour("REC-02", "REC-03")
def test_queue_with_an_empty_file_has_an_entry_after_start(stand: Stand) -> None:
    """A real 4.9.4 answers 1 for the end of such a queue: it does not check the size of the first entry."""
    stand.put(message())
    stand.store.dispatch()
    stand.disk.map("store/consumequeue/P/0/00000000000000000000", stand.settings.mapped_file_size_consume_queue)
    assert stand.reopen().store.max_offset("P", 0) == 1


@behaviour("REC-03")
def test_prepared_messages_do_not_bring_a_queue_into_the_table(stand: Stand) -> None:
    stand.put(message(sys_flag=PREPARED))
    assert stand.store.topic_queue_table == {"TopicTest-0": 0}
    assert stand.reopen().store.topic_queue_table == {}


@behaviour("REC-02")
def test_an_empty_disk_is_opened() -> None:
    stand = Stand().reopen()
    assert (stand.store.max_phy_offset, stand.store.dispatched_to, stand.store.topic_queue_table) == (0, 0, {})


@behaviour("REC-02")
def test_a_file_that_cannot_be_opened_stops_the_start(stand: Stand) -> None:
    stand.put(message())
    with stand.failing():
        assert not stand.store.load()


@behaviour("REC-02", "REC-03", "REC-04", "APP-08")
def test_the_real_store_is_opened() -> None:
    stand = real_stand()
    assert stand.store.load()
    assert stand.store.max_phy_offset == stand.store.dispatched_to == 91_270
    assert list(stand.store.records()) == real_messages()
    assert stand.store.topic_queue_table["w4r4-2"] == stand.store.max_offset("w4r4", 2) == 8
    assert "w8r4-0" not in stand.store.topic_queue_table
    last = present(stand.store.get_message("w4r4", 2, 7))
    assert last.physical_offset == listing()[-1]["offset"]
    assert appended(stand.put(message("w4r4", 2))).queue_offset == 8


@behaviour("REC-04", "INV-36")
def test_deletion_restarts_the_queues_and_removes_half_messages(stand: Stand) -> None:
    """Recorded: case 276, and the store that 4.9.4 left."""
    topics = ["A", "B", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"]
    for topic in topics:
        stand.put(message(topic))
    stand.store.dispatch()
    stand.store.clean_unused_topics({"B"})
    kept = ["B", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_OP_HALF_TOPIC"]
    assert sorted(stand.store.topic_queue_table) == sorted(f"{topic}-0" for topic in kept)
    assert stand.disk.names("store/consumequeue") == sorted(kept)
    assert [appended(stand.put(message(topic))).queue_offset for topic in topics] == [0, 1, 1, 0, 1]
    stand.store.dispatch()
    assert [stand.store.max_offset(topic, 0) for topic in topics] == [1, 2, 2, 1, 2]


@behaviour("TCM-31")
@pytest.mark.parametrize(("profile", "length"), [("P452", 0), ("P460", 0), ("P471", 0), ("P480", 0), ("P490", 1), ("P494", 1), ("P533", 1)])
def test_deletion_removes_transaction_ends_up_to_480(profile: str, length: int) -> None:
    stand = Stand(profile)
    for topic in ("A", "RMQ_SYS_TRANS_OP_HALF_TOPIC"):
        stand.put(message(topic))
    stand.store.dispatch()
    stand.store.clean_unused_topics({"B"})
    assert stand.store.max_offset("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0) == length
