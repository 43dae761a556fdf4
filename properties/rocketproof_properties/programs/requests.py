"""The builder of requests to a broker: what each step becomes on the wire, with the names of its program.

A builder's keywords are the step's arguments with their defaults. `vocabulary.STEPS` is the table of the builders.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rocketproof_impl.broker.inspection import ASKS_UNIQUE, UPPER
from rocketproof_impl.java import LONG_MAX, string_hash, utf8
from rocketproof_impl.message import parse_properties, properties_text
from rocketproof_impl.remoting.command import VERSION
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v1
from rocketproof_impl.store.timers import TIMES
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, PULL_COMMITS_OFFSET, PULL_SUBSCRIBES, PULL_SUSPENDS, ROLLBACK
from rocketproof_protocol.properties import PGROUP, TIMER_DEL_UNIQKEY, TIMER_DELIVER_MS, UNIQ_KEY
from rocketproof_protocol.topics import TEMPLATE

from .call import Context, RecordedCall

UNSUPPORTED_CODE: Final = 9999
"""A request code that no release supports."""
CLIENT: Final = "rocketproof"
"""The client id in heartbeats."""
SECOND: Final = 1000
ITEM = struct.Struct(">iiiii")


def send(
    context: Context,
    to: str,
    *,
    topic: str = "A",
    queue: int = 0,
    properties: Mapping[str, str] | None = None,
    body: str | None = "a",
    size: int = 0,
    items: Sequence[tuple[str, Mapping[str, str]]] | None = None,
    default: str = TEMPLATE,
    nums: int = 4,
    sys_flag: int = 0,
    flag: int = 0,
    times: int = 0,
    most: int | None = 16,
    version: int = VERSION,
    unit: bool = False,
    code: int = codes.SEND_MESSAGE_V2,
    packed: bool = False,
    one_way: bool = False,
    leave: int | None = None,
    cut: int = 0,
    more: int = 0,
    due: int | None = None,
    ended: bool = False,
) -> RecordedCall:
    """Return a message or, with `items`, a batch.

    - `size`: pad the body to this number of bytes.
    - `leave`: make the record or the batch's records leave this number of bytes in the log file, as far as possible.
    - `packed`: compress the body. The sender's flag states it; the broker does not check.
    - `cut`: drop the last bytes of a batch's body.
    - `more`: added to the length field of the first message's body in a batch.
    - `ended`: the properties of each message of a batch end with a separator, as those of earlier clients do.
    - `due`: name a delivery time, this number of milliseconds after the next whole second but one.
    """
    own = _named(properties or {}, context)
    if due is not None:
        own[TIMER_DELIVER_MS] = str((context.now() // SECOND + 2) * SECOND + due)
    content = None if body is None else body.encode().ljust(size, b"x")
    if packed and content is not None:
        content = zlib.compress(content)
    free = None if leave is None else context.free(to)
    most_bytes = None if leave is None or free is None else min(free - leave, context.longest(to))
    if most_bytes is not None and items is None:
        content = b"x" * max(1, most_bytes - context.overhead(to, context.names.topic(topic), own))
    if items is not None:
        rows = [(body_text.encode(), properties_text(dict(named), trailing=ended)) for body_text, named in items]
        if most_bytes is not None and rows:
            taken = context.batch_length(
                ((data, utf8(text)) for data, text in rows), context.names.topic(topic), properties_text(own, trailing=False)
            )
            rows[-1] = (rows[-1][0] + b"x" * (most_bytes - taken), rows[-1][1])
        content = b"".join(batch_item(*row, more=0 if number else more) for number, row in enumerate(rows))
        content = content[: len(content) - cut]
        code = codes.SEND_BATCH_MESSAGE
    header = SendMessageRequestHeader(
        context.names.group("producers"),
        context.names.topic(topic),
        context.names.topic(default),
        nums,
        queue,
        sys_flag,
        context.born(),
        flag,
        properties_text(own, trailing=False),
        times,
        unit,
        most,
        items is not None,
    )
    return RecordedCall("send" if items is None else "batch", to, code, encode_v1(header), content, version, one_way)


def _named(properties: Mapping[str, str], context: Context) -> dict[str, str]:
    """Return the properties with the program's own names of the producer group, of a timer's key, and of the timer that is cancelled.

    The broker knows by the producer group who may end a half message.
    """
    named = dict(properties)
    if PGROUP in named:
        named[PGROUP] = context.names.group(named[PGROUP])
    if UNIQ_KEY in named and not named.keys().isdisjoint(TIMES):
        named[UNIQ_KEY] = context.names.key(named[UNIQ_KEY])
    if TIMER_DEL_UNIQKEY in named:
        topic, separator, key = named[TIMER_DEL_UNIQKEY].rpartition("+")
        named[TIMER_DEL_UNIQKEY] = (context.names.topic(topic) if separator else "") + separator + context.names.key(key)
    return named


def batch_item(body: bytes, text: str, flag: int = 0, *, more: int = 0) -> bytes:
    """Encode one message of a batch: size, magic, checksum, flag, body, properties (BAT-04). Fields that brokers ignore are 0.

    `more` is added to the length field of the body.
    """
    properties = utf8(text)
    size = ITEM.size + len(body) + 2 + len(properties)
    return ITEM.pack(size, 0, 0, flag, len(body) + more) + body + struct.pack(">h", len(properties)) + properties


def back(
    context: Context,
    to: str,
    *,
    record: int = 0,
    group: str = "g",
    level: int = 0,
    most: int | None = 16,
    version: int = VERSION,
    unit: bool = False,
    one_way: bool = False,
    offset: int | None = None,
    named: bool = True,
    pulled: bool = False,
) -> RecordedCall | None:
    """A consumer sends a record back. Return None if no record can be consumed.

    - `pulled`: one that a pull has returned, such as a message that was sent back before.
    - `offset`: a place in the log, valid or not.
    - `named`: include the original topic, as all Apache clients do.
    """
    stored = context.pulled if pulled else context.stored(to)
    if offset is None:
        visible = [message for message in stored if message.visible]
        if not visible:
            return None
        offset = visible[record % len(visible)].place
    topic = next((message.topic for message in stored if message.place == offset), context.names.topic("A"))
    fields = {"offset": str(offset), "group": context.names.group(group), "delayLevel": str(level), "unitMode": "true" if unit else "false"}
    if named:
        fields["originTopic"] = topic
    if most is not None:
        fields["maxReconsumeTimes"] = str(most)
    return RecordedCall("send_back", to, codes.CONSUMER_SEND_MSG_BACK, fields, None, version, one_way)


def end(
    context: Context,
    to: str,
    *,
    record: int = 0,
    commit: bool = True,
    offset: int | None = None,
    queue_offset: int = 0,
    one_way: bool = True,
) -> RecordedCall | None:
    """End a transaction. Return None if there is no half message.

    It is one-way, as clients send it, unless the program waits for the response. `offset`: a place in the log, sent with `queue_offset`.
    """
    if offset is None:
        halves = [message for message in context.stored(to) if message.half]
        if not halves:
            return None
        offset, queue_offset = halves[record % len(halves)].place, halves[record % len(halves)].queue_offset
    fields = {
        "producerGroup": context.names.group("producers"),
        "tranStateTableOffset": str(queue_offset),
        "commitLogOffset": str(offset),
        "commitOrRollback": str(COMMIT if commit else ROLLBACK),
        "fromTransactionCheck": "false",
        "msgId": f"{max(offset, 0):032X}",
        "transactionId": "",
    }
    return RecordedCall("end_transaction", to, codes.END_TRANSACTION, fields, one_way=one_way)


def unknown(context: Context, to: str, *, code: int = UNSUPPORTED_CODE, one_way: bool = True) -> RecordedCall:
    del context
    return RecordedCall("other", to, code, {}, one_way=one_way)


def configure(context: Context, to: str, *, line: str = "brokerPermission=6") -> RecordedCall:
    """An administrator changes a setting at run time."""
    del context
    return RecordedCall("other", to, codes.UPDATE_BROKER_CONFIG, {}, line.encode())


def topic(
    context: Context,
    to: str,
    *,
    topic: str = "A",
    read: int = 4,
    write: int = 4,
    perm: int = 6,
    filter_type: str = "SINGLE_TAG",
    sys_flag: int = 0,
    order: bool = False,
    attributes: str | None = None,
) -> RecordedCall:
    """An administrator creates or changes a topic. `attributes`: their change, such as `+message.type=FIFO,-reserve.time`."""
    fields = topic_fields(context.names.topic(topic), read, write, perm, filter_type, sys_flag, order=order)
    if attributes is not None:
        fields["attributes"] = attributes
    return RecordedCall("update_topic", to, codes.UPDATE_AND_CREATE_TOPIC, fields)


def topic_fields(
    topic: str, read: int, write: int, perm: int, filter_type: str = "SINGLE_TAG", sys_flag: int = 0, *, order: bool = False
) -> dict[str, str]:
    """Return the header of a request that creates or changes a topic (TCM-30)."""
    return {
        "topic": topic,
        "defaultTopic": TEMPLATE,
        "readQueueNums": str(read),
        "writeQueueNums": str(write),
        "perm": str(perm),
        "topicFilterType": filter_type,
        "topicSysFlag": str(sys_flag),
        "order": "true" if order else "false",
    }


def delete(context: Context, to: str, *, topic: str = "A") -> RecordedCall:
    return RecordedCall("delete_topic", to, codes.DELETE_TOPIC_IN_BROKER, {"topic": context.names.topic(topic)})


def group(
    context: Context,
    to: str,
    *,
    group: str = "g",
    queues: int | None = 1,
    retries: int | None = 16,
    more: Mapping[str, object] | None = None,
    named: bool = True,
) -> RecordedCall:
    """An administrator creates or changes a consumer group.

    `more`: further fields, such as `consumeEnable`. Fields that are left out, also `queues` or `retries` of None, have the broker's
    defaults. `named`: include the group's name.
    """
    name = {"groupName": context.names.group(group)} if named else {}
    counts = {field: count for field, count in (("retryQueueNums", queues), ("retryMaxTimes", retries)) if count is not None}
    data = {**name, **counts, **(more or {})}
    return RecordedCall("update_group", to, codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(data).encode())


def delete_group(context: Context, to: str, *, group: str = "g", offsets: bool = True) -> RecordedCall:
    """`offsets`: delete the group's committed offsets too."""
    cleans = {context.profile.clean_offsets or "removeOffset": str(offsets).lower()}
    return RecordedCall("delete_group", to, codes.DELETE_SUBSCRIPTIONGROUP, {"groupName": context.names.group(group)} | cleans)


