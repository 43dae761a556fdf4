"""The vocabularies of rules: the facts of a record, a queue entry, a queue, a file, a topic and other rows of a store or a history.

Each vocabulary is a small model without actions. Its variables are the columns that the audit, or the reader of a history, fills. Its
constants are the settings of the broker. A rule is a property of a vocabulary: `always` about each row, or `step` about a row and the next
row of its queue or of the log.

Offsets over 2**61 do not occur in a valid store: a row with such an offset has no value, and a rule that needs the value is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from rocketproof_model import Bool, Enum, Expr, Int, Model, Row, any_of
from rocketproof_model.language import JAVA_INT, Type
from rocketproof_protocol.flags import TRANSACTION_BITS
from rocketproof_spec.bounds import DELAY_LEVELS

from ..stored.kinds import BIT, Reason
from . import joined
from .promised import PROMISED

MARKS = "textMarks"
"""The column with a bit for each pattern of texts, such as topics, that the rules of a user compare with."""
MOST_PATTERNS = 60
I32 = Int(*JAVA_INT)
I64 = Int(-(2**61), 2**61)

CLASSES = ("ordinary", "template", "own", "schedule", "half", "operations", "retry", "dead", "system", "none")
Class = Enum(*CLASSES)
"""What a topic's name means: `template` is TBW102, `own` the names of the cluster and the broker, `none` that there is no name."""

Marks = Int(0, 2**MOST_PATTERNS - 1)
JOINED: Mapping[str, Type] = {
    "topicClass": Class,
    "realClass": Class,
    "retryClass": Class,
    "falselyCompressed": Bool,
    "realSame": Bool,
    "realQueues": I32,
    "levelDelay": I64,
    "retryMaxTimes": I32,
    "entryKnown": Bool,
    "entryThere": Bool,
    "entryOffset": I64,
    "entrySize": I32,
    "entryTags": I64,
    "originRead": Bool,
    "originHere": Bool,
    "originKnown": Bool,
    "originSame": Bool,
    "originTimes": I32,
    MARKS: Marks,
}
"""The columns that the audit adds to the facts of a record. `fields.MEANINGS` has their meanings."""

FACTS: Mapping[str, Type] = {
    "physicalOffset": I64,
    "size": I32,
    "partsSize": I64,
    "storedPhysicalOffset": I64,
    "queueId": I32,
    "queueOffset": I64,
    "sysFlag": I32,
    "bornTimestamp": I64,
    "bornPort": I32,
    "storeTimestamp": I64,
    "storePort": I32,
    "reconsumeTimes": I32,
    "preparedTransactionOffset": I64,
    "bodyLength": I32,
    "bodyCRC": I32,
    "computedCRC": I32,
    "topicLength": Int(-1, 2**16 - 1),
    "propertiesLength": Int(-(2**15), 2**16 - 1),
    "properties": Int(0, 2**20 - 1),
    "odd": Int(0, 2**20 - 1),
    "ignoredItems": Int(-1, 2**20),
    "tagsHash": I32,
    "delayLevel": I32,
    "realQueueId": I32,
    "maxReconsumeTimes": I32,
    "innerNumber": I32,
    "recordCRC": I64,
    "computedRecordCRC": I64,
}
"""Facts of a record from the walk over the log, see `stored.facts`."""

RECORD: Mapping[str, Type] = {**FACTS, **JOINED}

QUEUE: Mapping[str, Type] = {
    "topicClass": Class,
    "queueId": I32,
    "tableThere": Bool,
    "known": Bool,
    "legalName": Bool,
    "readQueueNums": I32,
    "writeQueueNums": I32,
    "perm": I32,
    "records": I64,
    "firstQueueOffset": I64,
    "logStart": I64,
    "entriesKnown": Bool,
    "entries": I64,
    "firstEntry": I64,
    "matched": I64,
    MARKS: Marks,
}
"""A queue of the log, see `fields.MEANINGS`."""

