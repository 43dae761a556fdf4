"""A producer that pauses between the attempts of a send: its responses are held until the caller releases them.

The producer itself decides whether to retry. The caller observes when and where.
"""

from __future__ import annotations

import concurrent.futures
import queue
from typing import Final

from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import BrokerError, ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.producer.result import SendResult
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.remoting.ports import Network
from rocketproof_impl.system.background import Background
from rocketproof_impl.tasks import Future, Wait
from rocketproof_protocol import codes

from ..drivers.base import Deviation
from ..drivers.requests import chosen_queue

_MILLIS: Final = 120_000
"""The timeout of a whole send in ms, during which brokers may be restarted."""
Answer = Command | RemotingError


class _Gate:
    """The network of a producer. `answers`: the held responses, and None at the end of its send."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self.turn: Future[None] = Future()

    async def call(self, address: str, request: Command, millis: int) -> Command:
        if request.code != codes.SEND_MESSAGE_V2:
            return await self._network.call(address, request, millis)
        answer: Answer
        try:
            answer = await self._network.call(address, request, millis)
        except RemotingError as error:
            answer = error
        self.turn = Future()
        self.answers.put(answer)
        await Wait(self.turn)
        if isinstance(answer, RemotingError):
            raise answer
        return answer

    async def post(self, address: str, request: Command) -> None:
        await self._network.post(address, request)

    async def open(self) -> None:
        self.turn.complete(None)


class GatedProducer:
    """A started producer whose queue for each attempt is chosen by the caller."""

    def __init__(self, producer: Producer, background: Background) -> None:
        self.producer = producer
        self._background = background
        self._gate = _Gate(producer.network)
        self._choice = ("", 0)
        self._sent: concurrent.futures.Future[SendResult] | None = None
        producer.network = self._gate
        producer.choose = self._choose

    def _choose(self, info: PublishInfo, last: str | None) -> MessageQueue:
        return chosen_queue(info, *self._choice)

    def send(self, message: Message, broker: str, queue_id: int) -> Answer:
        """Start a send. Return the response to its first attempt. Raises Deviation if there is none."""
        self._choice = (broker, queue_id)
        self._sent = self._background.submit(self.producer.send(message, _MILLIS))
        self._sent.add_done_callback(lambda _: self._gate.answers.put(None))
        return self._answer()

    def retry(self, broker: str, queue_id: int) -> Answer:
        """Release the last response. Return the response to the next attempt. Raises Deviation if the producer makes none."""
        self._choice = (broker, queue_id)
        self._background.run(self._gate.open())
        return self._answer()

    def finish(self) -> None:
        """Release the last response, which must end the send. Raises Deviation if the producer retries."""
        self._background.run(self._gate.open())
        if self._gate.answers.get(timeout=_MILLIS / 1000) is not None:
            raise Deviation(f"the producer tries again, at {self._choice[0]}")
        self._sent = None

    def _answer(self) -> Answer:
        answer = self._gate.answers.get(timeout=_MILLIS / 1000)
        if answer is not None:
            return answer
        assert self._sent is not None
        problem, self._sent = self._sent.exception(), None
        if isinstance(problem, Deviation):
            raise problem
        if isinstance(problem, (BrokerError, ClientError)):
            raise Deviation(f"the producer's send is over: {str(problem).splitlines()[0]}") from None
        raise Deviation("the producer's send is over without another attempt") from problem
