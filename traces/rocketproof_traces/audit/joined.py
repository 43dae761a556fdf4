"""The columns of rows that compare two records, or a file next to the log with the log and its queues."""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_model import Bool, Int
from rocketproof_model.language import JAVA_INT, Type

_I32 = Int(*JAVA_INT)
_I64 = Int(-(2**61), 2**61)

OUTCOME: Mapping[str, Type] = {
    "physicalOffset": _I64,
    "half": _I64,
    "halfThere": Bool,
    "sameTopic": Bool,
    "sameQueue": Bool,
    "sameMessage": Bool,
    "committed": Bool,
}
"""A record that ends a half message; it contains the half message's physical offset (`half`).

- `halfThere`: the half message exists.
- `sameTopic`, `sameQueue`: the record is in the topic and queue of the half message.
- `sameMessage`: body, flag, born timestamp and born host are equal.
"""

OPERATION: Mapping[str, Type] = {
    "physicalOffset": _I64,
    "readable": Bool,
    "half": _I64,
    "halfKnown": Bool,
    "halfThere": Bool,
    "place": _I64,
}
"""A queue offset of the half topic (`half`) in a record of the topic of ended transactions.

- `readable`: the body is such numbers.
- `halfKnown`: the entries of the half topic's queue begin at or before `half`.
- `halfThere`: the queue has this entry, which points at `place`.
"""

COMMIT: Mapping[str, Type] = {"half": _I64, "operationsKnown": Bool, "named": Bool}
"""The queue offset of a committed half message (`half`).

- `operationsKnown`: the log has operation records after the commit.
- `named`: an operation record names this half message.
"""

HOST: Mapping[str, Type] = {"records": _I64, "others": _I64}
"""A store host: the number of `records` that have it, and the number of records of the most frequent other host."""

CONFIG: Mapping[str, Type] = {"backup": Bool, "readable": Bool}
"""A table of the folder `config`, or its previous version (`backup`). `readable`: it is JSON of the table's shape."""

LEVEL: Mapping[str, Type] = {
    "level": _I32,
    "offset": _I64,
    "hasStopped": Bool,
    "entriesKnown": Bool,
    "entries": _I64,
    "lastDue": _I64,
    "nextDue": _I64,
    "lastStored": _I64,
}
"""A delay level in delayOffset.json, or a level that has a queue but no entry there (offset 0).

- `entries`: the end of the level's queue.
- `lastDue`, `nextDue`: the delivery time of the entry before the offset and of the entry at it, 0 without an entry.
- `lastStored`: the log's last store timestamp.
"""

PROGRESS: Mapping[str, Type] = {
    "named": Bool,
    "topicKnown": Bool,
    "queueId": _I32,
    "queues": _I32,
    "offset": _I64,
    "entriesKnown": Bool,
    "entries": _I64,
}
"""The progress of a group in a queue, from consumerOffset.json.

- `named`: the key is a topic and a group.
- `queues`: the number of the topic's queues in topics.json.
- `entries`: the end of the queue.
"""

CHECKPOINT: Mapping[str, Type] = {"time": _I64, "firstStored": _I64, "lastStored": _I64, "stored": Bool, "asked": Bool}
"""A time of the checkpoint, up to which something is on the device.

- `stored`: a record has this store timestamp.
- `asked`: the complete log was read, and its records do not begin later.
"""

INDEX: Mapping[str, Type] = {
    "whole": Bool,
    "own": Bool,
    "count": _I64,
    "filled": _I64,
    "room": _I64,
    "usedSlots": _I64,
    "slotsFilled": _I64,
    "slotsNamed": _I64,
    "beginOffset": _I64,
    "firstOffset": _I64,
    "endOffset": _I64,
    "lastOffset": _I64,
    "timesKnown": Bool,
    "beginTimestamp": _I64,
    "firstStored": _I64,
    "endTimestamp": _I64,
    "lastStored": _I64,
}
"""An index file and its header.

- `whole`: the file's length fits slots and entries.
- `own`: most of its entries point at records with their keys.
- `count`, `filled`: the number of the next entry by the header, by the entries. `room`: how many entries fit.
- `usedSlots`: by the header. `slotsFilled`: slots that are not 0. `slotsNamed`: slots that entries have.
- `firstOffset`, `lastOffset`: of the first and the last entry. `firstStored`, `lastStored`: of their records.
"""

KEY: Mapping[str, Type] = {
    "number": _I64,
    "offset": _I64,
    "offsetBehind": _I64,
    "previous": _I64,
    "expectedPrevious": _I64,
    "newest": Bool,
    "slot": _I64,
    "recordKnown": Bool,
    "recordThere": Bool,
    "hasKey": Bool,
    "seconds": _I64,
    "expectedSeconds": _I64,
}
"""An entry of an index file.

- `offsetBehind`: the offset of the next entry.
- `previous`: the stored number of the previous entry of its slot. `expectedPrevious`: this number by the entries.
- `newest`: no later entry has its slot. `slot`: the number in its slot.
- `recordKnown`: it points into the log. `recordThere`: it points at a record. `hasKey`: the record has a key with this hash.
- `expectedSeconds`: the seconds from the file's first record to its record.
"""
