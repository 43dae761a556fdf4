"""A history: what went over the wire of one or more brokers and what is in their stores afterwards, as plain data.

Whoever can record it can have it judged: a simulated cluster, a recording, a real broker. Records are what `rocketproof_traces.stored`
reads in the log's own bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rocketproof_protocol.codes import FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, SUCCESS
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_spec.bounds import retry_limit_of
from rocketproof_traces.stored.record import LogRecords, StoredRecord

OK = (SUCCESS, FLUSH_DISK_TIMEOUT, SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT)  # the codes that say: it is in the log


@dataclass(frozen=True, slots=True)
class BrokerRequest:
    """What was asked of a broker. `kind`: send, batch, send_back, end_transaction, or other for what stores nothing.

    A send-back names the record by its `offset` in the log and says how to go on by `delay_level`. `bodies` are the messages'
    bodies, one unless it is a batch.
    """

    kind: str
    opaque: int
    one_way: bool = False
    topic: str = ""
    group: str = ""
    queue_id: int = 0
    sys_flag: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    bodies: tuple[bytes | None, ...] = ()
    reconsume_times: int = 0
    max_reconsume_times: int | None = None
    version: int = 399
    delay_level: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Response:
    """What came back on the connection of the request."""

    code: int
    opaque: int
    remark: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class StoredExchange:
    """A request, its answers, and what it left behind. `at` is the time in milliseconds.

    `ended`: its task ran and is over. `stored` are the places of its records in the broker's log. `retries`: how often its group
    retries a message, as the administrator set it. `queues`: the read and the write count of its topic, None if there is no such
    topic.
    """

    broker: str
    request: BrokerRequest
    at: int = 0
    answers: list[Response] = field(default_factory=list)
    ended: bool = True
    stored: tuple[int, ...] = ()
    retries: int = RETRY_MAX_TIMES
    queues: tuple[int, int] | None = None

    @property
    def code(self) -> int | None:
        """The code of the first answer, None without one."""
        return self.answers[0].code if self.answers else None

    @property
    def limit(self) -> int:
        """How often this request lets its message be retried."""
        return retry_limit_of(self.request.max_reconsume_times, self.request.version, self.retries)

    def __str__(self) -> str:
        asked = self.request
        about = asked.topic or (f"record {asked.offset} for {asked.group}" if asked.kind == "send_back" else asked.kind)
        return f"request {asked.opaque} ({asked.kind}, {about})"


class QueueEntry(NamedTuple):
    """An entry of a consume queue: where its record is, and how long, in bytes."""

    physical_offset: int
    size: int


class TopicEvent(NamedTuple):
    """What became of a topic, at a time in milliseconds. `who` is a broker's name, `by` a producer's.

    created: the broker has it; routed, unrouted: the name server has the broker in its route, or no longer; used: the producer
    has sent to it; known, forgotten: the producer has the broker among its queues, or no longer.
    """

    at: int
    what: str
    topic: str
    who: str = ""
    by: str = ""


class Routes(NamedTuple):
    """A name server's tables at one time: topic to broker names, broker name to its addresses by id."""

    queues: Mapping[str, tuple[str, ...]]
    addresses: Mapping[str, Mapping[int, str]]


class WaitedProducer(NamedTuple):
    """A producer that waited to be asked, for longer than a broker lets pass between two rounds of its checks. `halves`: the half messages
    of its groups about which it has said nothing, by their topics; `asked`: whether a question came."""

    client: str
    halves: tuple[str, ...]
    asked: bool


@dataclass
class History:
    """Everything that the claims read, complete when the first of them reads it.

    Logs, queues and counts are by broker name, next offsets by "topic-queueId". `twin`: exchange number to the stored property texts of the
    same program on a broker without hooks, None if there was none. `end` is the time of the last look, in milliseconds. `limits_record`: no
    record is longer than `max_message_size` bytes; otherwise no body is. `early_batches`: as the rules' setting.
    """

    exchanges: list[StoredExchange] = field(default_factory=list)
    logs: dict[str, LogRecords] = field(default_factory=dict)
    entries: dict[str, dict[tuple[str, int], list[QueueEntry | None]]] = field(default_factory=dict)
    next_offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    max_message_size: int = 4 * 1024 * 1024
    limits_record: bool = True
    early_batches: bool = False
    twin: dict[int, tuple[str, ...]] | None = None
    routes: list[Routes] = field(default_factory=list)
    waited: list[WaitedProducer] = field(default_factory=list)
    events: list[TopicEvent] = field(default_factory=list)
    end: int = 0
    rows: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What `facts.py` has made of the history, kept as long as the history."""

    def stored(self, exchange: StoredExchange) -> list[StoredRecord]:
        """The records of an exchange, as far as the log can be read."""
        places = set(exchange.stored)
        return [r for r in self.logs[exchange.broker].records if r.at in places] if places else []
