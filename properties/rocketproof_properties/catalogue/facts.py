"""Facts of a history: its rows in the vocabularies of rules (`rocketproof_traces.audit.vocabulary`).

This module looks up, counts and compares; rules decide what is correct. Rows are made when the first rule needs their kind. Each row has
a readable description.
"""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import java_long
from rocketproof_protocol.properties import DELAY, MAX_RECONSUME_TIMES, ORIGIN_MESSAGE_ID, REAL_QID, REAL_TOPIC, RETRY_TOPIC
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_traces.audit.row_rules import Row, Settings, row_of, settings_of
from rocketproof_traces.audit.store import class_of
from rocketproof_traces.audit.vocabulary import Class, Damage, RequestKind
from rocketproof_traces.history.exchanges import SENDS
from rocketproof_traces.stored.kinds import BIT
from rocketproof_traces.stored.record import LogRecords, StoredRecord, host_of

from .history import OK, History, StoredExchange
from .promisefacts import PromiseFacts, Reader

_NO_CLASS = Class.encode("none")
_KINDS = {name: RequestKind.encode(name) for name in RequestKind.names}


class FactRow(NamedTuple):
    """A row, its successor (for rules about steps), and the object that it describes. The description is formatted on demand."""

    row: Row
    after: Row
    about: Any


