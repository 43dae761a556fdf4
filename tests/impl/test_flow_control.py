"""Flow control of a busy broker: rejections before, at and in an executor's queue (REM-06, REM-07, REM-10)."""

from __future__ import annotations

import pytest
from marks import behaviour
from sending import FakeChannel, Stand, send_request

from rocketproof_impl.executor import ThreadPool
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.dispatch import Dispatcher, Processor
from rocketproof_impl.remoting.ports import RequestTask
from rocketproof_impl.simulator.scheduler import Scheduler, SimulatedThread
from rocketproof_impl.tasks import Future, Pause, Wait
from rocketproof_protocol.codes import SERVICE_NOT_AVAILABLE, SYSTEM_BUSY

HELD = "arrived"
BUSY = "start flow control for a while"


def busy(stand: Stand, millis: int = 5000) -> None:
    """Return a broker whose put lock has been held for this long."""
    stand.broker.store.commit_log.begin_time_in_lock = stand.clock.now() - millis


def hold(task: SimulatedThread[object], pause: Pause) -> bool:
    return task.name == "send" and pause.name == HELD


def waiting(stand: Stand, *requests: Command) -> None:
    """Occupy the only send thread with its own request, and queue these requests."""
    stand.topic()
    stand.scheduler.stops = hold
    for request in (send_request(opaque=99), *requests):
        stand.broker.receive(stand.channel, request)
    stand.scheduler.settle()
    assert stand.executors["send"].waiting == len(requests)


def answers(stand: Stand) -> list[tuple[int, int, str | None]]:
    return [(one.opaque, one.code, one.remark) for one in stand.channel.written]


# Before the queue


@pytest.mark.parametrize("one_way", [False, True])
@behaviour("REM-06", "HAZ-26")
def test_busy_page_cache_rejects_without_a_thread(one_way: bool) -> None:
    stand = Stand()
    busy(stand)
    stand.broker.receive(stand.channel, send_request(opaque=7, one_way=one_way))
    assert answers(stand) == [(7, SYSTEM_BUSY, f"[REJECTREQUEST]system busy, {BUSY}")]  # the scheduler took no step
    assert stand.channel.written[0].is_response
    assert stand.executors["send"].running == []
    assert stand.stored() == []


@pytest.mark.parametrize(("profile", "answers_one_way"), [("P494", 1), ("P500", 1), ("P510", 0), ("P533", 0)])
@behaviour("REM-06", "HAZ-26")
def test_later_releases_reject_one_way_sends_silently(profile: str, answers_one_way: int) -> None:
    stand = Stand(profile)
    busy(stand)
    stand.broker.receive(stand.channel, send_request(one_way=True))
    assert len(answers(stand)) == answers_one_way
    stand.broker.receive(stand.channel, send_request(one_way=False))
    assert len(answers(stand)) == answers_one_way + 1


@pytest.mark.parametrize(("profile", "code"), [("P494", SERVICE_NOT_AVAILABLE), ("P533", SYSTEM_BUSY)])
@behaviour("REM-06")
def test_slave_rejects_sends_from_5_0_on(profile: str, code: int) -> None:
    stand = Stand(profile)
    stand.settings.broker_role = "SLAVE"
    answer = stand.send()
    assert (answer.code, str(answer.remark).startswith("[REJECTREQUEST]")) == (code, code == SYSTEM_BUSY)


@behaviour("REM-06")
def test_a_pool_without_a_free_buffer_rejects_too() -> None:
    stand = Stand()
    stand.broker.store.is_transient_store_pool_deficient = lambda: True  # type: ignore[method-assign]  # a double of the method
    assert "[REJECTREQUEST]" in str(stand.send().remark)


@behaviour("REM-06")
def test_only_sends_are_rejected() -> None:
    stand = Stand()
    busy(stand)
    assert stand.call(34, b'{"clientID":"c","consumerDataSet":[],"producerDataSet":[]}').code == 0


# At the queue


@pytest.mark.parametrize("one_way", [False, True])
@behaviour("REM-07")
def test_full_queue_rejects_and_one_way_callers_get_no_answer(one_way: bool) -> None:
    stand = Stand(threads=1, capacity=1)
    waiting(stand, send_request(opaque=1))
    stand.broker.receive(stand.channel, send_request(opaque=2, one_way=one_way))
    expected = [(2, SYSTEM_BUSY, f"[OVERLOAD]system busy, {BUSY}")]
    assert answers(stand) == ([] if one_way else expected)
    stand.scheduler.stops = None
    stand.scheduler.resume(stand.executors["send"].running[0])
    assert [opaque for opaque, code, _ in answers(stand) if code == 0] == [99, 1]
    assert len(stand.stored()) == 2


