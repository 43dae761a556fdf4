"""What a put waits for after its append, and its status after a timeout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from marks import behaviour, either, every
from storing import Stand, appended, message

from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_impl.tasks import Future
from rocketproof_protocol.properties import WAIT

MIB256 = 256 << 20


class Asked:
    """A flush or a set of replicas that answers when the test calls `fulfil`."""

    def __init__(self, connections: int = 0) -> None:
        self.connections = connections
        self.push2_slave_max_offset = 0
        self.requests: list[tuple[int, Future[bool]]] = []
        self.woken = 0

    def request(self, next_offset: int) -> Future[bool]:
        future: Future[bool] = Future()
        self.requests.append((next_offset, future))
        return future

    def wakeup(self) -> None:
        self.woken += 1

    def fulfil(self) -> None:
        for _, future in self.requests:
            future.complete(True)


class Waiting(Stand):
    """A stand with synchronous flush and replicas that the test controls."""

    def __init__(
        self, profile: str, *, flush: str = "SYNC_FLUSH", role: str = "ASYNC_MASTER", connections: int = 1, **settings: Any
    ) -> None:
        super().__init__(profile, flush_disk_type=flush, broker_role=role, **settings)
        self.flush = Asked()
        self.replicas = Asked(connections)
        self.store.flush = self.flush
        self.store.replicas = self.replicas

    def timed_put(self, *, flushed: int | None = None, copied: int | None = None, **fields: Any) -> tuple[PutMessageStatus, int]:
        """Return status and milliseconds of a put whose flush and copy complete after these milliseconds, or never."""
        began = self.clock.now()
        task = self.scheduler.spawn(self.store.put_message(message(**fields)))
        for port, after in ((self.flush, flushed), (self.replicas, copied)):
            if after is not None:
                self.scheduler.after(after, port.fulfil)
        result: PutResult = self.scheduler.run(task.done)
        assert result.ok
        return result.status, self.clock.now() - began


@behaviour("FLU-02")
@either
def test_a_flush_in_time_is_put_ok(profile: str) -> None:
    stand = Waiting(profile)
    assert stand.timed_put(flushed=4999) == (PutMessageStatus.PUT_OK, 4999)
    assert [offset for offset, _ in stand.flush.requests] == [105]
    stand.timed_put(flushed=0)
    assert [offset for offset, _ in stand.flush.requests] == [105, 210]
    assert stand.flush.woken == 0


@behaviour("FLU-02", "LIV-09", "STO-05", "M-62")
@either
def test_late_flush_is_a_status_not_a_failure(profile: str) -> None:
    stand = Waiting(profile)
    assert stand.timed_put() == (PutMessageStatus.FLUSH_DISK_TIMEOUT, 5000)
    assert len(list(stand.store.records())) == 1
    assert stand.store.statistics.put_failed == 0
    assert stand.store.statistics.put_times == {"TopicTest": 1}
    assert stand.store.statistics.put_longest == 5000
    stand.settings.sync_flush_timeout = 70
    assert stand.timed_put() == (PutMessageStatus.FLUSH_DISK_TIMEOUT, 70)


@behaviour("FLU-02")
@either
def test_a_flush_that_fails_is_a_timeout_at_once(profile: str) -> None:
    stand = Waiting(profile)
    task = stand.scheduler.spawn(stand.store.put_message(message()))
    stand.scheduler.settle()
    stand.flush.requests[0][1].complete(False)
    assert stand.scheduler.run(task.done).status is PutMessageStatus.FLUSH_DISK_TIMEOUT


@behaviour("FLU-02", "FLU-07", "SEND-25", "M-76", "M-77")
@either
@pytest.mark.parametrize(("wait", "waits"), [(None, True), ("true", True), ("TRUE", True), ("false", False), ("", False), ("yes", False)])
def test_wait_absent_or_true_waits(profile: str, wait: str | None, waits: bool) -> None:
    stand = Waiting(profile, role="SYNC_MASTER")
    properties = {} if wait is None else {WAIT: wait}
    text = f"{WAIT}\x01{'false' if waits else 'true'}"  # the map decides, not the text
    status, elapsed = stand.timed_put(properties=properties, properties_text=text)
    assert (status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT) is waits
    assert (elapsed > 0) is waits
    assert (len(stand.flush.requests), stand.flush.woken, len(stand.replicas.requests)) == ((1, 0, 1) if waits else (0, 1, 0))


@behaviour("FLU-02", "FLU-04", "FLU-07")
@either
def test_asynchronous_broker_wakes_the_flush_without_waiting(profile: str) -> None:
    stand = Waiting(profile, flush="ASYNC_FLUSH")
    assert stand.timed_put() == (PutMessageStatus.PUT_OK, 0)
    assert (stand.flush.requests, stand.flush.woken) == ([], 1)
    assert stand.replicas.requests == []


@behaviour("FLU-02")
@either
def test_failed_put_does_not_wait(profile: str) -> None:
    stand = Waiting(profile, role="SYNC_MASTER")
    assert stand.put(message(body=b"x" * (4 << 20))).status is PutMessageStatus.MESSAGE_ILLEGAL
    assert (stand.flush.requests, stand.flush.woken, stand.replicas.requests) == ([], 0, [])


@behaviour("FLU-02", "CL-08", "HAZ-22")
@every
def test_lost_message_also_waits(profile: str) -> None:
    """Its blank ends at the end of its file, up to which the put waits for flush and copy."""
    stand = Waiting(profile, role="SYNC_MASTER", mapped_file_size_commit_log=100)
    result = stand.put(message())
    assert (result.status, result.ok) == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, False)
    assert [offset for port in (stand.flush, stand.replicas) for offset, _ in port.requests] == [200, 200]


@behaviour("CL-04", "FLU-02")
@every
def test_the_lock_is_free_while_a_put_waits(profile: str) -> None:
    stand = Waiting(profile)
    stand.scheduler.spawn(stand.store.put_message(message()))
    stand.scheduler.advance(2000)
    assert not stand.store.commit_log.lock.held
    assert not stand.store.is_os_page_cache_busy()
    assert appended(stand.put(message(properties={WAIT: "false"}))).queue_offset == 1


@behaviour("FLU-07")
@pytest.mark.parametrize(("profile", "limit"), [("P45", 5000), ("P49", 3000)])
def test_the_wait_for_a_replica_has_a_limit(profile: str, limit: int) -> None:
    stand = Waiting(profile, flush="ASYNC_FLUSH", role="SYNC_MASTER")
    assert stand.timed_put(copied=limit - 1) == (PutMessageStatus.PUT_OK, limit - 1)
    assert [offset for offset, _ in stand.replicas.requests] == [105]
    assert stand.timed_put() == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, limit)
    stand.settings.slave_timeout = 70
    assert stand.timed_put() == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, 70 if profile == "P49" else 5000)


@behaviour("FLU-07")
@either
def test_without_a_slave_the_answer_is_immediate(profile: str) -> None:
    stand = Waiting(profile, flush="ASYNC_FLUSH", role="SYNC_MASTER", connections=0)
    assert stand.timed_put() == (PutMessageStatus.SLAVE_NOT_AVAILABLE, 0)
    assert stand.replicas.requests == []
    alone = Stand(profile, broker_role="SYNC_MASTER")
    assert alone.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE


@behaviour("FLU-07")
@either
@pytest.mark.parametrize(("behind", "status"), [(MIB256 - 1, PutMessageStatus.PUT_OK), (MIB256, PutMessageStatus.SLAVE_NOT_AVAILABLE)])
def test_slave_must_lag_less_than_256_mib(profile: str, behind: int, status: PutMessageStatus) -> None:
    stand = Waiting(profile, flush="ASYNC_FLUSH", role="SYNC_MASTER")
    stand.replicas.push2_slave_max_offset = 105 - behind
    assert stand.timed_put(copied=1)[0] is status


@behaviour("FLU-08")
@pytest.mark.parametrize(("profile", "elapsed"), [("P45", 10_000), ("P49", 5000)])
def test_the_replica_status_hides_the_disk_status(profile: str, elapsed: int) -> None:
    """One after the other, or both at once."""
    assert Waiting(profile, role="SYNC_MASTER").timed_put() == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, elapsed)
    alone = Waiting(profile, role="SYNC_MASTER", connections=0)
    assert alone.timed_put() == (PutMessageStatus.SLAVE_NOT_AVAILABLE, 5000)


@behaviour("FLU-08")
@pytest.mark.parametrize(("profile", "copied", "elapsed"), [("P45", 5001, 5001), ("P49", 2000, 5000)])
def test_completed_copy_keeps_the_disk_status(profile: str, copied: int, elapsed: int) -> None:
    stand = Waiting(profile, role="SYNC_MASTER")
    assert stand.timed_put(copied=copied) == (PutMessageStatus.FLUSH_DISK_TIMEOUT, elapsed)


@behaviour("FLU-08")
def test_older_release_requests_the_replica_after_the_flush() -> None:
    for profile, asked in (("P45", 0), ("P49", 1)):
        stand = Waiting(profile, role="SYNC_MASTER")
        stand.scheduler.spawn(stand.store.put_message(message()))
        stand.scheduler.settle()
        assert (len(stand.flush.requests), len(stand.replicas.requests)) == (1, asked)


@behaviour("FLU-07", "FLU-08")
def test_late_replica_stays_late_during_a_longer_flush() -> None:
    stand = Waiting("P49", role="SYNC_MASTER")
    assert stand.timed_put(flushed=4500, copied=4000) == (PutMessageStatus.FLUSH_SLAVE_TIMEOUT, 4500)
    stand = Waiting("P49", role="SYNC_MASTER")
    assert stand.timed_put(flushed=4500, copied=2999) == (PutMessageStatus.PUT_OK, 4500)
    stand = Waiting("P49", role="SYNC_MASTER")
    stand.settings.slave_timeout = 9000
    assert stand.timed_put(copied=8000) == (PutMessageStatus.FLUSH_DISK_TIMEOUT, 8000)


@behaviour("FLU-02")
@either
def test_the_flush_on_demand_forces_every_file(profile: str) -> None:
    stand = Stand(profile, flush_disk_type="SYNC_FLUSH", mapped_file_size_commit_log=200)
    stand.put(message(properties={WAIT: "false"}))
    assert stand.store.flushed_where == 0
    assert stand.put(message()).status is PutMessageStatus.PUT_OK
    assert stand.store.flushed_where == stand.store.max_phy_offset == 305
    assert [stand.disk.regions[f"store/commitlog/{offset:020d}"].forced for offset in (0, 200)] == [113, 105]


@behaviour("ACT-03")
def test_one_flush_forces_one_file() -> None:
    """Each flush call stops at the end of a file (HAZ-21 depends on that)."""
    stand = Stand("P49", mapped_file_size_commit_log=200)
    for _ in range(3):
        stand.put(message())
    files = stand.store.commit_log.files
    assert [(files.flush(), files.flushed_where) for _ in range(4)] == [(False, 200), (False, 400), (False, 505), (True, 505)]
    stand.put(message(body=b""))
    stand.store.dispatch()
    stand.store.flush_now()
    assert stand.store.flushed_where == stand.store.max_phy_offset
    assert stand.disk.regions["store/consumequeue/TopicTest/0/00000000000000000000"].forced == 80


class Device:
    """Forces when the test calls `force`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[[], None], Future[None]]] = []

    def __call__(self, action: Callable[[], None]) -> Future[None]:
        done: Future[None] = Future()
        self.asked.append((action, done))
        return done

    def force(self) -> None:
        action, done = self.asked.pop()
        action()
        done.complete(None)


