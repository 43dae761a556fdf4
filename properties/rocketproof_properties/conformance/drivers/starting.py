"""Drives the producers of one client instance by the model of their starts and rejections.

The producers are the implementation's. The test's own network holds each send, and the queries of a starting instance, until an action
decides the outcome. Errors are recognised by their texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import NO_NAME_SERVER_EXCEPTION, NOT_FOUND_TOPIC_EXCEPTION, BrokerError, ClientError
from rocketproof_impl.producer.instance import ClientInstance, ServiceState
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.route import BrokerData, QueueData, TopicRouteData, encode_route
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.scheduler import Scheduler, SimulatedThread
from rocketproof_impl.tasks import Future, Wait
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.fields import SHORT_NAMES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_spec.starting import RETRIES, Starting

from .base import Deviation, ModelDriver, Seen, require

NAME_SERVER, TOPIC, LARGEST = "127.0.0.1:9876", "T", 200
BROKERS = {"broker-a": ("127.0.0.1:10911", 2), "broker-b": ("127.0.0.1:10921", 1)}
ADDRESSES = {address: name for name, (address, _) in BROKERS.items()}
CODES = {codes.SEND_MESSAGE: "SEND_MESSAGE", codes.SEND_MESSAGE_V2: "SEND_MESSAGE_V2", codes.SEND_BATCH_MESSAGE: "SEND_BATCH_MESSAGE"}
GROUPS = {"blank": " ", "long and illegal": "a b" * 100, "long": "g" * 256, "illegal": "a b"}
TOPICS = {"fine": TOPIC, "blank": "", "illegal and long": "a b" * 50, "illegal": "a\n", "long": "t" * 128, "system": TEMPLATE}
PAYLOADS: dict[str, bytes | None] = {"fine": b"x", "no body": None, "empty": b"", "large": b"x" * (LARGEST + 1)}
FAILED = "the instance cannot start"
ERROR_TEXTS = {
    "maybe started once": "started once",
    "has been created before, specify another name": "taken",
    FAILED: "instance",
    "has been created before, and failed": "factory",
    "service state not OK": "not running",
    "the message is null": "null message",
    "is blank": "blank",
    "contains illegal characters": "illegal",
    "is longer than": "long",
    "conflict with system topic": "system",
    "can not equal DEFAULT_PRODUCER": "DEFAULT_PRODUCER",
    "can not equal CLIENT_INNER_PRODUCER": "CLIENT_INNER_PRODUCER",
    "the message body is null": "no body",
    "the message body length is zero": "empty",
    "the message body size over max value": "large",
    "request queueId": "illegal queue",
    "still failed": "late",
    "wait response timeout": "late",
}
"""A part of each error text, in the order of matching, and the specification's value."""
BY_CODE = {NOT_FOUND_TOPIC_EXCEPTION: "no route", NO_NAME_SERVER_EXCEPTION: "no name server"}
IDLE = {"by": 0, "mode": "start", "null": False, "topic": "fine", "payload": "fine"}


@dataclass
class _Call:
    """A call: its arguments, its result, and the requests that were sent for it."""

    asked: dict[str, Any] = field(default_factory=lambda: dict(IDLE))
    said: str = "nothing"
    over: bool = False
    callbacks: int = 0
    out: list[tuple[str, Command]] = field(default_factory=list)


