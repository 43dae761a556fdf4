"""The cluster on which hazards run: one-line steps, and short texts that describe its state.

Clients and administrators send the requests of the step vocabulary, and the simulated deployment executes them. Producers are RocketMQ's
own, from `Cluster.producer`. A request with other steps in between runs as a separate thread (`Cluster.calling`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rocketproof_impl.message import Message, parse_properties, properties_text
from rocketproof_impl.producer.errors import BrokerError, ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.result import SendResult
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.route import QueueData
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.disk import ProcessEnded
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import TopicConfig, perm_text, table_from_data
from rocketproof_protocol import codes

from ..brokers.simulated import SimulatedDeployment
from ..programs.vocabulary import arguments, plain

PATIENCE: Final = 60.0
"""Seconds to wait for an answer; longer than any wait inside a broker."""

_PLACE = re.compile(r", \w+\([\w.]+:[0-9]+\)$")  # the place of an exception, at the end of its remark


class HazardCluster(Cluster):
    """A cluster with a client, an administrator and an observer. `to` and `broker` are names of brokers."""

    def __init__(self, brokers: int = 1, **settings: Any) -> None:
        super().__init__(brokers, **settings)
        self.deployment = SimulatedDeployment(self)

    @property
    def illegal(self) -> str:
        """The code of the answer to an illegal name or queue."""
        return codes.ANSWERS[self.profile.illegal_code]

    # Steps

    def act(self, name: str, **parameters: Any) -> None:
        """Execute a step that is not a request; other arguments have their defaults. A step on a broker is on broker-a."""
        self.deployment.act(name, **arguments((name, parameters)))

    def ask(self, request: Command, to: str = "broker-a") -> str:
        """Send a request, advance the time as needed, and return the broker's answer. Raises TimedOut."""
        return answer(self.deployment.connect(to).ask(request, PATIENCE))

    def request(self, topic: str = "T", *, body: str | None = "hello", most: int | None = None, **parameters: Any) -> Command:
        """Return a send request (310) for queue 0, with TBW102 as default topic and 4 queues; other arguments of the step by name."""
        if "properties" in parameters:  # with the end that the profile's clients write
            text = properties_text(parameters["properties"], trailing=self.profile.ends_properties)
            parameters["altered"] = ("properties", text)
        return plain("send", topic=topic, body=body, most=most, **parameters)

    def send(self, topic: str = "T", *, to: str = "broker-a", **parameters: Any) -> str:
        """Send a message as a client, and return the broker's answer."""
        return self.ask(self.request(topic, **parameters), to)

    def send_back(self, offset: int, group: str = "G", level: int = 0, *, most: int | None = None, **parameters: Any) -> str:
        """Send the record at an offset of broker-a's log back, as a consumer that failed, and return the answer."""
        return self.ask(plain("back", offset=offset, group=group, level=level, most=most, **parameters))

    def update_topic(self, topic: str, read: int, write: int, perm: int = 6, *, to: str = "broker-a") -> str:
        """Create or change a topic as an administrator, and return the broker's answer."""
        return self.ask(plain("topic", topic=topic, read=read, write=write, perm=perm), to)

    def delete_topic(self, topic: str, *, to: str = "broker-a") -> str:
        """Delete a topic as an administrator, on the broker only."""
        return self.ask(plain("delete", topic=topic), to)

    def do(self, work: Work[Any]) -> Any:
        """Run a task to its end, and return its result."""
        return self.scheduler.complete(work)

    def register(self, broker: str = "broker-a") -> None:
        """Let a broker register, as it does every 30 seconds."""
        self.do(self.broker(broker).registration.register_periodically())

    def produce(self, producer: Producer, topic: str = "T", *, at: int | None = None, **properties: str) -> str:
        """Send a message with a producer, and return the caller's result. `at`: the position in the list of queues that is next."""
        if at is not None:
            producer.round_robin.counter.value = at
        try:
            return sent(self.do(producer.send(Message(topic, body=b"hello", properties=properties))))
        except (ClientError, BrokerError, RemotingError) as error:
            return failed(error)

    def find_queues(self, producer: Producer, topic: str = "T") -> str:
        """Let a producer look up a topic's queues, as a send does, and return them."""
        self.do(producer.try_to_find_topic_publish_info(topic))
        return queues(producer, topic)

    @contextmanager
    def process_ends(self, broker: str = "broker-a", *, after: int) -> Iterator[None]:
        """Crash the broker during the body, after `after` steps on its disk. Raises RuntimeError if the broker survives the body."""
        self.node(broker).disk.end_after(after)
        try:
            yield
        except ProcessEnded:
            self.crash(broker)
            return
        raise RuntimeError(f"{broker} still runs")

    # What there is

    def topic(self, topic: str = "T", broker: str = "broker-a") -> str:
        """The topic in a broker's memory."""
        return config(self.broker(broker).topics.select(topic))

    def filed(self, topic: str = "T", broker: str = "broker-a") -> str:
        """The topic in a broker's file."""
        content = self.node(broker).disk.read("store/config/topics.json")
        return config(table_from_data(json.loads(content))[0].get(topic) if content else None)

    def routed(self, topic: str = "T") -> list[str]:
        """The name server's entries of the topic, by broker."""
        return [f"{entry.broker_name}: {config(entry)}" for entry in self.name_server.topic_queue_table.get(topic, ())]

    def stored(self, broker: str = "broker-a") -> list[str]:
        """The records of a broker's log, by topic, queue and offset."""
        return [place(message) for message in self.broker(broker).store.records()]

    def last(self, broker: str = "broker-a") -> Message:
        """The last record of a broker's log."""
        return list(self.broker(broker).store.records())[-1]

    def stored_properties(self, broker: str = "broker-a") -> dict[str, str]:
        """The properties of the last record."""
        return parse_properties(self.last(broker).properties_text, exact=self.profile.exact_properties)

    def consumable(self, topic: str = "T", queue_id: int = 0, broker: str = "broker-a") -> int:
        """Return the number of messages in the queue that a consumer can get."""
        self.dispatch()
        return self.broker(broker).store.max_offset(topic, queue_id)