ENTRY: Mapping[str, Type] = {
    "index": I64,
    "entryOffset": I64,
    "entrySize": I32,
    "behindEnd": Bool,
    "recordThere": Bool,
    "recordOffset": I64,
    "recordSize": I32,
    "sameTopic": Bool,
    "recordQueueId": I32,
    "queueId": I32,
    "recordQueueOffset": I64,
    "sysFlag": I32,
    MARKS: Marks,
}
"""An entry that no record claims, and the record at its physical offset (`recordThere`).

`behindEnd`: the entry is one of several that point after the log's last record, the first of them near the log's end. So the log is too
short.
"""

ENDING: Mapping[str, Type] = {"end": I64, "furthest": I64}
"""The end of the log's records, and the end of the record of the furthest entry."""

LEDGER: Mapping[str, Type] = {
    "place": I64,
    "kind": I32,
    "size": I32,
    "index": I64,
    "term": I64,
    "position": I64,
    "bodySize": I32,
    "bodyCRC": I32,
    "computedCRC": I32,
    "recordSize": I32,
    "indexKnown": Bool,
    "indexThere": Bool,
    "indexPosition": I64,
    "indexSize": I32,
    "indexNumber": I64,
    "indexTerm": I64,
}
"""An entry of DLedger's log: its position (`place`), the values in its header, and the size of its record, 0 without one.

- `computedCRC`: the checksum of its body if the header has a checksum, else 0.
- `indexKnown`: the index of the log must have the entry.
- `indexThere`: the index has the entry; the next four columns are its values.
"""

FILE: Mapping[str, Type] = {
    "ledger": Bool,
    "base": I64,
    "size": I64,
    "end": I64,
    "blank": I64,
    "last": Bool,
}
"""A file of the log, see `fields.MEANINGS`."""

TOPIC: Mapping[str, Type] = {
    "topicClass": Class,
    "readQueueNums": I32,
    "writeQueueNums": I32,
    "perm": I32,
    "topicSysFlag": I32,
    "order": Bool,
    "sameName": Bool,
    MARKS: Marks,
}
"""An entry of topics.json, see `fields.MEANINGS`."""

TABLE: Mapping[str, Type] = {
    "there": Bool,
    "counter": I64,
    "timestamp": I64,
    "created": I64,
    "records": I64,
}
"""topics.json as a whole. `created`: its topics that a broker does not create itself. `records`: the records in the log."""

Damage = Enum(*(reason.name.lower() for reason in Reason))
DAMAGE: Mapping[str, Type] = {"offset": I64, "length": I64, "reason": Damage}
"""Bytes of the log that are neither record nor blank, and the reason, see `stored.kinds.Reason`."""


JOINS = ("outcome", "operation", "commit", "host", "config", "level", "progress", "checkpoint", "index", "key")
"""The kinds of rows in `joined`."""

RequestKind = Enum("send", "batch", "send_back", "end_transaction", "other")
"""What a request does; `other` stores nothing."""

EXCHANGE: Mapping[str, Type] = {
    "kind": RequestKind,
    "oneWay": Bool,
    "ended": Bool,
    "answers": I32,
    "code": I32,
    "sameOpaque": Bool,
    "undecided": Bool,
    "messages": I32,
    "stored": I32,
    "sameBodies": Bool,
    "answeredQueue": I32,
    "topicKnown": Bool,
    "readQueueNums": I32,
    "writeQueueNums": I32,
    "ids": I32,
    "entryThere": Bool,
    "entryOffset": I64,
    "firstStored": I64,
    "hooksKnown": Bool,
    "sameWithoutHooks": Bool,
}
"""A request with its responses.

- `ended`: its task has finished.
- `code`: of the first response, 0 without one.
- `sameOpaque`: all responses have the request's opaque.
- `undecided`: a response has the code -1.
- `messages`: the messages of the request. `stored`: the records that it stored. `firstStored`: the physical offset of the first record, -1
  without. `sameBodies`: the records have the bodies of the messages.
- `answeredQueue`, `ids`: the queue and the number of ids in the first response.
- `topicKnown`: the topic exists and has the next two counts.
- `entryThere`: the consume queue of the requested topic has an entry at the offset in the response; it points at `entryOffset`.
- `sameWithoutHooks`: a broker without hooks stores the same properties, if that was tried (`hooksKnown`).
"""

