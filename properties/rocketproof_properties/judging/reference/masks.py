"""How each response field and message property is compared, and what is masked because two runs of one broker never share it.

A name that is in no table was chosen by the sender and must be equal on both sides. Masked on both sides are:

- a caller's port and the disk usage;
- the line of code that threw, and what a Java machine adds to the text of a null-pointer error;
- the time zone of the service start time;
- times of the broker's own clock in records and responses.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from enum import Enum
from typing import Final

from rocketproof_protocol import properties as named
from rocketproof_protocol import topics
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import NAME_END


class How(Enum):
    """Which part of a value two runs of the same broker share, and why."""

    SAME = "the value follows from the requests"
    MADE_UP = "5.x makes up an id if the sender gave none: both values are ids, or they are the same"
    PLACE = "an id names a place in the log: the places lie as far apart as the logs, or the address alone is the same"
    SECOND = "the broker's clock, in whole seconds: both are, and no further apart than the run lasted"
    MOMENT = "the broker's clock, in ms: both are times, and no further apart than the run lasted"
    HANDLE = "a topic, a broker, the second of a timer, and an id: each part is compared as what it is"
    TOTAL = "the number of all topics or groups, those of other programs and of the release itself included: both are numbers"
    STORED = "when the target stored a record: compared with that record's own time"


FIELDS: Final[Mapping[str, How]] = {
    # sends
    "msgId": How.PLACE,
    "queueId": How.SAME,
    "queueOffset": How.SAME,
    "transactionId": How.MADE_UP,
    "recallHandle": How.HANDLE,
    named.MSG_REGION: How.SAME,
    named.TRACE_ON: How.SAME,
    # pulls
    "suggestWhichBrokerId": How.SAME,
    "nextBeginOffset": How.SAME,
    "minOffset": How.SAME,
    "maxOffset": How.SAME,
    "groupSysFlag": How.SAME,
    "topicSysFlag": How.SAME,
    "forbiddenType": How.SAME,
    # questions about queues
    "offset": How.SAME,
    "timestamp": How.STORED,
    "indexLastUpdateTimestamp": How.STORED,
    "indexLastUpdatePhyoffset": How.STORED,
    "totalTopicNum": How.TOTAL,
    "totalGroupNum": How.TOTAL,
    # name servers and heartbeats
    "masterAddr": How.SAME,
    "haServerAddr": How.SAME,
    "brokerId": How.SAME,
    "brokerName": How.SAME,
    "brokerAddr": How.SAME,
    "changed": How.SAME,
    "addTopicCount": How.SAME,
    "wipeTopicCount": How.SAME,
    "IS_SUPPORT_HEART_BEAT_V2": How.SAME,
    "IS_SUB_CHANGE": How.SAME,
}

PROPERTIES: Final[Mapping[str, How]] = {
    # what a client sets
    named.TAGS: How.SAME,
    named.KEYS: How.SAME,
    named.DELAY: How.SAME,
    named.WAIT: How.SAME,
    named.TRAN_MSG: How.SAME,
    named.PGROUP: How.SAME,
    named.UNIQ_KEY: How.MADE_UP,
    named.CHECK_IMMUNITY_TIME_IN_SECONDS: How.SAME,
    named.RECONSUME_TIME: How.SAME,
    named.MAX_RECONSUME_TIMES: How.SAME,
    named.TIMER_DELAY_SEC: How.SAME,
    named.TIMER_DELAY_MS: How.SAME,
    named.TIMER_DELIVER_MS: How.SAME,
    named.TIMER_DEL_UNIQKEY: How.SAME,
    named.INNER_NUM: How.SAME,
    named.INNER_MULTI_DISPATCH: How.SAME,
    # what a broker adds
    named.RETRY_TOPIC: How.SAME,
    named.REAL_TOPIC: How.SAME,
    named.REAL_QID: How.SAME,
    named.CLUSTER: How.SAME,
    named.ORIGIN_MESSAGE_ID: How.PLACE,
    named.MSG_REGION: How.SAME,
    named.TRACE_ON: How.SAME,
    named.CHECK_TIMES: How.SAME,
    named.PREPARED_QUEUE_OFFSET: How.SAME,
    named.TRANSACTION_ID: How.MADE_UP,
    named.TIMER_OUT_MS: How.SECOND,
    named.TIMER_ENQUEUE_MS: How.SECOND,
    named.TIMER_DEQUEUE_MS: How.MOMENT,
    named.CRC32: How.SAME,
}


MOVING: Final[Mapping[str, str]] = {
    topics.HALF_TOPIC: "half messages of all programs, and copies of those that were asked about",
    topics.OP_HALF_TOPIC: "the ends of half messages of all programs, in 5.x seconds later and several in one record",
    topics.CHECK_MAX_TIME_TOPIC: "half messages of all programs that were asked about too often, when a check comes to them",
    topics.SCHEDULE: "delayed messages of all programs",
    topics.WHEEL_TIMER_TOPIC: "messages with a time of their own, of all programs",
    topics.OFFSET_MOVED_TOPIC: "a message for each pull of any program from outside of a queue",
}
"""Topics that all programs of a broker and its own threads write to, with their content. The lengths of their queues cannot be compared
with the reference implementation. It can be checked that they never get shorter."""


def how(name: str) -> How:
    """Return how a response field or property of this name is compared. No name has different entries in the two tables."""
    return FIELDS.get(name) or PROPERTIES.get(name, How.SAME)


_PORT = re.compile(r"(Producer: [^\s:]+:|consumer:\[/[^\s:]+:)[0-9]+")
_DISK = re.compile(r"((?:CL|CQ|INDEX):\s*)-?[0-9]+(?:\.[0-9]+)?")
_DISKS = re.compile(r"\[CL:.*?\]")
_SERVES = re.compile(
    r"(unable to service, until )[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9](:[0-9][0-9],[0-9]{3})"
)  # zones differ by whole minutes
_FRAME = re.compile(r"([a-z][\w$]*(?:\.[\w$]+)*\.[A-Z][\w$]*(?:Exception|Error)\b.*?), [^\s,]+\([^()]*\)", re.DOTALL)
_ID = re.compile(r"[0-9A-F]{32}(,[0-9A-F]{32})*")
_MILLIS = re.compile(r"[0-9]{1,18}", re.ASCII)
_CLOCKS = "|".join(name for name, kind in PROPERTIES.items() if kind in (How.SECOND, How.MOMENT))
_TIMES = re.compile(rf"((?:{_CLOCKS}){NAME_END})[0-9]+")
_HANDLE_PARTS = 5
"""A version, a topic, a broker, a time, and a unique key."""
SECOND = 1000
_FROM_NOW: Final = (named.TIMER_DELAY_SEC, named.TIMER_DELAY_MS)
_FOUND_AT = re.compile(r"(look message by offset failed to check the topic name)[0-9]+")
_BARE = re.compile(r"java(\.\w+)+")
_NULL = "java.lang.NullPointerException"
_NULL_ALONE = re.compile(r'Cannot invoke ".*" because .* is null', re.DOTALL)
"""The error's text without its class, as some processors of 5.x answer it."""
_NULL_POINTER = re.compile(rf"({re.escape(_NULL)}).*", re.DOTALL)


