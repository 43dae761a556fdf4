"""Rules about what is in a broker's files besides records: queues and their entries, DLedger's entries, the log's files, the topic table.

See `stored`, which these rules are a part of.
"""

from __future__ import annotations

from rocketproof_model import after, implies, ite, minimum, without_bits
from rocketproof_model.specification.arithmetic import INHERIT, READ, WRITE, has_bit, legal_queue, queue_bound
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted, is_, transaction, vocabulary
from rocketproof_traces.stored.layout import BLANK_SIZE, LEDGER_DATA, LEDGER_HEADER


def queues() -> list[Rule]:
    q, given = vocabulary()["queue"].row, vocabulary()["queue"].given
    bound = queue_bound(q.readQueueNums, q.writeQueueNums)
    begins = (q.records > 0) & ((q.logStart == 0) | (q.entriesKnown & (q.entries > 0)))
    first = ite(q.logStart == 0, 0, q.firstEntry)
    return [
        rule("INV-30.sign", "a stored queue id is not negative", "queue", "error", q.queueId >= 0, 0, q.queueId),
        rule(
            "INV-30.stored",
            "a stored queue id is below the larger of its topic's read and write counts",
            "queue", "warning",
            implies(q.known, legal_queue(q.queueId, q.readQueueNums, q.writeQueueNums)), bound, q.queueId,
        ),
        rule(
            "INV-31.stored",
            "a stored queue id is below its topic's write count",
            "queue", "warning",
            implies(q.known, q.queueId < q.writeQueueNums), q.writeQueueNums, q.queueId,
        ),
        rule(
            "INV-32.stored",
            "a stored queue id is below its topic's read count, so that some consumer reads it",
            "queue", "warning",
            implies(q.known, q.queueId < q.readQueueNums), q.readQueueNums, q.queueId,
        ),
        rule(
            "INV-34.first",
            "a queue's first record has queue offset 0 or, in a log that has been cleaned, the least one of its consume queue",
            "queue", "error",
            implies(begins, q.firstQueueOffset == first), first, q.firstQueueOffset,
        ),
        rule(
            "INV-27.stored",
            "the topic of every record is in topics.json",
            "queue", "warning",
            implies(q.tableThere & (~is_(q.topicClass, "schedule", "half", "operations")), q.known), True, q.known,
        ),
        rule(
            "INV-53.stored",
            "a topic that may not be written to has no records",
            "queue", "note",
            implies(q.known, has_bit(q.perm, WRITE)), q.perm | WRITE, q.perm,
        ),
        rule(
            "HAZ-31.stored",
            "a topic with records may be read",
            "queue", "note",
            implies(q.known, has_bit(q.perm, READ)), q.perm | READ, q.perm,
        ),
        rule(
            "CHK-02.stored",
            "the name of a stored topic has only the characters that a broker allows",
            "queue", "warning",
            implies(given["check_names"], q.legalName), True, q.legalName,
        ),
    ]  # fmt: skip


def entries() -> list[Rule]:
    e = vocabulary()["entry"].row
    return [
        rule(
            "INV-44.record",
            "a consume queue's entry points at a record",
            "entry", "error",
            e.recordThere, True, e.recordThere,
        ),
        rule(
            "INV-44.back",
            "the record that a consume queue's entry points at has the entry's number as its queue offset",
            "entry", "error",
            implies(e.recordThere & e.sameTopic & (e.recordQueueId == e.queueId), e.recordQueueOffset == e.index),
            e.index, e.recordQueueOffset,
        ),
        rule(
            "INV-44.queue",
            "the record that a consume queue's entry points at is of that topic and queue",
            "entry", "error",
            implies(e.recordThere, e.sameTopic & (e.recordQueueId == e.queueId)), e.queueId, e.recordQueueId,
        ),
        rule(
            "REC-04.counted",
            "a record that is prepared or rolled back has no entry in a consume queue",
            "entry", "error",
            implies(e.recordThere, counted(e)), 0, transaction(e),
        ),
    ]  # fmt: skip


