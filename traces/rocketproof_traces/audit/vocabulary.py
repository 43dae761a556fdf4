"""What a rule about a store can speak of: facts of a record, an entry of a consume queue or of DLedger, a queue, a file, a topic, the topic
table.

Each is a small model without actions, whose variables are the columns that the audit fills; its constants are the settings of the
broker that wrote the store. A rule is a property of one of them: `always` about each row, `step` about a row and the next one of
its queue or of the log.

Offsets beyond 2**61 are no offsets of any store: a row with one has no value there, and a rule that asks for it is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from rocketproof_model import Bool, Enum, Expr, Int, Model, Row, any_of
from rocketproof_model.language import JAVA_INT, Type
from rocketproof_model.specification.bounds import DELAY_LEVELS
from rocketproof_protocol.flags import TRANSACTION_BITS

from ..stored.facts import BIT, Reason

I32 = Int(*JAVA_INT)
I64 = Int(-(2**61), 2**61)

CLASSES = ("ordinary", "template", "own", "schedule", "half", "operations", "retry", "dead", "system", "none")
Class = Enum(*CLASSES)
"""What a topic's name says: `template` is TBW102, `own` the cluster's and the broker's names, `none` that no name is given."""

JOINED: Mapping[str, Type] = {
    "topicClass": Class,
    "realClass": Class,
    "retryClass": Class,
    "levelDelay": I64,
    "retryMaxTimes": I32,
    "entryKnown": Bool,
    "entryThere": Bool,
    "entryOffset": I64,
    "entrySize": I32,
    "entryTags": I64,
    "originKnown": Bool,
    "originSame": Bool,
    "originTimes": I32,
}
"""What the audit adds to the facts of a record: the classes of its topic, of REAL_TOPIC and of RETRY_TOPIC; `levelDelay`: what the broker
waits on the level of DELAY, in milliseconds; `retryMaxTimes`: of the group whose dead letters the topic has. `entryKnown`: the record is to
have an entry in queues that the audit reads; `entryThere`: the record's own one has an entry at `queueOffset`, whose fields the next three
are. `originKnown`: it was sent back, and the first record of its chain is in this log; `originSame`: it tells that one's topic;
`originTimes`: that one's reconsumeTimes."""

FACTS: Mapping[str, Type] = {
    "physicalOffset": I64,
    "size": I32,
    "partsSize": I64,
    "storedPhysicalOffset": I64,
    "queueId": I32,
    "queueOffset": I64,
    "sysFlag": I32,
    "bornTimestamp": I64,
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
    "recordThere": Bool,
    "recordOffset": I64,
    "recordSize": I32,
    "sameTopic": Bool,
    "recordQueueId": I32,
    "queueId": I32,
    "recordQueueOffset": I64,
    "sysFlag": I32,
}
"""An entry that no record claimed: is there a record where it points (`recordThere`), and what does that one say?"""

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
"""A file of the log: `ledger`: it is DLedger's; `end`: where its records end, from its begin; `blank`: the size that the blank record there
tells, 0 without one; `last`: no later file has data."""

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


@dataclass(frozen=True, eq=False)
class Vocabulary:
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
    "topic_limit": (Int(0, 255), 127),
    "before_49": (Bool, True),
}
"""Settings of the broker and switches of its profile that rules ask for, with their defaults. `clock_skew`: how many milliseconds the
clocks of producers may be ahead; `known_flags`: the bits of sysFlag that mean something; `before_49`: the broker may be of a release
before 4.9 (`catalogue.stored.settings` says what that changes)."""


def _vocabulary(name: str, fields: Mapping[str, Type], member: Callable[[Row], Expr] | None = None) -> Vocabulary:
    model = Model(name)
    given = {key: model.constant(key, type_, default) for key, (type_, default) in SETTINGS.items()}
    row = Row({key: model.var(key, type_, init=type_.decode(max(0, type_.lo))) for key, type_ in fields.items()})
    return Vocabulary(model, row, given, None if member is None else member(row))


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


@cache
def vocabulary() -> Mapping[str, Vocabulary]:
    """Every kind of row by its name."""
    return {
        "record": _vocabulary("record", RECORD, counted),
        "queue": _vocabulary("queue", QUEUE),
        "entry": _vocabulary("entry", ENTRY),
        "ledger": _vocabulary("ledger", LEDGER),
        "file": _vocabulary("file", FILE),
        "topic": _vocabulary("topic", TOPIC),
        "table": _vocabulary("table", TABLE),
        "damage": _vocabulary("damage", DAMAGE),
    }