def max_offset(context: Context, to: str, *, topic: str = "A", queue: int = 0) -> RecordedCall:
    return RecordedCall("max_offset", to, codes.GET_MAX_OFFSET, {"topic": context.names.topic(topic), "queueId": str(queue)})


def min_offset(context: Context, to: str, *, topic: str = "A", queue: int = 0) -> RecordedCall:
    return RecordedCall("min_offset", to, codes.GET_MIN_OFFSET, {"topic": context.names.topic(topic), "queueId": str(queue)})


def stats(context: Context, to: str, *, topic: str = "A") -> RecordedCall:
    """Query the end offsets of a topic's queues, and the time of each last message."""
    return RecordedCall("stats", to, codes.GET_TOPIC_STATS_INFO, {"topic": context.names.topic(topic)})


def earliest(context: Context, to: str, *, topic: str = "A", queue: int = 0) -> RecordedCall:
    return RecordedCall("earliest", to, codes.GET_EARLIEST_MSG_STORETIME, {"topic": context.names.topic(topic), "queueId": str(queue)})


def search(
    context: Context,
    to: str,
    *,
    topic: str = "A",
    queue: int = 0,
    time: int = 0,
    upper: bool | None = None,
    record: int | Sequence[int] | None = None,
    plus: int = 0,
) -> RecordedCall | None:
    """Query a queue's offset by store time in ms. Return None if `record` is given and no pull has returned a record of the queue.

    The result is the first message at this time or later or, with `upper`, the last one at this time or earlier. None leaves the bound out;
    older releases ignore it.

    - `record`: instead of `time` the store time of a record that pulls have returned, by its index in the queue. Two records stand for the
      middle between their times, rounded down.
    - `plus`: added to the time (ms).
    """
    if record is not None:
        stored = [at for _, at in sorted(context.store_times[to, context.names.topic(topic), queue].items())]
        if not stored:
            return None
        first, second = (record, record) if isinstance(record, int) else record
        time = (stored[first % len(stored)] + stored[second % len(stored)]) // 2
    fields = {"topic": context.names.topic(topic), "queueId": str(queue), "timestamp": str(time + plus)}
    bound = {} if upper is None else {"boundaryType": UPPER if upper else "LOWER"}
    return RecordedCall("search", to, codes.SEARCH_OFFSET_BY_TIMESTAMP, fields | bound)


