"""A history: the exchanges with one or more brokers, and the content of their stores afterwards, as plain data.

A simulated cluster, a recording and a real broker can all produce one. `rocketproof_traces.stored` reads the records from the bytes of
the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rocketproof_protocol.codes import FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, SUCCESS
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_spec.bounds import DELAYS, retry_limit_of
from rocketproof_traces.history.exchanges import RecordedExchanges
from rocketproof_traces.stored.record import LogRecords, StoredRecord

OK = (SUCCESS, FLUSH_DISK_TIMEOUT, SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT)  # the codes of stored messages


@dataclass(frozen=True, slots=True)
class BrokerRequest:
    """A request to a broker. `kind`: send, batch, send_back, end_transaction, or other for requests that store nothing.

    A send-back names its record by the `offset` in the log; `delay_level` requests the delay. `bodies` are the messages' bodies: one, or
    one per message of a batch, and `items` the properties of each message of a batch. `born` is the born timestamp in milliseconds.
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
    items: tuple[Mapping[str, str], ...] = ()
    flag: int = 0
    born: int = 0


@dataclass(frozen=True, slots=True)
class Response:
    """A response on the connection of its request."""

    code: int
    opaque: int
    remark: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class StoredExchange:
    """A request, its responses, and its effects. `at` is the time in milliseconds.

    `ended`: the request's task has ended. `stored`: the positions of its records in the broker's log. `retries`: the retry limit of its
    group, as the administrator set it. `queues`: the read and write counts of its topic, None if there is no such topic.
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
        """The code of the first response, None if there is none."""
        return self.answers[0].code if self.answers else None

    @property
    def limit(self) -> int:
        """The maximum number of retries of this request's message."""
        return retry_limit_of(self.request.max_reconsume_times, self.request.version, self.retries)

    def __str__(self) -> str:
        request = self.request
        about = request.topic or (f"record {request.offset} for {request.group}" if request.kind == "send_back" else request.kind)
        return f"request {request.opaque} ({request.kind}, {about})"


class QueueEntry(NamedTuple):
    """An entry of a consume queue: the position of its record, and the record's size in bytes."""

    physical_offset: int
    size: int


class TopicEvent(NamedTuple):
    """A change of a topic's state, with its time in milliseconds. `who` is a broker's name, `by` a producer's.

    created: the broker has the topic. routed, unrouted: the name server's route has the broker, or no longer has it. used: the producer has
    sent to the topic. known, forgotten: the producer has the broker among its queues, or no longer has it.
    """

    at: int
    what: str
    topic: str
    who: str = ""
    by: str = ""


class Routes(NamedTuple):
    """A name server's tables at one time: topic to broker names, and broker name to its addresses by id."""

    queues: Mapping[str, tuple[str, ...]]
    addresses: Mapping[str, Mapping[int, str]]


class WaitedProducer(NamedTuple):
    """A producer that waited for a check for longer than the broker's check interval.

    `halves`: the half messages of its groups without an outcome, by topic. `asked`: whether a check arrived.
    """

    client: str
    halves: tuple[str, ...]
    asked: bool


@dataclass
class History:
    """The data that the claims read. It must be complete before the first claim reads it.

    Logs, queues and counts are by broker name, next offsets by "topic-queueId". `twin`: the stored property texts of the same program on a
    broker without hooks, by exchange number, or None. `end` is the time of the last observation, in milliseconds. `limits_record`:
    `max_message_size` bytes limit the whole record; otherwise they limit the body. `early_batches`: as in the settings of rules.
    `recorded`: all requests, the other events and the reported states. `delays`: the delay of each level in milliseconds, None if unknown.
    `timers`: the broker delivers messages at a time that their properties request.
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
    recorded: RecordedExchanges = field(default_factory=RecordedExchanges)
    delays: tuple[int, ...] | None = DELAYS
    timers: bool = False
    rows: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """The facts that `facts.py` has derived from the history, cached with it."""

    def stored(self, exchange: StoredExchange) -> list[StoredRecord]:
        """Return the readable records of an exchange."""
        places = set(exchange.stored)
        return [r for r in self.logs[exchange.broker].records if r.at in places] if places else []
