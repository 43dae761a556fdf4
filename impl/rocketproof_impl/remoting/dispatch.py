"""From a request on a connection to its answer: find the processor, run it on its executor, write at most one answer.

Who answers: a processor that is done gives its answer, or None if it has written one itself or none is expected (REM-08). An
asynchronous processor gives a future; when that is finished, its answer is written by a task of the same executor (REM-09).
A processor may refuse before a thread is asked for (REM-06), and a full executor refuses too (REM-07).
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, Protocol

from rocketproof_protocol.codes import REQUEST_CODE_NOT_SUPPORTED, SYSTEM_BUSY, SYSTEM_ERROR

from ..java import JavaError
from ..tasks import Future
from .command import RESPONSE, Command, response_to
from .ports import Channel, Executor, Rejected, RequestTask
from .underway import PROCESSED, UnderWay

log = logging.getLogger("rocketproof_impl.remoting")
log.addHandler(logging.NullHandler())

Answer = Command | None
Process = Callable[[Channel, Command], Awaitable[Answer | Future[Answer]]]


FLOW_CONTROL = "start flow control for a while"


def never() -> bool:
    """A processor that takes every request."""
    return False


class Processor(NamedTuple):
    """What serves a request code, and on which threads. `rejects`: it takes none at the moment (REM-06)."""

    process: Process
    executor: Executor
    rejects: Callable[[], bool] = never


class RPCHook(Protocol):
    """Sees every request that is served, before it and after it; an exception of `before` is answered as REM-08 says."""

    def before(self, remote: str, request: Command) -> None: ...

    def after(self, remote: str, request: Command, response: Answer) -> None: ...


class Dispatcher:
    """Processors by request code. `default` serves the codes that have none of their own. `heeds_one_way`: one that rejects looks at the
    flag, too. `under_way`: requests that were accepted and are not processed yet."""

    __slots__ = ("default", "heeds_one_way", "hooks", "processors", "under_way")

    def __init__(self, *, heeds_one_way: bool = False) -> None:
        self.heeds_one_way = heeds_one_way
        self.processors: dict[int, Processor] = {}
        self.default: Processor | None = None
        self.hooks: list[RPCHook] = []
        self.under_way = UnderWay(PROCESSED)

    def receive(self, channel: Channel, command: Command) -> None:
        """A command has arrived (REM-05). Nothing is raised: an executor without a place is an answer (REM-07).

        An unknown code is answered even to a one-way caller (HAZ-26), unless `default` serves it. Answers to requests of this side
        are paired by the network port, so one that comes here was not waited for.
        """
        if command.is_response:
            log.warning("receive response, but not matched any request, opaque %d", command.opaque)
            return
        found = self.processors.get(command.code, self.default)
        if found is None:
            write(channel, not_supported(command))
        elif found.rejects():
            if not (self.heeds_one_way and command.is_one_way):
                write(channel, system_busy(command, f"[REJECTREQUEST]system busy, {FLOW_CONTROL}"))
        else:
            self._submit(found, channel, command)

    def _submit(self, processor: Processor, channel: Channel, request: Command) -> None:
        """Only an overload leaves a one-way caller alone (REM-07); a processor that rejects may answer it (REM-06).

        An overload is an executor whose queue is full, and requests under way whose bytes fill the room for them.
        """
        size = self.under_way.enter(channel, request)
        if size is None:
            self._overloaded(channel, request, f"requests under way take {self.under_way.total} bytes")
            return
        leave = partial(self.under_way.leave, channel, size)
        try:
            processor.executor.submit(RequestTask(lambda: self._serve(processor, channel, request, leave), channel, request, taken=leave))
        except Rejected as full:
            leave()
            self._overloaded(channel, request, full)

    @staticmethod
    def _overloaded(channel: Channel, request: Command, reason: object) -> None:
        log.warning("too many requests and system thread pool busy, code %d: %s", request.code, reason)
        if not request.is_one_way:
            write(channel, system_busy(request, f"[OVERLOAD]system busy, {FLOW_CONTROL}"))

    async def _serve(self, processor: Processor, channel: Channel, request: Command, leave: Callable[[], None]) -> None:
        """The task (REM-08): hooks, processing, answer. Whatever is thrown is the answer, except to one-way callers."""
        answer: Answer | Future[Answer] = None
        try:
            self._before(channel, request)
            answer = await processor.process(channel, request)
            if isinstance(answer, Future):
                answer.then(lambda future: self._complete(processor.executor, channel, request, future, leave))
            else:
                self._callback(channel, request, answer)
        except Exception as error:  # noqa: BLE001 - the rule says: any throwable
            log.error("process request exception: %r", error)
            if not request.is_one_way:
                write(channel, system_error(request, error))
        finally:
            if not isinstance(answer, Future):
                leave()

    def _complete(self, executor: Executor, channel: Channel, request: Command, future: Future[Answer], leave: Callable[[], None]) -> None:
        """The future of an asynchronous processor is finished: its callback is a task of the executor (REM-09, SEND-07).

        If the executor is full the answer is lost (HAZ-25).
        """
        leave()
        try:
            executor.submit(RequestTask(lambda: self._completed(channel, request, future), completes=(request, future)))
        except Rejected as error:
            log.error("the completion of request %d is rejected: %s", request.opaque, error)

    async def _completed(self, channel: Channel, request: Command, future: Future[Answer]) -> None:
        """A future that failed is nobody's to answer: the client waits for its whole timeout (REM-09, HAZ-24)."""
        try:
            answer = future.result()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is lost
            log.error("process request %d exception in the future: %r", request.opaque, error)
            return
        self._callback(channel, request, answer)

    def _callback(self, channel: Channel, request: Command, response: Answer) -> None:
        """After-hooks, then the answer, unless there is none or nobody waits for it (REM-08)."""
        for hook in self.hooks:
            hook.after(remote_address(channel), request, response)
        if response is not None and not request.is_one_way:
            response.opaque = request.opaque
            response.flag |= RESPONSE
            response.serialisation = request.serialisation
            write(channel, response)

    def _before(self, channel: Channel, request: Command) -> None:
        for hook in self.hooks:
            hook.before(remote_address(channel), request)