ID: Mapping[str, Type] = {"place": I64, "there": Bool, "own": Bool, "sameHost": Bool, "storedPhysicalOffset": I64, "times": I32}
"""An id in a response, and the record at the offset in the id.

- `own`: the record is the message's.
- `sameHost`: the record has the store host of the id.
- `times`: how many responses have this id.
"""

KEPT: Mapping[str, Type] = {
    "kind": RequestKind,
    "askedClass": Class,
    "askedQueue": I32,
    "topicClass": Class,
    "realClass": Class,
    "finalClass": Class,
    "realAsked": Bool,
    "realDead": Bool,
    "realQueueId": I32,
    "sysFlag": I32,
    "delayLevel": I32,
    "givenUp": Bool,
    "times": I32,
    "reconsumeTimes": I32,
    "namesLimit": Bool,
    "maxReconsumeTimes": I32,
    "version": I32,
    "retryMaxTimes": I32,
}
"""A record and the request that stored it.

- `asked...`: the target of the request.
- `finalClass`: the class of the topic from which a consumer receives the record.
- `realAsked`, `realDead`: REAL_TOPIC is the requested topic, or the dead letter topic of its group.
- `givenUp`: the consumer does not want the message again.
- `times`: how often the message had been redelivered before the request.
- The last four columns determine how often the request allows redelivery (`retry_limit`).
"""

COUNTER: Mapping[str, Type] = {"known": Bool, "records": I64, "nextOffset": I64, "entries": I64}
"""A queue after dispatch has finished.

- `records`: the records of the log with an offset in the queue.
- `nextOffset`: the broker's next offset (0 unless `known`).
- `entries`: the entries of the queue.
"""

COUNT: Mapping[str, Type] = {"whole": Bool, "counted": I64, "sent": I64}
"""Messages that a broker `counted` for a topic or for all topics (`whole`), and messages that sends appended to it."""

ROUTE: Mapping[str, Type] = {"isAddress": Bool, "times": I32}
"""How many queue data of a broker a topic's route has, or (`isAddress`) how many broker ids have the same address."""

PLACE: Mapping[str, Type] = {"size": I64, "rest": I64}
"""A record in a log that was read completely: its size, and the bytes from its start to the end of its file."""


JUDGED: Mapping[str, Type] = {
    "seq": I64,
    "answered": Bool,
    "failed": Bool,
    "took": I64,
    "code": I32,
    "queueId": I32,
    "queueOffset": I64,
    MARKS: Marks,
}
"""A request of a judged history with its response, for rules of a user, see `fields.MEANINGS`."""

HistoryState = Enum("ok", "illegal", "unknown", "unreadable")
VERDICT: Mapping[str, Type] = {
    "whole": Bool,
    "verdict": HistoryState,
    "events": I64,
    "explained": I64,
    "expanded": I64,
    "outOfReach": I64,
    "findings": I64,
    MARKS: Marks,
}
"""A judge's verdict on a part of a history or on the whole, for rules of a user, see `fields.MEANINGS`."""


@dataclass(frozen=True, eq=False)
class RowVocabulary:
    """A model and its columns as a row of terms; `given` are its constants."""

    model: Model
    row: Row
    given: Mapping[str, Expr]
    member: Expr | None = None