def ledger() -> list[Rule]:
    """The entries of DLedger's log, which records lie in, and the index beside it."""
    e = vocabulary()["ledger"].row
    has_record = e.recordSize != 0
    return [
        rule(
            "INV-37.ledger",
            "an entry of DLedger says the place where it lies",
            "ledger", "error",
            e.position == e.place, e.place, e.position,
        ),
        rule(
            "INV-40.ledger",
            "the size of a DLedger entry is that of its header and its body",
            "ledger", "error",
            e.size == LEDGER_HEADER + e.bodySize, LEDGER_HEADER + e.bodySize, e.size,
        ),
        rule(
            "INV-40.body",
            "the body of a DLedger entry is one record",
            "ledger", "error",
            implies(has_record, e.bodySize == e.recordSize), e.recordSize, e.bodySize,
        ),
        rule(
            "INV-41.ledger",
            "the checksum of a DLedger entry's body, where the entry has one, is that of the body",
            "ledger", "error",
            e.bodyCRC == e.computedCRC, e.computedCRC, e.bodyCRC,
        ),
        rule(
            "APP-08.ledger",
            "a DLedger entry with a record is of the type of data",
            "ledger", "error",
            implies(has_record, e.kind == LEDGER_DATA), LEDGER_DATA, e.kind,
        ),
        rule(
            "INV-36.ledger",
            "every DLedger entry is in the index beside the log",
            "ledger", "warning",
            implies(e.indexKnown, e.indexThere), True, e.indexThere,
        ),
        rule(
            "INV-44.ledger",
            "the index of DLedger says where an entry lies",
            "ledger", "error",
            implies(e.indexThere, e.indexPosition == e.place), e.place, e.indexPosition,
        ),
        rule(
            "INV-44.ledgerSize",
            "the index of DLedger says the size of an entry",
            "ledger", "error",
            implies(e.indexThere, e.indexSize == e.size), e.size, e.indexSize,
        ),
        rule(
            "INV-44.ledgerTerm",
            "the index of DLedger says number and term of an entry",
            "ledger", "error",
            implies(e.indexThere, (e.indexNumber == e.index) & (e.indexTerm == e.term)), e.term, e.indexTerm,
        ),
        rule(
            "INV-34.ledger",
            "the indices of DLedger's entries are consecutive",
            "ledgers", "error",
            after(e.index) == e.index + 1, e.index + 1, after(e.index),
        ),
        rule(
            "INV-42.ledger",
            "the terms of DLedger's entries never fall",
            "ledgers", "error",
            after(e.term) >= e.term, e.term, after(e.term),
        ),
    ]  # fmt: skip


def files() -> list[Rule]:
    f = vocabulary()["file"].row
    rest = f.size - f.end
    return [
        rule(
            "INV-38.stored",
            "what is left of a file behind its last record is nothing or at least 8 bytes",
            "file", "error",
            (rest == 0) | (rest >= BLANK_SIZE), BLANK_SIZE, rest,
        ),
        rule(
            "INV-06.stored",
            "a file of the log begins with a record: a message too large for any file was acknowledged, and left nothing but blanks",
            "file", "error",
            f.ledger | ~((f.end == 0) & (f.blank > 0)), 0, f.blank,
        ),
        rule(
            "INV-06.ledger",
            "a file of DLedger's log begins with an entry: a message too large for any file was refused, and left nothing but blanks",
            "file", "note",
            ~f.ledger | ~((f.end == 0) & (f.blank > 0)), 0, f.blank,
        ),
        rule(
            "INV-37.files",
            "a file of the log begins where the one before it ends",
            "files", "error",
            after(f.base) == f.base + f.size, f.base + f.size, after(f.base),
        ),
        rule(
            "PRE-01.size",
            "the files of the log have one size",
            "files", "warning",
            after(f.size) == f.size, f.size, after(f.size),
        ),
    ]  # fmt: skip


