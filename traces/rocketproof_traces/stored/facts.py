"""The columns of a walk over the commit log: the facts about a record, a blank or a corrupt stretch.

A row has numbers only, int64 each. Numbers of eight bytes are clipped to ±2^62, so that integers of the modelling language hold them. The
kernel writes COLUMNS in this order. VIRTUAL columns are derived from them on request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.flags import TRANSACTION_BITS

from .kinds import BIT, PROPERTIES, RowKind
from .layout import BODY_AT, IPV6_MORE

Column = NDArray[np.int64]
LIMIT: Final = 1 << 62

COLUMNS: Final = {
    "kind": "a RowKind",
    "reason": "a Reason; 0 unless the row is a corrupt stretch",
    "physicalOffset": "the file's first offset plus the position in the file",
    "size": "the size stored in the record; the length of a stretch",
    "partsSize": "the sum of the record's lengths, -1 if a length exceeds the file",
    "storedPhysicalOffset": "the physical offset stored in the record",
    "queueId": "",
    "queueOffset": "",
    "flag": "",
    "sysFlag": "",
    "bornTimestamp": "milliseconds",
    "bornAddress": "IPv4 as an unsigned number, -1 for IPv6",
    "bornPort": "",
    "storeTimestamp": "milliseconds",
    "storeAddress": "as bornAddress",
    "storePort": "",
    "reconsumeTimes": "",
    "preparedTransactionOffset": "",
    "bodyLength": "",
    "bodyCRC": "as stored, signed",
    "computedCRC": "CRC-32 of the body without its highest bit; -1 if it was not computed",
    "topic": "its number in the walk's names, -1 if the lengths are wrong",
    "topicLength": "bytes",
    "propertiesLength": "bytes",
    "properties": "bits of the known properties that are present",
    "odd": 'bits of the properties whose value has another form than expected (a Java int, "true", UTF-8 for tags); '
    "next bit: tags that contain byte 1; last bit: properties that are not UTF-8",
    "items": "number of properties as the broker reads them; equal names count repeatedly",
    "ignoredItems": "number of pieces of the properties' text that the broker ignores: without a name or a value",
    "tagsHash": "Java's hash of TAGS, 0 without; undefined if TAGS is odd",
    "tagsAt": "offset of the text of TAGS from the record's first byte; 0 without",
    "tagsLength": "bytes",
    "keysAt": "as tagsAt, for KEYS",
    "keysLength": "bytes",
    "delayLevel": "DELAY; 0 without, or if odd",
    "realTopic": "number of REAL_TOPIC in the walk's names, -1 without",
    "realQueueId": "REAL_QID; -1 without, or if odd",
    "retryTopic": "number of RETRY_TOPIC in the walk's names, -1 without",
    "reconsumeTime": "RECONSUME_TIME; -1 without, or if odd",
    "maxReconsumeTimes": "MAX_RECONSUME_TIMES; -1 without, or if odd",
    "innerNumber": "INNER_NUM, the messages of an inner batch; 1 without, or if odd",
    "recordCRC": "__CRC32# of 5.x, -1 without",
    "computedRecordCRC": "the expected value of recordCRC; -1 without, or if it was not computed",
}
NUMBER: Final = {name: number for number, name in enumerate(COLUMNS)}


@dataclass(frozen=True)
class Virtual:
    """A column that is derived from others."""

    meaning: str
    of: Callable[[Callable[[str], Column]], Column]


def _body(column: Callable[[str], Column]) -> Column:
    more = (column("bornAddress") < 0).astype(np.int64) + (column("storeAddress") < 0).astype(np.int64)
    offset: Column = column("physicalOffset") + BODY_AT + IPV6_MORE * more
    return offset


def _topic(column: Callable[[str], Column]) -> Column:
    wide = (column("kind") == RowKind.MESSAGE_V2).astype(np.int64)
    offset: Column = column("bodyOffset") + np.maximum(column("bodyLength"), 0) + 1 + wide
    return offset


def _properties(column: Callable[[str], Column]) -> Column:
    return column("topicOffset") + column("topicLength") + 2


def _present(name: str) -> Virtual:
    return Virtual(f"1 if {name} is present", lambda column: ((column("properties") & BIT[name]) != 0).astype(np.int64))


def _odd(name: str) -> Virtual:
    return Virtual(f"1 if {name} is odd", lambda column: ((column("odd") & BIT[name]) != 0).astype(np.int64))


VIRTUAL: Final[dict[str, Virtual]] = {
    "bodyOffset": Virtual("physical offset of the body", _body),
    "topicOffset": Virtual("physical offset of the topic's text", _topic),
    "propertiesOffset": Virtual(
        "physical offset of the properties' text", lambda column: column("topicOffset") + column("topicLength") + 2
    ),
    "transaction": Virtual("NOT 0, PREPARED 4, COMMIT 8, ROLLBACK 12", lambda column: column("sysFlag") & TRANSACTION_BITS),
    **{f"has {name}": _present(name) for name in PROPERTIES},
    **{f"odd {name}": _odd(name) for name, form in PROPERTIES.items() if form},
}


def column(table: NDArray[np.int64], name: str) -> Column:
    """Return a real or virtual column of a table with one line for each of COLUMNS. Raises KeyError for any other name."""
    number = NUMBER.get(name)
    return table[number] if number is not None else VIRTUAL[name].of(lambda other: column(table, other))
