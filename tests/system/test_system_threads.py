"""Threads on an asyncio loop: the coroutines of the simulator, stepped by the loop."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest

from rocketproof_impl.periodic import Periodic, drive
from rocketproof_impl.service import Service
from rocketproof_impl.system.background import Background
from rocketproof_impl.system.threads import Threads
from rocketproof_impl.tasks import Future, Lock, Pause, Wait

HERE = Pause("here")


@pytest.fixture
def background() -> Iterator[Background]:
    with Background() as made:
        yield made


def test_spawned_thread_runs_its_pauses_within_spawning_call() -> None:
    async def scene() -> None:
        threads = Threads()

        async def work() -> int:
            await HERE
            await HERE
            return 5

        assert threads.spawn(work()).done.result() == 5

    asyncio.run(scene())


def test_thread_spawned_by_thread_runs_after_its_step() -> None:
    async def scene() -> None:
        threads = Threads()
        order: list[str] = []

        async def inner() -> None:
            order.append("inner")

        async def outer() -> None:
            threads.spawn(inner())
            order.append("outer")

        threads.spawn(outer())
        assert order == ["outer", "inner"]

    asyncio.run(scene())


def test_wait_ends_by_its_future_or_by_its_time(background: Background) -> None:
    finished: Future[None] = Future()

    async def late() -> bool:
        return await Wait(finished, 60_000)

    async def timed() -> bool:
        got = await Wait(Future(), 1)
        finished.complete(None)
        return got

    waiting = background.submit(late())
    assert background.run(timed()) is False
    assert waiting.result(20) is True


def test_exception_of_thread_is_its_result(background: Background) -> None:
    async def fails() -> None:
        await Wait(Future(), 1)
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        background.run(fails())


def test_lock_is_handed_on_in_order(background: Background) -> None:
    lock, order = Lock(), []

    async def work(number: int) -> None:
        await lock.acquire()
        order.append(number)
        await Wait(Future(), 1)
        lock.release()

    for future in [background.submit(work(number)) for number in range(5)]:
        future.result(20)
    assert order == [0, 1, 2, 3, 4]


def test_closing_ends_threads_and_drops_planned_calls() -> None:
    async def scene() -> None:
        threads = Threads()
        events: list[str] = []

        async def work() -> None:
            try:
                await Wait(Future(), 1)
                events.append("went on")
            finally:
                events.append("left")

        threads.spawn(work())
        threads.after(1, lambda: events.append("timer"))
        threads.every(1, 1, lambda: events.append("again"))
        threads.close()
        late = threads.spawn(work())
        await asyncio.sleep(0.05)
        assert events == ["left"]
        assert not late.done.done

    asyncio.run(scene())


@pytest.mark.slow
def test_no_thread_steps_after_process_end() -> None:
    async def scene() -> None:
        threads = Threads()
        events: list[str] = []
        closed: Future[None] = Future()

        async def waits() -> None:
            await Wait(closed)
            events.append("went on")

        async def ends() -> None:
            threads.spawn(waits())
            threads.close()

        threads.spawn(waits())
        threads.at_end(lambda: events.append("closes") or closed.complete(None))
        threads.spawn(ends())
        await asyncio.sleep(0)
        assert events == ["closes"]

    asyncio.run(scene())
    gc.collect()  # a thread that never started would raise a warning here


def test_asyncio_tasks_end_with_threads() -> None:
    async def scene() -> None:
        threads = Threads()

        async def gives() -> int:
            return 7

        async def never() -> None:
            await asyncio.sleep(3600)

        assert await threads.outcome(threads.run_coroutine(gives())) == 7
        pending = threads.run_coroutine(never())
        await asyncio.sleep(0)
        not_begun = threads.run_blocking(lambda: 7)
        threads.close()
        for future in (pending, not_begun):
            with pytest.raises(asyncio.CancelledError):
                await threads.outcome(future)

    asyncio.run(scene())


class Repeats:
    """Periodic functions: a plain one, one that awaits a future, one that fails."""

    PERIODIC = (
        Periodic("plain", 1, 1),
        Periodic("slow", 1, 1),
        Periodic("failing", 1, 1),
        Periodic("late", 1, 1),
        Periodic("giving", 1, 1),
    )

    def __init__(self) -> None:
        self.plains = self.slows = self.failings = self.lates = 0
        self.gate: Future[None] = Future()

    def plain(self) -> None:
        self.plains += 1

    async def slow(self) -> None:
        self.slows += 1
        await Wait(self.gate)

    def failing(self) -> None:
        self.failings += 1
        raise ValueError("once more")

    def giving(self) -> list[str]:
        return ["given"]

    async def late(self) -> None:
        self.lates += 1
        raise OSError("later")


def test_blocking_calls_run_aside_and_delay_nothing(background: Background) -> None:
    may_end, order = threading.Event(), list[str]()

    def blocks() -> str:
        assert may_end.wait(60)
        return "device"

    def fails() -> None:
        raise OSError("no device")

    async def waits() -> str:
        found = background.threads.run_blocking(blocks)
        await Wait(found)
        order.append("aside")
        return found.result()

    async def goes_on() -> None:
        order.append("here")
        may_end.set()

    async def meets_a_failure() -> None:
        found = background.threads.run_blocking(fails)
        await Wait(found)
        found.result()

    begun = background.submit(waits())
    background.run(goes_on())
    assert begun.result() == "device"
    assert order == ["here", "aside"]
    with pytest.raises(OSError, match="no device"):
        background.run(meets_a_failure())


def test_periodic_function_repeats_after_errors_and_never_overlaps() -> None:
    async def scene() -> None:
        threads, thing = Threads(), Repeats()
        given: list[str] = []
        drive(threads, thing, thing.PERIODIC, given.extend)
        await until(lambda: min(thing.plains, thing.failings, thing.lates) >= 3)
        assert thing.slows == 1
        thing.gate.complete(None)
        await until(lambda: thing.slows >= 3)
        assert set(given) == {"given"}
        threads.close()

    asyncio.run(scene())


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0.002)


class Counting(Service):
    def __init__(self) -> None:
        super().__init__("counting")
        self.rounds = 0

    async def round(self) -> None:
        self.rounds += 1
        await self.wait_for_running(60_000)


def test_service_is_woken_and_ends(background: Background) -> None:
    service = Counting()

    async def scene() -> int:
        running = background.threads.spawn(service.run())
        service.wakeup()
        await Wait(Future(), 1)
        rounds = service.rounds
        await service.shutdown(20_000)
        assert running.done.done
        return rounds

    assert background.run(scene()) == 2


def test_wait_for_future_of_asyncio_code(background: Background) -> None:
    async def soon(future: Future[int]) -> int:
        background.threads.after(1, lambda: future.complete(3))
        return await background.threads.outcome(future)

    made: Awaitable[int] = soon(Future())
    assert background.complete(made) == 3  # type: ignore[arg-type]
