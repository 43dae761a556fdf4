"""Drives the dispatcher, executor and fast failure by the model of answers.

These are the implementation's objects. The test's own processor does what the next action requires: answer, throw, or return a future that
further actions complete. Each task of the executor pauses before its first step, so that its thread stays busy as long as in the
specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

from rocketproof_impl.broker.answering import do_response
from rocketproof_impl.broker.fastfailure import BrokerFastFailure
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.executor import ThreadPool
from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting.command import ONE_WAY, Command, response_to
from rocketproof_impl.remoting.dispatch import Answer, Dispatcher, Processor
from rocketproof_impl.remoting.ports import Channel, RequestTask
from rocketproof_impl.simulator.scheduler import Scheduler, SimulatedThread
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.tasks import Future, Pause
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol.codes import SEND_MESSAGE, SYSTEM_ERROR
from rocketproof_spec.answering import Answering

from .base import Deviation, ModelDriver, Seen, require
from .doubles import RecordingChannel

BEGIN = Pause("begin")
UNKNOWN_CODE = 9999


@dataclass(slots=True)
class _Held(RequestTask):
    """A task that pauses before its first step. `about`: the request and whether the task serves it or completes its future."""

    about: tuple[int, str] = (0, "")


class _Pool(ThreadPool[SimulatedThread[None]]):
    """An executor with one thread. `about`: its current task. `queue`: the waiting tasks."""

    def __init__(self, scheduler: Scheduler, capacity: int) -> None:
        super().__init__(scheduler, "send", 1, capacity)
        self.about = (0, "")

    def submit(self, task: RequestTask) -> None:
        async def held() -> None:
            await BEGIN
            await task.work()

        super().submit(_Held(held, task.channel, task.request, about=_about(task)))

    def _start(self, task: RequestTask) -> None:
        assert isinstance(task, _Held)
        self.about = task.about
        super()._start(task)

    @property
    def queue(self) -> list[_Held]:
        return [task for task in self._queue if isinstance(task, _Held)]


class AnsweringDriver(ModelDriver):
    """A dispatcher with one processor on one thread."""

    def __init__(self, specification: Answering, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.asynchronous = profile.asynchronous
        self.busy = False
        self.scheduler = Scheduler()
        self.scheduler.stops = lambda task, pause: pause is BEGIN
        self.pool = _Pool(self.scheduler, self.constants["capacity"])
        self.channel = RecordingChannel()
        self.dispatcher = Dispatcher()
        self.dispatcher.processors[SEND_MESSAGE] = Processor(self._process, self.pool, lambda: self.busy)
        self.settings = BrokerSettings()
        store = cast(MessageStore, SimpleNamespace(is_os_page_cache_busy=lambda: self.busy and self.pool.waiting == 1))
        self.fast_failure = BrokerFastFailure(self.settings, store, self.scheduler.clock, {"send": self.pool})
        self.throws = False
        self.requests: dict[int, Command] = {}
        self.futures: dict[int, Future[Answer]] = {}

    async def _process(self, channel: Channel, request: Command) -> Answer | Future[Answer]:
        if self.throws:
            raise JavaError("java.lang.RuntimeException", "thrown by the task")
        if not self.asynchronous:
            return _failed(request)
        return self.futures.setdefault(request.opaque, Future())

    # Actions

    def _performed(self) -> None:
        self.scheduler.settle()

    def _receive(self, r: int, one_way: bool, code: int = SEND_MESSAGE) -> None:
        """Receive a request, one ms after the previous one, so that the waiting times differ."""
        self.scheduler.advance(1)
        self.requests[r] = Command(code, {}, opaque=r, flag=ONE_WAY if one_way else 0)
        self.dispatcher.receive(self.channel, self.requests[r])

    _do_submit = _do_reject = _do_overload = _receive

    def _do_unknown_code(self, r: int, one_way: bool) -> None:
        self._receive(r, one_way, UNKNOWN_CODE)

    def _do_turn_busy(self) -> None:
        self.busy = True

    def _do_turn_free(self) -> None:
        self.busy = False

    def _do_clean(self, r: int) -> None:
        """Run fast failure so that it removes the head of the queue.

        The reason is the busy page cache if only one request waits. Otherwise only the head has reached the age limit.
        """
        head = self.pool.head()
        if head is None:
            raise Deviation("nothing waits in the queue: the specification has a request there")
        self.settings.wait_time_mills_in_send_queue = self.scheduler.clock.now() - head.created
        self.fast_failure.clean()

    def _run(self, r: int) -> None:
        require(self.pool.running, "no thread is at work: the specification has one")
        self.scheduler.resume(self.pool.running[0])

    _do_respond = _do_hand_over = _do_reply = _do_end = _run

    def _do_throw(self, r: int) -> None:
        self.throws = True
        self._run(r)
        self.throws = False

    def _future(self, r: int) -> Future[Answer]:
        require(r in self.futures, f"request {r} has no future: the specification says that it has one")
        return self.futures[r]

    def _do_put(self, r: int) -> None:
        do_response(self.channel, self.requests[r], response_to(self.requests[r]))
        self._future(r).complete(None)

    def _do_put_fails(self, r: int) -> None:
        self._future(r).complete(_failed(self.requests[r]))

    _do_completion_rejected = _do_put_fails

    def _do_future_throws(self, r: int) -> None:
        self._future(r).fail(JavaError("java.lang.NullPointerException"))

    # State

    def seen(self) -> Seen:
        stages = dict.fromkeys(self.requests, "over")
        places: dict[int, int] = {}
        for r, future in self.futures.items():
            if not future.done:
                stages[r] = "future"
        if self.pool.running:
            r, stage = self.pool.about
            stages[r] = stage
        for place, task in enumerate(self.pool.queue, 1):
            r, stage = task.about
            stages[r], places[r] = {"runs": "queued", "replies": "reply queued", "ends": "end queued"}[stage], place
        values: Seen = {"busy": self.busy}
        for r in self.s.Request.codes():
            answers = sum(1 for command in self.channel.written if command.opaque == r)
            values["job.stage", r] = stages.get(r, "new")
            values["job.one_way", r] = r in self.requests and self.requests[r].is_one_way
            values["job.place", r] = places.get(r, 0)
            values["job.answers", r] = min(2, answers)
        return values


def _failed(request: Command) -> Command:
    response = response_to(request)
    response.code = SYSTEM_ERROR
    return response


def _about(task: RequestTask) -> tuple[int, str]:
    """Return the request of a task, and whether the task serves it or completes its future."""
    if task.completes is None:
        if task.request is None:
            raise Deviation("a task of the executor has no request: it serves one, or completes its future")
        return task.request.opaque, "runs"
    request, future = task.completes
    try:
        return request.opaque, "ends" if future.result() is None else "replies"
    except JavaError:
        return request.opaque, "ends"
