"""Half messages and what ends them (TRX-04 to TRX-07)."""

from __future__ import annotations

from rocketproof_model import implies, maximum
from rocketproof_protocol.flags import COMMIT, PREPARED
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted, transaction, vocabulary

TAG_OF_OPERATIONS = 100  # Java's hash of "d", the tag of the records that end half messages


def _stored() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    half, operations = (r.topicClass == "half") & given["half_messages"], r.topicClass == "operations"
    bits = transaction(r)
    named = (r.realClass != "none") & (r.realQueueId >= 0)
    origin = r.preparedTransactionOffset
    return [
        rule(
            "TRX-04.bits",
            "a half message has no transaction bits: it takes a queue offset of the half topic",
            "record", "error",
            implies(half, bits == 0), 0, bits,
        ),
        rule(
            "TRX-04.queue",
            "a half message is in queue 0 of the half topic",
            "record", "error",
            implies(half, r.queueId == 0), 0, r.queueId,
        ),
        rule(
            "TRX-04.topic",
            "a half message has its topic and queue id as properties",
            "record", "error",
            implies(half, named), True, named,
        ),
        rule(
            "TRX-05.stored",
            "no record outside the half topic is prepared or rolled back: nobody would ever consume or check it",
            "record", "warning",
            implies(given["half_messages"] & (r.topicClass != "half"), counted(r)), 0, bits,
        ),
        rule(
            "TRX-06.commit",
            "a committed message has the offset of its half message, which lies before it",
            "record", "note",
            implies(bits == COMMIT, (origin >= 0) & (origin < maximum(r.physicalOffset, 1)) & ((origin > 0) | named)),
            r.physicalOffset, origin,
        ),
        rule(
            "TRX-06.other",
            "a record that does not end a half message names none",
            "record", "error",
            implies((bits == 0) | (bits == PREPARED), origin == 0), 0, origin,
        ),
        rule(
            "TRX-07.operations",
            "a record that ends half messages has the tag d",
            "record", "warning",
            implies(operations, r.tagsHash == TAG_OF_OPERATIONS), TAG_OF_OPERATIONS, r.tagsHash,
        ),
    ]  # fmt: skip


def _ends() -> list[Rule]:
    """What ends half messages, beside these."""
    o, p, c = (vocabulary()[name].row for name in ("outcome", "operation", "commit"))
    return [
        rule(
            "TRX-06.half",
            "a record that ends a half message names the place of one",
            "outcome", "error",
            o.halfThere, True, o.halfThere,
        ),
        rule(
            "TRX-06.topic",
            "a record that ends a half message is for its topic",
            "outcome", "error",
            implies(o.halfThere, o.sameTopic), True, o.sameTopic,
        ),
        rule(
            "TRX-06.queue",
            "a record that ends a half message is for its queue",
            "outcome", "error",
            implies(o.halfThere & o.sameTopic, o.sameQueue), True, o.sameQueue,
        ),
        rule(
            "TRX-06.message",
            "a committed message has body, flag, time and host of birth of its half message",
            "outcome", "error",
            implies(o.halfThere & o.committed, o.sameMessage), True, o.sameMessage,
        ),
        rule(
            "TRX-07.body",
            "the body of a record that ends half messages is their queue offsets",
            "operation", "warning",
            p.readable, True, p.readable,
        ),
        rule(
            "TRX-07.half",
            "a record that ends half messages names entries of their queue",
            "operation", "warning",
            implies(p.halfKnown, p.halfThere), p.half, p.place,
        ),
        rule(
            "TRX-07.later",
            "it lies behind the half messages that it ends",
            "operation", "warning",
            implies(p.halfThere, p.place < p.physicalOffset), p.physicalOffset, p.place,
        ),
        rule(
            "TRX-07.commit",
            "the end of a half message that is committed is noted in the topic of ended transactions",
            "commit", "warning",
            implies(c.operationsKnown, c.named), True, c.named,
        ),
    ]  # fmt: skip


RULES = [*_stored(), *_ends()]
