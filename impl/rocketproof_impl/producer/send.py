"""One send: its attempts, which results are failures, and what is retried (CLI-27 to CLI-32)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..ports import Clock
from ..remoting.command import Command
from ..remoting.errors import ConnectFailed, RemotingError, SendFailed, TimedOut
from ..remoting.faq import suggestion
from ..remoting.ports import Network
from ..tasks import Pause, TaskInterrupted
from .draft import Draft
from .errors import (
    ACCESS_BROKER_TIMEOUT,
    BROKER_NOT_EXIST_EXCEPTION,
    CONNECT_BROKER_EXCEPTION,
    BrokerError,
    ClientError,
    TooMuchRequest,
)
from .instance import ClientInstance
from .publish import MessageQueue, PublishInfo
from .result import STATUS, SendResult, SendStatus, send_result
from .selection import Choice, LatencyFault
from .settings import ProducerSettings

CHOSEN = Pause("chosen")
FAILED = Pause("failed")

T = TypeVar("T")


class Sender(Protocol):
    """The parts of a producer that a send uses; `choose` selects the next queue."""

    settings: ProducerSettings
    clock: Clock
    network: Network
    latency_fault: LatencyFault | None
    choose: Choice

    @property
    def client(self) -> ClientInstance: ...

    async def try_to_find_topic_publish_info(self, topic: str) -> PublishInfo: ...


@dataclass(slots=True)
class AddressedRequest:
    """A request ready to send, and its timeout in milliseconds. `address` is empty if the broker is in no route any more."""

    broker_name: str
    address: str
    command: Command
    timeout: int


@dataclass(slots=True)
class Sending:
    """One call of a send function. `begin` is its start and `timeout` its total timeout, both in milliseconds.

    `msg_id` is the message's unique key, or the keys of a batch's messages.
    """

    producer: Sender
    draft: Draft
    info: PublishInfo
    begin: int
    timeout: int
    msg_id: str

    async def attempt(self, times_total: int, transmit: Callable[[MessageQueue, int], Awaitable[T]]) -> T:
        """Run the loop of attempts (CLI-27). Return the result of `transmit` for a queue and the remaining time, or raise the last failure.

        The timeout is checked before each attempt (CLI-28). A failure is retried if that may help (CLI-30). A stored but unsafe result is
        kept, and returned if later attempts fail.
        """
        producer = self.producer
        brokers_sent: list[str] = []
        kept: list[T] = []
        failure: Exception | None = None
        last_broker_name: str | None = None
        for _ in range(times_total):
            queue = producer.choose(self.info, last_broker_name)
            last_broker_name = queue.broker_name
            brokers_sent.append(last_broker_name)
            started = producer.clock.now()
            cost = started - self.begin
            if is_too_late(self.timeout, cost):
                failure = TooMuchRequest("sendDefaultImpl call timeout")
                break
            try:
                result = await transmit(queue, self.timeout - cost)
            except TaskInterrupted:
                self._note(last_broker_name, started, isolation=False)
                raise
            except (RemotingError, ClientError, BrokerError) as error:
                self._note(last_broker_name, started, isolation=True)
                failure = error
                if not self._may_retry(error):
                    break
                await FAILED
            else:
                self._note(last_broker_name, started, isolation=False)
                if not self._tries_another(result):
                    return result
                kept = [result]
        else:
            failure = self._still_failed(brokers_sent, failure)
        if kept:
            return kept[0]
        raise failure

    def _may_retry(self, failure: Exception) -> bool:
        """Return whether a retry may help: after an error response only if its code is in the retry set (CLI-30)."""
        return not isinstance(failure, BrokerError) or failure.code in self.producer.settings.retry_response_codes

    def _tries_another(self, result: object) -> bool:
        """Return whether a result is retried: stored but not safe, and the setting is on (CLI-29, HAZ-29)."""
        switch = self.producer.settings.retry_another_broker_when_not_store_ok
        return switch and isinstance(result, SendResult) and result.status is not SendStatus.SEND_OK

    def _still_failed(self, brokers_sent: list[str], failure: Exception | None) -> ClientError:
        """Return the exception after the last attempt (CLI-30)."""
        cost = self.producer.clock.now() - self.begin
        head = f"Send [{len(brokers_sent)}] times, still failed, cost [{cost}]ms"
        where = f"Topic: {self.draft.message.topic}, BrokersSent: [{', '.join(brokers_sent)}]"
        error = ClientError(f"{head}, {where}{suggestion()}", response_code(failure))
        error.__cause__ = failure
        return error

    def _note(self, broker_name: str, started: int, *, isolation: bool) -> None:
        """Report an attempt's duration to latency-fault mode (CLI-25)."""
        if self.producer.latency_fault is not None:
            self.producer.latency_fault.update(broker_name, self.producer.clock.now() - started, isolation=isolation)

    # Steps of an attempt

    async def prepare(self, queue: MessageQueue, timeout: int) -> AddressedRequest:
        """Return the request of one attempt, with the remaining time (CLI-28).

        Raises ClientError if the broker's master is unknown even after refreshing the route, TooMuchRequest if that took the remaining
        time.
        """
        producer, client = self.producer, self.producer.client
        begin = producer.clock.now()
        address = client.find_broker_address_in_publish(queue.broker_name)
        if address is None:
            await producer.try_to_find_topic_publish_info(queue.topic)
            address = client.find_broker_address_in_publish(queue.broker_name)
        if address is None:
            raise ClientError(f"The broker[{queue.broker_name}] not exist")
        now = producer.clock.now()
        cost = now - begin
        if is_too_late(timeout, cost):
            raise TooMuchRequest("sendKernelImpl call timeout")
        command = self.draft.request(queue.queue_id, now)
        await CHOSEN
        return AddressedRequest(queue.broker_name, address, command, timeout - cost)

    async def call(self, queue: MessageQueue, timeout: int) -> SendResult:
        """Send and wait for the response. Raises BrokerError, RemotingError, ClientError."""
        request = await self.prepare(queue, timeout)
        answer = await self.producer.network.call(request.address, request.command, request.timeout)
        return self._result(answer, request.broker_name)

    async def post(self, queue: MessageQueue, timeout: int) -> None:
        """Send without waiting (CLI-32)."""
        request = await self.prepare(queue, timeout)
        await self.producer.network.post(request.address, request.command)

    def _result(self, answer: Command, broker_name: str) -> SendResult:
        return send_result(answer, self.draft.message.topic, broker_name, self.msg_id)

    # Asynchronous sends

    async def call_async(self, request: AddressedRequest) -> SendResult:
        """Send the request, and retry after network errors only (CLI-31).

        A retry sends the same request, with the first queue's id in its header, possibly to another broker (HAZ-28). The network assigns a
        new opaque. Raises BrokerError, ClientError or RemotingError.
        """
        producer = self.producer
        retries_left = producer.settings.retry_times_when_send_async_failed
        while True:
            started = producer.clock.now()
            try:
                return await self._call_once(request, started)
            except RemotingError as error:
                self._note(request.broker_name, started, isolation=True)
                if retries_left <= 0:
                    raise async_failure(error, request.timeout) from error
            retries_left -= 1
            request.timeout -= producer.clock.now() - started
            request.broker_name = producer.choose(self.info, request.broker_name).broker_name
            request.address = producer.client.find_broker_address_in_publish(request.broker_name) or ""

    async def _call_once(self, request: AddressedRequest, started: int) -> SendResult:
        if is_too_late(request.timeout, 0):
            raise TooMuchRequest("invokeAsync call timeout")
        if not request.address:
            raise ConnectFailed("connect to null failed")
        answer = await self.producer.network.call(request.address, request.command, request.timeout)
        refused = answer.code not in STATUS
        self._note(request.broker_name, started, isolation=refused)
        return self._result(answer, request.broker_name)


def is_too_late(timeout: int, cost: int) -> bool:
    """Return whether the timeout has expired. An attempt with no time left may still begin (CLI-28)."""
    return timeout < cost


def response_code(failure: Exception | None) -> int:
    """Return the code of the exception after the last attempt, by the last failure (CLI-30)."""
    if isinstance(failure, BrokerError):
        return failure.code
    if isinstance(failure, ConnectFailed):
        return CONNECT_BROKER_EXCEPTION
    if isinstance(failure, TimedOut):
        return ACCESS_BROKER_TIMEOUT
    if isinstance(failure, ClientError):
        return BROKER_NOT_EXIST_EXCEPTION
    return -1


def async_failure(error: RemotingError, timeout: int) -> Exception:
    """Return the exception passed to the callback after the last failure (CLI-31)."""
    if isinstance(error, SendFailed):
        return ClientError("send request failed")
    if isinstance(error, TimedOut):
        return ClientError(f"wait response timeout {timeout}ms")
    return error
