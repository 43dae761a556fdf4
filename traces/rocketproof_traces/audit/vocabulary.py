"""What a rule can speak of: facts of a record, an entry of a consume queue or of DLedger, a queue, a file, a topic, the topic table; and of
what a history has besides a store: a request with its answers, a record with the request that stored it, counters, routes.

Each is a small model without actions, whose variables are the columns that the audit, or whoever has a history, fills; its constants are
the settings of the broker. A rule is a property of one of them: `always` about each row, `step` about a row and the next one of its queue
or of the log.

Offsets beyond 2**61 are no offsets of any store: a row with one has no value there, and a rule that asks for it is broken.
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

I32 = Int(*JAVA_INT)
I64 = Int(-(2**61), 2**61)

CLASSES = ("ordinary", "template", "own", "schedule", "half", "operations", "retry", "dead", "system", "none")
Class = Enum(*CLASSES)
"""What a topic's name says: `template` is TBW102, `own` the cluster's and the broker's names, `none` that no name is given."""

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
}
"""What the audit adds to the facts of a record: the classes of its topic, of REAL_TOPIC and of RETRY_TOPIC; `falselyCompressed`: sysFlag
says so, and the body does not begin like one; `realSame`: REAL_TOPIC is its topic; `realQueues`: how many queues REAL_TOPIC has by
topics.json, 0 where that is not known; `levelDelay`: what the broker waits on the level of DELAY, in milliseconds; `retryMaxTimes`: of the
group whose dead letters the topic has. `entryKnown`: the record is to have an entry in queues that the audit reads; `entryThere`: the
record's own one has an entry at `queueOffset`, whose fields the next three are. `originRead`: ORIGIN_MESSAGE_ID of a record that was sent
back reads as an id; `originHere`: one of this log, of the record's own store host. `originKnown`: it was sent back, and the first record of
its chain is in this log; `originSame`: it has that one's topic; `originTimes`: that one's reconsumeTimes."""

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
"""Facts of a record as the walk over the log finds them, see `stored.facts`."""

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
}
"""`records`: those of the log that take a queue offset, `firstQueueOffset`: of the first of them. `known`: the topic is in topics.json,
whose numbers the next three are (0 if not). `logStart`: where the log begins. `entries`: those of the consume queue that point into the
log, `firstEntry`: the number of the first of them; `matched`: records whose entry points at them."""

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
}
"""An entry that no record claimed: is there a record where it points (`recordThere`), and what does that one say? `behindEnd`: it points
behind the log's last record, as several do, the first of them near its end: it is the log that is too short."""

ENDING: Mapping[str, Type] = {"end": I64, "furthest": I64}
"""Where the records of the log end, and where the record of the furthest entry would."""

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
"""An entry of DLedger's log: where it lies (`place`), what its header says, and the size of its record, 0 without one; `computedCRC`: of
its body, where the header has a checksum, else 0. `indexKnown`: the index beside the log is to have it; `indexThere`: it has, and says
the next four."""

FILE: Mapping[str, Type] = {
    "ledger": Bool,
    "base": I64,
    "size": I64,
    "end": I64,
    "blank": I64,
    "last": Bool,
}
"""A file of the log: `ledger`: it is DLedger's; `end`: where its records end, from its begin; `blank`: the size in the blank record there,
0 without one; `last`: no later file has data."""

TOPIC: Mapping[str, Type] = {
    "topicClass": Class,
    "readQueueNums": I32,
    "writeQueueNums": I32,
    "perm": I32,
    "topicSysFlag": I32,
    "order": Bool,
    "sameName": Bool,
}
"""An entry of topics.json; `sameName`: its key is the name that it says."""

TABLE: Mapping[str, Type] = {
    "there": Bool,
    "counter": I64,
    "timestamp": I64,
    "created": I64,
    "records": I64,
}
"""topics.json as a whole. `created`: topics in it that no broker makes by itself; `records`: those in the log."""

Damage = Enum(*(reason.name.lower() for reason in Reason))
DAMAGE: Mapping[str, Type] = {"offset": I64, "length": I64, "reason": Damage}
"""Bytes of the log that are neither record nor blank, and why, see `stored.facts.Reason`."""


JOINS = ("outcome", "operation", "commit", "host", "config", "level", "progress", "checkpoint", "index", "key")
"""The rows of `joined`."""

Asked = Enum("send", "batch", "send_back", "end_transaction", "other")
"""What a request asks for; `other` stores nothing."""

