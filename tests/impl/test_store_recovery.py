"""Log, queues and checkpoint in a new process: after a clean stop, and after a crash."""

from __future__ import annotations

from typing import Any

import pytest
from marks import behaviour
from simulated import present
from storing import LOG, Stand, appended, message, sized

from rocketproof_impl.simulator.disk import ProcessEnded
from rocketproof_impl.store.checkpoint import StoreCheckpoint
from rocketproof_impl.store.consumequeue import ConsumeQueueEntry
from rocketproof_protocol.flags import PREPARED

ABORT, CHECKPOINT = "store/abort", "store/checkpoint"
QUEUE = "store/consumequeue/T/0/00000000000000000000"
FILE = 300  # two records of 105 bytes, and a blank


def filled(files: int, **settings: Any) -> Stand:
    """Return a started store with this many files in its log, a second apart, all dispatched and flushed."""
    stand = Stand(mapped_file_size_commit_log=FILE, **settings)
    assert stand.store.load()
    stand.store.start()
    for _ in range(files):
        for _ in range(2):
            stand.put(sized(105))
        stand.clock.time += 1000
    stand.store.dispatch()
    stand.store.flush_now()
    return stand


def stop(stand: Stand) -> None:
    stand.scheduler.complete(stand.store.stop())


def log_file(number: int) -> str:
    return f"store/commitlog/{number * FILE:020d}"


# Abort file and checkpoint


@behaviour("REC-02")
def test_abort_file_exists_from_start_to_stop() -> None:
    stand = Stand()
    assert stand.store.load()
    assert ABORT not in stand.disk.files
    stand.store.start()
    assert stand.disk.read(ABORT) == b""
    stop(stand)
    assert ABORT not in stand.disk.files


@behaviour("REC-02")
def test_incomplete_stop_keeps_the_abort_file() -> None:
    stand = filled(1)
    stand.store.flags.bits |= 16
    stop(stand)
    assert ABORT in stand.disk.files
    stand = filled(1)
    stand.put(message())
    stop(stand)
    assert ABORT in stand.disk.files


@behaviour("REC-02")
def test_a_stop_writes_the_checkpoint() -> None:
    stand = filled(2)
    last = stand.store.commit_log.files.files[-1].store_timestamp
    stop(stand)
    data = present(stand.disk.read(CHECKPOINT))
    assert data[:24] == last.to_bytes(8, "big") * 2 + bytes(8)
    assert stand.disk.size(CHECKPOINT) == 4096
    assert stand.disk.regions[CHECKPOINT].forced > 0
    fresh = StoreCheckpoint(stand.disk, CHECKPOINT)
    fresh.load()
    assert (fresh.physic_msg_timestamp, fresh.logics_msg_timestamp, fresh.index_msg_timestamp) == (last, last, 0)


@behaviour("REC-02")
@pytest.mark.parametrize(
    ("physic", "logics", "index", "with_index", "least"),
    [
        (9000, 8000, 0, False, 5000),
        (7000, 8000, 0, False, 4000),
        (2000, 8000, 0, False, 0),
        (9000, 8000, 4500, True, 4500),
        (7000, 8000, 6000, True, 4000),
    ],
)
def test_safe_time_is_the_oldest_of_all_parts(physic: int, logics: int, index: int, with_index: bool, least: int) -> None:
    checkpoint = StoreCheckpoint(Stand().disk, CHECKPOINT)
    checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp, checkpoint.index_msg_timestamp = physic, logics, index
    assert checkpoint.min_timestamp(with_index=with_index) == least


@behaviour("REC-02")
def test_prepared_message_does_not_advance_the_queues_checkpoint() -> None:
    stand = Stand()
    stand.put(message(sys_flag=PREPARED))
    stand.store.dispatch()
    assert stand.store.checkpoint.logics_msg_timestamp == 0


@behaviour("REC-02")
def test_failed_checkpoint_write_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    stand = filled(1)
    with stand.failing(CHECKPOINT, error=OSError("no room")):
        stop(stand)
        assert "no room" in caplog.text
        assert ABORT not in stand.disk.files


# Start of recovery


@behaviour("REC-02")
@pytest.mark.parametrize("damaged", range(5))
def test_after_a_clean_stop_the_last_three_files_are_read(damaged: int) -> None:
    stand = filled(5)
    stop(stand)
    stand.disk.files[log_file(damaged)][4] ^= 0xFF
    store = stand.reopen().store
    end = 5 * FILE - 90 if damaged < 2 else damaged * FILE
    assert store.max_phy_offset == end
    assert store.max_offset("T", 0) == (10 if damaged < 2 else 2 * damaged)