def pull(
    context: Context,
    to: str,
    *,
    topic: str = "A",
    queue: int = 0,
    offset: int = 0,
    most: int = 32,
    group: str = "rocketproof-reader",
    tags: str | None = "*",
    version: int = 0,
    commit: int | None = None,
    hold: int | None = None,
    one_way: bool = False,
) -> RecordedCall:
    """Pull at most `most` records of a queue, starting at `offset`.

    - `hold`: how long the broker may hold the pull, in ms; None: not at all.
    - `tags`: None means the subscription of the group's heartbeat, in at least this `version`.
    - `commit`: the group's progress to commit.
    - `one_way`: no response is expected.
    """
    flags = (0 if tags is None else PULL_SUBSCRIBES) | (0 if commit is None else PULL_COMMITS_OFFSET)
    flags |= 0 if hold is None else PULL_SUSPENDS
    fields = {
        "consumerGroup": context.names.group(group),
        "topic": context.names.topic(topic),
        "queueId": str(queue),
        "queueOffset": str(offset),
        "maxMsgNums": str(most),
        "sysFlag": str(flags),
        "commitOffset": str(commit or 0),
        "suspendTimeoutMillis": str(hold or 0),
        "subscription": tags or "",
        "subVersion": str(version),
        "expressionType": "TAG",
    }
    return RecordedCall("pull", to, codes.PULL_MESSAGE, fields, one_way=one_way)


