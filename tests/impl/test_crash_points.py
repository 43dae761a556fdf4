"""A crash at every point of a short program: the next process has every acknowledged message, or the loss has a known cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from marks import behaviour
from simulated import present
from storing import Stand, appended, message
from table_bench import MAIN, TableBench

from proportion import few
from rocketproof_impl.simulator.crashes import CrashPoint, count_steps, every_crash_point, losses, sample
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.journal import Metadata, PowerLoss
from rocketproof_impl.store.checkpoint import StoreCheckpoint
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.topic import TopicConfig

SEEDS = range(4)


# The store


@dataclass
class Puts:
    """A store that takes messages, and the acknowledged ones: queue, queue offset, offset in the log, body."""

    stand: Stand
    acknowledged: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)

    def put(self, queue: int, size: int) -> None:
        body = b"%05d" % len(self.sent) + b"x" * size
        self.sent.append(body)
        result = self.stand.put(
            message(queue_id=queue, body=body, properties={"KEYS": f"k{queue}"}, properties_text=f"KEYS\x01k{queue}\x02")
        )
        if result.status is PutMessageStatus.PUT_OK:
            done = appended(result)
            self.acknowledged.append((queue, done.queue_offset, done.wrote_offset, body))


def started(profile: str = "P494", **settings: Any) -> Puts:
    """Return a running store; everything it has written is on the device."""
    puts = Puts(Stand(profile, **(SMALL | settings)))
    assert puts.stand.store.load()
    puts.stand.store.start()
    return puts


def synchronous() -> Puts:
    return started(flush_disk_type="SYNC_FLUSH")


def asynchronous() -> Puts:
    return started()


SMALL: dict[str, Any] = {
    "mapped_file_size_commit_log": 400,
    "mapped_file_size_consume_queue": 60,
    "max_hash_slot_num": 4,
    "max_index_num": 4,
}


def program(puts: Puts) -> None:
    """Create, fill and roll files of log, queues and index; dispatch some messages late, and flush once."""
    for number in range(5):
        puts.put(number % 2, 7 * number)
        if number != 2:
            puts.stand.store.dispatch()
        if number == 3:
            puts.stand.store.flush_now()
            puts.stand.store.queues_flushed()
    puts.stand.scheduler.complete(puts.stand.store.stop())


def restarted(puts: Puts) -> Stand:
    stand = puts.stand.reopen()
    stand.store.start()
    return stand


def bodies(stand: Stand) -> list[bytes | None]:
    return [record.body for record in stand.store.records()]


def assert_consistent(stand: Stand, puts: Puts) -> None:
    """Assert that the log is a prefix of the sent messages, and that each queue has the offsets of its messages in order."""
    stored = bodies(stand)
    assert stored == puts.sent[: len(stored)]
    for (topic, queue_id), queue in stand.store.queues.queues.items():
        expected = [record for record in stand.store.records() if (record.topic, record.queue_id) == (topic, queue_id)]
        found = [stand.store.get_message(topic, queue_id, index) for index in range(queue.max_offset)]
        assert found == expected
        assert [each.queue_offset for each in expected] == list(range(len(expected)))
        assert stand.store.topic_queue_table[f"{topic}-{queue_id}"] == len(expected)
    if puts.stand.settings.flush_disk_type == "ASYNC_FLUSH":
        return  # a full index file is forced when the next begins, so it may have entries that the log has lost
    found_by_key = {place for queue in (0, 1) for place in stand.store.index.query("TopicTest", f"k{queue}", 64, 0, 1 << 62)}
    assert found_by_key <= {record.physical_offset for record in stand.store.records()}


def assert_kept(stand: Stand, puts: Puts) -> None:
    """Assert that every acknowledged message is at its offset, and that new offsets are higher."""
    for queue, offset, place, body in puts.acknowledged:
        found = present(stand.store.look_message_by_offset(place))
        assert (found.queue_id, found.queue_offset, found.body) == (queue, offset, body)
    for queue in (0, 1):
        last = max((offset for number, offset, _, _ in puts.acknowledged if number == queue), default=-1)
        assert appended(stand.put(message(queue_id=queue))).queue_offset > last


def stand_disk(puts: Puts) -> SimulatedDisk:
    return puts.stand.disk


def crashes(make: Callable[[], Puts], kinds: Iterable[PowerLoss | None]) -> Iterable[tuple[CrashPoint, Puts]]:
    return every_crash_point(make, program, stand_disk, kinds)


def refused(puts: Puts) -> str:
    """Return the cause if the store does not start, otherwise ""."""
    try:
        restarted(puts)
    except AssertionError:
        files = puts.stand.disk
        return ",".join(sorted({path.split("/")[1] for path in files.files if files.size(path) == 0 and not path.endswith("abort")}))
    return ""


@behaviour("REC-02", "REC-03", "REC-04", "INV-34", "INV-36")
@pytest.mark.parametrize("make", [synchronous, asynchronous])
def test_process_crash_loses_no_acknowledged_message(make: Callable[[], Puts]) -> None:
    """One exception: a crash between creating a file and setting its length, after which a start fails (HAZ-59)."""
    refusals: Counter[str] = Counter()
    for point, puts in crashes(make, [None]):
        why = refused(puts)
        refusals[why] += 1
        if why:
            assert point.before.startswith("extend")
            continue
        stand = restarted(puts)
        assert_consistent(stand, puts)
        assert_kept(stand, puts)
    assert refusals.total() == count_steps(make, program, stand_disk) + 1 > 80
    assert set(refusals) == {"", "commitlog", "consumequeue"}


@behaviour("REC-02", "HAZ-59")
@pytest.mark.parametrize("profile", ["P492", "P533"])
def test_accepted_file_without_length_loses_no_message(profile: str) -> None:
    """A start skips or deletes it."""

    def make() -> Puts:
        return started(profile, flush_disk_type="SYNC_FLUSH")

    unsized = 0
    for point, puts in crashes(make, [None]):
        unsized += point.before.startswith("extend")
        stand = restarted(puts)
        assert_consistent(stand, puts)
        assert_kept(stand, puts)
    assert unsized > 3


@behaviour("REC-02", "REC-03", "FLU-02", "INV-34")
@pytest.mark.parametrize("metadata", ["ordered", "unordered"])
def test_power_loss_loses_no_flushed_message(metadata: Metadata) -> None:
    started_again = 0
    for _, puts in crashes(synchronous, [PowerLoss(seed, metadata) for seed in SEEDS]):
        if not refused(puts):
            started_again += 1
            stand = restarted(puts)
            assert_consistent(stand, puts)
            assert_kept(stand, puts)
    assert started_again > 250


@behaviour("REC-02", "FLU-02")
def test_unforced_folder_entries_lose_flushed_messages() -> None:
    """The described system forces files, but not their folder."""
    lost = 0
    for _, puts in crashes(synchronous, [PowerLoss(seed, "posix") for seed in range(2)]):
        if not refused(puts):
            lost += len(bodies(restarted(puts))) < len(puts.acknowledged)
    assert lost


@behaviour("REC-02", "FLU-04")
def test_power_loss_truncates_an_asynchronously_flushed_log() -> None:
    lost = 0
    for _, puts in crashes(asynchronous, [PowerLoss(seed) for seed in SEEDS]):
        if not refused(puts):
            stand = restarted(puts)
            assert_consistent(stand, puts)
            lost += len(bodies(stand)) < len(puts.acknowledged)
    assert lost > 50


@behaviour("REC-02", "REC-03")
def test_lost_abort_file_makes_a_crash_look_like_a_stop() -> None:
    """The store never forces that file. Recovery then does not rebuild lost queues from their beginning."""
    puts = synchronous()
    puts.stand.disk.sync()
    program_until_dispatch(puts)
    for path in list(puts.stand.disk.files):
        if "/consumequeue/TopicTest/0" in path:
            puts.stand.disk.delete(path)
    assert restarted(puts).store.topic_queue_table == {"TopicTest-0": 2, "TopicTest-1": 1}
    again = synchronous()
    program_until_dispatch(again)
    for path in list(again.stand.disk.files):
        if "/consumequeue/TopicTest/0" in path or path.endswith("abort"):
            again.stand.disk.delete(path)
    assert restarted(again).store.topic_queue_table == {"TopicTest-1": 1}


def program_until_dispatch(puts: Puts) -> None:
    for queue in (0, 0, 1):
        puts.put(queue, 3)
    puts.stand.store.dispatch()


def long_program(seed: int) -> Callable[[Puts], None]:
    def run(puts: Puts) -> None:
        random = Random(seed)
        for _ in range(60):
            puts.put(random.randrange(2), random.randrange(150))
            if random.randrange(3) == 0:
                puts.stand.store.dispatch(random.choice((1, None)))
            if random.randrange(9) == 0:
                puts.stand.store.flush_now()
                puts.stand.store.queues_flushed()
            puts.stand.scheduler.advance(random.randrange(2000))

    return run


@behaviour("REC-02", "REC-03", "REC-04", "INV-34")
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_long_program_loses_no_acknowledged_message(seed: int) -> None:
    """Files are long enough to avoid two recovery faults: three unforced files of a queue, and a full index file (see below)."""

    def make() -> Puts:
        return started(flush_disk_type="SYNC_FLUSH", max_index_num=1000, mapped_file_size_consume_queue=600)

    program = long_program(seed)
    points = sample(count_steps(make, program, stand_disk), 25, seed)
    for _, puts in every_crash_point(make, program, stand_disk, [None, PowerLoss(seed)], points):
        if not refused(puts):
            stand = restarted(puts)
            assert_consistent(stand, puts)
            assert_kept(stand, puts)


@behaviour("REC-02", "REC-04")
def test_queue_with_three_empty_files_is_rebuilt_after_its_end() -> None:
    """Empty files do not show how far the queue was built, so the entry for index 0 is appended at the current end."""
    puts = synchronous()
    for _ in range(10):
        puts.put(0, 0)
    puts.stand.store.dispatch()
    for name in puts.stand.disk.names("store/consumequeue/TopicTest/0")[1:]:
        for at in range(60):
            puts.stand.disk.files[f"store/consumequeue/TopicTest/0/{name}"][at] = 0
    stand = restarted(puts)
    found = [stand.store.get_message("TopicTest", 0, index) for index in range(6)]
    assert [each and each.queue_offset for each in found] == [0, 1, 2, 0, 4, 5]


@behaviour("REC-02", "REC-03", "REC-04")
def test_next_index_file_advances_the_checkpoint_past_unforced_queues() -> None:
    """A new index file writes the checkpoint with the time of the last built entry, but the queues are not forced.

    If the power fails, recovery starts after the lost entries, and the queue continues at a wrong index.
    """
    puts = synchronous()
    for _ in range(4):
        puts.put(0, 0)
        puts.stand.store.dispatch()
        puts.stand.scheduler.advance(5000)
    stored = puts.stand.store.checkpoint.logics_msg_timestamp
    region = puts.stand.disk.regions["store/consumequeue/TopicTest/0/00000000000000000000"]
    assert region.forced == 0
    fresh = StoreCheckpoint(puts.stand.disk, "store/checkpoint")
    fresh.load()
    assert fresh.logics_msg_timestamp == stored
    wrong = 0
    for seed in range(20):
        again = synchronous()
        for _ in range(6):
            again.put(0, 40)
            again.stand.store.dispatch()
            again.stand.scheduler.advance(5000)
        again.stand.disk.power_loss(PowerLoss(seed))
        if not refused(again):
            queue = restarted(again).store.queues.queues["TopicTest", 0]
            wrong += queue.max_offset < 6
    assert wrong


# The topic table


def topics_of(disk: SimulatedDisk) -> tuple[bool, set[str]]:
    bench = TableBench(disk=disk)
    system = set(bench.topics.table)
    return bench.topics.load(), set(bench.topics.table) - system


@dataclass
class Table:
    """A topic table, and the topics whose persist has returned."""

    bench: TableBench = field(default_factory=TableBench)
    persisted: list[str] = field(default_factory=list)

    def update(self, topic: str) -> None:
        self.bench.topics.update(TopicConfig(topic))
        self.persisted.append(topic)


def table_disk(table: Table) -> SimulatedDisk:
    return table.bench.disk


def updates(table: Table) -> None:
    for topic in ("A", "B", "C", "D"):
        table.update(topic)


def with_a_file() -> Table:
    table = Table()
    table.update("old")
    return table


@behaviour("PER-05", "PER-07", "INV-26", "INV-27", "INV-28", "INV-29")
def test_crash_during_persists_leaves_the_last_table_or_the_next() -> None:
    count = 0
    for _, table in every_crash_point(with_a_file, updates, table_disk):
        count += 1
        loaded, topics = topics_of(table.bench.disk)
        assert loaded
        done = len(table.persisted)
        assert topics in ({"old", *"ABCD"[: done - 1]}, {"old", *"ABCD"[:done]})
    assert count == 4 * 8 + 1


@behaviour("PER-05", "INV-26", "INV-28")
def test_crash_in_the_first_persist_can_lose_the_table() -> None:
    empty = [
        point.before
        for point, table in every_crash_point(Table, updates, table_disk)
        if topics_of(table.bench.disk) == (True, set()) and point.steps >= 3
    ]
    assert empty == [f"delete {MAIN}", f"rename {MAIN}.tmp"]


@behaviour("PER-05", "PER-06", "INV-27", "INV-28", "INV-29", "HAZ-35")
def test_power_loss_can_lose_topics_or_prevent_the_start() -> None:
    """The journal keeps the order of names but does not wait for data, so the renamed file may be empty."""
    seen: Counter[str] = Counter()
    for point, table in every_crash_point(with_a_file, updates, table_disk, losses(range(25), ["ordered"])[1:]):
        loaded, topics = topics_of(table.bench.disk)
        lost = {"old", *table.persisted} - topics
        seen["refused" if not loaded else "everything" if not topics else "some" if lost else "nothing"] += 1
        assert point.loss is not None
    assert seen.total() == 33 * 25
    assert min(seen[kind] for kind in ("refused", "everything", "some", "nothing")) > 0


@behaviour("PER-01", "INV-27")
@pytest.mark.parametrize("room", [0, 4096, 8192, 12_288])
def test_full_disk_loses_only_the_next_topic(room: int) -> None:
    """The persist returns without an error (INV-27 a). Earlier topics stay in the file or its backup."""
    table = with_a_file()
    table.update("B")
    disk = table.bench.disk
    disk.room = room
    table.bench.topics.update(TopicConfig("C" * 100))
    loaded, topics = topics_of(disk)
    assert loaded
    assert topics - {"C" * 100} == {"old", "B"}
    assert ("C" * 100 in topics) is (room >= 4096 * len(table_pages(disk)))


def table_pages(disk: SimulatedDisk) -> range:
    """Return how many more pages the new file and the backup need before the old file is removed."""
    return range(-(-len(disk.files[MAIN]) // 4096))
