"""The simulator itself: threads, time, locks, disk, network, executors."""

from collections.abc import Callable

import pytest
from marks import behaviour

from rocketproof_impl.executor import ThreadPool
from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.remoting.errors import ConnectFailed, SendFailed, TimedOut
from rocketproof_impl.remoting.ports import Rejected, RequestTask
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.disk import ProcessEnded, SimulatedDisk
from rocketproof_impl.simulator.network import HOLD, SimulatedChannel, SimulatedNetwork
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.tasks import Future, Lock, Pause, TaskInterrupted, Wait
from rocketproof_profiles import PROFILES

HERE = Pause("here")


def test_thread_passes_its_pauses_unless_stopped() -> None:
    scheduler = Scheduler()

    async def work() -> str:
        await HERE
        return "done"

    assert scheduler.complete(work()) == "done"
    scheduler.stops = lambda task, pause: pause is HERE
    task = scheduler.spawn(work())
    scheduler.settle()
    assert task.at is HERE
    scheduler.resume(task)
    assert task.result() == "done"
    with pytest.raises(RuntimeError, match="does not stand at a pause"):
        scheduler.resume(task)


def test_wait_ends_with_the_future_or_its_timeout() -> None:
    scheduler = Scheduler()
    start = scheduler.clock.now()
    later: Future[int] = Future()

    async def work(millis: int) -> tuple[bool, int]:
        got = await Wait(later, millis)
        return got, scheduler.clock.now() - start

    short, long = scheduler.spawn(work(10)), scheduler.spawn(work(1000))
    scheduler.after(100, lambda: later.complete(1) and None)
    assert scheduler.run(short.done) == (False, 10)
    assert scheduler.run(long.done) == (True, 100)


def test_clock_does_not_advance_while_a_thread_can_run() -> None:
    scheduler = Scheduler()
    seen: list[int] = []
    scheduler.every(10, 30, lambda: seen.append(scheduler.clock.now()))
    start = scheduler.clock.now()
    scheduler.advance(70)
    assert [t - start for t in seen] == [10, 40, 70]
    assert scheduler.clock.now() == start + 70


def test_waiting_forever_is_an_error() -> None:
    scheduler = Scheduler()

    async def work() -> None:
        await Wait(Future())

    with pytest.raises(RuntimeError, match="nobody will do"):
        scheduler.complete(work())


def test_lock_is_granted_in_order_and_skips_timed_out_threads() -> None:
    scheduler, lock, order = Scheduler(), Lock(), []
    scheduler.stops = lambda task, pause: task.name == "first"

    async def work(name: str, millis: int) -> bool:
        got = await lock.acquire(millis)
        if got:
            order.append(name)
            await HERE
            lock.release()
        return got

    first = scheduler.spawn(work("first", 100), "first")
    others = [scheduler.spawn(work(name, millis), name) for name, millis in (("second", 50), ("third", 500), ("fourth", 500))]
    scheduler.advance(60)
    assert not others[0].result()
    scheduler.resume(first)
    assert order == ["first", "third", "fourth"]
    assert not lock.held


def test_an_interrupted_thread_leaves_the_queue_of_the_lock() -> None:
    scheduler, lock = Scheduler(), Lock()
    lock.held = True
    caught = []

    async def work() -> None:
        try:
            await lock.acquire(1000)
        except TaskInterrupted:
            caught.append(True)

    task = scheduler.spawn(work())
    scheduler.settle()
    scheduler.interrupt(task, TaskInterrupted())
    lock.release()
    assert caught == [True]
    assert not lock.held


def test_killed_threads_take_no_further_step() -> None:
    scheduler, lock, steps = Scheduler(), Lock(), []

    async def work(name: str) -> None:
        await lock.acquire()
        try:
            await Wait(Future(), 10)
            steps.append(name)
        finally:
            lock.release()

    tasks = [scheduler.spawn(work(name)) for name in "ab"]
    scheduler.settle()
    scheduler.kill(tasks)
    scheduler.advance(100)
    assert steps == []


@pytest.mark.parametrize(("steps", "content"), [(0, None), (1, b""), (2, b"ab"), (3, b"abcd")])
def test_a_process_can_end_inside_a_write(steps: int, content: bytes | None) -> None:
    disk = SimulatedDisk()
    disk.end_after(steps)
    if content == b"abcd":
        disk.write("file", b"abcd")
    else:
        with pytest.raises(ProcessEnded):
            disk.write("file", b"abcd")
    assert disk.read("file") == content