@behaviour("REC-02")
@pytest.mark.parametrize(("checkpoint", "first"), [(None, 0), (-1, 0), (0, 1), (999, 1), (1000, 2), (3999, 4), (99_000, 4)])
def test_crash_recovery_starts_at_the_file_before_the_checkpoint(checkpoint: int | None, first: int) -> None:
    """Recovery does not detect damage before that file, but detects it inside. Times count from the second file; 3 s are subtracted."""
    for damaged in range(5):
        stand = filled(5)
        if checkpoint is None:
            stand.disk.delete(CHECKPOINT)
        else:
            moment = stand.clock.time - 4000 + checkpoint + 3000
            stand.store.checkpoint.physic_msg_timestamp = stand.store.checkpoint.logics_msg_timestamp = moment
            stand.store.checkpoint.flush()
        stand.disk.files[log_file(damaged)][4 + 105] ^= 0xFF
        assert stand.reopen().store.max_phy_offset == (damaged * FILE + 105 if damaged >= first else 5 * FILE - 90)


@behaviour("REC-02")
def test_recovery_cannot_start_without_a_first_record_and_time() -> None:
    stand = filled(3)
    stand.store.checkpoint.physic_msg_timestamp = stand.store.checkpoint.logics_msg_timestamp = stand.clock.time + 9000
    stand.store.checkpoint.flush()
    stand.disk.files[log_file(2)][4] ^= 0xFF
    for at in range(56, 64):
        stand.disk.files[log_file(1)][at] = 0
    stand.disk.files[log_file(0)][105 + 4] ^= 0xFF
    assert stand.reopen().store.max_phy_offset == 105


@behaviour("REC-02")
def test_index_time_counts_only_if_the_index_must_be_safe() -> None:
    stand = filled(3, message_index_safe=1)
    stand.store.checkpoint.physic_msg_timestamp = stand.store.checkpoint.logics_msg_timestamp = stand.clock.time + 9000
    stand.store.checkpoint.flush()
    stand.disk.files[log_file(0)][4 + 105] ^= 0xFF
    assert stand.reopen().store.max_phy_offset == 105
    stand.settings.message_index_safe = False
    assert filled(3).reopen().store.max_phy_offset == 3 * FILE - 90


# Rebuilding after a crash


@behaviour("REC-02", "REC-03", "REC-04")
@pytest.mark.parametrize("kept", range(7))
def test_after_a_crash_queues_are_rebuilt(kept: int) -> None:
    stand = filled(3)
    for at in range(20 * kept, 20 * 6):
        stand.disk.files[QUEUE][at] = 0
    store = stand.reopen().store
    assert store.topic_queue_table == {"T-0": 6}
    found = [store.get_message("T", 0, index) for index in range(7)]
    assert [each and each.queue_offset for each in found] == [*range(6), None]


@behaviour("REC-02", "REC-03", "INV-34")
def test_after_a_clean_stop_a_lost_queue_is_not_rebuilt() -> None:
    stand = filled(3)
    stand.put(message("U"))
    stand.store.dispatch()
    stop(stand)
    stand.disk.delete(QUEUE)
    stand = stand.reopen()
    assert stand.store.topic_queue_table == {"U-0": 1}
    assert appended(stand.put(sized(105))).queue_offset == 0


@behaviour("REC-02")
@pytest.mark.parametrize("clean", [True, False])
def test_queues_end_where_the_log_ends(clean: bool) -> None:
    stand = filled(3)
    if clean:
        stop(stand)
    stand.disk.files[log_file(1)][4] ^= 0xFF
    store = stand.reopen().store
    assert (store.max_phy_offset, store.max_offset("T", 0), store.dispatched_to) == (FILE, 2, FILE)
    assert stand.disk.names("store/commitlog") == ["0" * 20, f"{FILE:020d}"]
    queue = store.queues.queues["T", 0]
    assert (queue.max_physical_offset, queue.entry(1), queue.entry(2)) == (210, ConsumeQueueEntry(105, 105, 0), None)


@behaviour("REC-02")
def test_queue_files_after_the_end_are_deleted() -> None:
    stand = filled(3, mapped_file_size_consume_queue=40)
    assert len(stand.disk.names("store/consumequeue/T/0")) == 3
    stand.disk.files[log_file(0)][105 + 4] ^= 0xFF
    store = stand.reopen().store
    assert stand.disk.names("store/consumequeue/T/0") == ["0" * 20]
    assert store.max_offset("T", 0) == 1


@behaviour("REC-02")
def test_recovery_reads_the_last_three_files_of_a_queue() -> None:
    stand = filled(3, mapped_file_size_consume_queue=20)
    stop(stand)
    names = stand.disk.names("store/consumequeue/T/0")
    for at in range(20):
        stand.disk.files[f"store/consumequeue/T/0/{names[2]}"][at] = 0
    assert stand.reopen().store.max_offset("T", 0) == 6
    for at in range(20):
        stand.disk.files[f"store/consumequeue/T/0/{names[3]}"][at] = 0
    stand = stand.reopen()
    assert stand.store.max_offset("T", 0) == 6  # truncated there, and rebuilt from the log


@pytest.mark.parametrize("clean", [True, False])
@behaviour("REC-02", "REC-03")
def test_without_a_log_all_queues_are_deleted(clean: bool) -> None:
    stand = filled(2)
    if clean:
        stop(stand)
    for name in stand.disk.names("store/commitlog"):
        stand.disk.delete(f"store/commitlog/{name}")
    stand = stand.reopen()
    assert stand.disk.names("store/consumequeue") == []
    assert (stand.store.topic_queue_table, stand.store.max_offset("T", 0)) == ({"T-0": 0}, 0)
    assert appended(stand.put(sized(105))).queue_offset == 0