def topics() -> list[Rule]:
    t, given = vocabulary()["topic"].row, vocabulary()["topic"].given
    inherits = has_bit(t.perm, INHERIT)
    larger = queue_bound(t.readQueueNums, t.writeQueueNums)
    return [
        rule(
            "INV-10.stored",
            "a topic that the broker does not make by itself is no template for others: its permission lacks INHERIT",
            "topic", "warning",
            implies(~is_(t.topicClass, "template", "own"), ~inherits), without_bits(t.perm, INHERIT), t.perm,
        ),
        rule(
            "INV-16.stored",
            "the template's permission has INHERIT: no request has taken it away",
            "topic", "warning",
            implies(t.topicClass == "template", inherits), t.perm | INHERIT, t.perm,
        ),
        rule(
            "INV-13.stored",
            "a topic has a queue to read and one to write",
            "topic", "warning",
            minimum(t.readQueueNums, t.writeQueueNums) >= 1, 1, minimum(t.readQueueNums, t.writeQueueNums),
        ),
        rule(
            "INV-12.stored",
            "a topic has as many queues to read as to write",
            "topic", "note",
            t.readQueueNums == t.writeQueueNums, t.writeQueueNums, t.readQueueNums,
        ),
        rule(
            "PERM-01.stored",
            "a topic's permission has known bits only",
            "topic", "error",
            (t.perm >= 0) & (t.perm <= 15), t.perm & 15, t.perm,
        ),
        rule(
            "HAZ-05.stored",
            "a topic that the broker does not make by itself may be read or written",
            "topic", "note",
            (t.topicClass == "own") | has_bit(t.perm, READ) | has_bit(t.perm, WRITE), t.perm | READ | WRITE, t.perm,
        ),
        rule(
            "TCM-01.sysFlag",
            "a topic's flags are those of units",
            "topic", "error",
            (t.topicSysFlag >= 0) & (t.topicSysFlag <= 3), t.topicSysFlag & 3, t.topicSysFlag,
        ),
        rule("TCM-01.name", "an entry of topics.json has the name of its key", "topic", "error", t.sameName, True, t.sameName),
        rule(
            "REC-05.levels",
            "the schedule topic has a queue for each delay level",
            "topic", "warning",
            implies(t.topicClass == "schedule", larger >= given["max_delay_level"]), given["max_delay_level"], larger,
        ),
    ]  # fmt: skip


def table() -> list[Rule]:
    t = vocabulary()["table"].row
    return [
        rule(
            "INV-28.stored",
            "a store with records has a topic table",
            "table", "warning",
            implies(t.records > 0, t.there), True, t.there,
        ),
        rule(
            "INV-17.stored",
            "the data version of topics.json has counted every topic that was created",
            "table", "warning",
            implies(t.there, t.counter >= t.created), t.created, t.counter,
        ),
        rule(
            "TCM-02.stored",
            "the data version of topics.json has a time",
            "table", "warning",
            implies(t.there, t.timestamp > 0), 1, t.timestamp,
        ),
    ]  # fmt: skip


def damage() -> list[Rule]:
    """What is neither record nor blank, by what is wrong with it."""
    d = vocabulary()["damage"].row

    def none(id_: str, sentence: str, *reasons: str) -> Rule:
        return rule(id_, sentence, "damage", "error", ~is_(d.reason, *reasons), 0, d.length)

    return [
        none("INV-37.contiguous", "where a record ends, the next one, a blank or the end of the log begins", "magic", "size"),
        none("INV-40.lengths", "the lengths inside a record add up to its size", "lengths"),
        none("INV-39.stored", "no record crosses the end of its file", "truncated"),
        none("INV-37.hole", "there is no hole of zeros between records", "hole"),
        none("INV-37.blank", "a blank fills its file to the end", "blank"),
        none("INV-37.ended", "a file before the last one is full: its records end at a blank or at its end", "zeros"),
    ]


PARTS = (queues, entries, ledger, files, topics, table, damage)
