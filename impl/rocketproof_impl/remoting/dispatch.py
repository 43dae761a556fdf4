"""From a received request to its response: find the processor, run it on its executor, write at most one response.

A processor returns its response, or None if it has written one itself or none is expected (REM-08). An asynchronous processor returns a
future; when it is done, a task of the same executor writes its response (REM-09). A processor may reject a request before it takes a thread
(REM-06). A full executor rejects it too (REM-07).
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
    """Reject no request: the default of `Processor.rejects`."""
    return False


class Processor(NamedTuple):
    """The function that serves a request code, and its executor. `rejects` returns whether it serves no request now (REM-06)."""

    process: Process
    executor: Executor
    rejects: Callable[[], bool] = never


class RPCHook(Protocol):
    """Called before and after every request that is served. An exception of `before` becomes the response (REM-08)."""

    def before(self, remote: str, request: Command) -> None: ...

    def after(self, remote: str, request: Command, response: Answer) -> None: ...


class Dispatcher:
    """Processors by request code; `default` serves all other codes.

    With `heeds_one_way` the rejection of a one-way request sends no response. `under_way` counts the accepted requests that are not
    processed yet.
    """

    __slots__ = ("default", "heeds_one_way", "hooks", "processors", "under_way")

    def __init__(self, *, heeds_one_way: bool = False) -> None:
        self.heeds_one_way = heeds_one_way
        self.processors: dict[int, Processor] = {}
        self.default: Processor | None = None
        self.hooks: list[RPCHook] = []
        self.under_way = UnderWay(PROCESSED)

    def receive(self, channel: Channel, command: Command) -> None:
        """Handle a received command (REM-05). Nothing is raised: a full executor is a response (REM-07).

        A processor that rejects answers here, on the receiving thread, even a one-way request (REM-06). An unknown code is answered even if
        the request is one-way (HAZ-26), unless `default` serves it. The network port matches responses
        to this side's requests, so nothing waits for a response that arrives here.
        """
        if command.is_response:
            log.warning("receive response, but not matched any request, opaque %d", command.opaque)
            return
        processor = self.processors.get(command.code, self.default)
        if processor is None:
            write(channel, not_supported(command))
        elif processor.rejects():
            if not (self.heeds_one_way and command.is_one_way):
                write(channel, system_busy(command, f"[REJECTREQUEST]system busy, {FLOW_CONTROL}"))
        else:
            self._submit(processor, channel, command)

    def _submit(self, processor: Processor, channel: Channel, request: Command) -> None:
        """Run the request on the processor's executor.

        An overload sends no response to a one-way request (REM-07). An overload is a full executor
        queue, or pending requests whose bytes exceed their budget.
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
        """Run the hooks and the processor, and write the response (REM-08). An exception becomes the response unless the request is
        one-way."""
        answer: Answer | Future[Answer] = None
        try:
            self._before(channel, request)
            answer = await processor.process(channel, request)
            if isinstance(answer, Future):
                answer.then(lambda future: self._complete(processor.executor, channel, request, future, leave))
            else:
                self._callback(channel, request, answer)
        except Exception as error:  # noqa: BLE001 - REM-08 covers every throwable
            log.error("process request exception: %r", error)
            if not request.is_one_way:
                write(channel, system_error(request, error))
        finally:
            if not isinstance(answer, Future):
                leave()

    def _complete(self, executor: Executor, channel: Channel, request: Command, future: Future[Answer], leave: Callable[[], None]) -> None:
        """Submit the callback of a finished future as a task of the executor (REM-09, SEND-07).

        If the executor is full, the response is lost (HAZ-25).
        """
        leave()
        try:
            executor.submit(RequestTask(lambda: self._completed(channel, request, future), completes=(request, future)))
        except Rejected as error:
            log.error("the completion of request %d is rejected: %s", request.opaque, error)

    async def _completed(self, channel: Channel, request: Command, future: Future[Answer]) -> None:
        """Write a finished future's response. A failed future gets none: the client waits until its timeout (REM-09, HAZ-24)."""
        try:
            answer = future.result()
        except Exception as error:  # noqa: BLE001 - every exception is logged and lost (HAZ-24)
            log.error("process request %d exception in the future: %r", request.opaque, error)
            return
        self._callback(channel, request, answer)

    def _callback(self, channel: Channel, request: Command, response: Answer) -> None:
        """Run the after-hooks, then write the response unless there is none or the request is one-way (REM-08)."""
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
    """Send a response. A closed connection is only logged (REM-08)."""
    try:
        channel.write(response)
    except OSError as error:
        log.error("response to %s failed: %s", channel.remote, error)


def remote_address(channel: Channel) -> str:
    """Return the caller's address as remarks and logs show it."""
    host, port = channel.remote
    return f"{host}:{port}"


def system_error(request: Command, error: BaseException) -> Command:
    """Return the response to an exception: a new one without extFields (REM-08)."""
    response = response_to(request)
    response.code, response.remark = SYSTEM_ERROR, describe(error)
    return response


def not_supported(request: Command) -> Command:
    """Return the response to a request code without a processor (REM-05)."""
    response = response_to(request)
    response.code, response.remark = REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported"
    return response


async def refuse_unknown(_: Channel, request: Command) -> Command:
    """A default processor that rejects every request. A one-way caller gets no response."""
    return not_supported(request)


_LAST_CODE = 323  # the highest request code of 4.5.2


async def leave_unknown(_: Channel, request: Command) -> Command | None:
    """A default processor that does not answer codes unknown to every release.

    Codes that real brokers may serve are rejected, because their callers expect a response.
    """
    return None if request.code > _LAST_CODE else not_supported(request)


def system_busy(request: Command, remark: str) -> Command:
    """Return the response to a request that was not served."""
    response = response_to(request)
    response.code, response.remark = SYSTEM_BUSY, remark
    return response


def describe(error: BaseException) -> str:
    """Return the class and message of an exception, a comma, and where it was raised.

    The location is in this implementation, formatted like a Java stack frame.
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
