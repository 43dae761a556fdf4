"""What a rule can speak of where two records are compared, or a file beside the log with log and queues: the columns of such rows."""

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
"""A record that ends a half message, whose place in the log it names (`half`). `halfThere`: there is one; `sameTopic`, `sameQueue`: the
record is for the topic and the queue that it has; `sameMessage`: with the same body, flag, time and host of birth."""

OPERATION: Mapping[str, Type] = {
    "physicalOffset": _I64,
    "readable": Bool,
    "half": _I64,
    "halfKnown": Bool,
    "halfThere": Bool,
    "place": _I64,
}
"""A queue offset of the half topic (`half`) that a record of the topic of ended transactions names; one that cannot be read as such
numbers is not `readable`. `halfKnown`: entries of the half topic's queue begin no later; `halfThere`: it has that one, which points at
`place`."""

COMMIT: Mapping[str, Type] = {"half": _I64, "operationsKnown": Bool, "named": Bool}
"""The queue offset of a committed half message. `operationsKnown`: the broker has noted ends of half messages after the commit; `named`:
the end of this one too."""

HOST: Mapping[str, Type] = {"records": _I64, "others": _I64}
"""A store host: `records` that have it, and how many have the most frequent other one."""

CONFIG: Mapping[str, Type] = {"backup": Bool, "readable": Bool}
"""A table of the folder config, or the one before it (`backup`): `readable`: it is JSON of the table's shape."""

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
"""A delay level in delayOffset.json, or one that is not there (offset 0) and has a queue. `entries`: the end of the level's queue;
`lastDue`, `nextDue`: when the entry before the offset, and the one at it, are to be delivered, 0 without one; `lastStored`: the log's
last store timestamp."""

PROGRESS: Mapping[str, Type] = {
    "named": Bool,
    "topicKnown": Bool,
    "queueId": _I32,
    "queues": _I32,
    "offset": _I64,
    "entriesKnown": Bool,
    "entries": _I64,
}
"""How far a group has consumed a queue, by consumerOffset.json. `named`: its key is a topic and a group; `queues`: those of the topic by
topics.json; `entries`: the end of the queue."""

CHECKPOINT: Mapping[str, Type] = {"time": _I64, "firstStored": _I64, "lastStored": _I64, "stored": Bool, "asked": Bool}
"""A time of the checkpoint, up to which something is on the device. `stored`: a record has this store timestamp; `asked`: the log was
read whole, and its records do not begin later."""

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
"""An index file and its header: `whole`: its length is one that slots and entries have; `own`: most of its entries point at
records with their keys; `count`: the number of the next entry, by the
header, `filled`: by the entries; `room`: how many fit. `usedSlots`: by the header; `slotsFilled`: those that are not 0; `slotsNamed`: those
that entries have. `firstOffset`, `lastOffset`: of the first and the last entry; `firstStored`, `lastStored`: of their records."""

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
"""An entry of an index file. `offsetBehind`: that of the entry behind it; `previous`: the number of the entry before it in its slot, as it
says, `expectedPrevious` as the entries have it; `newest`: none of its slot is behind it; `slot`: the number that its slot has.
`recordKnown`: it points into the log; `recordThere`: at a record; `hasKey`: which has a key of this hash; `expectedSeconds`: the seconds
from the file's first record to it."""
