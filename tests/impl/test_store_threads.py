"""The threads that flush, commit and dispatch: the work of a round, and how they stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from marks import behaviour, every
from simulated import present
from storing import Stand, message, sized

from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.checkpoint import StoreCheckpoint
from rocketproof_impl.store.flushing import CommitRealTimeService, FlushRealTimeService, GroupCommitService
from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_impl.tasks import Future
from rocketproof_protocol.properties import WAIT

OK, LATE = PutMessageStatus.PUT_OK, PutMessageStatus.FLUSH_DISK_TIMEOUT
QUIET = {WAIT: "false"}
PAGE = 4096


class Running(Stand):
    """A store with its threads. `forces` has the paths that were forced to the device, in order."""

    def __init__(self, profile: str = "P49", **settings: Any) -> None:
        super().__init__(profile, **settings)
        self.forces: list[str] = []
        self.services = self.store.services()
        self.tasks = [self.scheduler.spawn(service.run(), service.name) for service in self.services]
        self.scheduler.settle()

    def service(self, kind: type) -> Any:
        return next(service for service in self.services if isinstance(service, kind))

    def begin(self, made: Message) -> SimulatedThread[PutResult]:
        task = self.scheduler.spawn(self.store.put_message(made))
        self.scheduler.settle()
        return task

    def flushed_after(self, millis: int) -> int:
        self.scheduler.advance(millis)
        return self.store.flushed_where

    def count_forces(self) -> list[str]:
        """Record the paths of flushed files from here on."""
        for path, region in self.disk.regions.items():
            self._note(path, region.force)
        return self.forces

    def _note(self, path: str, force: Callable[[], None]) -> None:
        def noted() -> None:
            self.forces.append(path)
            force()

        mapped = [each for each in self.store.commit_log.files.files if each.path == path]
        for each in mapped:
            each.region = _Region(each.region, noted)


class _Region:
    """A region with another force function."""

    def __init__(self, region: Any, force: Callable[[], None]) -> None:
        self.size, self.write, self.read, self.force = region.size, region.write, region.read, force


def sync(profile: str = "P49", **settings: Any) -> Running:
    return Running(profile, flush_disk_type="SYNC_FLUSH", **settings)


# Choice of threads


@behaviour("FLU-01")
@pytest.mark.parametrize(
    ("flush", "role", "kind", "pooled"),
    [
        ("SYNC_FLUSH", "ASYNC_MASTER", GroupCommitService, False),
        ("ASYNC_FLUSH", "ASYNC_MASTER", FlushRealTimeService, True),
        ("SYNC_FLUSH", "SLAVE", GroupCommitService, False),
        ("ASYNC_FLUSH", "SLAVE", FlushRealTimeService, False),
    ],
)
def test_the_kind_of_flush_chooses_the_thread(flush: str, role: str, kind: type, pooled: bool) -> None:
    """A buffer pool is only for masters with asynchronous flush, whatever the setting."""
    stand = Running(flush_disk_type=flush, broker_role=role)
    names = [service.name for service in stand.services]
    assert names == ["ReputMessageService", "GroupTransferService", "HAClient", "FlushConsumeQueueService", kind.__name__]
    assert stand.store.services() is not None
    stand = Running(
        flush_disk_type=flush, broker_role=role, transient_store_pool_enable=True, transient_store_pool_size=2,
        mapped_file_size_commit_log=PAGE,
    )  # fmt: skip
    assert any(isinstance(service, CommitRealTimeService) for service in stand.services) is pooled
    assert isinstance(stand.services[4], kind)


@behaviour("FLU-01")
def test_without_threads_a_flush_runs_on_request() -> None:
    stand = Stand(flush_disk_type="SYNC_FLUSH")
    assert stand.put(message()).status is OK
    assert stand.store.flushed_where == 105


@behaviour("FLU-01")
def test_flush_type_changed_at_run_time_is_an_error() -> None:
    """The thread started with the first type keeps running. The message is in the log."""
    stand = Running()
    stand.settings.flush_disk_type = "SYNC_FLUSH"
    with pytest.raises(JavaError, match="ClassCastException"):
        stand.put(message())
    assert len(list(stand.store.records())) == 1


# Group commit


@behaviour("FLU-03", "LIV-09")
@every
def test_group_commit_answers_immediately(profile: str) -> None:
    stand = sync(profile)
    began = stand.clock.now()
    for number in range(3):
        assert stand.put(message()).status is OK
        assert stand.store.flushed_where == 105 * (number + 1)
    assert stand.clock.now() == began


@behaviour("FLU-03")
def test_one_flush_serves_all_earlier_requests() -> None:
    stand = sync()
    stand.put(message())
    forces = stand.count_forces()
    tasks = [stand.begin(message()) for _ in range(50)]
    assert forces == []
    stand.scheduler.advance(0)
    assert len(forces) == 1
    assert {task.result().status for task in tasks} == {OK}
    stand.scheduler.advance(100)
    assert len(forces) == 1


@behaviour("FLU-03")
def test_unawaited_messages_are_flushed_within_ten_milliseconds() -> None:
    stand = sync()
    stand.scheduler.advance(3)
    stand.put(message(properties=QUIET))
    assert stand.store.flushed_where == 0
    assert stand.flushed_after(0) == 105, "the put wakes the thread"
    service = stand.service(GroupCommitService)
    stand.store.flush = Mute()
    stand.put(message(properties=QUIET))
    assert [stand.flushed_after(millis) for millis in (9, 1)] == [105, 210], "this many milliseconds after its last round"
    assert not service.stopped


class Mute:
    """A flush that must not be requested."""

    def request(self, next_offset: int) -> Future[bool]:
        raise AssertionError(next_offset)

    def wakeup(self) -> None:
        pass


@behaviour("FLU-03", "HAZ-21")
@pytest.mark.parametrize(("profile", "status"), [("P40", LATE), ("P45", LATE), ("P49", OK), ("P494", OK)])
def test_only_later_releases_check_the_second_flush(profile: str, status: PutMessageStatus) -> None:
    """An unflushed tail in the first file, the message in the second: two flushes are needed, and both are done."""
    stand = sync(profile, mapped_file_size_commit_log=400)
    files = stand.store.commit_log.files
    task = [stand.begin(sized(150, properties=QUIET)), stand.begin(sized(150, properties=QUIET)), stand.begin(sized(300))][-1]
    assert (len(files.files), files.flushed_where) == (2, 0)
    stand.scheduler.advance(0)
    assert (task.result().status, files.flushed_where) == (status, 700)


@behaviour("FLU-03", "HAZ-21", "LIV-09")
@every
def test_a_message_three_files_ahead_is_late_in_every_release(profile: str) -> None:
    """Two flushes reach two files; later rounds flush the rest."""
    stand = sync(profile, mapped_file_size_commit_log=400)
    tasks = [stand.begin(sized(300, properties=QUIET)) for _ in range(2)]
    tasks.append(stand.begin(sized(300)))
    stand.scheduler.advance(0)
    assert tasks[-1].result().status is LATE
    assert stand.flushed_after(10) == 1100


@behaviour("FLU-03", "LIV-09")
@every
def test_requests_during_a_round_wait_for_the_next(profile: str) -> None:
    """A request made while others are answered is neither answered in this round nor lost."""
    stand = sync(profile)
    service = stand.service(GroupCommitService)
    late: list[Future[bool]] = []
    first = service.request(0)
    first.then(lambda _: late.append(service.request(0)))
    stand.scheduler.advance(0)
    assert first.result()
    assert [future.done for future in late] == [True]
    assert late[0].result()


@behaviour("FLU-03", "LIV-09")
@every
def test_stopped_group_commit_serves_late_requests(profile: str) -> None:
    """One more round runs ten milliseconds after the last."""
    stand = sync(profile)
    service = stand.service(GroupCommitService)
    service.stop()
    stand.scheduler.advance(9)
    task = stand.begin(message())
    assert not service.ended.done
    stand.scheduler.advance(1)
    assert task.result().status is OK
    assert service.ended.done
    assert stand.put(message()).status is LATE, "the thread has ended, and the put still gets its answer"
    assert stand.store.flushed_where == 105


@behaviour("LIV-09", "FLU-02")
@every
def test_a_flush_that_hangs_is_a_timeout(profile: str) -> None:
    """The thread is killed at a pause, with an open request."""
    stand = sync(profile)
    task = stand.begin(message())
    stand.scheduler.kill(stand.tasks)
    began = stand.clock.now()
    assert stand.scheduler.run(task.done).status is LATE
    assert stand.clock.now() == began + 5000


@behaviour("ACT-03", "FLU-03")
def test_failed_force_counts_as_flushed() -> None:
    """The described system logs the error and continues as if the force had succeeded."""
    stand = sync()
    stand.put(message())

    def broken() -> None:
        raise OSError("Input/output error")

    for mapped in stand.store.commit_log.files.files:
        mapped.region = _Region(mapped.region, broken)
    assert stand.put(message()).status is OK
    assert stand.store.flushed_where == 210
    assert stand.disk.regions["store/commitlog/00000000000000000000"].forced == 105


@behaviour("ACT-03")
@every
@pytest.mark.parametrize("settings", [{"flush_disk_type": "SYNC_FLUSH"}, {}, {"transient_store_pool_enable": True}])
def test_positions_go_forward_and_keep_their_order(profile: str, settings: dict[str, Any]) -> None:
    """Over new files and every flush type: flushed ≤ readable ≤ written, and no position decreases."""
    stand = Running(profile, mapped_file_size_commit_log=400, transient_store_pool_size=2, **settings)
    files = stand.store.commit_log.files
    before = (0, 0, 0)
    for step in range(120):
        if step % 3 == 0:
            stand.begin(sized(100 + step % 7 * 30, properties=QUIET))
        stand.scheduler.advance(step % 11 * 40)
        last = present(files.last())
        now = (files.flushed_where, files.max_offset, last.file_from_offset + last.wrote_position)
        assert now[0] <= now[1] <= now[2]
        assert all(was <= found for was, found in zip(before, now, strict=True))
        before = now
    stand.scheduler.advance(20_000)
    assert files.flushed_where == files.max_offset == before[2]


# Real-time flush


@behaviour("FLU-04", "FLU-05")
@every
def test_timed_flush_runs_at_its_own_interval(profile: str) -> None:
    """Every 500 ms, with or without puts; the first round flushes everything."""
    stand = Running(profile)
    stand.put(message())
    assert [stand.flushed_after(millis) for millis in (499, 1)] == [0, 105]
    stand.put(message())
    assert stand.flushed_after(9499) == 105, "less than four pages"
    assert stand.flushed_after(501) == 210, "ten seconds after the first flush"


@behaviour("FLU-05")
@pytest.mark.parametrize(
    ("settings", "size", "wait", "flushed"),
    [({}, 4 * PAGE - 105 - 1, 500, 4 * PAGE + 99), ({"mapped_file_size_commit_log": 2 * PAGE}, 2 * PAGE - 105 - 8, 0, 2 * PAGE)],
    ids=["from inside a page to the start of the fourth after it", "one file at a time"],
)
def test_four_pages_or_a_full_file_are_flushed_immediately(settings: dict[str, Any], size: int, wait: int, flushed: int) -> None:
    stand = Running(flush_commit_log_timed=False, **settings)
    stand.put(sized(105))
    assert stand.flushed_after(500) == 105
    stand.put(sized(size))
    assert stand.flushed_after(wait) == 105
    stand.put(sized(200 if settings else 100))
    assert [stand.flushed_after(millis) for millis in (0, 500)] == [flushed, flushed]


@behaviour("FLU-04", "FLU-05")
def test_a_put_wakes_a_flush_that_is_not_timed() -> None:
    for timed, expected in ((False, 105), (True, 0)):
        stand = Running(flush_commit_log_timed=timed)
        stand.scheduler.advance(100)
        stand.put(message())
        assert stand.flushed_after(0) == expected


@behaviour("FLU-05")
@pytest.mark.parametrize(("files", "flushed"), [(3, 3), (10, 10), (12, 10)])
def test_a_stopped_flush_takes_up_to_ten_files(files: int, flushed: int) -> None:
    stand = Running(mapped_file_size_commit_log=400)
    stand.scheduler.advance(500)
    for _ in range(files):
        stand.put(sized(300))
    stand.service(FlushRealTimeService).stop()
    stand.scheduler.advance(500)
    # The current round takes the first file, which is full; the retries continue after it.
    assert stand.store.flushed_where == min(files * 400 - 100, (flushed + 1) * 400)


# The transient pool


def pooled(**settings: Any) -> Running:
    chosen = {"transient_store_pool_size": 2, "mapped_file_size_commit_log": PAGE * 8} | settings
    return Running("P49", transient_store_pool_enable=True, **chosen)


@behaviour("FLU-06", "FLU-04")
def test_buffered_messages_cannot_be_read() -> None:
    """The message is committed 200 ms after the last round, then dispatched and flushed."""
    stand = pooled(commit_commit_log_thorough_interval=300, flush_commit_log_timed=False)
    stand.scheduler.advance(250)
    result = stand.put(message())
    assert result.status is OK
    assert stand.store.max_phy_offset == 0
    assert stand.store.look_message_by_offset(0) is None
    assert stand.store.max_offset("TopicTest", 0) == 0
    assert bytes(stand.disk.files["store/commitlog/00000000000000000000"]) == b""
    stand.scheduler.advance(199)
    assert stand.store.max_phy_offset == 0, "less than four pages"
    stand.scheduler.advance(2)
    assert stand.store.max_phy_offset == 105
    assert stand.store.look_message_by_offset(0) is not None
    assert stand.store.max_offset("TopicTest", 0) == 1
    assert stand.store.flushed_where == 105, "the commit wakes the flush"


@behaviour("FLU-06")
def test_four_pages_are_committed_immediately() -> None:
    stand = pooled(commit_commit_log_thorough_interval=10_000)
    stand.scheduler.advance(200)
    stand.put(sized(4 * PAGE - 1))
    stand.scheduler.advance(0)
    assert stand.store.max_phy_offset == 0
    stand.put(sized(100))
    stand.scheduler.advance(0)
    assert stand.store.max_phy_offset == 4 * PAGE + 99


@behaviour("FLU-06")
def test_commit_with_progress_restarts_the_interval() -> None:
    """A commit that returns false has committed data."""
    stand = pooled(commit_commit_log_thorough_interval=300, commit_interval_commit_log=100)
    stand.scheduler.advance(150)
    stand.put(sized(4 * PAGE))
    stand.scheduler.advance(10)
    assert stand.store.max_phy_offset == 4 * PAGE
    stand.put(message())
    stand.scheduler.advance(299)  # rounds at 160, 260 and 360
    assert stand.store.max_phy_offset == 4 * PAGE
    stand.scheduler.advance(1)
    assert stand.store.max_phy_offset == 4 * PAGE + 105


@behaviour("FLU-06", "REM-06")
def test_buffers_are_lent_until_a_file_is_committed() -> None:
    """A file without a buffer is written directly."""
    stand = pooled(mapped_file_size_commit_log=400)
    stand.scheduler.kill(stand.tasks)
    found = [stand.store.is_transient_store_pool_deficient()]
    for _ in range(3):
        stand.put(sized(300))
        found.append(stand.store.is_transient_store_pool_deficient())
    assert found == [False, False, True, True]
    files = stand.store.commit_log.files.files
    assert [mapped.write_buffer is None for mapped in files] == [False, False, True]
    assert files[2].read_position == 300
    assert [stand.store.commit_log.files.commit() for _ in range(3)] == [False, False, False]
    assert not stand.store.is_transient_store_pool_deficient()
    assert [mapped.write_buffer is None for mapped in files] == [True, True, True]
    assert len(list(stand.store.records())) == 3
    assert not Running().store.is_transient_store_pool_deficient(), "no pool, no lack"


@behaviour("FLU-06")
def test_a_stopped_commit_empties_up_to_ten_buffers() -> None:
    stand = pooled(mapped_file_size_commit_log=400, transient_store_pool_size=20)
    stand.scheduler.kill(stand.tasks)
    for _ in range(12):
        stand.put(sized(300))
    service = CommitRealTimeService(stand.store.commit_log.files, stand.settings, stand.clock, lambda: None)
    service.stopped = True
    stand.scheduler.complete(service.run())
    assert stand.store.commit_log.files.committed_where == 4000


@behaviour("FLU-06")
def test_pool_loses_uncommitted_messages() -> None:
    stand = pooled()
    stand.put(message())
    stand.scheduler.advance(1000)
    stand.put(message())
    stand.scheduler.kill(stand.tasks)
    assert len(list(stand.reopen().store.records())) == 1


# The checkpoint


@behaviour("FLU-05", "REC-02")
def test_flush_sets_the_checkpoint_to_the_last_messages_time() -> None:
    stand = Running()
    stand.put(message())
    stand.scheduler.advance(100)
    stored = stand.clock.now()
    stand.put(message())
    stand.scheduler.advance(399)
    assert stand.store.checkpoint.physic_msg_timestamp == 0
    stand.scheduler.advance(1)
    assert stand.store.checkpoint.physic_msg_timestamp == stored


@behaviour("REC-02")
def test_checkpoint_is_written_only_after_all_queues_are_flushed() -> None:
    stand = Running()

    def written() -> int:
        found = StoreCheckpoint(stand.disk, "store/checkpoint")
        found.load()
        return found.physic_msg_timestamp

    first = stand.clock.now()
    stand.put(message())
    stand.scheduler.advance(1000)
    assert written() == first
    second = stand.clock.now()
    stand.put(message())
    stand.scheduler.advance(59_999)
    assert (stand.store.checkpoint.physic_msg_timestamp, written()) == (second, first)
    stand.scheduler.advance(1)
    assert written() == second


# Dispatch and the consume queues


@behaviour("REC-04")
def test_a_message_is_dispatched_a_millisecond_later() -> None:
    stand = sync()
    stand.put(message())
    assert stand.store.behind() == 105
    stand.scheduler.advance(1)
    assert (stand.store.behind(), stand.store.max_offset("TopicTest", 0)) == (0, 1)
    for _ in range(250):
        stand.begin(message())
    found = []
    for _ in range(3):
        stand.scheduler.advance(1)
        found.append(stand.store.max_offset("TopicTest", 0))
    assert found == [101, 201, 251]


def test_queues_flush_by_pages_each_second_wholly_each_minute() -> None:
    stand = Running()
    path = "store/consumequeue/TopicTest/0/00000000000000000000"
    stand.put(message())
    stand.scheduler.advance(1000)
    assert stand.disk.regions[path].forced == 20, "the first round flushes everything"
    stand.put(message())
    stand.scheduler.advance(10_000)
    assert stand.disk.regions[path].forced == 20
    for _ in range(2 * PAGE // 20):
        stand.put(message())
    stand.scheduler.advance(1000)
    whole = 20 * (2 + 2 * PAGE // 20)
    assert stand.disk.regions[path].forced == whole
    stand.put(message())
    stand.scheduler.advance(47_000)
    assert stand.disk.regions[path].forced == whole
    stand.scheduler.advance(2000)
    assert stand.disk.regions[path].forced == whole + 20


# The stop


@every
@pytest.mark.parametrize("settings", [{"flush_disk_type": "SYNC_FLUSH"}, {}, {"transient_store_pool_enable": True}])
def test_a_stopped_store_has_everything_on_the_device(profile: str, settings: dict[str, Any]) -> None:
    stand = Running(profile, mapped_file_size_commit_log=2000, transient_store_pool_size=2, **settings)
    for number in range(40):
        stand.begin(message(queue_id=number % 3, properties=QUIET))
    stand.scheduler.complete(stand.store.stop())
    assert stand.put(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert stand.store.flushed_where == stand.store.max_phy_offset > 4000
    assert stand.store.behind() == 0
    for path, region in stand.disk.regions.items():
        assert region.forced == len(region.content), path
    assert all(service.ended.done for service in stand.services)
    stand.scheduler.complete(stand.store.stop())
    again = stand.reopen()
    assert len(list(again.store.records())) == 40
    assert [again.store.max_offset("TopicTest", queue) for queue in range(3)] == [14, 13, 13]


def test_running_put_completes_before_the_stop() -> None:
    """A second passes between the last put and the stop of the threads."""
    stand = sync(sync_flush_timeout=100)
    task = stand.begin(message())
    stopping = stand.scheduler.spawn(stand.store.stop())
    stand.scheduler.advance(999)
    assert task.result().status is OK
    assert not any(service.ended.done for service in stand.services)
    stand.scheduler.run(stopping.done)


def test_a_store_without_threads_stops_too() -> None:
    stand = Stand()
    stand.put(message())
    stand.store.dispatch()
    stand.scheduler.complete(stand.store.stop())
    assert stand.store.flushed_where == 105
