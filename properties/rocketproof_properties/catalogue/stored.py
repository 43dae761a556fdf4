"""What a broker's files must show: rules about stored records, consume queues, log files and the topic table.

Each rule is a property of the modelling language over facts of a stored row; the audit decides it for every row, and prints its
`expected` and `found` terms where it fails. An error is something that no broker of the profile writes; a warning may have a
reason that the files do not tell; a note is something that a broker does write and an operator may want to know of.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rocketproof_model import after, implies, ite, maximum, rem, without_bits
from rocketproof_model.specification.bounds import NAMES_LIMIT, is_dead, retry_limit
from rocketproof_profiles import PROFILES
from rocketproof_protocol.flags import COMMIT, INNER_BATCH, PREPARED
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted, has, is_, transaction, vocabulary
from rocketproof_traces.stored.facts import BIT, RUN_ON
from rocketproof_traces.stored.layout import EXTENSION_LIMIT, PROPERTIES_LIMIT

from . import storedfiles

_BEFORE_49 = frozenset({"P40", "P45", "P49"})
SECOND = 1000  # milliseconds
TAG_OF_OPERATIONS = 100  # Java's hash of "d", the tag of the records that end half messages


def layout() -> list[Rule]:
    """Where a record lies and what it is made of."""
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    limited = ite(given["limits_record"], r.size, r.bodyLength)
    return [
        rule(
            "INV-37.stored",
            "the physical offset in a record is the place where it lies",
            "record", "error",
            r.storedPhysicalOffset == r.physicalOffset, r.physicalOffset, r.storedPhysicalOffset,
        ),
        rule(
            "INV-40.stored",
            "a record's size is what its parts add up to: 91 bytes, more for hosts of IPv6, its body, its topic and its properties",
            "record", "error",
            r.size == r.partsSize, r.partsSize, r.size,
        ),
        rule(
            "INV-40.limit",
            "a record, or its body, is not larger than the broker's maxMessageSize, or RocketMQ's default where that is not given",
            "record", "note",
            limited <= given["max_message_size"], given["max_message_size"], limited,
        ),
        rule(
            "INV-41.stored",
            "the checksum in a record is the CRC-32 of its body without the highest bit",
            "record", "error",
            r.bodyCRC == r.computedCRC, r.computedCRC, r.bodyCRC,
        ),
        rule(
            "INV-41.record",
            "the checksum over a whole record, where the broker adds one, is that of the record",
            "record", "error",
            (r.recordCRC < 0) | (r.recordCRC == r.computedRecordCRC), r.computedRecordCRC, r.recordCRC,
        ),
        rule(
            "STO-01.topic",
            "a record names its topic with 1 to as many bytes as the broker allows",
            "record", "error",
            (r.topicLength >= 1) & (r.topicLength <= given["topic_limit"]), given["topic_limit"], r.topicLength,
        ),
        rule(
            "APP-05.stored",
            "a record's properties are not longer than 32767 bytes",
            "record", "error",
            (r.propertiesLength >= 0) & (r.propertiesLength <= PROPERTIES_LIMIT), PROPERTIES_LIMIT, r.propertiesLength,
        ),
        rule(
            "SEND-26.stored",
            "a record's properties are names and values, parted by bytes 1 and 2: the broker reads all of them",
            "record", "warning",
            r.ignoredItems == 0, 0, r.ignoredItems,
        ),
        rule(
            "APP-08.sysFlag",
            "a record's sysFlag has known bits only: no client has sent others, which a broker stores",
            "record", "warning",
            without_bits(r.sysFlag, given["known_flags"]) == 0, r.sysFlag & given["known_flags"], r.sysFlag,
        ),
        rule(
            "APP-08.reconsumeTimes",
            "a record has been consumed again no negative number of times: no client has sent one, which a broker stores",
            "record", "warning",
            r.reconsumeTimes >= 0, 0, r.reconsumeTimes,
        ),
        rule(
            "INV-43.stored",
            "a record's store host has a port, so that its message id names a broker",
            "record", "warning",
            (r.storePort >= 1) & (r.storePort <= 65535), 65535, r.storePort,
        ),
    ]  # fmt: skip


def times() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    latest = r.storeTimestamp + given["clock_skew"]
    return [
        rule(
            "CL-01.born",
            "a message was born before it was stored, but for the clocks' difference",
            "record", "warning",
            (r.bornTimestamp >= 0) & (r.bornTimestamp <= latest), latest, r.bornTimestamp,
        ),
        rule("CL-01.stored", "a record has the time when it was stored", "record", "error", r.storeTimestamp > 0, 1, r.storeTimestamp),
        rule(
            "INV-42.stored",
            "store timestamps never decrease in the order of the log",
            "log", "warning",
            after(r.storeTimestamp) >= r.storeTimestamp, r.storeTimestamp, after(r.storeTimestamp),
        ),
    ]  # fmt: skip


def offsets() -> list[Rule]:
    """Queue offsets, and the consume queue's entries."""
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    there = counted(r) & r.entryThere
    own = there & (r.entryOffset == r.physicalOffset)
    following = r.queueOffset + ite((r.sysFlag & INNER_BATCH) != 0, maximum(r.innerNumber, 1), 1)
    delayed = (r.topicClass == "schedule") & (r.delayLevel > 0)
    readable = ((r.odd & BIT["TAGS"]) == 0) & (r.entryTags > EXTENSION_LIMIT) & ~(given["before_49"] & ((r.odd & RUN_ON) != 0))
    due, wait = r.storeTimestamp + r.levelDelay, r.entryTags - r.storeTimestamp
    # What a level waits is given in seconds or more of them.
    settable = (wait >= 0) & (rem(wait, SECOND) == 0)
    return [
        rule(
            "INV-34.stored",
            "the queue offsets of a queue's records are consecutive in the order of the log",
            "line", "error",
            (after(r.queueOffset) == following) | (after(r.queueOffset) == 0), following, after(r.queueOffset),
        ),
        rule(
            "INV-34.again",
            "a queue's offsets do not begin again at 0, as they do where the topic or the consume queue has been deleted",
            "line", "warning",
            (after(r.queueOffset) == following) | (after(r.queueOffset) != 0), following, after(r.queueOffset),
        ),
        rule("INV-34.sign", "a queue offset is not negative", "record", "error", r.queueOffset >= 0, 0, r.queueOffset),
        rule(
            "INV-35.stored",
            "a record that is prepared or rolled back takes no queue offset: it has 0",
            "record", "error",
            implies(~counted(r), r.queueOffset == 0), 0, r.queueOffset,
        ),
        rule(
            "INV-36.stored",
            "every record that takes a queue offset has its entry in the consume queue",
            "record", "warning",
            implies(counted(r) & r.entryKnown, r.entryThere), True, r.entryThere,
        ),
        rule(
            "INV-44.offset",
            "the consume queue's entry at a record's queue offset points at the record, not at one before it",
            "record", "error",
            implies(there, r.entryOffset >= r.physicalOffset), r.physicalOffset, r.entryOffset,
        ),
        rule(
            "INV-44.later",
            "it does not point at a later record, as it does where the queue has begun again",
            "record", "warning",
            implies(there, r.entryOffset <= r.physicalOffset), r.physicalOffset, r.entryOffset,
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


def delays() -> list[Rule]:
    """Delayed messages, and what the broker has sent back."""
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    schedule = r.topicClass == "schedule"
    delayed = schedule & (r.delayLevel > 0)
    plain = is_(r.topicClass, "ordinary", "own", "template") & (r.realClass == "none") & (r.retryClass == "none")
    # HAZ-32: what goes to the dead letters at its first send-back.
    forgotten = given["before_49"] & (r.topicClass == "dead") & (r.reconsumeTimes <= 1)
    # What a consumer sends back by itself has the header's limit among its properties.
    limit = retry_limit(r.retryMaxTimes, NAMES_LIMIT, r.maxReconsumeTimes >= 0, r.maxReconsumeTimes)
    silent = given["stores_parsed"] & ~given["stores_wait"]
    return [
        rule(
            "INV-46.stored",
            "a record of the schedule topic has a delay level: no client has sent it there",
            "record", "warning",
            implies(schedule, r.delayLevel > 0), 1, r.delayLevel,
        ),
        rule(
            "INV-45.queue",
            "a delayed message is in the queue of its level",
            "record", "error",
            implies(delayed, r.queueId == r.delayLevel - 1), r.delayLevel - 1, r.queueId,
        ),
        rule(
            "INV-45.topic",
            "a delayed message has its topic and queue id as properties",
            "record", "error",
            implies(delayed, (r.realClass != "none") & (r.realQueueId >= 0)), True, (r.realClass != "none") & (r.realQueueId >= 0),
        ),
        rule(
            "INV-45.half",
            "a delayed message is no half message, which would have lost its topic",
            "record", "warning",
            implies(delayed, r.realClass != "half"), False, r.realClass == "half",
        ),
        rule(
            "INV-45.applied",
            "a message with a delay level has been in the schedule topic before it is in a queue of its own",
            "record", "note",
            implies((r.delayLevel > 0) & counted(r) & is_(r.topicClass, "ordinary", "own"), r.realClass != "none"),
            True, r.realClass != "none",
        ),
        rule(
            "INV-47.stored",
            "a dead letter has been consumed again as often as its properties say or, where they say nothing, its group allows",
            "record", "note",
            implies(r.topicClass == "dead", is_dead(r.reconsumeTimes, limit, beyond=False)), limit, r.reconsumeTimes,
        ),
        rule(
            "INV-48.chain",
            "a message that was sent back has been consumed again more often than the first record of its chain",
            "record", "warning",
            implies(r.originKnown, r.reconsumeTimes > r.originTimes), r.originTimes + 1, r.reconsumeTimes,
        ),
        rule(
            "INV-49.chain",
            "a message that was sent back tells the topic of the first record of its chain",
            "record", "warning",
            implies(r.originKnown, r.originSame), True, r.originSame,
        ),
        rule(
            "INV-49.stored",
            "a message that was sent back tells the topic of its first record, which is none that the broker sends back to",
            "record", "note",
            ~is_(r.retryClass, "retry", "dead", "schedule", "half"), False, is_(r.retryClass, "retry", "dead", "schedule", "half"),
        ),
        rule(
            "INV-50.stored",
            "a message that was sent back has the id of its first record",
            "record", "warning",
            implies((r.retryClass != "none") & ~forgotten, has(r, "ORIGIN_MESSAGE_ID")), True, has(r, "ORIGIN_MESSAGE_ID"),
        ),
        rule(
            "INV-57.stored",
            "the property WAIT of a message that a client has sent is not stored",
            "record", "note",
            implies(silent & plain, ~has(r, "WAIT")), False, has(r, "WAIT"),
        ),
    ]  # fmt: skip


def transactions() -> list[Rule]:
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
            "a committed message tells where its half message lies, before it",
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


_PARTS = (layout, times, offsets, delays, transactions, *storedfiles.PARTS)


@cache
def stored_rules() -> tuple[Rule, ...]:
    """Every rule, in the order in which a summary shows them."""
    return tuple(each for part in _PARTS for each in part())


def settings(profile: str) -> dict[str, Any]:
    """The switches of a profile that rules ask for. Raises KeyError for an unknown profile.

    `before_49`: up to 4.8 a text with a second byte 1 is read as no property, and the dead letter of a first send-back has no id of its
    first record; P49 is of such releases too, whatever its own broker does.
    """
    chosen = PROFILES[profile]
    names = ("limits_record", "stores_parsed", "stores_wait", "half_messages", "check_names", "topic_limit")
    return {name: getattr(chosen, name) for name in names} | {"before_49": profile in _BEFORE_49}


def find(id_: str) -> tuple[Rule, ...]:
    """The rules of a property: those with this id, or all of the property that it names."""
    return tuple(each for each in stored_rules() if each.id == id_ or each.id.partition(".")[0] == id_)