def progress(context: Context, to: str, *, topic: str = "A", queue: int = 0, group: str = "rocketproof-reader") -> RecordedCall:
    """Query a group's offset in a queue, as consumers do at start."""
    return RecordedCall("progress", to, codes.QUERY_CONSUMER_OFFSET, _of_group(context, topic, queue, group))


def commit(
    context: Context, to: str, *, topic: str = "A", queue: int = 0, group: str = "rocketproof-reader", offset: int = 0
) -> RecordedCall:
    """Commit a group's offset in a queue."""
    fields = _of_group(context, topic, queue, group) | {"commitOffset": str(offset)}
    return RecordedCall("commit", to, codes.UPDATE_CONSUMER_OFFSET, fields)


def _of_group(context: Context, topic: str, queue: int, group: str) -> dict[str, str]:
    return {"consumerGroup": context.names.group(group), "topic": context.names.topic(topic), "queueId": str(queue)}


def find(
    context: Context,
    to: str,
    *,
    topic: str = "A",
    key: str = "k",
    most: int = 32,
    begin: int = 0,
    end: int = LONG_MAX,
    unique: bool = False,
) -> RecordedCall:
    """Query records of a topic by key: at most `most`, stored between `begin` and `end` (ms).

    `unique`: query by the unique key of a message; the broker then chooses the number of records.
    """
    fields = {
        "topic": context.names.topic(topic),
        "key": key,
        "maxNum": str(most),
        "beginTimestamp": str(begin),
        "endTimestamp": str(end),
    }
    return RecordedCall("find", to, codes.QUERY_MESSAGE, fields | ({ASKS_UNIQUE: "true"} if unique else {}))


def view(context: Context, to: str, *, place: int = 0) -> RecordedCall:
    """Query the record at a place of the log."""
    del context
    return RecordedCall("view", to, codes.VIEW_MESSAGE_BY_ID, {"offset": str(place)})


def topics(context: Context, to: str) -> RecordedCall:
    del context
    return RecordedCall("topics", to, codes.GET_ALL_TOPIC_CONFIG, {})


