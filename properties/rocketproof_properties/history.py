"""A history: what went over the wire of one or more brokers and what is in their stores afterwards, as plain data.

Whoever can record it can have it judged: a simulated cluster, a recording, a real broker. Records are read from the log's own
bytes here, by a reader that shares no code with any broker, so that a mistake in a broker's layout shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import NamedTuple

from rocketproof_model.specification.bounds import GROUP_RETRIES, retry_limit_of

OK = (0, 10, 11, 12)  # the codes that say: it is in the log
NOT, PREPARED, COMMIT, ROLLBACK = 0, 4, 8, 12
MESSAGE, BLANK = -626843481, -875286124
HEAD, FIXED = 8, 91

# totalSize magic bodyCRC queueId flag | queueOffset physicalOffset | sysFlag | bornTimestamp bornHost storeTimestamp storeHost
# | reconsumeTimes | preparedTransactionOffset | bodyLength
_RECORD = Struct(">5i2qiq4Biq4Biiqi")
_HEAD = Struct(">ii")
_SHORT = Struct(">H")


@dataclass(frozen=True, slots=True)
class Request:
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
class Answer:
    """What came back on the connection of the request."""

    code: int
    opaque: int
    remark: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Exchange:
    """A request, its answers, and what it left behind. `at` is the time in milliseconds.

    `ended`: its task ran and is over. `stored` are the places of its records in the broker's log. `retries`: how often its group
    retries a message, as the broker was told. `queues`: the larger queue count of its topic, None if there is no such topic.
    """

    broker: str
    request: Request
    at: int = 0
    answers: list[Answer] = field(default_factory=list)
    ended: bool = True
    stored: tuple[int, ...] = ()
    retries: int = GROUP_RETRIES
    queues: int | None = None

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


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the log as its bytes say; `at` is where they begin."""

    at: int
    total_size: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: tuple[str, int]
    store_timestamp: int
    store_host: tuple[str, int]
    reconsume_times: int
    body: bytes
    topic: str
    properties_text: str

    @property
    def transaction(self) -> int:
        return self.sys_flag & ROLLBACK

    @property
    def counted(self) -> bool:
        """Whether its queue counts it."""
        return self.transaction in (NOT, COMMIT)

    @property
    def end(self) -> int:
        return self.at + self.total_size

    @property
    def properties(self) -> dict[str, str]:
        pairs = (item.split("\x01", 1) for item in self.properties_text.split("\x02"))
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}

    def __str__(self) -> str:
        return f"the record at {self.at} ({self.topic}, queue {self.queue_id})"


@dataclass(slots=True)
class Log:
    """A commit log up to `end`, in files of `file_size` bytes. `damage` says where it cannot be read on, and why."""

    file_size: int
    end: int = 0
    records: list[Record] = field(default_factory=list)
    blanks: list[tuple[int, int]] = field(default_factory=list)
    damage: str | None = None

    def at(self, place: int) -> Record | None:
        return next((r for r in self.records if r.at == place), None)


class Entry(NamedTuple):
    """An entry of a consume queue: where its record is, and how long, in bytes."""

    physical_offset: int
    size: int


class Event(NamedTuple):
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


@dataclass(slots=True)
class History:
    """Everything that the claims read. Logs, queues and counts are by broker name, next offsets by "topic-queueId".

    `twin`: exchange number to the stored property texts of the same program on a broker without hooks, None if there was none.
    `end` is the time of the last look, in milliseconds.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    logs: dict[str, Log] = field(default_factory=dict)
    entries: dict[str, dict[tuple[str, int], list[Entry | None]]] = field(default_factory=dict)
    next_offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    max_message_size: int = 4 * 1024 * 1024
    twin: dict[int, tuple[str, ...]] | None = None
    routes: list[Routes] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    end: int = 0

    def stored(self, exchange: Exchange) -> list[Record]:
        """The records of an exchange, as far as the log can be read."""
        places = set(exchange.stored)
        return [r for r in self.logs[exchange.broker].records if r.at in places] if places else []


def read_log(data: bytes, file_size: int, end: int) -> Log:
    """Read a log's files, joined, from the first byte to the end."""
    log = Log(file_size, end)
    at = 0
    while at < end:
        if at + HEAD > len(data):
            log.damage = f"the log ends inside the record at {at}"
            break
        size, magic = _HEAD.unpack_from(data, at)
        if magic == BLANK:
            if at + size != (at // file_size + 1) * file_size or at + size > end:
                log.damage = f"the blank at {at} has {size} bytes and does not end where its file ends"
                break
            log.blanks.append((at, size))
            at += size
            continue
        record = _read(data, at) if magic == MESSAGE else None
        if record is None:
            log.damage = f"there is no whole record at {at}"
            break
        log.records.append(record)
        at += size
    return log


def record_at(data: bytes, place: int) -> Record | None:
    """The record whose bytes these are, from that place of a log; None if they are none."""
    record = _read(data, 0) if len(data) >= HEAD and _HEAD.unpack_from(data)[1] == MESSAGE else None
    return None if record is None else replace(record, at=place)


def _read(data: bytes, at: int) -> Record | None:
    """The record that begins there, None if its lengths do not fit."""
    if at + FIXED > len(data):
        return None
    size, _, crc, queue, flag, offset, physical, bits, born, *rest = _RECORD.unpack_from(data, at)
    born_host, (stored, *rest) = _host(rest), rest[5:]
    store_host, (times, _, length) = _host(rest), rest[5:]
    body_end = at + _RECORD.size + length
    if length < 0 or body_end >= len(data):
        return None
    topic_end = body_end + 1 + data[body_end]
    if topic_end + _SHORT.size > len(data):
        return None
    text_end = topic_end + _SHORT.size + _SHORT.unpack_from(data, topic_end)[0]
    if text_end != at + size or text_end > len(data):
        return None
    body, topic, text = data[at + _RECORD.size : body_end], data[body_end + 1 : topic_end], data[topic_end + _SHORT.size : text_end]
    return Record(
        at,
        size,
        crc,
        queue,
        flag,
        offset,
        physical,
        bits,
        born,
        born_host,
        stored,
        store_host,
        times,
        body,
        topic.decode("utf-8", "replace"),
        text.decode("utf-8", "replace"),
    )


def _host(numbers: Iterable[int]) -> tuple[str, int]:
    a, b, c, d, port, *_ = numbers
    return f"{a}.{b}.{c}.{d}", port
