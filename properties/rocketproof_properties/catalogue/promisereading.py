"""Read what the rows of promises need from one request, response or record.

Nothing here compares a target with a promise. What cannot be read is None or empty, as each function says.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from rocketproof_protocol import fastjson
from rocketproof_protocol.codes import SUCCESS
from rocketproof_protocol.flags import COMMIT, ROLLBACK
from rocketproof_protocol.numbers import java_int, java_long
from rocketproof_protocol.properties import (
    CLUSTER,
    CRC32,
    DELAY,
    KEYS,
    MSG_REGION,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TIMER_OUT_MS,
    TRACE_ON,
    TRAN_MSG,
    UNIQ_KEY,
    WAIT,
)
from rocketproof_traces.audit.row_rules import Row, row_of
from rocketproof_traces.history.events import Event
from rocketproof_traces.history.exchange import Exchange, kept_body, places
from rocketproof_traces.stored.record import StoredRecord, place_of, record_at, records_in

from .history import BrokerRequest, StoredExchange

_SIZE: Final = 4
"""Bytes of a record's size."""
_OF_BROKERS: Final = frozenset({REAL_TOPIC, REAL_QID, CLUSTER, CRC32, MSG_REGION, TRACE_ON, WAIT, DELAY, TRAN_MSG, TAGS, KEYS, UNIQ_KEY})
"""The properties that a broker sets or removes, and those with columns of their own."""
_SPECIAL: Final = ("__", "TIMER_", "TRAN", "INNER_", "RETRY_", "ORIGIN_", "MAX_", "RECONSUME_", "CHECK_", "PGROUP", "DELAY")
CREATING: Final = frozenset({"send", "batch", "send_back", "update_topic", "heartbeat", "end_transaction", "update_group", "other"})
"""Requests after which a broker may have a topic."""
_COUNTED: Final = ("readQueueNums", "writeQueueNums", "perm")
_PERMISSIONS: Final = 7
"""All permissions together: to read, to write and to inherit."""
END: Final = 1 << 62
"""A number after those of all events."""


class Span(NamedTuple):
    """The events between which a request took effect. `end` is `END` if it may take effect at any time."""

    begin: int
    end: int

    @classmethod
    def of(cls, exchange: Exchange) -> Span:
        is_certain = exchange.closed in ("ok", "fail") and exchange.end is not None
        return cls(exchange.seq, exchange.end if is_certain and exchange.end is not None else END)


def second_of(record: StoredRecord) -> str | None:
    """Return the second in which the timer delivers a message, None for one without a delivery time."""
    return record.properties.get(TIMER_OUT_MS)


def last_of(changes: Iterable[Exchange], before: int) -> Exchange | None:
    """Return the last of the changes that took effect before this event; None if it is not certain which."""
    earlier = sorted((Span.of(change), change.seq, change) for change in changes if change.seq < before and change.closed != "fail")
    if not earlier or any(span.end >= before for span, _, _ in earlier):
        return None
    last = max(earlier, key=lambda row: row[0].end)
    if any(span.end > last[0].begin for span, seq, _ in earlier if seq != last[1]):
        return None
    return last[2]


def may_create(request: Exchange, updates: str, name: str) -> bool:
    """Whether a request may have made the entry of a deleted topic or group again. Brokers create groups when they look them up."""
    if updates == "update_group" and request.op in ("pull", "leave") and request.fields.get("consumerGroup") == name:
        return True
    return request.op in CREATING and request.op != "update_group" and request.broker != "name server"


def arrival_row(request: BrokerRequest, waiting: StoredRecord, copies: Sequence[StoredRecord], delay: int, overdue: int, slack: int) -> Row:
    """Return the row of a waiting record, given the records that were made of it."""
    first = copies[0] if copies else None
    return row_of("arrival")(
        delay=delay,
        copies=len(copies),
        waited=0 if first is None else first.store_timestamp - waiting.store_timestamp,
        overdue=overdue,
        slack=slack,
        sameQueue=first is None or request.queue_id < 0 or first.queue_id == request.queue_id,
        sameMessage=first is None or same_message(waiting, first),
    )


def place_of_message(exchange: StoredExchange, number: int) -> int:
    """Return the place in the id of a message, -1 without one."""
    found = places(exchange.answers[0].fields)
    return found[number] if number < len(found) else -1


def given_properties(request: BrokerRequest, number: int) -> Mapping[str, str]:
    """Return the properties that a producer gave a message. A batch's own properties are not those of its messages."""
    if request.kind != "batch":
        return request.properties
    return request.items[number] if number < len(request.items) else {}


def is_own(name: str, value: str) -> bool:
    """Whether a property is the producer's own, and can be stored as a text."""
    return name not in _OF_BROKERS and not name.startswith(_SPECIAL) and value.isprintable() and name.isprintable() and bool(name and value)


def is_first(ends: Sequence[Exchange], all_ends: Sequence[Exchange]) -> bool:
    """Return whether the first of all requests that end a half message is one of these, and got its response before any other was sent."""
    if not ends or ends[0] is not all_ends[0] or ends[0].code != SUCCESS:
        return False
    return all(Span.of(ends[0]).end < later.seq for later in all_ends[1:])


def same_message(before: StoredRecord, record: StoredRecord) -> bool:
    """Return whether two records have the same body, keys, tags and unique key."""
    names = (UNIQ_KEY, KEYS, TAGS)
    return before.body == record.body and all(before.properties.get(name) == record.properties.get(name) for name in names)