class Facts:
    """The rows of a history, by kind."""

    @classmethod
    def of(cls, history: History) -> Facts:
        """Return the facts of a history, which are made once. The history must be complete."""
        facts: Facts | None = history.rows.get("facts")
        if facts is None:
            facts = history.rows["facts"] = cls(history)
        return facts

    def __init__(self, history: History) -> None:
        self.history = history
        self._rows: dict[str, list[FactRow]] = {}
        self._makers: Mapping[str, Callable[[], Iterator[FactRow]]] = {
            "exchange": self._exchanges,
            "id": self._ids,
            "record": self._each_record,
            "log": self._successive,
            "line": self._lines,
            "queue": self._queues,
            "kept": self._kept,
            "counter": self._counters,
            "count": self._counts,
            "route": self._routes,
            "place": self._places,
            "file": self._files,
            "damage": self._damage,
            **{kind: partial(self._promised, reader) for kind, reader in PromiseFacts(history).makers().items()},
        }

    def rows(self, over: str) -> list[FactRow]:
        """Return the rows of this kind. Raises KeyError for a kind that no history has, such as topics.json."""
        if over not in self._rows:
            self._rows[over] = list(self._makers[over]())
        return self._rows[over]

    @cached_property
    def settings(self) -> Settings:
        """The settings of the rules: the history's own settings; otherwise the settings of 4.9 and later. Cases handle profiles that
        differ."""
        history = self.history
        given = {name: getattr(history, name) for name in ("max_message_size", "limits_record", "early_batches")}
        return settings_of({**given, "before_49": False, "below_zero": False})

    @staticmethod
    def _promised(reader: Reader) -> Iterator[FactRow]:
        return (FactRow(row, (), about) for row, about in reader())

    # Requests

    def _exchanges(self) -> Iterator[FactRow]:
        for number, exchange in enumerate(self.history.exchanges):
            yield FactRow(self._exchange(number, exchange), (), exchange)

    def _exchange(self, number: int, exchange: StoredExchange) -> Row:
        request, answers = exchange.request, exchange.answers
        records = self._stored(exchange)
        accepted = exchange.code in OK and request.kind in SENDS
        fields = answers[0].fields if accepted else {}
        queue, index = (_number(fields.get(name), -1) for name in ("queueId", "queueOffset"))
        entries = self.history.entries.get(exchange.broker, {}).get((request.topic, queue), []) if accepted else []
        entry = entries[index] if 0 <= index < len(entries) else None
        twin = self.history.twin
        return row_of("exchange")(
            kind=_KINDS[request.kind],
            oneWay=request.one_way,
            ended=exchange.ended,
            answers=len(answers),
            code=0 if exchange.code is None else exchange.code,
            sameOpaque=all(answer.opaque == request.opaque for answer in answers),
            undecided=any(answer.code == -1 for answer in answers),
            messages=len(request.bodies),
            stored=len(exchange.stored),
            sameBodies=[record.body for record in records] == [body or b"" for body in request.bodies],
            answeredQueue=queue,
            topicKnown=exchange.queues is not None,
            readQueueNums=exchange.queues[0] if exchange.queues else 0,
            writeQueueNums=exchange.queues[1] if exchange.queues else 0,
            ids=len(_ids(fields)),
            entryThere=entry is not None,
            entryOffset=entry.physical_offset if entry is not None else -1,
            firstStored=exchange.stored[0] if exchange.stored else -1,
            hooksKnown=twin is not None,
            sameWithoutHooks=twin is not None and tuple(r.properties_text for r in records) == twin.get(number, ()),
        )

    def _ids(self) -> Iterator[FactRow]:
        named = [
            (exchange, number, id_)
            for exchange in self.history.exchanges
            if exchange.code in OK and exchange.request.kind in SENDS
            for number, id_ in enumerate(_ids(exchange.answers[0].fields))
        ]
        times = Counter((exchange.broker, id_) for exchange, _, id_ in named)
        for exchange, number, id_ in named:
            host, place = _named(id_)
            record = self._at(exchange.broker, place)
            yield FactRow(
                row_of("id")(
                    place=place,
                    there=record is not None,
                    own=number < len(exchange.stored) and exchange.stored[number] == place,
                    sameHost=record is not None and record.store_host == host,
                    storedPhysicalOffset=-1 if record is None else record.physical_offset,
                    times=times[exchange.broker, id_],
                ),
                (),
                f"the id {id_} in the answer to {exchange}",
            )

    def _kept(self) -> Iterator[FactRow]:
        for exchange in self.history.exchanges:
            for record in self._stored(exchange):
                yield FactRow(self._kept_row(exchange, record), (), f"{record}, which {exchange} has stored,")

    def _kept_row(self, exchange: StoredExchange, record: StoredRecord) -> Row:
        request, properties = exchange.request, record.properties
        real = properties.get(REAL_TOPIC)
        before = self._at(exchange.broker, request.offset) if request.kind == "send_back" else None
        times = request.reconsume_times if before is None else before.reconsume_times
        return row_of("kept")(
            kind=_KINDS[request.kind],
            askedClass=_class_of(request.topic),
            askedQueue=request.queue_id,
            topicClass=_class_of(record.topic),
            realClass=_class_of(real),
            finalClass=_class_of(real if record.topic == SCHEDULE else record.topic),
            realAsked=real == request.topic,
            realDead=real == DLQ_PREFIX + request.topic.removeprefix(RETRY_PREFIX),
            realQueueId=_number(properties.get(REAL_QID), -1),
            sysFlag=record.sys_flag,
            delayLevel=_number(properties.get(DELAY), 0),
            givenUp=request.kind == "send_back" and (before is None or request.delay_level < 0),
            times=times,
            reconsumeTimes=record.reconsume_times,
            namesLimit=request.max_reconsume_times is not None,
            maxReconsumeTimes=request.max_reconsume_times or 0,
            version=request.version,
            retryMaxTimes=exchange.retries,
        )

    # The log

    def _each_record(self) -> Iterator[FactRow]:
        for name, log in self.history.logs.items():
            for record in log.records:
                yield FactRow(self._records[name, record.at], (), record)

    @cached_property
    def _records(self) -> dict[tuple[str, int], Row]:
        """The row of each record, by broker and position."""
        origins = dict(self._origins())
        return {
            (name, record.at): _record(record, *origins.get((name, record.at), (False, False, 0)))
            for name, log in self.history.logs.items()
            for record in log.records
        }

    def _origins(self) -> Iterator[tuple[tuple[str, int], tuple[bool, bool, int]]]:
        """Yield the records of send-backs: whether the record names the topic of the first record of its chain, and the previous number of
        retries. All records of a chain have the same birth time.

        A message in a timer wheel is stored a second time when it is delivered, and either record may be the one that was sent back.
        """
        for exchange in self.history.exchanges:
            before = self._at(exchange.broker, exchange.request.offset) if exchange.request.kind == "send_back" else None
            for record in self._stored(exchange) if before is not None else ():
                assert before is not None
                chain = (r for r in self.history.logs[exchange.broker].records if r.born_timestamp == before.born_timestamp)
                first = next(chain, before)
                topics = {first.properties.get(REAL_TOPIC)} if first.topic in (SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC) else {first.topic}
                topics |= {WHEEL_TIMER_TOPIC} if first.topic == WHEEL_TIMER_TOPIC else set()
                yield (exchange.broker, record.at), (True, record.properties.get(RETRY_TOPIC) in topics, before.reconsume_times)

    def _successive(self) -> Iterator[FactRow]:
        for name, log in self.history.logs.items():
            yield from self._steps(name, log.records)

    def _lines(self) -> Iterator[FactRow]:
        for name, log in self.history.logs.items():
            for records in _by_queue(log).values():
                yield from self._steps(name, records)

    def _steps(self, name: str, records: list[StoredRecord]) -> Iterator[FactRow]:
        for before, record in itertools.pairwise(records):
            yield FactRow(self._records[name, before.at], self._records[name, record.at], record)

    def _queues(self) -> Iterator[FactRow]:
        for log in self.history.logs.values():
            for (topic, queue), records in _by_queue(log).items():
                row = row_of("queue")(queueId=queue, records=len(records), firstQueueOffset=records[0].queue_offset)
                yield FactRow(row, (), f"queue {queue} of {topic}")

    def _places(self) -> Iterator[FactRow]:
        for log in self.history.logs.values():
            for record in log.records:
                yield FactRow(row_of("place")(size=record.total_size, rest=log.file_size - record.at % log.file_size), (), record)

    def _files(self) -> Iterator[FactRow]:
        for name, log in self.history.logs.items():
            ends: dict[int, int] = {}
            for record in log.records:
                base = record.at // log.file_size * log.file_size
                ends[base] = record.end - base
            blanks = dict(log.blanks)
            for base, end in ends.items():
                row = row_of("file")(base=base, size=log.file_size, end=end, blank=blanks.get(base + end, 0))
                yield FactRow(row, (), f"the file at {base} of {name}'s log")

    def _damage(self) -> Iterator[FactRow]:
        for name, log in self.history.logs.items():
            damage = log.damage
            if damage is not None:
                row = row_of("damage")(offset=damage.at, length=damage.length, reason=Damage.encode(damage.reason.name.lower()))
                yield FactRow(row, (), f"on {name} {damage}")

    # Counters and routes

    def _counters(self) -> Iterator[FactRow]:
        for name, offsets in self.history.next_offsets.items():
            log = self.history.logs.get(name)
            counted = Counter(f"{r.topic}-{r.queue_id}" for r in log.records if r.counted) if log is not None else Counter()
            entries = {
                f"{topic}-{queue}": len(queue_entries) for (topic, queue), queue_entries in self.history.entries.get(name, {}).items()
            }
            for key in {**offsets, **entries}:
                row = row_of("counter")(
                    known=key in offsets, records=counted[key], nextOffset=offsets.get(key, 0), entries=entries.get(key, 0)
                )
                yield FactRow(row, (), f"{key} on {name}")

    def _counts(self) -> Iterator[FactRow]:
        for name, counts in self.history.counts.items():
            sent: Counter[str] = Counter()
            for exchange in self.history.exchanges:
                if exchange.broker == name and exchange.request.kind in SENDS:
                    sent[exchange.request.topic] += len(exchange.stored)
            yield FactRow(row_of("count")(whole=True, counted=sum(counts.values()), sent=sent.total()), (), f"all topics on {name}")
            for topic in {**sent, **counts}:
                yield FactRow(row_of("count")(whole=False, counted=counts.get(topic, 0), sent=sent[topic]), (), f"{topic} on {name}")

    def _routes(self) -> Iterator[FactRow]:
        for routes in self.history.routes:
            yield from _often(((topic, names) for topic, names in routes.queues.items()), "queue data of", is_address=False)
            yield from _often(((name, ids.values()) for name, ids in routes.addresses.items()), "address", is_address=True)

    # Looking up

    @cached_property
    def _by_place(self) -> dict[str, dict[int, StoredRecord]]:
        return {name: {record.at: record for record in log.records} for name, log in self.history.logs.items()}

    def _at(self, broker: str, place: int) -> StoredRecord | None:
        return self._by_place.get(broker, {}).get(place)

    def _stored(self, exchange: StoredExchange) -> list[StoredRecord]:
        """Return the readable records of an exchange, in the order of the log."""
        records = (self._at(exchange.broker, place) for place in sorted(set(exchange.stored)))
        return [record for record in records if record is not None]