@behaviour("REC-02", "APP-07")
def test_a_last_file_that_a_blank_fills_ends_before_it() -> None:
    """The next record has no room again, and writes the blank once more."""
    stand = filled(1)
    with stand.failing(log_file(1), error=OSError("no room")):
        stand.put(sized(105))
    assert stand.store.max_phy_offset == FILE
    stand = stand.reopen()
    assert stand.store.max_phy_offset == 210
    assert appended(stand.put(sized(105))).wrote_offset == FILE


@behaviour("REC-02")
def test_a_next_file_that_is_empty_stays() -> None:
    stand = filled(1)
    stand.disk.map(log_file(1), FILE)
    stand.store.commit_log.files.files[0].write(210, (90).to_bytes(4, "big") + (0xCBD43194).to_bytes(4, "big"))
    stand = stand.reopen()
    assert stand.store.max_phy_offset == FILE
    assert [each.wrote_position for each in stand.store.commit_log.files.files] == [FILE, 0]


@behaviour("REC-02")
@pytest.mark.parametrize("path", [LOG, QUEUE])
def test_a_file_of_another_length_stops_the_start(path: str, caplog: pytest.LogCaptureFixture) -> None:
    stand = filled(1)
    stand.disk.files[path] = bytearray(17)
    stand.disk.sizes.pop(path)
    assert not Stand(disk=stand.disk, mapped_file_size_commit_log=FILE).store.load()
    assert f"{path} has 17 bytes, and by the settings" in caplog.text


@behaviour("REC-02", "REC-03")
def test_truncated_records_reappear_after_a_record_of_equal_size() -> None:
    """The log is truncated at the damage, but not wiped."""
    stand = Stand()
    for _ in range(3):
        stand.put(message())
    stand.disk.files[LOG][105 + 90] ^= 0xFF
    stand = stand.reopen()
    assert stand.store.max_phy_offset == 105
    stand.put(message(body=b"other"))
    stand = stand.reopen()
    assert stand.store.max_phy_offset == 315
    assert [(record.body, record.queue_offset) for record in stand.store.records()] == [(b"hello", 0), (b"other", 1), (b"hello", 2)]


@behaviour("REC-02", "REC-03")
def test_process_killed_during_recovery_can_restart() -> None:
    stand = filled(2)
    stand.disk.files[log_file(1)][105 + 4] ^= 0xFF
    for steps in range(5):
        stand.disk.end_after(steps)
        with pytest.raises(ProcessEnded):
            Stand(disk=stand.disk, mapped_file_size_commit_log=FILE).store.load()
    store = stand.reopen().store
    assert store.max_phy_offset == FILE + 105
    assert store.topic_queue_table == {"T-0": 3}


# Queue offsets


@behaviour("REC-03", "REC-04")
def test_queue_that_begins_late_keeps_its_entries_indexes() -> None:
    stand = Stand(mapped_file_size_consume_queue=60)
    stand.store.topic_queue_table["TopicTest-0"] = 7
    stand.put(message())
    stand.store.dispatch()
    queue = stand.store.queues.queues["TopicTest", 0]
    assert (queue.min_offset, queue.max_offset) == (7, 8)
    assert [queue.entry(index) for index in (6, 7, 8)] == [None, ConsumeQueueEntry(0, 105, 0), None]
    assert present(stand.store.get_message("TopicTest", 0, 7)).queue_offset == 7
    assert stand.disk.names("store/consumequeue/TopicTest/0") == [f"{120:020d}"]
    data = present(stand.disk.read(f"store/consumequeue/TopicTest/0/{120:020d}"))
    assert data[:20] == bytes(8) + (0x7FFFFFFF).to_bytes(4, "big") + bytes(8)


@behaviour("REC-04")
def test_entry_after_a_gap_is_appended_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    stand = Stand()
    stand.put(message())
    stand.store.topic_queue_table["TopicTest-0"] = 5
    stand.put(message())
    stand.store.dispatch()
    assert stand.store.max_offset("TopicTest", 0) == 2
    assert "logic queue order maybe wrong, expectLogicOffset: 5 currentLogicOffset: 1" in caplog.text


@behaviour("REC-05", "REC-03")
@pytest.mark.parametrize(("profile", "written", "found"), [("P494", 0, 0), ("P494", 2, 2), ("P494", 9, 3), ("P49", 2, 2), ("P49", 9, 9)])
def test_delay_offsets_are_moved_into_their_queue_since_494(profile: str, written: int, found: int) -> None:
    stand = Stand(profile)
    for _ in range(3):
        stand.put(message(properties={"DELAY": "1"}))
    stand.store.dispatch()
    stand.store.schedule.offsets = {1: written, 5: 4}
    stand.store.schedule.persist()
    assert stand.reopen().store.schedule.offsets == {1: found, 5: 4}
