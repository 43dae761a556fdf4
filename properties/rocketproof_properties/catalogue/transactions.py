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


RULES = _stored()
