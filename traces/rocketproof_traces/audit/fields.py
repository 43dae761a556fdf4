"""The rows that a user's rule can be about, and the meaning of each of their fields.

`fieldtables` prints them for the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..stored.facts import COLUMNS

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("record", "queue", "entry", "topic"), ("topic",)),
    "judged": ("op", "process", "broker", "topic"),
    "verdict": ("history", "part"),
}
"""The texts of a row, by vocabulary. Rules compare them with names and patterns."""


class RuleRows(NamedTuple):
    """Rows that a rule can be about: their kind (`rules.Over`), the vocabulary of their fields, and a sentence for users."""

    over: str
    fields: str
    sentence: str


RULE_ROWS: Final[Mapping[str, RuleRows]] = {
    "record": RuleRows("record", "record", "each record of the log"),
    "log": RuleRows("log", "record", "a record and the next one of the log, as `after(record.…)`"),
    "line": RuleRows("line", "record", "a record and the next one of its queue, as `after(record.…)`"),
    "queue": RuleRows("queue", "queue", "each queue that has records in the log"),
    "entry": RuleRows("entry", "entry", "each consume queue entry that no record of the log claims"),
    "topic": RuleRows("topic", "topic", "each topic of topics.json"),
    "file": RuleRows("file", "file", "each file of the log"),
    "damage": RuleRows("damage", "damage", "each stretch of the log that is neither record nor blank"),
    "exchange": RuleRows("judged", "judged", "each request of a history, with its response"),
    "verdict": RuleRows("verdict", "verdict", "the verdict on each part of a history, and on each history"),
}
"""The rows of rules, by the name that a rule gives as `over`."""
JUDGED_ROWS: Final = ("exchange", "verdict")
"""The rows that a judge of histories has."""
AUDITED_ROWS: Final = tuple(name for name in RULE_ROWS if name not in JUDGED_ROWS)
"""The rows that an audit has."""

_CLASS: Final = "ordinary, template, own (cluster and broker), schedule, half, operations, retry, dead, system or none"
_OF_RECORD: Final = (
    *("physicalOffset", "size", "partsSize", "storedPhysicalOffset", "queueId", "queueOffset", "sysFlag", "bornTimestamp", "bornPort"),
    *("storeTimestamp", "storePort", "reconsumeTimes", "preparedTransactionOffset", "bodyLength", "bodyCRC", "computedCRC"),
    *("topicLength", "propertiesLength", "properties", "odd", "ignoredItems", "tagsHash", "delayLevel", "realQueueId"),
    *("maxReconsumeTimes", "innerNumber", "recordCRC", "computedRecordCRC"),
)
MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "record": {
        **{name: COLUMNS[name] for name in _OF_RECORD},
        "topicClass": f"the class of its topic: {_CLASS}",
        "realClass": "the class of REAL_TOPIC",
        "retryClass": "the class of RETRY_TOPIC",
        "falselyCompressed": "sysFlag states compression, but the body does not begin like compressed data",
        "realSame": "REAL_TOPIC is its topic",
        "realQueues": "the number of queues of REAL_TOPIC in topics.json, 0 if unknown",
        "levelDelay": "the broker's wait for the level in DELAY, in milliseconds",
        "retryMaxTimes": "of the group whose dead letter topic this is",
        "entryKnown": "the record must have an entry in queues that the audit reads",
        "entryThere": "its queue has an entry at `queueOffset`",
        "entryOffset": "the physical offset in this entry",
        "entrySize": "the size in this entry",
        "entryTags": "the tags' hash in this entry",
        "originRead": "ORIGIN_MESSAGE_ID of a record that was sent back is an id",
        "originHere": "the id is in this log and has the record's own store host",
        "originKnown": "the record was sent back, and the first record of its chain is in this log",
        "originSame": "both have the same topic",
        "originTimes": "the reconsumeTimes of the first record",
    },
    "queue": {
        "topicClass": "the class of its topic",
        "queueId": "",
        "tableThere": "topics.json can be read",
        "known": "the topic is in topics.json, which contains the next three numbers (else 0)",
        "legalName": "the topic's name is legal",
        "readQueueNums": "",
        "writeQueueNums": "",
        "perm": "permission bits: 4 read, 2 write, 1 inherited",
        "records": "the records with a queue offset",
        "firstQueueOffset": "the queue offset of the first of them",
        "logStart": "the physical offset at which the log begins",
        "entriesKnown": "the queue has files",
        "entries": "the entries that point into the log",
        "firstEntry": "the number of the first of them",
        "matched": "the records whose entry points at them",
    },
    "entry": {
        "index": "the number of the entry in its queue",
        "entryOffset": "the physical offset in the entry",
        "entrySize": "the size in the entry",
        "behindEnd": "it is one of several entries that point after the log's last record",
        "recordThere": "the log has a record at its physical offset; the other fields are this record's",
        "recordOffset": "-1 without a record",
        "recordSize": "",
        "sameTopic": "the record has the queue's topic",
        "recordQueueId": "-1 without a record",
        "queueId": "of the entry's queue",
        "recordQueueOffset": "-1 without a record",
        "sysFlag": "",
    },
    "topic": {
        "topicClass": "the class of its name",
        "readQueueNums": "",
        "writeQueueNums": "",
        "perm": "permission bits: 4 read, 2 write, 1 inherited",
        "topicSysFlag": "",
        "order": "whether the topic is ordered",
        "sameName": "its key equals the name in its value",
    },
    "file": {
        "ledger": "the file is DLedger's",
        "base": "the physical offset of its first byte",
        "size": "bytes",
        "end": "the end of its records, from the start of the file",
        "blank": "the size in the blank at this end, 0 without a blank",
        "last": "no later file has data",
    },
    "damage": {
        "offset": "the physical offset",
        "length": "bytes",
        "reason": "magic, size, lengths, truncated, hole, blank or zeros",
    },
    "judged": {
        "seq": "the number of the event that began the request",
        "answered": "a response came",
        "failed": "the client knows that the request took no effect",
        "took": "nanoseconds from request to response, -1 if unknown",
        "code": "the code in the response, -1 without one",
        "queueId": "in the response, -1 without one",
        "queueOffset": "in the response, -1 without one",
    },
    "verdict": {
        "whole": "it is about the whole history, and counts its events; otherwise about a part, and counts its responses",
        "verdict": "ok, illegal, unknown or unreadable",
        "events": "events of the history",
        "explained": "explained responses of the part",
        "expanded": "states that the judge expanded for the part",
        "outOfReach": "requests that are not judged",
        "findings": "findings of the judge",
    },
}
"""The fields of each vocabulary that a user's rule can read. They also have `TEXTS`, and records `has(property)`."""