@behaviour("FLU-03", "FLU-05")
def test_flush_excludes_messages_appended_meanwhile() -> None:
    stand, device = Stand("P494"), Device()
    stand.put(message())
    files = stand.store.commit_log.files
    flushing = stand.scheduler.spawn(files.flush_concurrently(device)).done
    stand.scheduler.settle()
    stand.put(message())
    assert (files.flushed_where, flushing.done) == (0, False)
    device.force()
    assert stand.scheduler.run(flushing) is False
    assert files.flushed_where == stand.store.max_phy_offset // 2
    flushing = stand.scheduler.spawn(files.flush_concurrently(device)).done
    stand.scheduler.settle()
    stand.put(message())
    device.force()
    assert stand.scheduler.run(flushing) is False
    assert files.flushed_where == stand.store.max_phy_offset * 2 // 3


@behaviour("FLU-05")
def test_queue_destroyed_during_its_flush_restarts_at_0() -> None:
    stand, device = Stand("P494"), Device()
    stand.put(message())
    stand.store.dispatch()
    files = stand.store.queues.queues["TopicTest", 0].files
    flushing = stand.scheduler.spawn(files.flush_concurrently(device)).done
    stand.scheduler.settle()
    files.destroy()
    device.force()
    assert stand.scheduler.run(flushing) is True
    assert files.flushed_where == 0


@behaviour("BAT-04", "FLU-02")
@either
def test_batches_wait_too(profile: str) -> None:
    stand = Waiting(profile)
    task = stand.scheduler.spawn(stand.store.put_messages(message(body=b"")))
    result = stand.scheduler.run(task.done)
    assert result.status is PutMessageStatus.FLUSH_DISK_TIMEOUT
    assert appended(result).wrote_bytes == 0