def route_brokers(query: Exchange) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the queues of each broker that a route names; none if the topic has no route. None if the response cannot be read."""
    if query.code != SUCCESS:
        return {}
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        data = fastjson.loads(kept_body(query.response or {}) or b"{}")
        return {str(row["brokerName"]): dict(row) for row in data["queueDatas"]}
    return None


def registered_topics(registration: Exchange) -> Mapping[str, Mapping[str, Any]]:
    """Return the topics of a registration; none if they are compressed."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        data = json.loads(kept_body(registration.request) or b"{}")
        return {str(name): dict(config) for name, config in data["topicConfigSerializeWrapper"]["topicConfigTable"].items()}
    return {}


def is_routed(queues: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Return whether a route has the values that a topic was registered with."""
    return all(are_equal(queues.get(name), config[name]) for name in _COUNTED if name in config)


def asks_about(question: Event, half: StoredRecord) -> bool:
    """Return whether a producer was asked about this half message. Its born timestamp is unique in a program."""
    records = _records_of(question.value) if question.op == "question" else None
    return any(record.born_timestamp == half.born_timestamp for record in records or ())


def has_ended(ends: Sequence[Exchange], before: int) -> bool:
    """Return whether a request that ended a half message got a successful response before this event."""
    ended = (str(COMMIT), str(ROLLBACK))
    return any(each.code == SUCCESS and str(each.fields.get("commitOrRollback")) in ended and Span.of(each).end < before for each in ends)


def look_of(query: Exchange) -> Mapping[str, Any]:
    """Return a program's query by time in the form of a query after the program."""
    fields = query.fields
    args = {"topic": query.topic, "queue": int_of(fields.get("queueId")), "time": long_of(fields.get("timestamp"))}
    args["upper"] = str(fields.get("boundaryType", "")).upper() == "UPPER"
    return {"name": query.op, "args": args, "code": query.code, "fields": query.response_fields}


def keys_of(record: StoredRecord) -> Collection[str]:
    """Return the keys of a record, with its unique key."""
    return {record.properties.get(UNIQ_KEY, ""), *record.properties.get(KEYS, "").split(" ")} - {""}


def hash_of(key: str) -> int:
    """Return Java's hash of a key, by which the index finds records, without its sign.

    The implementation has the same function, but may be what is judged.
    """
    value = 0
    for unit in memoryview(key.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value


def response_records(exchange: Exchange) -> list[StoredRecord] | None:
    """Return the records in a response's body; None if they cannot be read."""
    return _records_of(exchange.response or {})


def _records_of(message: Mapping[str, Any]) -> list[StoredRecord] | None:
    """Return the records in the body of a recorded request or response; None if they cannot be read."""
    data = kept_body(message)
    if data is None:
        return None if message.get("bodySize") else []
    parts = [*records_in(data)]
    records = [record_at(part, place_of(part)) for part in parts]
    read = [record for record in records if record is not None]
    return read if len(read) == len(parts) and len(data) - sum(map(len, parts)) < _SIZE else None


def _body_rows(exchange: Exchange, rows: str) -> list[str]:
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return [str(row["groupName"]) for row in json.loads(kept_body(exchange.request) or b"{}")[rows]]
    return []


def consumers_of(heartbeat: Exchange) -> list[str]:
    """Return the consumer groups in a heartbeat; none if its body cannot be read."""
    return _body_rows(heartbeat, "consumerDataSet")


def producers_of(heartbeat: Exchange) -> list[str]:
    """Return the producer groups in a heartbeat; none if its body cannot be read."""
    return _body_rows(heartbeat, "producerDataSet")


def group_of(update: Exchange) -> Mapping[str, Any]:
    """Return the group in an administrator's request; empty if its body cannot be read."""
    with suppress(ValueError, TypeError):
        data = json.loads(kept_body(update.request) or b"{}")
        return data if isinstance(data, dict) else {}
    return {}


def wanted_values(update: Exchange) -> dict[str, Any] | None:
    """Return the values of an entry after an administrator's change; None if the request has malformed ones."""
    if update.op == "update_group":
        return dict(group_of(update)) or None
    numbers = {name: java_int(str(update.fields.get(name, ""))) for name in _COUNTED}
    return None if None in numbers.values() else dict(numbers)


def is_valid(wanted: Mapping[str, Any]) -> bool:
    """Return whether the values of an entry are in their documented ranges."""
    counts = (wanted.get(name) for name in ("readQueueNums", "writeQueueNums", "retryQueueNums"))
    perm, most = wanted.get("perm", 0), wanted.get("retryMaxTimes", 0)
    legal = isinstance(perm, int) and 0 <= perm <= _PERMISSIONS and (not isinstance(most, int) or most >= -1)
    return legal and all(not isinstance(count, int) or count >= 0 for count in counts)


def are_equal(stored: Any, wanted: Any) -> bool:
    """Return whether two values are equal as texts, whatever their case: `true` is True."""
    return str(stored).lower() == str(wanted).lower()


def int_of(text: Any) -> int:
    """Return Java's int of a text, 0 if it has none."""
    return java_int(str(text)) or 0


def long_of(text: Any) -> int:
    """Return Java's long of a text, 0 if it has none."""
    return java_long(str(text)) or 0