def write(channel: Channel, response: Command) -> None:
    """Send an answer; a connection that is gone is only logged (REM-08)."""
    try:
        channel.write(response)
    except OSError as error:
        log.error("response to %s failed: %s", channel.remote, error)


def remote_address(channel: Channel) -> str:
    """The caller as remarks and logs name it."""
    host, port = channel.remote
    return f"{host}:{port}"


def system_error(request: Command, error: BaseException) -> Command:
    """What a throwable is answered with: a fresh response without extFields (REM-08)."""
    response = response_to(request)
    response.code, response.remark = SYSTEM_ERROR, describe(error)
    return response


def not_supported(request: Command) -> Command:
    """What a request is answered with whose code nobody serves (REM-05)."""
    response = response_to(request)
    response.code, response.remark = REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported"
    return response


async def refuse_unknown(_: Channel, request: Command) -> Command:
    """A default processor that serves nothing: its answer is one like any other, which a one-way caller does not get."""
    return not_supported(request)


_LAST_CODE = 323  # of a request, in 4.5.2


async def leave_unknown(_: Channel, request: Command) -> Command | None:
    """A default processor that has no answer for what no release knows. What the described one may serve and this one does not is refused:
    its caller expects an answer."""
    return None if request.code > _LAST_CODE else not_supported(request)


def system_busy(request: Command, remark: str) -> Command:
    """What a request is answered with that was not served."""
    response = response_to(request)
    response.code, response.remark = SYSTEM_BUSY, remark
    return response


def describe(error: BaseException) -> str:
    """Class and message of an exception, a comma, and where it was thrown.

    The place is this implementation's, in the form of a Java stack frame.
    """
    if isinstance(error, JavaError):
        head = str(error)
    else:
        head = f"java.lang.RuntimeException: {type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return head
    last = frames[-1]
    return f"{head}, {last.name}({os.path.basename(last.filename)}:{last.lineno})"