def _record(record: StoredRecord, known: bool, same: bool, times: int) -> Row:
    properties = record.properties
    bits = sum(BIT[name] for name, value in properties.items() if name in BIT and (name != ORIGIN_MESSAGE_ID or value.strip()))
    return row_of("record")(
        physicalOffset=record.at,
        size=record.total_size,
        partsSize=record.parts_size,
        storedPhysicalOffset=record.physical_offset,
        queueId=record.queue_id,
        queueOffset=record.queue_offset,
        sysFlag=record.sys_flag,
        bornTimestamp=record.born_timestamp,
        storeTimestamp=record.store_timestamp,
        storePort=record.store_host[1],
        reconsumeTimes=record.reconsume_times,
        bodyLength=len(record.body),
        bodyCRC=record.body_crc,
        computedCRC=zlib.crc32(record.body) & 0x7FFFFFFF,
        properties=bits,
        delayLevel=_number(properties.get(DELAY), 0),
        realQueueId=_number(properties.get(REAL_QID), -1),
        maxReconsumeTimes=_number(properties.get(MAX_RECONSUME_TIMES), -1),
        retryMaxTimes=RETRY_MAX_TIMES,
        innerNumber=1,
        topicClass=_class_of(record.topic),
        realClass=_class_of(properties.get(REAL_TOPIC)),
        retryClass=_class_of(properties.get(RETRY_TOPIC)),
        originKnown=known,
        originSame=same,
        originTimes=times,
    )


