"""Delayed delivery: when a message is due, and the message that is then put."""

from __future__ import annotations

import pytest
from marks import behaviour, either, every
from simulated import present
from storing import Stand, listing, message, real_messages, real_records, real_stand

from rocketproof_impl.message import Message
from rocketproof_impl.store.delay import DELIVERS, LEVELS, from_schedule_topic
from rocketproof_protocol.properties import DELAY, REAL_QID, REAL_TOPIC, TAGS, WAIT
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE

SECONDS = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]


def delayed(level: int, topic: str = "T", queue_id: int = 2, **fields: str) -> Message:
    return message(topic, queue_id, properties={**fields, DELAY: str(level)})


@behaviour("REC-05")
def test_there_are_eighteen_levels() -> None:
    assert [millis / 1000 for millis in LEVELS] == SECONDS


@behaviour("REC-04", "REC-05", "CL-02", "M-91")
@pytest.mark.parametrize("level", range(1, 20))
def test_message_is_delivered_after_its_level_or_the_last(level: int) -> None:
    stand, kept = Stand(), min(level, 18)
    stand.put(delayed(level))
    stand.store.dispatch()
    stand.scheduler.advance(SECONDS[kept - 1] * 1000 - 1)
    assert stand.deliver() == 0
    stand.scheduler.advance(1)
    assert stand.deliver() == 1
    assert stand.deliver() == 0
    assert stand.store.schedule.offsets == {kept: 1}


@behaviour("REC-05")
@pytest.mark.parametrize("level", range(1, 19))
def test_message_is_not_due_in_the_millisecond_of_its_storage(level: int) -> None:
    """Its delivery time is then exactly the largest that its level allows."""
    stand = Stand()
    stand.put(delayed(level))
    stand.store.dispatch()
    assert stand.deliver() == 0


@behaviour("REC-05", "CL-09", "APP-10", "INV-45", "M-93")
@either
def test_delivery_writes_a_new_record_under_the_real_topic(profile: str) -> None:
    stand = Stand(profile)
    for _ in range(2):
        stand.put(message("T", 2))
    first = delayed(1, KEYS="k")
    first.born_host, first.store_host, first.flag, first.reconsume_times = ("10.0.0.1", 5), ("10.0.0.2", 6), 7, 3
    first.sys_flag, first.born_timestamp, first.prepared_transaction_offset = 9, 11, 77
    stand.put(first)
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    stand.deliver()
    *_, stored, again = stand.store.records()
    assert (again.topic, again.queue_id, again.queue_offset) == ("T", 2, 2)
    assert again.physical_offset == stored.physical_offset + stored.store_size
    assert stand.store.statistics.put_times == {"T": 3, SCHEDULE: 1}
    assert again.msg_id != stored.msg_id
    assert again.store_timestamp == stored.store_timestamp + 1000
    for name in ("body", "flag", "sys_flag", "born_timestamp", "born_host", "store_host", "reconsume_times", "properties_text"):
        assert getattr(again, name) == getattr(stored, name), name
    assert again.prepared_transaction_offset == 0
    assert again.properties == {"KEYS": "k", DELAY: "1", REAL_TOPIC: "T", REAL_QID: "2"}
    stand.store.dispatch()
    stand.scheduler.advance(100_000)
    assert stand.deliver() == 0  # the kept level is not applied again


@behaviour("REC-05")
def test_a_delivery_does_not_wait_for_the_disk() -> None:
    found = from_schedule_topic(Message("x", properties={DELAY: "1", REAL_TOPIC: "T", REAL_QID: "2"}), trailing=False)
    assert not found.waits
    assert DELAY not in found.properties
    assert WAIT not in (found.properties_text or "")


@behaviour("REC-05", "REC-04", "CL-02", "M-91", "M-92", "M-93")
@pytest.mark.parametrize(("stored", "delivered"), [(74, 92), (73, 167), (75, 168)])
def test_recorded_deliveries(stored: int, delivered: int) -> None:
    """The record that a real 4.9.4 delivered, byte by byte, from a log that ends just before it."""
    before = listing()[delivered]["offset"]
    stand = real_stand(log_end=before)
    assert stand.store.load()
    level = listing()[stored]["queueId"] + 1
    stand.store.schedule.offsets = dict.fromkeys(range(1, 19), 1000) | {level: listing()[stored]["queueOffset"]}
    if delivered != 92:  # the topic was deleted meanwhile, and its queues restarted at 0
        stand.store.clean_unused_topics({each["topic"] for each in listing()} - {"w8r4"})
    stand.clock.time = real_messages()[delivered].store_timestamp
    assert stand.deliver() >= 1  # the next message of the level can be due in the same millisecond
    assert stand.log()[before:].startswith(real_records()[delivered])


