"""The cluster that the stories play on: steps in one line, and what is there as short texts.

Clients and administrators ask what the vocabulary of steps has, and the simulated deployment does it; producers are RocketMQ's own, from
`Cluster.producer`. A request during which something else has to happen is a thread of its own (`Cluster.calling`).
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
"""Seconds to wait for an answer; longer than any wait of a broker's own."""

_PLACE = re.compile(r", \w+\([\w.]+:[0-9]+\)$")  # where an exception was thrown, at the end of its remark


class StoryCluster(Cluster):
    """A cluster with a client, an administrator and an observer. `to` and `broker` are names of brokers."""

    def __init__(self, brokers: int = 1, **settings: Any) -> None:
        super().__init__(brokers, **settings)
        self.deployment = SimulatedDeployment(self)

    @property
    def illegal(self) -> str:
        """The answer about a name or a queue that is none."""
        return codes.ANSWERS[self.profile.illegal_code]

    # Steps

    def act(self, name: str, **given: Any) -> None:
        """Do a step that is not a request, on broker-a where it is about a broker; other arguments have their defaults."""
        self.deployment.act(name, **arguments((name, given)))

    def ask(self, request: Command, to: str = "broker-a") -> str:
        """The broker's answer, when time has passed as needed. Raises TimedOut."""
        return answer(self.deployment.connect(to).ask(request, PATIENCE))

    def request(self, topic: str = "T", *, body: str | None = "hello", most: int | None = None, **given: Any) -> Command:
        """A send request (310) for queue 0, with TBW102 as default topic and 4 queues; other arguments of the step by name."""
        if "properties" in given:  # as the profile's own clients end them
            text = properties_text(given["properties"], trailing=self.profile.ends_properties)
            given["altered"] = ("properties", text)
        return plain("send", topic=topic, body=body, most=most, **given)

    def send(self, topic: str = "T", *, to: str = "broker-a", **given: Any) -> str:
        """Send a message as a client and give the broker's answer."""
        return self.ask(self.request(topic, **given), to)

    def send_back(self, offset: int, group: str = "G", level: int = 0, *, most: int | None = None, **given: Any) -> str:
        """Give the record at an offset of broker-a's log back, as a consumer that could not consume it, and give the answer."""
        return self.ask(plain("back", offset=offset, group=group, level=level, most=most, **given))

    def update_topic(self, topic: str, read: int, write: int, perm: int = 6, *, to: str = "broker-a") -> str:
        """Create or change a topic as an administrator, and give the broker's answer."""
        return self.ask(plain("topic", topic=topic, read=read, write=write, perm=perm), to)

    def delete_topic(self, topic: str, *, to: str = "broker-a") -> str:
        """Delete a topic as an administrator, on the broker and nowhere else."""
        return self.ask(plain("delete", topic=topic), to)

    def do(self, work: Work[Any]) -> Any:
        """Run something to its end and give its result."""
        return self.scheduler.complete(work)

    def register(self, broker: str = "broker-a") -> None:
        """Let a broker register, as it does every 30 seconds."""
        self.do(self.broker(broker).registration.register_periodically())

    def produce(self, producer: Producer, topic: str = "T", *, at: int | None = None, **properties: str) -> str:
        """Send a message by a producer and give what the caller gets. `at`: the place in the list of queues that is next."""
        if at is not None:
            producer.round_robin.counter.value = at
        try:
            return sent(self.do(producer.send(Message(topic, body=b"hello", properties=properties))))
        except (ClientError, BrokerError, RemotingError) as error:
            return failed(error)

    def find_queues(self, producer: Producer, topic: str = "T") -> str:
        """Let a producer look for a topic's queues, as a send does, and give them."""
        self.do(producer.try_to_find_topic_publish_info(topic))
        return queues(producer, topic)

    @contextmanager
    def process_ends(self, broker: str = "broker-a", *, after: int) -> Iterator[None]:
        """What is done inside ends with the broker's process, after so many steps on its disk; if not, there is no story."""
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
        """What the name server knows of the topic, by broker."""
        return [f"{entry.broker_name}: {config(entry)}" for entry in self.name_server.topic_queue_table.get(topic, ())]

    def stored(self, broker: str = "broker-a") -> list[str]:
        """The records of a broker's log, each by its topic and queue."""
        return [place(message) for message in self.broker(broker).store.records()]

    def last(self, broker: str = "broker-a") -> Message:
        """The last record of a broker's log."""
        return list(self.broker(broker).store.records())[-1]

    def stored_properties(self, broker: str = "broker-a") -> dict[str, str]:
        """The properties of the last record."""
        return parse_properties(self.last(broker).properties_text, exact=self.profile.exact_properties)

    def consumable(self, topic: str = "T", queue_id: int = 0, broker: str = "broker-a") -> int:
        """How many messages a consumer of the queue can get."""
        self.dispatch()
        return self.broker(broker).store.max_offset(topic, queue_id)


def answer(command: Command) -> str:
    """A broker's answer: code, remark and place."""
    text = codes.ANSWERS.get(command.code, str(command.code))
    if command.code != codes.SUCCESS and command.remark is not None:
        text += f": {_PLACE.sub('', command.remark.partition(chr(10))[0])}"
    fields = command.ext_fields or {}
    return f"{text}, queue {fields['queueId']} offset {fields['queueOffset']}" if "queueId" in fields else text


def sent(result: SendResult) -> str:
    """What a producer's send ends with."""
    return f"{result.status.name}, {result.queue.broker_name} queue {result.queue.queue_id} offset {result.queue_offset}"


def failed(error: Exception) -> str:
    """An exception of a send: its kind, code and the answer behind it."""
    if isinstance(error, BrokerError):
        return f"MQBrokerException, {codes.ANSWERS.get(error.code, str(error.code))}: {(error.remark or '').partition(chr(10))[0]}"
    if isinstance(error, ClientError):
        return f"MQClientException {error.code}: {error.message.partition(chr(10))[0]}"
    return f"{type(error).__name__}: {error}"


def config(entry: TopicConfig | QueueData | None) -> str:
    """A topic's queues and permission."""
    if entry is None:
        return "unknown"
    return f"read {entry.read_queue_nums}, write {entry.write_queue_nums}, {perm_text(entry.perm)}"


def place(message: Message) -> str:
    """Where a record is, as its queue counts."""
    return f"{message.topic} queue {message.queue_id} offset {message.queue_offset}"


def queues(producer: Producer, topic: str = "T") -> str:
    """The list of queues that a producer sends to, in its order."""
    info = producer.topic_publish_info_table.get(topic)
    if info is None or not info.ok:
        return "no queue"
    return " ".join(f"{queue.broker_name.removeprefix('broker-')}{queue.queue_id}" for queue in info.message_queue_list)
