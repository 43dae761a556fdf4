"""Ids and offsets: those in answers, and those in the entries of consume queues (INV-43, INV-44, REC-04)."""

from __future__ import annotations

from rocketproof_model import implies, rem
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import accepted, counted, sends, transaction, vocabulary
from rocketproof_traces.stored.kinds import BIT, RUN_ON
from rocketproof_traces.stored.layout import EXTENSION_LIMIT

from . import conditions as about
from .claim import Case, HistoryClaim, history_cases
from .claim import about as claim_about

SECOND = 1000  # milliseconds


def _of_records() -> list[Rule]:
    """The consume queue entry of each record."""
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    has_entry = counted(r) & r.entryThere
    own = has_entry & (r.entryOffset == r.physicalOffset)
    delayed = (r.topicClass == "schedule") & (r.delayLevel > 0)
    readable = ((r.odd & BIT["TAGS"]) == 0) & (r.entryTags > EXTENSION_LIMIT) & ~(given["before_49"] & ((r.odd & RUN_ON) != 0))
    due, wait = r.storeTimestamp + r.levelDelay, r.entryTags - r.storeTimestamp
    # The delay of a level is a number of whole seconds.
    settable = (wait >= 0) & (rem(wait, SECOND) == 0)
    return [
        rule(
            "INV-43.stored",
            "a record's store host has a port, so that its message id names a broker",
            "record", "warning",
            (r.storePort >= 1) & (r.storePort <= 65535), 65535, r.storePort,
        ),
        rule(
            "INV-43.born",
            "the host that a message was born on has a port",
            "record", "warning",
            (r.bornPort >= 1) & (r.bornPort <= 65535), 65535, r.bornPort,
        ),
        rule(
            "INV-44.offset",
            "the consume queue's entry at a record's queue offset points at the record, not at one before it",
            "record", "error",
            implies(has_entry, r.entryOffset >= r.physicalOffset), r.physicalOffset, r.entryOffset,
        ),
        rule(
            "INV-44.later",
            "it does not point at a later record, as it does where the queue has begun again",
            "record", "warning",
            implies(has_entry, r.entryOffset <= r.physicalOffset), r.physicalOffset, r.entryOffset,
        ),
        rule(
            "INV-44.size",
            "the consume queue's entry at a record's queue offset says the record's size",
            "record", "error",
            implies(own, r.entrySize == r.size), r.size, r.entrySize,
        ),
        rule(
            "INV-44.tags",
            "the consume queue's entry of a message has the hash of its tags",
            "record", "error",
            implies(own & ~delayed & readable, r.entryTags == r.tagsHash), r.tagsHash, r.entryTags,
        ),
        rule(
            "REC-04.deliver",
            "the consume queue's entry of a delayed message has the time when it is to be delivered",
            "record", "error",
            implies(own & delayed & ~settable, r.entryTags == due), due, r.entryTags,
        ),
        rule(
            "REC-04.level",
            "a delayed message waits as long as others of its level: messageDelayLevel has not been changed in between",
            "record", "warning",
            implies(own & delayed & settable, r.entryTags == due), due, r.entryTags,
        ),
    ]  # fmt: skip


def _hosts() -> list[Rule]:
    h = vocabulary()["host"].row
    return [
        rule(
            "INV-43.hosts",
            "a store host is that of several records, or no other host is",
            "host", "warning",
            implies(h.others > 1, h.records > 1), 2, h.records,
        ),
    ]  # fmt: skip


def _unclaimed() -> list[Rule]:
    """Entries without a record that refers to them."""
    e, log = vocabulary()["entry"].row, vocabulary()["ending"].row
    return [
        rule(
            "INV-44.record",
            "a consume queue's entry points at a record",
            "entry", "error",
            e.recordThere | e.behindEnd, True, e.recordThere,
        ),
        rule(
            "INV-44.ended",
            "the log goes as far as its consume queues say: it has not lost its end",
            "ending", "error",
            log.furthest <= log.end, log.furthest, log.end,
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


def _ledger() -> list[Rule]:
    """The index next to DLedger's log."""
    e = vocabulary()["ledger"].row
    return [
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
    ]  # fmt: skip


RULES = [*_of_records(), *_hosts(), *_unclaimed(), *_ledger()]


def _histories() -> list[HistoryClaim]:
    e, i = vocabulary()["exchange"].row, vocabulary()["id"].row
    taken = accepted(e) & sends(e)
    sentence = "the message id in a response is store host and position of the record, and no two are equal"
    here = e.entryThere & (e.stored > 0) & (e.entryOffset == e.firstStored)
    return [
        HistoryClaim(
            "INV-43",
            sentence,
            (
                rule("INV-43.ids", sentence, "exchange", "error", implies(taken, e.ids == e.messages), e.messages, e.ids),
                rule("INV-43.once", sentence, "id", "error", i.times == 1, 1, i.times),
                rule("INV-43.own", sentence, "id", "error", i.there & i.own, True, i.there & i.own),
                rule("INV-43.host", sentence, "id", "error", implies(i.there, i.sameHost), True, i.sameHost),
                rule(
                    "INV-43.place", sentence, "id", "error",
                    implies(i.there, i.storedPhysicalOffset == i.place), i.place, i.storedPhysicalOffset,
                ),
            ),
        ),
        claim_about(
            "INV-44",
            "queue and offset in a response lead to the message in its topic, except for a queue id below 0",
            "exchange",
            implies(taken & (e.answeredQueue >= 0), here), e.firstStored, e.entryOffset,
        ),
    ]  # fmt: skip


HISTORY = _histories()
_IDS, _LOCATED = HISTORY

HISTORY_CASES: list[Case] = [
    *[case for condition in (about.ANYTHING, about.CRASHED, about.WAITING) for case in history_cases(_IDS, condition, "holds")],
    *history_cases(_LOCATED, about.PLAIN, "holds"),
    *history_cases(_LOCATED, about.REFUSED, {"P510": "violated"}, reason="APP-03: a refused message has an offset, and no entry"),
    *history_cases(_LOCATED, about.DELAYED, "violated", reason="HAZ-13: the offset is one of the schedule topic's queue"),
    *history_cases(_LOCATED, about.HALF_ONES, "violated", about.WITH_HALF, "HAZ-13: the offset is one of the half topic's queue"),
    *history_cases(_LOCATED, about.AT_LIMIT, "violated", reason="HAZ-15: the offset is one of the dead-letter topic's queue"),
]