EXCHANGE: Mapping[str, Type] = {
    "kind": Asked,
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
"""A request with its answers. `ended`: its task is over; `code`: of the first answer, 0 without one; `sameOpaque`: all answers have the
request's; `undecided`: one has the code -1. `messages`: those that were sent; `stored`: records that it left, `firstStored`: where the
first of them lies, -1 without; `sameBodies`: theirs are those sent. `answeredQueue`, `ids`: the queue that the first answer names, and
how many ids; `topicKnown`: there is such a topic, whose counts the next two are. `entryThere`: the consume queue of the topic asked for has
an entry at the answered place, which points to `entryOffset`. `sameWithoutHooks`: a broker without hooks stores the same
properties, where that was tried (`hooksKnown`)."""

ID: Mapping[str, Type] = {"place": I64, "there": Bool, "own": Bool, "sameHost": Bool, "storedPhysicalOffset": I64, "times": I32}
"""An id that an answer names, and the record at the place that is in it: `own`: it is the message's; `sameHost`: it has the id's store
host; `times`: how many answers name this id."""

KEPT: Mapping[str, Type] = {
    "kind": Asked,
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
"""A record and the request that stored it. `asked...`: what the request asked for; `finalClass`: of the topic in which a consumer gets it;
`realAsked`, `realDead`: REAL_TOPIC is the topic asked for, or the dead letters of its group. `givenUp`: the consumer wants it no more;
`times`: how often it had been consumed again when the request came. The last four say how often the request lets it be (`retry_limit`)."""

COUNTER: Mapping[str, Type] = {"known": Bool, "records": I64, "nextOffset": I64, "entries": I64}
"""A queue when everything is dispatched: `records` of the log that it counts, the broker's `nextOffset` (0 unless `known`), its
`entries`."""

COUNT: Mapping[str, Type] = {"whole": Bool, "counted": I64, "sent": I64}
"""Messages that a broker has `counted` for a topic, or for all of them (`whole`), and those that sends to it have appended."""

ROUTE: Mapping[str, Type] = {"isAddress": Bool, "times": I32}
"""How many queue data of a broker a topic's route has, or under how many ids of a broker an address is."""

PLACE: Mapping[str, Type] = {"size": I64, "rest": I64}
"""A record in a log that was read as one piece: its size, and how many bytes its file has from its first one on."""


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
"""Settings of the broker and switches of its profile that rules ask for, with their defaults. `clock_skew`: how many milliseconds the
clocks of producers may be ahead; `known_flags`: the bits of sysFlag that mean something; `early_batches`, `before_49`: the
broker may be of a release before 4.9.1, before 4.9; `below_zero`: it may draw queues below 0
(`catalogue.stored.settings` says what that changes)."""


def _vocabulary(name: str, fields: Mapping[str, Type], member: Callable[[Row], Expr] | None = None) -> RowVocabulary:
    model = Model(name)
    given = {key: model.constant(key, type_, default) for key, (type_, default) in SETTINGS.items()}
    row = Row({key: model.var(key, type_, init=type_.decode(max(0, type_.lo))) for key, type_ in fields.items()})
    return RowVocabulary(model, row, given, None if member is None else member(row))


def has(row: Row, name: str) -> Expr:
    """The record has this property, one of `stored.facts.PROPERTIES`."""
    present: Expr = (row.properties & BIT[name]) != 0
    return present


def is_(value: Expr, *names: str) -> Expr:
    """The value is one of these."""
    return any_of(value == name for name in names)


def transaction(row: Row) -> Expr:
    """The transaction bits of sysFlag: 0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK."""
    bits: Expr = row.sysFlag & TRANSACTION_BITS
    return bits


def counted(row: Row) -> Expr:
    """APP-04: the record takes a queue offset, and has an entry in its consume queue."""
    bits = transaction(row)
    return (bits == 0) | (bits == 8)


def sends(row: Row) -> Expr:
    """The request is a send, of one message or of several."""
    return is_(row.kind, "send", "batch")


def stores(row: Row) -> Expr:
    """The code says: it is in the log."""
    return any_of(row.code == code for code in (0, 10, 11, 12))


def accepted(row: Row) -> Expr:
    """The request is answered with a code that says: it is in the log."""
    taken: Expr = (row.answers > 0) & stores(row)
    return taken


@cache
def vocabulary() -> Mapping[str, RowVocabulary]:
    """Every kind of row by its name."""
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
    }