def _by_queue(log: LogRecords) -> dict[tuple[str, int], list[StoredRecord]]:
    """Return the records that take a queue offset, by topic and queue, in the order of the log."""
    queues: dict[tuple[str, int], list[StoredRecord]] = {}
    for record in log.records:
        if record.counted:
            queues.setdefault((record.topic, record.queue_id), []).append(record)
    return queues


def _often(lists: Iterable[tuple[str, Iterable[str]]], what: str, *, is_address: bool) -> Iterator[FactRow]:
    for key, values in lists:
        for value, times in Counter(values).items():
            yield FactRow(row_of("route")(isAddress=is_address, times=times), (), f"at the name server {what} {value} for {key}")


@lru_cache(maxsize=4096)
def _class_of(topic: str | None) -> int:
    return _NO_CLASS if topic is None else class_of(topic)


def _ids(fields: Mapping[str, str]) -> list[str]:
    return [id_ for id_ in fields.get("msgId", "").split(",") if id_]


def _named(id_: str) -> tuple[tuple[str, int], int]:
    """Return the store host and position in an id. For a malformed id the position is one that no record has."""
    try:
        data = bytes.fromhex(id_)
    except ValueError:
        data = b""
    if len(data) != 16:
        return ("", 0), -1
    return host_of(data[:8]), int.from_bytes(data[8:], "big")


def _number(text: str | None, other: int) -> int:
    """Return the number in a text as Java reads it, or `other`."""
    number = java_long(text or "")
    return other if number is None else number