# In the queue


@behaviour("REM-10")
def test_expired_requests_are_rejected_from_the_head_of_the_queue() -> None:
    stand = Stand(threads=1)
    waiting(stand, send_request(opaque=1), send_request(opaque=2, one_way=True))
    stand.scheduler.advance(150)
    stand.broker.receive(stand.channel, send_request(opaque=3))
    stand.scheduler.advance(49)
    stand.broker.fail_fast()
    assert answers(stand) == []  # 199 ms
    stand.scheduler.advance(1)
    stand.broker.fail_fast()
    remark = f"[TIMEOUT_CLEAN_QUEUE]broker busy, {BUSY}, period in queue: 200ms, size of queue: "
    assert answers(stand) == [(1, SYSTEM_BUSY, f"{remark}2"), (2, SYSTEM_BUSY, f"{remark}1")]
    stand.scheduler.stops = None
    stand.scheduler.resume(stand.executors["send"].running[0])
    assert [opaque for opaque, code, _ in answers(stand) if code == 0] == [99, 3]
    assert len(stand.stored()) == 2  # a rejected request is never served


@behaviour("REM-10")
def test_busy_page_cache_empties_the_send_queue_at_any_age() -> None:
    stand = Stand(threads=1)
    waiting(stand, send_request(opaque=1), send_request(opaque=2))
    stand.scheduler.advance(30)
    busy(stand)
    stand.broker.fail_fast()
    remark = f"[PCBUSY_CLEAN_QUEUE]broker busy, {BUSY}, period in queue: 30ms, size of queue: "
    assert answers(stand) == [(1, SYSTEM_BUSY, f"{remark}1"), (2, SYSTEM_BUSY, f"{remark}0")]


@behaviour("REM-10")
def test_fast_failure_can_be_switched_off() -> None:
    stand = Stand(threads=1, broker_fast_failure_enable=False)
    waiting(stand, send_request(opaque=1))
    stand.scheduler.advance(10_000)
    busy(stand)
    stand.broker.fail_fast()
    assert answers(stand) == []


@pytest.mark.parametrize(("pool", "limit"), [("send", 200), ("pull", 5000), ("heartbeat", 31_000), ("transaction", 3000)])
@behaviour("REM-10")
def test_each_queue_has_its_own_limit(pool: str, limit: int) -> None:
    stand = Stand()
    executor: ThreadPool[SimulatedThread[None]] = ThreadPool(stand.scheduler, pool, 1)
    stand.broker.fast_failure._executors[pool] = executor
    for opaque in (1, 2):
        executor.submit(RequestTask(forever, stand.channel, Command(1, opaque=opaque)))
    stand.scheduler.advance(limit - 1)
    stand.broker.fail_fast()
    assert answers(stand) == []
    stand.scheduler.advance(1)
    stand.broker.fail_fast()
    assert [(opaque, code) for opaque, code, _ in answers(stand)] == [(2, SYSTEM_BUSY)]


async def forever() -> None:
    await Wait(Future())


@behaviour("REM-10")
def test_fast_failure_runs_every_ten_milliseconds_after_one_second() -> None:
    assert [tuple(task) for task in Stand().broker.PERIODIC if task.name == "fail_fast"] == [("fail_fast", 1000, 10)]


@behaviour("REM-10", "HAZ-25")
def test_the_answer_of_a_finished_request_is_not_cleaned_away() -> None:
    stand = Stand(threads=1)
    waiting(stand)
    executor = stand.executors["send"]
    executor.submit(RequestTask(forever))
    busy(stand)
    stand.scheduler.advance(60_000)
    busy(stand)
    stand.broker.fail_fast()
    assert executor.waiting == 1


@behaviour("REM-05")
def test_the_opaque_is_copied_into_every_refusal() -> None:
    scheduler, channel = Scheduler(), FakeChannel()
    dispatcher = Dispatcher()

    async def process(_: object, __: Command) -> None:
        return None

    dispatcher.processors[1] = Processor(process, ThreadPool(scheduler, "none", 0, 0))
    dispatcher.receive(channel, Command(1, opaque=11))
    dispatcher.receive(channel, Command(1, opaque=12, flag=ONE_WAY))
    dispatcher.receive(channel, Command(2, opaque=13, flag=ONE_WAY))
    assert [one.opaque for one in channel.written] == [11, 13]
