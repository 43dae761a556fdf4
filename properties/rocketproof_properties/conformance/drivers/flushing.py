"""Drives a store with synchronous flush by the model of flushing: its puts, its log and its group commit.

A put stops under the lock, and the group commit before each check of the flushed position. All records have one size, so that places in the
log correspond to the specification's units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.scheduler import Scheduler, SimulatedThread
from rocketproof_impl.store.commitlog import APPENDS
from rocketproof_impl.store.flushing import GROUP_WAIT, LOOKS, GroupCommitService
from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.tasks import Future
from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_protocol.properties import WAIT
from rocketproof_spec.flushing import Flushing

from .base import Deviation, ModelDriver, Seen
from .doubles import RECORD, check_flush_timeout, filling_message, units
from .scopecluster import BLANK

TOPIC = "T"
ROUNDS = 10  # rounds of the group commit, one of which should flush


@dataclass(slots=True)
class _Request:
    """A request to the group commit. `read`: the lists were exchanged since. `looks`: how many times the group commit checked it."""

    next_offset: int
    flushed: Future[bool]
    waits: bool = True
    read: bool = False
    looks: int = 0


@dataclass(slots=True)
class _Put:
    message: Message
    task: SimulatedThread[PutResult]
    request: _Request | None = None
    answer: str = "none"


class _ObservedGroupCommit:
    """The group commit as the store sees it. `requests`: its unanswered requests."""

    def __init__(self, service: GroupCommitService) -> None:
        self.service = service
        self.requests: list[_Request] = []

    def request(self, next_offset: int) -> Future[bool]:
        request = _Request(next_offset, self.service.request(next_offset))
        self.requests.append(request)
        return request.flushed

    def wakeup(self) -> None:
        self.service.wakeup()


class FlushingDriver(ModelDriver):
    """A store, and its group commit as the only thread."""

    def __init__(self, specification: Flushing, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.scheduler = Scheduler()
        self.scheduler.stops = lambda task, pause: pause in (APPENDS, LOOKS)
        self.disk = SimulatedDisk()
        size = RECORD * specification.file_size + BLANK
        self.settings = BrokerSettings(mapped_file_size_commit_log=size, flush_disk_type="SYNC_FLUSH")
        self.store = MessageStore(self.settings, profile, self.scheduler.clock, self.disk)
        (service,) = (candidate for candidate in self.store.services() if isinstance(candidate, GroupCommitService))
        self.flush = self.store.flush = _ObservedGroupCommit(service)
        self.commit = self.scheduler.spawn(service.run() if self.constants["serves"] else _stuck(), service.name)
        self.scheduler.settle()
        self.puts: dict[int, _Put] = {}

    # Actions

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the step is possible. The group commit also serves requests whose put has timed out, and flushes by itself only
        without requests."""
        head = self._head
        gone = head is not None and not head.waits
        if action.name == "flush_unasked":
            return gone or not any(request.waits for request in self.flush.requests)
        return not gone or action.name not in ("exchange", "flush", "confirm", "deny")

    def _performed(self) -> None:
        self._note_answers()
        while (head := self._head) is not None and not head.waits and (self._on_device(head) or head.looks > 2):
            self._check_head()

    def _note_answers(self) -> None:
        for put in self.puts.values():
            if put.task.done.done and put.answer == "none":
                put.answer = _answer(put)

    def _do_lock(self, p: int) -> None:
        message = filling_message(TOPIC)
        self.puts[p] = _Put(message, self.scheduler.spawn(self.store.put_message(message), f"put {p}"))
        self.scheduler.settle()

    _do_refuse = _do_lock

    def _do_append(self, p: int) -> None:
        put, known = self.puts[p], len(self.flush.requests)
        self.scheduler.resume(put.task)
        put.request = next(iter(self.flush.requests[known:]), None)

    def _do_append_only(self, p: int) -> None:
        self.puts[p].message.properties[WAIT] = "false"
        self._do_append(p)

    def _do_throw(self, p: int) -> None:
        def fails(operation: str, path: str) -> None:
            if operation == "map" and path in self.disk.files:
                raise OSError(f"{operation} {path} fails")

        self.disk.failing = fails
        self.scheduler.resume(self.puts[p].task)
        self.disk.failing = None

    def _do_grow_old(self) -> None:
        self.scheduler.clock.jump(self.settings.os_page_cache_busy_time_out_mills + 1)

    def _do_time_out(self, p: int) -> None:
        put = self.puts[p]
        self.scheduler.time_out(check_flush_timeout(put.task, f"put {p}"))
        if put.request is not None:
            put.request.waits = False

    def _do_finish(self, p: int) -> None:
        del self.puts[p]

    def _do_exchange(self) -> None:
        """Begin the next round, which is due at once because a request has woken the group commit."""
        if self.commit.waiting is None or self.commit.waiting.millis != 0:
            raise Deviation("the group commit is not about to begin a round: the specification has a request for it")
        self._begin()

    def _begin(self) -> None:
        """Let one round begin after its sleep."""
        while self.commit.waiting is not None and self.commit.waiting.millis == GROUP_WAIT:
            self.scheduler.time_out(self.commit)
        self.scheduler.time_out(self.commit)
        if self.commit.at is not None and self._head is None:
            for request in self.flush.requests:
                request.read = True
            self._note_check()

    def _do_flush_unasked(self) -> None:
        before = self.store.flushed_where
        for _ in range(ROUNDS):
            if self._head is not None:
                self._check_head()
            else:
                self._begin()
            if self.store.flushed_where != before:
                return
        raise Deviation("the group commit flushes nothing by itself: the specification says that it does")

    def _check_head(self) -> None:
        """Let the group commit check its request, and run to its next check."""
        if self.commit.at is None:
            raise Deviation("the group commit looks at no request: the specification has one for it")
        self.scheduler.resume(self.commit)
        self.flush.requests = [request for request in self.flush.requests if not request.flushed.done]
        if self.commit.at is not None:
            self._note_check()

    def _note_check(self) -> None:
        if self._head is not None:
            self._head.looks += 1

    def _do_flush(self, p: int) -> None:
        self._check_head()

    _do_confirm = _do_deny = _do_flush

    # State

    @property
    def _head(self) -> _Request | None:
        """The request that the group commit checks next."""
        return next((request for request in self.flush.requests if request.read), None)

    def _on_device(self, request: _Request) -> bool:
        return self.store.flushed_where >= request.next_offset

    def _units(self, offset: int) -> int:
        return units(offset, self.store.commit_log.files.file_size, self.s.units)

    def _step(self, put: _Put | None) -> str:
        if put is None:
            return "idle"
        if put.task.done.done:
            return "answered"
        if put.task.at is APPENDS:
            return "locks"
        if put.request is None:
            raise Deviation("a put waits for something else than the lock or the group commit")
        return "read" if put.request.read else "requested"

    def _age(self) -> str:
        if not self.store.commit_log.begin_time_in_lock:
            return "none"
        return "busy" if self.store.is_os_page_cache_busy() else "fresh"

    def seen(self) -> Seen:
        head = self._head
        values: Seen = {
            "written": self._units(self.store.max_phy_offset),
            "flushed": self._units(self.store.flushed_where),
            "passes": head.looks - 1 if head is not None and head.waits else 0,
            "age": self._age(),
        }
        for p in self.s.Put.codes():
            put = self.puts.get(p)
            values["put.step", p] = self._step(put)
            values["put.next", p] = self._units(put.request.next_offset) if put and put.request else 0
            values["put.answer", p] = put.answer if put else "none"
        return values


async def _stuck() -> None:
    """A group commit that does nothing."""


def _answer(put: _Put) -> str:
    """Return the result of a put that has just ended, and the reason."""
    try:
        status = put.task.result().status
    except JavaError:
        return "UNKNOWN_ERROR"
    if status is PutMessageStatus.FLUSH_DISK_TIMEOUT and put.request is not None:
        return "denied" if put.request.flushed.done else "too late"
    return "not awaited" if status is PutMessageStatus.PUT_OK and put.request is None else status.name