SETTINGS: Mapping[str, tuple[Type, int | bool]] = {
    "max_message_size": (Int(0, 2**31 - 1), 4 * 1024 * 1024),
    "max_delay_level": (Int(0, 1000), DELAY_LEVELS),
    "clock_skew": (Int(0, 10**12), 60_000),
    "known_flags": (Int(0, 2**31 - 1), 0x7FF),
    "limits_record": (Bool, True),
    "stores_parsed": (Bool, True),
    "stores_wait": (Bool, False),
    "half_messages": (Bool, True),
    "check_names": (Bool, True),
    "refuses_inner": (Bool, False),
    "plain_halves": (Bool, True),
    "plain_delays": (Bool, False),
    "topic_limit": (Int(0, 255), 127),
    "early_batches": (Bool, False),
    "before_49": (Bool, True),
    "below_zero": (Bool, True),
}
"""Settings of the broker and switches of its profile that rules use, with their defaults.

- `clock_skew`: how many milliseconds the clocks of producers can be ahead.
- `known_flags`: the bits of sysFlag with a meaning.
- `early_batches`, `before_49`: the broker can be of a release before 4.9.1, before 4.9.
- `below_zero`: the broker can generate queue ids below 0 (`catalogue.stored.settings` describes the effect).
"""


def _vocabulary(name: str, fields: Mapping[str, Type], member: Callable[[Row], Expr] | None = None) -> RowVocabulary:
    model = Model(name)
    given = {key: model.constant(key, type_, default) for key, (type_, default) in SETTINGS.items()}
    row = Row({key: model.var(key, type_, init=type_.decode(max(0, type_.lo))) for key, type_ in fields.items()})
    return RowVocabulary(model, row, given, None if member is None else member(row))


def has(row: Row, name: str) -> Expr:
    """The record has this property, a name of `stored.kinds.PROPERTIES`."""
    present: Expr = (row.properties & BIT[name]) != 0
    return present


def is_(value: Expr, *names: str) -> Expr:
    """The value is one of these names."""
    return any_of(value == name for name in names)


def transaction(row: Row) -> Expr:
    """The transaction bits of sysFlag: 0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK."""
    bits: Expr = row.sysFlag & TRANSACTION_BITS
    return bits


def counted(row: Row) -> Expr:
    """APP-04: the record has a queue offset and an entry in its consume queue."""
    bits = transaction(row)
    return (bits == 0) | (bits == 8)


def sends(row: Row) -> Expr:
    """The request is a send of one or several messages."""
    return is_(row.kind, "send", "batch")


def stores(row: Row) -> Expr:
    """The response code means that the message is in the log."""
    return any_of(row.code == code for code in (0, 10, 11, 12))


def accepted(row: Row) -> Expr:
    """The request has a response whose code means that the message is in the log."""
    accepted_: Expr = (row.answers > 0) & stores(row)
    return accepted_


@cache
def vocabulary() -> Mapping[str, RowVocabulary]:
    """Return every vocabulary by its name."""
    return {
        "record": _vocabulary("record", RECORD, counted),
        "queue": _vocabulary("queue", QUEUE),
        "entry": _vocabulary("entry", ENTRY),
        "ending": _vocabulary("ending", ENDING),
        "ledger": _vocabulary("ledger", LEDGER),
        "file": _vocabulary("file", FILE),
        "topic": _vocabulary("topic", TOPIC),
        "table": _vocabulary("table", TABLE),
        "damage": _vocabulary("damage", DAMAGE),
        **{name: _vocabulary(name, getattr(joined, name.upper())) for name in JOINS},
        "exchange": _vocabulary("exchange", EXCHANGE),
        "id": _vocabulary("id", ID),
        "kept": _vocabulary("kept", KEPT),
        "counter": _vocabulary("counter", COUNTER),
        "count": _vocabulary("count", COUNT),
        "route": _vocabulary("route", ROUTE),
        "place": _vocabulary("place", PLACE),
        "judged": _vocabulary("judged", JUDGED),
        "verdict": _vocabulary("verdict", VERDICT),
        **{name: _vocabulary(name, columns) for name, columns in PROMISED.items()},
    }