@behaviour("REC-05", "HAZ-39")
@pytest.mark.parametrize(("profile", "halves"), [("P45", 1), ("P460", 1), ("P461", 0), ("P49", 0), ("P494", 0), ("P533", 0)])
def test_a_delayed_half_message_is_discarded_from_461_on(profile: str, halves: int) -> None:
    stand = Stand(profile)
    stand.put(delayed(1, HALF_TOPIC, 0))
    stand.put(delayed(1))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    assert stand.deliver() == 1 + halves
    assert [record.topic for record in stand.store.records()][2:] == [HALF_TOPIC] * halves + ["T"]
    assert stand.store.schedule.offsets == {1: 2}


@behaviour("REC-05", "HAZ-48")
@pytest.mark.parametrize(("profile", "noted"), [("P45", {}), ("P49", {}), ("P494", {1: 1})])
def test_delivery_offset_is_stored_at_once_or_after_the_scan(profile: str, noted: dict[int, int]) -> None:
    stand = Stand(profile)
    for _ in range(2):
        stand.put(delayed(1))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    stand.scheduler.stops = lambda task, pause: pause is DELIVERS
    scan = stand.scheduler.spawn(stand.store.deliver_delayed())
    stand.scheduler.settle()
    stand.scheduler.resume(scan)
    assert stand.store.schedule.offsets == noted
    assert stand.store.schedule.reached == {1: 1}
    stand.scheduler.resume(scan)
    assert stand.store.schedule.offsets == {1: 2}


@behaviour("REC-04", "REC-05")
def test_real_store_opens_and_continues_delivery() -> None:
    """Its offsets are {1: 1, 3: 2}: the next messages of level 3 are the half message, which is discarded, and the send-back."""
    stand = real_stand()
    assert stand.store.load()
    assert stand.store.schedule.offsets == {1: 1, 3: 2}
    stand.clock.time = real_messages()[-1].store_timestamp + 12_000
    assert stand.deliver() == 12
    assert list(stand.store.records())[169].topic == "%RETRY%cg1"
    assert stand.store.schedule.offsets == {1: 1, 3: 15}


@behaviour("REC-05")
def test_levels_are_delivered_in_their_own_order() -> None:
    stand = Stand()
    for level, body in ((2, b"five"), (1, b"one"), (1, b"two"), (2, b"six")):
        stand.put(message("T", 0, body, properties={DELAY: str(level)}))
        stand.scheduler.advance(100)
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    assert stand.deliver() == 2
    stand.scheduler.advance(4000)
    assert stand.deliver() == 2
    assert [record.body for record in stand.store.records()][4:] == [b"one", b"two", b"five", b"six"]


@behaviour("REC-05")
def test_failed_delivery_is_retried() -> None:
    stand = Stand()
    stand.put(delayed(1))
    stand.put(delayed(1))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    stand.store.flags.bits = 16
    assert stand.deliver() == 0
    assert stand.store.schedule.offsets == {}
    stand.store.flags.bits = 0
    assert stand.deliver() == 2


@behaviour("HAZ-42", "REC-04", "INV-46")
def test_a_message_sent_to_the_schedule_topic_by_its_name() -> None:
    """Without a level its queue entry has the hash of its tags, which as a time is long past; it has no target topic."""
    stand = Stand("P45")
    stand.put(message(SCHEDULE, 0, properties_text="TAGS\x01abc"))
    stand.put(message(SCHEDULE, 0, properties_text="TAGS\x01abc\x02REAL_TOPIC\x01T\x02REAL_QID\x01x"))
    stand.put(message(SCHEDULE, 0, properties_text="TAGS\x01abc\x02REAL_TOPIC\x01T\x02REAL_QID\x011"))
    stand.store.dispatch()
    entry = present(stand.store.queues.queues[SCHEDULE, 0].entry(0))
    assert entry.tags_code == 96354
    assert stand.deliver() == 1
    assert stand.store.schedule.offsets == {1: 3}
    assert [record.topic for record in stand.store.records()][3:] == ["T"]


