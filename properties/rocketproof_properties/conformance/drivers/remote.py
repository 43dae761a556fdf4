"""A broker in another process, for drivers of small models.

Requests go over the wire. Observed values are queried or read from the broker's files. Flushes, registrations and drawn queues are left to
the broker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.groups import SubscriptionGroupConfig, group_from_data
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.ports import Channel
from rocketproof_impl.route import QueueData, decode_route
from rocketproof_impl.store import record
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_model import interrupts
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import is_digits, whole_number
from rocketproof_traces.stored.record import read_log

from ...brokers.comeback import come_back
from ...brokers.connection import Connection
from ...brokers.deployment import Deployment
from ...programs.parts import NAME_SERVER
from ...programs.vocabulary import plain
from .broker import DrivenBroker

BROKER: Final = "broker-a"
SECONDS: Final = 10.0
UNKNOWN: Final = 1 << 62  # beyond any log: the flushed position is not observable
MOMENT: Final = 0.2  # seconds for the broker's own tasks, such as dispatch
DELIVERED: Final = 2.5  # seconds after which a message of the first level is delivered


class RemoteBroker(DrivenBroker):
    """A broker of a deployment, with its name server.

    `file_size`: bytes of a log file. `quick`: each delay level of the broker is one second, whatever its default.
    """

    def __init__(self, running: Deployment, profile: Profile, file_size: int, *, quick: bool) -> None:
        self.profile = profile
        self._running = running
        self._file_size = file_size
        self._quick = quick
        self._connections: dict[str, Connection] = {}

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connection(self, client: str, to: str) -> Connection:
        if client not in self._connections:
            self._connections[client] = self._running.connect(to)
        return self._connections[client]

    def call(self, request: Command, *, client: str = "client") -> Command:
        """Return the response. One-way requests get a response too."""
        request.flag &= ~ONE_WAY
        return self._connection(client, BROKER).ask(request, SECONDS)

    def post(self, request: Command) -> None:
        self.call(request)

    def connect(self, channel: Channel, request: Command) -> None:
        del channel  # the broker's requests arrive on the connection
        self.call(request)

    # Time and the broker's own tasks

    def now(self) -> int:
        return round(time.time() * 1000)

    def advance(self, millis: int) -> None:
        interrupts.pause(millis / 1000)

    def deliver_delayed(self, millis: int) -> None:
        interrupts.pause(DELIVERED if self._quick else millis / 1000 + 1)

    def dispatch(self) -> None:
        interrupts.pause(MOMENT)

    def run(self, task: Callable[[Broker], Work[Any] | None]) -> None:
        del task

    def deliver_registrations(self) -> None:
        """Do nothing."""

    def draw(self, queue: int) -> None:
        del queue

    def crash(self) -> None:
        self.close()
        self._running.kill(BROKER)

    def start(self) -> None:
        come_back(self._running, BROKER)

    # State

    def records(self) -> list[Message]:
        """Return the messages in the log's files, up to the first unreadable record."""
        files = sorted((self._running.store(BROKER) / "commitlog").glob("*"))
        data = b"".join(path.read_bytes() for path in files if is_digits(path.name))
        stored = read_log(data, self._file_size, hosts_by_flag=self.profile.hosts_by_flag).records
        return [message for entry in stored if (message := self.decode(data[entry.at : entry.end])) is not None]

    def decode(self, data: bytes) -> Message | None:
        return record.decode(data, exact=self.profile.exact_properties)

    def message(self, topic: str, queue: int, offset: int) -> Message | None:
        return next((m for m in self.records() if (m.topic, m.queue_id, m.queue_offset) == (topic, queue, offset)), None)

    def max_offset(self, topic: str, queue: int = 0) -> int:
        return whole_number((self.accepted("max_offset", topic=topic, queue=queue).ext_fields or {})["offset"])

    def next_offset(self, topic: str, queue: int = 0) -> int:
        is_used = any((message.topic, message.queue_id) == (topic, queue) for message in self.records())
        return self.max_offset(topic, queue) if is_used else 0

    def flushed_to(self) -> int:
        return UNKNOWN

    def topics(self) -> dict[str, TopicConfig]:
        table, _ = table_from_data(json.loads(self.accepted("topics").body or b""))
        return table

    def groups(self) -> Mapping[str, SubscriptionGroupConfig]:
        data = loads(self.accepted("groups").body or b"")
        return {name: group_from_data(name, entry) for name, entry in data["subscriptionGroupTable"].items()}

    def route(self, topic: str) -> list[QueueData]:
        answer = self._connection(NAME_SERVER, NAME_SERVER).ask(plain("route", topic=topic), SECONDS)
        return decode_route(answer.body or b"").queue_datas if answer.code == codes.SUCCESS else []

    def offset(self, group: str, topic: str) -> int | None:
        answer = self.call(plain("progress", topic=topic, group=group))
        return whole_number((answer.ext_fields or {})["offset"]) if answer.code == codes.SUCCESS else None

    def file(self, path: str) -> bytes | None:
        file = self._running.store(BROKER) / path
        return file.read_bytes() if file.exists() else None