class StartingDriver(ModelDriver):
    """Two producers and their network."""

    def __init__(self, specification: Starting, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.way = self.constants["way"]
        self.scheduler = Scheduler()
        self.clients: dict[str, ClientInstance] = {}
        self.instance_starts: Future[tuple[str, ...]] = Future()
        self.outcome: Future[Command] = Future()
        self.next_queue = MessageQueue(TOPIC, "broker-a", 0)
        self.call_made = _Call()
        self.starts: list[tuple[int, SimulatedThread[None]]] = []
        self.producers = [self._producer(number, profile) for number in (0, 1)]

    def _producer(self, number: int, profile: Profile) -> Producer:
        producer = Producer(
            "",
            clock=self.scheduler.clock,
            network=self,
            random=SimulatedRandomness(number),
            settings=ProducerSettings(
                retry_times_when_send_failed=0,
                retry_times_when_send_async_failed=RETRIES,
                send_smart_msg=bool(self.constants["smart"]),
                max_message_size=LARGEST,
            ),
            profile=profile,
            clients=self.clients,
            fetch_name_servers=self._fetch,
        )
        producer.choose = self._choose
        return producer

    # The producers' environment

    async def _fetch(self) -> tuple[str, ...]:
        starts = self.instance_starts
        await Wait(starts, None)
        return starts.result()

    def _choose(self, info: PublishInfo, last: str | None) -> MessageQueue:
        """Return the queue that the action names; for a further attempt a queue of another broker (CLI-24)."""
        return self.next_queue if last is None else next(queue for queue in info.message_queue_list if queue.broker_name != last)

    async def call(self, address: str, request: Command, millis: int) -> Command:
        del millis
        if address == NAME_SERVER or request.code not in CODES:
            return self._route(request)
        self.call_made.out.append((address, request))
        outcome = self.outcome = Future()
        await Wait(outcome, None)
        return outcome.result()

    async def post(self, address: str, request: Command) -> None:
        self.call_made.out.append((address, request))

    def _route(self, request: Command) -> Command:
        """Return the name server's response. Heartbeats succeed too."""
        answer = response_to(request)
        fields = request.ext_fields or {}
        if self.way == "a route" and fields.get("topic") == TOPIC:
            entries = [QueueData(name, queues, queues, 6) for name, (_, queues) in BROKERS.items()]
            brokers = [BrokerData("DefaultCluster", name, {0: at}) for name, (at, _) in BROKERS.items()]
            answer.body = encode_route(TopicRouteData(entries, brokers))
        answer.code = codes.SUCCESS if answer.body or request.code == codes.HEART_BEAT else codes.TOPIC_NOT_EXIST
        return answer

    # Actions

    def _performed(self) -> None:
        self.scheduler.settle()
        ended = [(p, task) for p, task in self.starts if task.done.done]
        self.starts = [(p, task) for p, task in self.starts if not task.done.done]
        for p, task in ended:
            self._record_start(p, task)

    def _record_start(self, p: int, task: SimulatedThread[Any]) -> None:
        """Record a failed start, unless the producer only waited."""
        try:
            task.done.result()
        except Exception as error:  # noqa: BLE001 - every exception is a result
            if p == self.call_made.asked["by"]:
                self._record_result(error)

    def _record_result(self, ended: object) -> None:
        call = self.call_made
        call.over = True
        call.said = _word(ended) if isinstance(ended, Exception) else "result"

    def _do_start(self, p: int, group: str) -> None:
        self.call_made.asked |= {"by": p, "mode": "start"}
        if self.producers[p].state is ServiceState.CREATE_JUST:  # a started producer would unregister under the new name
            self.producers[p].group = GROUPS.get(group, group)
        self.starts.append((p, self.scheduler.spawn(self.producers[p].start(), f"start {p}")))

    _do_refuse_start = _do_start

    def _do_finish(self, p: int, well: bool) -> None:
        self.call_made.asked |= {"by": p, "mode": "start"}
        starts, self.instance_starts = self.instance_starts, Future()
        if well:
            starts.complete(() if self.way == "no name server" else (NAME_SERVER,))
        else:
            starts.fail(ClientError(FAILED))

    def _do_shut_down(self, p: int) -> None:
        self.producers[p].shutdown()

    def _do_refuse(self, p: int, mode: str, null: bool, topic: str, payload: str) -> None:
        require(mode != "start", "a start sends nothing: the specification says that it does")
        self.call_made.asked |= {"by": p, "mode": mode, "null": null, "topic": topic, "payload": payload}
        self.scheduler.spawn(self._calling(p, mode, None if null else Message(TOPICS[topic], body=PAYLOADS[payload])), "call")

    def _do_send(self, p: int, mode: str, other: bool, queue: int) -> None:
        broker = "broker-b" if other else "broker-a"
        if queue >= BROKERS[broker][1]:
            raise Deviation(f"{broker} has no queue {queue}: the specification has a send to it")
        self.next_queue = MessageQueue(TOPIC, broker, queue)
        self._do_refuse(p, mode, null=False, topic="fine", payload="fine")

    async def _calling(self, p: int, mode: str, message: Message | None) -> None:
        producer, call = self.producers[p], self.call_made

        def called(outcome: object) -> None:
            call.callbacks += 1
            self._record_result(outcome)

        try:
            if mode == "asynchronous":
                await producer.send_async(message, called)
            elif mode == "one-way":
                await producer.send_oneway(message)
                call.over = True
            elif mode == "batch":
                self._record_result(await producer.send_batch([message]))  # type: ignore[list-item]  # it must reject null
            else:
                self._record_result(await producer.send(message))
        except Exception as error:  # noqa: BLE001 - every exception is a result
            self._record_result(error)

    def _do_answer(self) -> None:
        """Answer as a broker that has the queue, or not (CHK-10)."""
        address, request = self.call_made.out[-1]
        queue, answer = _queue(request), response_to(request)
        if queue < BROKERS[ADDRESSES[address]][1]:
            answer.code, answer.ext_fields = codes.SUCCESS, {"msgId": "7F", "queueId": str(queue), "queueOffset": "0"}
        else:
            answer.code, answer.remark = codes.SYSTEM_ERROR, f"request queueId[{queue}] is illegal"
        self.outcome.complete(answer)

    def _do_time_out(self) -> None:
        self.outcome.fail(TimedOut("no answer in time"))

    def _do_forget(self) -> None:
        require(self.call_made.over, "no call is over: the specification has the end of one forgotten")
        self.call_made = _Call()

    # State

    def seen(self) -> Seen:
        values: Seen = {}
        client = next(iter(self.clients.values()), None)
        table = {} if client is None else client.producer_table
        values["instance"] = "CREATE_JUST" if client is None else client.state.value
        starting = [p for p, _ in self.starts]
        for p, producer in enumerate(self.producers):
            mine = [group for group, topics in table.items() if topics is producer.topic_publish_info_table]
            values["life.state", p] = producer.state.value
            values["life.start", p] = "none" if p not in starting else "starts" if p == starting[0] else "waits"
            values["life.group", p] = mine[0] if mine else "none"
            values["life.template", p] = TEMPLATE in producer.topic_publish_info_table
        call = self.call_made
        for name, value in call.asked.items():
            values[f"call.{name}"] = value
        address, request = call.out[-1] if call.out else (BROKERS["broker-a"][0], None)
        values |= {
            "call.step": "over" if call.over else "sent" if call.out else "none",
            "call.said": call.said,
            "call.callbacks": min(2, call.callbacks),
            "call.code": "none" if request is None else CODES[request.code],
            "call.other": ADDRESSES[address] == "broker-b",
            "call.queue": 0 if request is None else _queue(request),
            "call.retries": max(0, len(call.out) - 1),
        }
        return values


def _queue(request: Command) -> int:
    fields = request.ext_fields or {}
    return whole_number(fields.get("queueId", fields.get(SHORT_NAMES["queueId"], "0")))


def _word(error: Exception) -> str:
    """Return the specification's value for an exception, or a text that is no value."""
    if isinstance(error, ClientError) and error.code in BY_CODE:
        return BY_CODE[error.code]
    text = str(error.remark) if isinstance(error, BrokerError) else str(error)
    for part, word in ERROR_TEXTS.items():
        if part in text:
            return word
    return repr(error)