def answer(command: Command) -> str:
    """Format a broker's answer: code, remark, queue and offset."""
    text = codes.ANSWERS.get(command.code, str(command.code))
    if command.code != codes.SUCCESS and command.remark is not None:
        text += f": {_PLACE.sub('', command.remark.partition(chr(10))[0])}"
    fields = command.ext_fields or {}
    return f"{text}, queue {fields['queueId']} offset {fields['queueOffset']}" if "queueId" in fields else text


def sent(result: SendResult) -> str:
    """Format the result of a producer's send."""
    return f"{result.status.name}, {result.queue.broker_name} queue {result.queue.queue_id} offset {result.queue_offset}"


def failed(error: Exception) -> str:
    """Format an exception of a send: its kind, its code, and the answer that caused it."""
    if isinstance(error, BrokerError):
        return f"MQBrokerException, {codes.ANSWERS.get(error.code, str(error.code))}: {(error.remark or '').partition(chr(10))[0]}"
    if isinstance(error, ClientError):
        return f"MQClientException {error.code}: {error.message.partition(chr(10))[0]}"
    return f"{type(error).__name__}: {error}"


def config(entry: TopicConfig | QueueData | None) -> str:
    """Format a topic's queues and permission."""
    if entry is None:
        return "unknown"
    return f"read {entry.read_queue_nums}, write {entry.write_queue_nums}, {perm_text(entry.perm)}"


def place(message: Message) -> str:
    """Format the position of a record: topic, queue and offset."""
    return f"{message.topic} queue {message.queue_id} offset {message.queue_offset}"


def queues(producer: Producer, topic: str = "T") -> str:
    """Format the queues to which a producer sends, in its order."""
    info = producer.topic_publish_info_table.get(topic)
    if info is None or not info.ok:
        return "no queue"
    return " ".join(f"{queue.broker_name.removeprefix('broker-')}{queue.queue_id}" for queue in info.message_queue_list)
