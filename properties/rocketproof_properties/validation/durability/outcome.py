"""What is left of acknowledged messages after a fault: the load that a broker gets, and the comparison with what a consumer then reads.

Everything is sent and read on the wire, so that the reference implementation and real releases are measured in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, Final

from rocketproof_impl.message import parse_properties
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import java_long
from rocketproof_protocol.properties import DELAY, KEYS
from rocketproof_traces.stored.record import record_at, records_in

from ...brokers.connection import Connection
from ...brokers.deployment import Deployment
from ...programs.vocabulary import plain

TOPIC: Final = "durable"
QUEUES: Final = 2
MESSAGES: Final = 6
DELAYED: Final = 1
"""The number of the message with the first delay level, one second."""
FLUSHES: Final = ("SYNC_FLUSH", "ASYNC_FLUSH")
SETTINGS: Final = {"maxHashSlotNum": "16", "maxIndexNum": "64", "mappedFileSizeCommitLog": "1024", "mappedFileSizeConsumeQueue": "60"}
"""Settings with which the load needs several files of the log and of each queue."""
_PAUSE: Final = 0.05
DELIVERED: Final = 1.2
"""Seconds in which a message of the first delay level is delivered."""
_PULLS: Final = 60


@dataclass(frozen=True)
class Copy:
    """A message in a queue. The place of an acknowledged message with a delay is not known: `queue` and `offset` are None."""

    queue: int | None
    offset: int | None
    body: bytes
    key: str
    topic: str

    def is_at(self, other: Copy) -> bool:
        """Return whether the other copy has the content of this message, in its place if that is known."""
        return self.same(other) and (self.offset is None or (self.queue, self.offset) == (other.queue, other.offset))

    def same(self, other: Copy) -> bool:
        return (self.body, self.key, self.topic) == (other.body, other.key, other.topic)

    def resembles(self, other: Copy) -> bool:
        """Return whether the other copy has the body or the key of this message, which no other message has."""
        return self.body == other.body or self.key == other.key


@dataclass(slots=True)
class FaultOutcome:
    """The messages of one fault, summed over its states.

    - `states`: number of states in which the broker was started after the fault. `refused`: the states in which it did not start; their
      messages are in no other number.
    - `acknowledged`: messages whose send was answered SUCCESS before the fault.
    - `lost`: no message in a queue resembles them. `changed`: they have other content or another place. `duplicated`: they are there more
      than once.
    """

    states: int = 0
    refused: int = 0
    acknowledged: int = 0
    lost: int = 0
    changed: int = 0
    duplicated: int = 0

    def add(self, acknowledged: Collection[Copy], read: Sequence[Copy] | None) -> None:
        """Count a state. `read`: the messages that a consumer gets, None if the broker does not start."""
        self.states += 1
        if read is None:
            self.refused += 1
            return
        self.acknowledged += len(acknowledged)
        for message in acknowledged:
            found = [copy for copy in read if message.resembles(copy)]
            self.lost += not found
            self.changed += bool(found) and not any(message.is_at(copy) for copy in found)
            self.duplicated += len(found) > 1

    @property
    def numbers(self) -> tuple[int, ...]:
        return astuple(self)


@dataclass
class DurabilityLoad:
    """The messages of one run, to a topic of its own. `acknowledged` grows while the load runs, and is complete when a fault ends it."""

    topic: str = TOPIC
    acknowledged: list[Copy] = field(default_factory=list)

    def create_topic(self, running: Deployment, broker: str) -> None:
        """Create the load's topic and a later one, so that the backup of the table has the load's. Raises RemotingError."""
        with running.connect(broker) as line:
            for topic in (self.topic, f"{self.topic}-later"):
                line.ask(plain("topic", topic=topic, read=QUEUES, write=QUEUES))

    def run(self, running: Deployment, broker: str, messages: int = MESSAGES) -> None:
        """Send messages. A send without a response is not acknowledged. After all messages, wait until the delayed one is delivered."""
        with running.connect(broker) as line:
            for number in range(messages):
                self._send(line, number)
                line.listen(_PAUSE)
            if messages == MESSAGES:
                line.listen(DELIVERED)

    def _send(self, line: Connection, number: int) -> None:
        queue, body, key = number % QUEUES, f"body {number}", f"key{number}"
        properties = {KEYS: key, **({DELAY: "1"} if number == DELAYED else {})}
        try:
            answer = line.ask(plain("send", topic=self.topic, queue=queue, body=body, properties=properties))
        except RemotingError:
            return
        if answer.code == codes.SUCCESS:
            offset = _offset(answer.ext_fields, "queueOffset")
            waits = number == DELAYED
            self.acknowledged.append(Copy(None if waits else queue, None if waits else offset, body.encode(), key, self.topic))

    def read(self, running: Deployment, broker: str, seconds: float = DELIVERED) -> list[Copy]:
        """Return the messages that a consumer gets from the topic's queues, after these seconds if a delivery can be late.

        Raises RemotingError.
        """
        with running.connect(broker) as line:
            if any(message.offset is None for message in self.acknowledged):
                line.listen(seconds)
            return [copy for queue in range(QUEUES) for copy in _read_queue(line, self.topic, queue)]


def _read_queue(line: Connection, topic: str, queue: int) -> list[Copy]:
    """Pull a queue from its beginning to its end, or until a pull does not get further."""
    end = _offset(line.ask(plain("max_offset", topic=topic, queue=queue)).ext_fields, "offset") or 0
    found, offset = [], 0
    for _ in range(_PULLS):
        if offset >= end:
            break
        answer = line.ask(plain("pull", topic=topic, queue=queue, offset=offset))
        if answer.code == codes.SUCCESS:
            found += _copies(answer.body or b"")
        following = _offset(answer.ext_fields, "nextBeginOffset")
        if following is None or following <= offset:
            break
        offset = following
    return found


def _offset(fields: dict[str, Any] | None, name: str) -> int | None:
    return java_long((fields or {}).get(name, ""))


def _copies(body: bytes) -> list[Copy]:
    """Return the messages of a pull's body. Bytes that are no record are left out, as no consumer can read them."""
    records = filter(None, (record_at(data, 0) for data in records_in(body)))
    return [Copy(record.queue_id, record.queue_offset, record.body, _key(record.properties_text), record.topic) for record in records]


def _key(properties: str) -> str:
    return parse_properties(properties, exact=False).get(KEYS, "")
