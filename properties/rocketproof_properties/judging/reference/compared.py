"""One table: how each response field and message property is compared between a target and the reference implementation.

A name that is not in the table was chosen by the sender and must be equal on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from rocketproof_protocol import properties as named
from rocketproof_protocol import topics


class How(Enum):
    """Which part of a value two runs of the same broker share, and why."""

    SAME = "the value follows from the requests"
    MADE_UP = "5.x makes up an id if the sender gave none: both values are ids, or they are the same"
    PLACE = "an id names a place in the log: the places lie as far apart as the logs, or the address alone is the same"
    SECOND = "the broker's clock, in whole seconds: both are, and no further apart than the run lasted"
    MOMENT = "the broker's clock, in ms: both are times, and no further apart than the run lasted"
    HANDLE = "a topic, a broker, the second of a timer, and an id: each part is compared as what it is"
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