@behaviour("CL-02", "HAZ-42")
@every
def test_a_delayed_message_to_the_schedule_topic_returns_there(profile: str) -> None:
    """The store rewrites it like any other message: its real topic is the schedule topic, so it is delivered into a level's queue."""
    stand = Stand(profile)
    stand.put(message(SCHEDULE, 4, properties={DELAY: "1"}))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    assert stand.deliver() == 1
    first, second = stand.store.records()
    assert (first.queue_id, first.properties[REAL_TOPIC]) == (0, SCHEDULE)
    assert (second.topic, second.queue_id) == (SCHEDULE, 4)


@behaviour("HAZ-42", "REC-05")
def test_time_further_ahead_than_the_level_is_due() -> None:
    stand = Stand("P45")
    stand.put(message(SCHEDULE, 0, properties_text="DELAY\x0118\x02REAL_TOPIC\x01T\x02REAL_QID\x011"))
    stand.store.dispatch()
    assert stand.deliver() == 1


@behaviour("REC-04")
@either
@pytest.mark.parametrize(
    ("topic", "properties", "code"),
    [
        ("T", {}, 0),
        ("T", {TAGS: "a"}, 97),
        ("T", {TAGS: "TagA"}, 2598919),
        ("T", {TAGS: "polygenelubricants"}, -(2**31)),
        ("T", {TAGS: "a", "REAL_TOPIC": "x"}, 97),
    ],
)
def test_the_hash_of_tags(profile: str, topic: str, properties: dict[str, str], code: int) -> None:
    stand = Stand(profile)
    stand.put(message(topic, properties_text="\x02".join(f"{name}\x01{value}" for name, value in properties.items())))
    stand.store.dispatch()
    entry = present(stand.store.queues.queues[topic, 0].entry(0))
    assert entry.tags_code == code


@behaviour("REC-05")
def test_new_process_continues_at_the_stored_offsets() -> None:
    stand = Stand()
    for _ in range(3):
        stand.put(delayed(1))
        stand.put(delayed(3))
    stand.store.dispatch()
    stand.scheduler.advance(1000)
    assert stand.deliver() == 3
    stand.store.schedule.persist()
    assert stand.disk.files["store/config/delayOffset.json"] == b'{\n\t"offsetTable":{1:3\n\t}\n}'
    stand = stand.reopen()
    assert stand.deliver() == 0
    stand.scheduler.advance(9000)
    assert stand.deliver() == 3
    stand = stand.reopen()  # the last offset was not stored, so one message is delivered again
    assert stand.deliver() == 3


@behaviour("REC-05")
def test_broken_offsets_stop_the_start() -> None:
    stand = Stand()
    stand.disk.files["store/config/delayOffset.json"] = bytearray(b"{")
    assert stand.store.load()
    stand.disk.files["store/config/delayOffset.json.bak"] = bytearray(b"{")
    assert not stand.store.load()
    stand.disk.files["store/config/delayOffset.json.bak"] = bytearray(b'{"offsetTable":{"2":7}}')
    assert stand.store.load()
    assert stand.store.schedule.offsets == {2: 7}


@behaviour("CL-06", "REC-04")
@every
def test_the_time_of_delivery_counts_from_the_lock(profile: str) -> None:
    """A message that waits for the lock has later store and delivery times."""
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


@behaviour("REC-05", "CHK-03", "INV-45")
def test_delayed_message_to_the_schedule_topic_is_delivered_repeatedly() -> None:
    """Observed in 4.5.2, which accepts such sends: each delivery goes to the queue that the client named, where it waits again."""
    stand = Stand("P452")
    stand.put(delayed(2, SCHEDULE, 2))
    for _ in range(5):
        stand.store.dispatch()
        stand.scheduler.advance(5000)
        assert stand.deliver() == 1
    places = [(record.topic, record.queue_id, record.queue_offset, record.properties[DELAY]) for record in stand.store.records()]
    assert places == [(SCHEDULE, 1, 0, "2"), *((SCHEDULE, 2, offset, "2") for offset in range(5))]
