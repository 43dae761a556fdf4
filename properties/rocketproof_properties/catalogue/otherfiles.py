"""The files next to the log: tables of config, consumer offsets, the checkpoint, the index (PER-03, CLI-07, REC-02, REC-04).

A broker writes offsets and checkpoint periodically. They may therefore be older than log and queues, but never newer.
"""

from __future__ import annotations

from rocketproof_model import implies
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import vocabulary


def _tables() -> list[Rule]:
    c, p, t = (vocabulary()[name].row for name in ("config", "progress", "checkpoint"))
    return [
        rule(
            "PER-03.stored",
            "a table of config can be read",
            "config", "error",
            c.backup | c.readable, True, c.readable,
        ),
        rule(
            "PER-03.backup",
            "the table before it can be read, so that a start can fall back on it",
            "config", "warning",
            implies(c.backup, c.readable), True, c.readable,
        ),
        rule(
            "CLI-07.named",
            "consumerOffset.json speaks of topics with groups, and of numbers from 0 on",
            "progress", "warning",
            p.named & (p.queueId >= 0) & (p.offset >= 0), 0, p.offset,
        ),
        rule(
            "CLI-07.topic",
            "a group consumes topics that the broker has",
            "progress", "warning",
            implies(p.named, p.topicKnown), True, p.topicKnown,
        ),
        rule(
            "CLI-07.queue",
            "a group consumes queues that the topic has",
            "progress", "warning",
            implies(p.topicKnown, p.queueId < p.queues), p.queues, p.queueId,
        ),
        rule(
            "CLI-07.offset",
            "a group has consumed no more of a queue than it has",
            "progress", "warning",
            implies(p.entriesKnown, p.offset <= p.entries), p.entries, p.offset,
        ),
        rule(
            "REC-02.ahead",
            "the checkpoint is not ahead of the log",
            "checkpoint", "warning",
            implies(t.asked, t.time <= t.lastStored), t.lastStored, t.time,
        ),
        rule(
            "REC-02.stored",
            "the checkpoint's times are those at which records were stored",
            "checkpoint", "warning",
            implies(t.asked & (t.time >= t.firstStored) & (t.time <= t.lastStored), t.stored), True, t.stored,
        ),
        rule(
            "REC-02.sign",
            "the checkpoint's times are no negative numbers",
            "checkpoint", "error",
            t.time >= 0, 0, t.time,
        ),
    ]  # fmt: skip


def _index() -> list[Rule]:
    i, k = vocabulary()["index"].row, vocabulary()["key"].row
    return [
        rule(
            "REC-04.indexSize",
            "an index file is as long as its slots and entries are",
            "index", "warning",
            i.whole, True, i.whole,
        ),
        rule(
            "REC-04.indexOwn",
            "most entries of an index file point at records with their keys",
            "index", "error",
            i.own, True, i.own,
        ),
        rule(
            "REC-04.indexCount",
            "an index file has as many entries as its header says",
            "index", "error",
            (i.count == i.filled) & (i.count <= i.room), i.filled, i.count,
        ),
        rule(
            "REC-04.indexUsed",
            "the header of an index file says how many slots are in use, in older releases how many entries",
            "index", "error",
            (i.usedSlots == i.slotsFilled) | (i.usedSlots == i.count - 1), i.slotsFilled, i.usedSlots,
        ),
        rule(
            "REC-04.indexSlots",
            "an index file has a slot in use for each that its entries are in",
            "index", "error",
            i.slotsFilled == i.slotsNamed, i.slotsNamed, i.slotsFilled,
        ),
        rule(
            "REC-04.indexBegin",
            "the header of an index file has the place of the first entry",
            "index", "error",
            i.beginOffset == i.firstOffset, i.firstOffset, i.beginOffset,
        ),
        rule(
            "REC-04.indexEnd",
            "the header of an index file has the place of the last entry",
            "index", "error",
            i.endOffset == i.lastOffset, i.lastOffset, i.endOffset,
        ),
        rule(
            "REC-04.indexFirst",
            "the header of an index file has the store timestamp of its first record",
            "index", "error",
            implies(i.timesKnown, i.beginTimestamp == i.firstStored), i.firstStored, i.beginTimestamp,
        ),
        rule(
            "REC-04.indexLast",
            "the header of an index file has the store timestamp of its last record",
            "index", "error",
            implies(i.timesKnown, i.endTimestamp == i.lastStored), i.lastStored, i.endTimestamp,
        ),
        rule(
            "REC-04.keyOrder",
            "the entries of an index file point on and on in the log",
            "key", "error",
            k.offset <= k.offsetBehind, k.offsetBehind, k.offset,
        ),
        rule(
            "REC-04.keyChain",
            "an entry of the index names the entry before it in its slot",
            "key", "error",
            k.previous == k.expectedPrevious, k.expectedPrevious, k.previous,
        ),
        rule(
            "REC-04.keySlot",
            "a slot of the index names the newest of its entries",
            "key", "error",
            implies(k.newest, k.slot == k.number), k.number, k.slot,
        ),
        rule(
            "REC-04.keyRecord",
            "an entry of the index points at a record",
            "key", "error",
            implies(k.recordKnown, k.recordThere), True, k.recordThere,
        ),
        rule(
            "REC-04.key",
            "an entry of the index points at a record with a key of its hash",
            "key", "error",
            implies(k.recordThere, k.hasKey), True, k.hasKey,
        ),
        rule(
            "REC-04.keyTime",
            "an entry of the index has the seconds from the file's first record to its own",
            "key", "error",
            implies(k.recordThere, k.seconds == k.expectedSeconds), k.expectedSeconds, k.seconds,
        ),
    ]  # fmt: skip


RULES = [*_tables(), *_index()]