def test_files_are_renamed_deleted_and_listed() -> None:
    disk = SimulatedDisk()
    disk.write("a/b/one", b"1")
    disk.write("a/two", b"2")
    assert disk.names("a") == ["b", "two"]
    assert disk.rename("a/two", "a/three")
    assert not disk.rename("a/two", "a/four")
    assert disk.delete("a/three")
    assert not disk.delete("a/three")
    assert disk.names("a") == ["b"]
    assert disk.read("a/two") is None


def test_region_has_the_requested_length_and_stores_writes() -> None:
    disk = SimulatedDisk()
    region = disk.map("log", 1 << 30)
    region.write(10, b"abc")
    assert region.read(8, 6) == b"\0\0abc\0"
    assert len(disk.files["log"]) == 13
    assert disk.map("log", 1 << 30).read(10, 3) == b"abc"


class _Echo:
    """Answers every request, or twice if requested."""

    def __init__(self, times: int = 1) -> None:
        self.times = times

    def receive(self, channel: SimulatedChannel, command: Command) -> None:
        for _ in range(self.times):
            answer = response_to(command)
            answer.code = command.code
            channel.write(answer)


def _network(times: int = 1) -> tuple[Scheduler, SimulatedNetwork, Callable[[int], int]]:
    scheduler = Scheduler()
    network = SimulatedNetwork(scheduler)
    network.listen("127.0.0.1:1", _Echo(times))
    caller = network.endpoint("127.0.0.1:2")
    return scheduler, network, lambda code: scheduler.complete(caller.call("127.0.0.1:1", Command(code), 1000)).code


def test_a_call_gets_the_answer_to_its_own_request() -> None:
    _, network, call = _network(times=2)
    assert [call(5), call(6)] == [5, 6]
    assert [packet.command.code for packet in network.unmatched] == [5, 6]


def test_a_lost_packet_costs_the_caller_its_time() -> None:
    scheduler, network, call = _network()
    start = scheduler.clock.now()
    network.plan = lambda packet: [] if packet.answer else [0]
    with pytest.raises(TimedOut):
        call(5)
    assert scheduler.clock.now() == start + 1000


def test_packets_are_delayed_doubled_and_held() -> None:
    scheduler, network, call = _network()
    start = scheduler.clock.now()
    network.plan = lambda packet: [30, 40] if packet.answer else [0]
    assert call(5) == 5
    assert scheduler.clock.now() == start + 30
    scheduler.advance(10)
    assert len(network.unmatched) == 1
    network.plan = lambda packet: HOLD
    task = scheduler.spawn(network.endpoint("127.0.0.1:3").call("127.0.0.1:1", Command(9), 1000))
    scheduler.settle()
    network.deliver(network.held[0])
    network.deliver(network.held[0])
    assert scheduler.run(task.done).code == 9


def test_missing_listener_and_lost_connection_are_errors() -> None:
    scheduler, network, call = _network()
    network.plan = lambda packet: HOLD
    task = scheduler.spawn(network.endpoint("127.0.0.1:3").call("127.0.0.1:1", Command(9), 1000))
    scheduler.settle()
    network.close("127.0.0.1:1")
    with pytest.raises(SendFailed):
        scheduler.run(task.done)
    with pytest.raises(ConnectFailed):
        call(5)


@behaviour("REM-12")
def test_one_way_request_does_not_wait() -> None:
    scheduler, network, _ = _network()
    caller = network.endpoint("127.0.0.1:4")
    scheduler.complete(caller.post("127.0.0.1:1", Command(7)))
    assert network.channel("127.0.0.1:4", "127.0.0.1:1").pending == {}
    assert network.unmatched[0].command.code == 7


def test_a_full_executor_rejects() -> None:
    scheduler = Scheduler()
    scheduler.stops = lambda task, pause: True
    pool = ThreadPool(scheduler, "pool", threads=1, capacity=1)

    async def work() -> None:
        await HERE

    pool.submit(RequestTask(work))
    pool.submit(RequestTask(work))
    with pytest.raises(Rejected):
        pool.submit(RequestTask(work))
    scheduler.settle()
    scheduler.resume(pool.running[0])
    pool.submit(RequestTask(work))
    assert len(pool.running) == 1


def test_error_for_an_unknown_profile_lists_the_known_profiles() -> None:
    with pytest.raises(ValueError, match="unknown profile 'P41': use P40, P45, P49, P494, P533"):
        Cluster(profile="P41")
    assert Cluster(profile=PROFILES["P45"]).profile is Cluster(profile="P45").profile