def groups(context: Context, to: str) -> RecordedCall:
    del context
    return RecordedCall("groups", to, codes.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {})


def settings(context: Context, to: str) -> RecordedCall:
    del context
    return RecordedCall("settings", to, codes.GET_BROKER_CONFIG, {})


def heartbeat(context: Context, to: str, *, group: str | None = None) -> RecordedCall:
    """A client's heartbeat, with a producer group if given."""
    producers = [] if group is None else [{"groupName": context.names.group(group)}]
    data = {"clientID": CLIENT, "producerDataSet": producers, "consumerDataSet": []}
    return RecordedCall("heartbeat", to, codes.HEART_BEAT, {}, json.dumps(data, separators=(",", ":")).encode())


def consumer(
    context: Context, to: str, *, group: str = "g", topic: str = "A", version: int = 1, tag: str = "", model: str = "CLUSTERING"
) -> RecordedCall:
    """A consumer's heartbeat: its group and a subscription to one topic, with all tags or one."""
    subscribed = {
        "topic": context.names.topic(topic),
        "subString": tag or "*",
        "subVersion": version,
        "expressionType": "TAG",
        "tagsSet": [tag] if tag else [],
        "codeSet": [string_hash(tag)] if tag else [],
    }
    row = {
        "groupName": context.names.group(group),
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": model,
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": [subscribed],
        "unitMode": False,
    }
    data = {"clientID": CLIENT, "producerDataSet": [], "consumerDataSet": [row]}
    return RecordedCall("heartbeat", to, codes.HEART_BEAT, {}, json.dumps(data, separators=(",", ":")).encode())


def leave(context: Context, to: str, *, group: str = "g", producers: str | None = None) -> RecordedCall:
    """A consumer unregisters from its group or, with `producers`, a producer from this one."""
    name, left = ("consumerGroup", group) if producers is None else ("producerGroup", producers)
    return RecordedCall("leave", to, codes.UNREGISTER_CLIENT, {"clientID": CLIENT, name: context.names.group(left)})


def members(context: Context, to: str, *, group: str = "g") -> RecordedCall:
    return RecordedCall("members", to, codes.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": context.names.group(group)})


def lock(
    context: Context, to: str, *, topic: str = "A", queues: Sequence[int] = (0,), group: str = "g", holder: str = CLIENT
) -> RecordedCall:
    """A consumer locks queues of a topic for its group, or renews its locks. `holder` is its client id."""
    return RecordedCall("lock", to, codes.LOCK_BATCH_MQ, {}, _locks(context, to, topic, queues, group, holder))


def unlock(
    context: Context, to: str, *, topic: str = "A", queues: Sequence[int] = (0,), group: str = "g", holder: str = CLIENT
) -> RecordedCall:
    """A consumer frees queues that it has locked. `holder` is its client id."""
    return RecordedCall("unlock", to, codes.UNLOCK_BATCH_MQ, {}, _locks(context, to, topic, queues, group, holder))


def _locks(context: Context, to: str, topic: str, queues: Sequence[int], group: str, holder: str) -> bytes:
    named = [{"topic": context.names.topic(topic), "brokerName": to, "queueId": queue} for queue in queues]
    data = {"consumerGroup": context.names.group(group), "clientId": holder, "mqSet": named}
    return json.dumps(data, separators=(",", ":")).encode()


def stored_bytes(context: Context, call: RecordedCall) -> int:
    """Return the bytes of the records of a plain message or a batch."""
    topic, properties = call.fields.get("topic", ""), call.fields.get("properties")
    if call.op == "batch":
        return context.batch_length(batch_items(call.body or b""), topic, properties)
    return context.overhead(call.to, topic, parse_properties(properties, exact=False)) + len(call.body or b"")


def batch_items(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield body and properties of each message of a batch by their length fields, as a broker reads them (BAT-04).

    Stops where the data are incomplete.
    """
    position = 0
    while position + ITEM.size <= len(data):
        length = max(0, ITEM.unpack_from(data, position)[4])
        position += ITEM.size
        body, position = data[position : position + length], position + length
        size = int.from_bytes(data[position : position + 2], "big")
        yield body, data[position + 2 : position + 2 + size]
        position += 2 + size