def remark(text: str | None) -> str | None:
    """Return a remark without the parts that two runs need not share."""
    if text is None:
        return None
    thrown = _FRAME.fullmatch(text)
    masked = text if thrown is None else thrown.group(1)
    masked = _NULL_POINTER.sub(r"\1", masked, count=1) if masked.startswith(_NULL) else _NULL_ALONE.sub(_NULL, masked)
    masked = _PORT.sub(r"\1*", masked)
    masked = _FOUND_AT.sub(r"\1*", masked)
    masked = _SERVES.sub(r"\1*\2", masked)
    return _DISKS.sub(lambda found: re.sub(r"\s+", " ", _DISK.sub(r"\1*", found.group())), masked)


def same_remark(recorded: str | None, found: str | None) -> bool:
    """Whether two remarks are equal. A Java machine that has thrown an exception often omits its message and frame."""
    if recorded is not None and found is not None and _BARE.fullmatch(recorded):
        return found == recorded or found.startswith((f"{recorded}:", f"{recorded},"))
    return remark(recorded) == remark(found)


def varies(name: str, version: str) -> bool:
    """Whether a broker of this version generates a new value for a response field or property each time if the sender gave none."""
    return version.startswith("5.") and how(name) is How.MADE_UP


def same_total(name: str, recorded: str | None, found: str | None) -> bool:
    """Whether two values are totals, whose numbers two runs need not share."""
    return how(name) is How.TOTAL and all(value is not None and _MILLIS.fullmatch(value) for value in (recorded, found))


def same_time(name: str, recorded: str | None, found: str | None, apart: int | None = None) -> bool:
    """Whether two values are times of the two brokers' clocks, or handles that differ only in such a time and in a generated id.

    `apart`: the largest difference of the two times (ms); None if the clocks show different days.
    """
    if recorded is None or found is None:
        return False
    kind = how(name)
    if kind is How.HANDLE:
        return _same_handle(recorded, found, apart)
    return kind in (How.SECOND, How.MOMENT) and _near(recorded, found, apart, whole=kind is How.SECOND)


def is_named(name: str, sent: Mapping[str, str]) -> bool:
    """Return whether a time follows from a delivery time that the sender named, so that it does not depend on the broker's clock."""
    return name == named.TIMER_OUT_MS and named.TIMER_DELIVER_MS in sent and sent.keys().isdisjoint(_FROM_NOW)


def _near(recorded: str, found: str, apart: int | None, *, whole: bool) -> bool:
    if not (_MILLIS.fullmatch(recorded) and _MILLIS.fullmatch(found)):
        return False
    if whole and whole_number(recorded) % SECOND != whole_number(found) % SECOND:
        return False
    return apart is None or abs(whole_number(recorded) - whole_number(found)) <= apart


def _same_handle(recorded: str, found: str, apart: int | None) -> bool:
    """Whether two handles name the same message. Their time is one millisecond after a whole second."""
    theirs, ours = _handle(recorded), _handle(found)
    if theirs is None or ours is None:
        return False
    (*before, due, key), (*after, later, other) = theirs, ours
    return before == after and (key == other or made_up(key, other)) and _near(due, later, apart, whole=True)


def _handle(text: str) -> list[str] | None:
    """Return the parts of a handle, None for a text that is not a handle."""
    try:
        parts = urlsafe_b64decode(text).decode().split(" ")
    except ValueError:
        return None
    return parts if len(parts) >= _HANDLE_PARTS else None


def made_up(*values: str | None) -> bool:
    """Whether these values look like ids that a broker generated."""
    return all(value is not None and _ID.fullmatch(value) for value in values)


def without_own(text: str | None) -> str | None:
    """Return a properties text without generated ids and times of the broker's clock. Each of these is compared separately."""
    return None if text is None else _TIMES.sub(r"\1*", _ID.sub("*", text))
