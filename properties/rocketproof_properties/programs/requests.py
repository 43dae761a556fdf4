"""The one builder of requests: what each step that asks something becomes on the wire, under the names of its program.

A builder's keywords are the step's arguments with their defaults; `vocabulary.STEPS` is the table of them.
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
from rocketproof_impl.registered import compressed
from rocketproof_impl.remoting.command import VERSION
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v1
from rocketproof_impl.route import QueueData, queue_to_data
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, PULL_COMMITS_OFFSET, PULL_SUBSCRIBES, PULL_SUSPENDS, ROLLBACK
from rocketproof_protocol.properties import PGROUP, TIMER_DEL_UNIQKEY
from rocketproof_protocol.topics import TEMPLATE

from .call import BORN, Context, RecordedCall
from .parts import NAME_SERVER

UNSUPPORTED_CODE: Final = 9999
"""A request code that no release has."""
CLIENT: Final = "rocketproof"
"""The id of clients that say that they are there."""
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
) -> RecordedCall:
    """A message or, with `items`, a batch, of whose body the last `cut` bytes are missing, and whose first body is said to be `more` bytes
    long than it is. `size` fills the body up; `leave` makes the record, or the batch's records, leave so many bytes of its file, as far as
    it can; `packed` compresses the body, which the sender's flag says and the broker need not know."""
    named = _named(properties or {}, context)
    content = None if body is None else body.encode().ljust(size, b"x")
    if packed and content is not None:
        content = zlib.compress(content)
    free = None if leave is None else context.free(to)
    most_bytes = None if leave is None or free is None else min(free - leave, context.longest(to))
    if most_bytes is not None and items is None:
        content = b"x" * max(1, most_bytes - context.overhead(to, context.names.topic(topic), named))
    if items is not None:
        rows = [(one.encode(), properties_text(dict(named_), trailing=False)) for one, named_ in items]
        if most_bytes is not None and rows:
            taken = context.batch_length(
                ((one, utf8(text)) for one, text in rows), context.names.topic(topic), properties_text(named, trailing=False)
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
        properties_text(named, trailing=False),
        times,
        unit,
        most,
        items is not None,
    )
    return RecordedCall("send" if items is None else "batch", to, code, encode_v1(header), content, version, one_way)


def _named(properties: Mapping[str, str], context: Context) -> dict[str, str]:
    """The properties with the program's own names of the producers' group, by which a broker knows who may end a half message, and of the
    topic whose timer is cancelled, where that is named."""
    named = dict(properties)
    if PGROUP in named:
        named[PGROUP] = context.names.group(named[PGROUP])
    topic, between, key = named.get(TIMER_DEL_UNIQKEY, "").partition("+")
    if between:
        named[TIMER_DEL_UNIQKEY] = f"{context.names.topic(topic)}+{key}"
    return named


def batch_item(body: bytes, text: str, flag: int = 0, *, more: int = 0) -> bytes:
    """One message of a batch's body: size, magic, checksum, flag, body, properties; what nobody reads is 0 (BAT-04). The body has `more`
    bytes by its length than it has."""
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
) -> RecordedCall | None:
    """A consumer gives a record back. `offset` asks for a place that need not be one; `named`: it says which topic it had it from, as
    all clients of Apache do."""
    stored = context.stored(to)
    if offset is None:
        visible = [one for one in stored if one.visible]
        if not visible:
            return None
        offset = visible[record % len(visible)].place
    topic = next((one.topic for one in stored if one.place == offset), context.names.topic("A"))
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
    """The end of a transaction, one-way as clients send it unless somebody wants to know, with some id of its message, which a release only
    logs. `offset`: a place of the log, whose offset in its queue is given too."""
    if offset is None:
        halves = [one for one in context.stored(to) if one.half]
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
) -> RecordedCall:
    fields = topic_fields(context.names.topic(topic), read, write, perm, filter_type, sys_flag, order=order)
    return RecordedCall("update_topic", to, codes.UPDATE_AND_CREATE_TOPIC, fields)


def topic_fields(
    topic: str, read: int, write: int, perm: int, filter_type: str = "SINGLE_TAG", sys_flag: int = 0, *, order: bool = False
) -> dict[str, str]:
    """The header with which an administrator makes or changes a topic (TCM-30)."""
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
    queues: int = 1,
    retries: int = 16,
    more: Mapping[str, object] | None = None,
    named: bool = True,
) -> RecordedCall:
    """`more` are further fields of a group's, such as `consumeEnable`; those that are not there have the broker's defaults. `named`: it
    says which group it is."""
    name = {"groupName": context.names.group(group)} if named else {}
    data = {**name, "retryQueueNums": queues, "retryMaxTimes": retries, **(more or {})}
    return RecordedCall("update_group", to, codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(data).encode())


def delete_group(context: Context, to: str, *, group: str = "g", offsets: bool = True) -> RecordedCall:
    """`offsets`: what the group has told goes, too."""
    cleans = {context.profile.clean_offsets or "removeOffset": str(offsets).lower()}
    return RecordedCall("delete_group", to, codes.DELETE_SUBSCRIPTIONGROUP, {"groupName": context.names.group(group)} | cleans)


def forget_topic(context: Context, to: str, *, topic: str = "A", cluster: str | None = None) -> RecordedCall:
    """The topic's queues of all brokers go, or those of the brokers of a cluster that nobody else is in."""
    del to
    of = {} if cluster is None else {"clusterName": context.names.group(cluster)}
    return RecordedCall("forget_topic", NAME_SERVER, codes.DELETE_TOPIC_IN_NAMESRV, {"topic": context.names.topic(topic), **of})


def register_topic(
    context: Context, to: str, *, topic: str = "A", brokers: Mapping[str, tuple[int, int, int]] | None = None
) -> RecordedCall:
    """Somebody tells the name server a topic's queues on each of some brokers: how many to read and to write, and the permission."""
    del to
    queues = [QueueData(context.names.group(name), read, write, perm, 0) for name, (read, write, perm) in (brokers or {}).items()]
    data = json.dumps({"queueDatas": [queue_to_data(one) for one in queues]}).encode()
    return RecordedCall("register_topic", NAME_SERVER, codes.REGISTER_TOPIC, {"topic": context.names.topic(topic)}, data)


def max_offset(context: Context, to: str, *, topic: str = "A", queue: int = 0) -> RecordedCall:
    return RecordedCall("max_offset", to, codes.GET_MAX_OFFSET, {"topic": context.names.topic(topic), "queueId": str(queue)})


def min_offset(context: Context, to: str, *, topic: str = "A", queue: int = 0) -> RecordedCall:
    return RecordedCall("min_offset", to, codes.GET_MIN_OFFSET, {"topic": context.names.topic(topic), "queueId": str(queue)})


def stats(context: Context, to: str, *, topic: str = "A") -> RecordedCall:
    """The ends of all queues of a topic, and when each got its last message."""
    return RecordedCall("stats", to, codes.GET_TOPIC_STATS_INFO, {"topic": context.names.topic(topic)})


def earliest(context: Context, to: str, *, topic: str = "A", queue: int = 0) -> RecordedCall:
    return RecordedCall("earliest", to, codes.GET_EARLIEST_MSG_STORETIME, {"topic": context.names.topic(topic), "queueId": str(queue)})


def search(context: Context, to: str, *, topic: str = "A", queue: int = 0, time: int = 0, upper: bool | None = None) -> RecordedCall:
    """The offset of a queue by when its message was stored (ms): the first one then or later, or with `upper` the last one then or earlier,
    as far as a release knows such bounds; None does not say which."""
    fields = {"topic": context.names.topic(topic), "queueId": str(queue), "timestamp": str(time)}
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
    """At most so many records of a queue from an offset on, by somebody who waits for more as long as `hold` says (ms), or not at all.
    Without `tags` they are those that the group's heartbeat has subscribed to, in this version at least; `commit` says how far the group
    is; of a `one_way` pull nobody waits for the answer."""
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
    """How far a group is in a queue, as its consumers ask when they start."""
    return RecordedCall("progress", to, codes.QUERY_CONSUMER_OFFSET, _of_group(context, topic, queue, group))


def commit(
    context: Context, to: str, *, topic: str = "A", queue: int = 0, group: str = "rocketproof-reader", offset: int = 0
) -> RecordedCall:
    """A group is so far in a queue: a consumer says it, or an administrator sets it."""
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
    """Records of a topic under one of their keys, at most so many, stored in this time (ms); if `unique`, under the key that one message
    has for itself, and as many as the broker likes."""
    fields = {
        "topic": context.names.topic(topic),
        "key": key,
        "maxNum": str(most),
        "beginTimestamp": str(begin),
        "endTimestamp": str(end),
    }
    return RecordedCall("find", to, codes.QUERY_MESSAGE, fields | ({ASKS_UNIQUE: "true"} if unique else {}))


def view(context: Context, to: str, *, place: int = 0) -> RecordedCall:
    """The record at a place of the log."""
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
    """A client's sign of life, with a producer's group if one is given."""
    producers = [] if group is None else [{"groupName": context.names.group(group)}]
    data = {"clientID": CLIENT, "producerDataSet": producers, "consumerDataSet": []}
    return RecordedCall("heartbeat", to, codes.HEART_BEAT, {}, json.dumps(data, separators=(",", ":")).encode())


def consumer(
    context: Context, to: str, *, group: str = "g", topic: str = "A", version: int = 1, tag: str = "", model: str = "CLUSTERING"
) -> RecordedCall:
    """A consumer's sign of life: its group, and the one topic that it has subscribed to, with all tags or one."""
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


def leave(context: Context, to: str, *, group: str = "g") -> RecordedCall:
    """A consumer takes itself out of its group."""
    return RecordedCall("leave", to, codes.UNREGISTER_CLIENT, {"clientID": CLIENT, "consumerGroup": context.names.group(group)})


def cluster(context: Context, to: str) -> RecordedCall:
    del context, to
    return RecordedCall("cluster", NAME_SERVER, codes.GET_BROKER_CLUSTER_INFO, {})


def route(context: Context, to: str, *, topic: str = "A") -> RecordedCall:
    del to
    return RecordedCall("route", NAME_SERVER, codes.GET_ROUTEINFO_BY_TOPIC, {"topic": context.names.topic(topic)})


def register(
    context: Context,
    to: str,
    *,
    name: str = "broker-x",
    broker_id: int = 0,
    address: str = "10.0.0.1:1",
    topics: Mapping[str, tuple[int, int, int]] | None = None,
    version: int = 1,
    packed: bool = False,
    cluster: str = "cluster",
) -> RecordedCall:
    """A broker that is not there registers, on a connection of its own; `packed` in the compressed form, as one of a release before 5.0."""
    del to
    own = context.names.address(address)
    table = {
        context.names.topic(topic): {
            "topicName": context.names.topic(topic),
            "readQueueNums": read,
            "writeQueueNums": write,
            "perm": perm,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": False,
        }
        for topic, (read, write, perm) in (topics or {}).items()
    }
    body = {
        "topicConfigSerializeWrapper": {"topicConfigTable": table, "dataVersion": {"timestamp": BORN, "counter": version}},
        "filterServerList": [],
    }
    form = {"haServerAddr": own, "compressed": "true" if packed else "false", "bodyCrc32": "0"}
    data = compressed(body) if packed else json.dumps(body).encode()
    return RecordedCall(
        "other", NAME_SERVER, codes.REGISTER_BROKER, _of_broker(context, name, broker_id, own, cluster) | form, data, line=own
    )


def unregister(context: Context, to: str, *, name: str = "broker-x", broker_id: int = 0, address: str = "10.0.0.1:1") -> RecordedCall:
    del to
    own = context.names.address(address)
    return RecordedCall("other", NAME_SERVER, codes.UNREGISTER_BROKER, _of_broker(context, name, broker_id, own), line=own)


def has_to_register(
    context: Context, to: str, *, name: str = "broker-x", broker_id: int = 0, address: str = "10.0.0.1:1", version: int = 1
) -> RecordedCall:
    """A broker that is not there asks whether the name server has another version of its topics than it."""
    del to
    own = context.names.address(address)
    data = json.dumps({"timestamp": BORN, "counter": version}).encode()
    return RecordedCall("other", NAME_SERVER, codes.QUERY_DATA_VERSION, _of_broker(context, name, broker_id, own), data, line=own)


def permit_writes(context: Context, to: str, *, name: str = "broker-x", permitted: bool = False) -> RecordedCall:
    """An administrator takes the write permission from all queues of a broker that is not there, or gives it back."""
    del to
    code = codes.ADD_WRITE_PERM_OF_BROKER if permitted else codes.WIPE_WRITE_PERM_OF_BROKER
    return RecordedCall("other", NAME_SERVER, code, {"brokerName": context.names.group(name)})


def put_value(context: Context, to: str, *, space: str = "space", key: str = "k", value: str = "v") -> RecordedCall:
    """An administrator gives the name server a value to keep."""
    del to
    fields = {"namespace": context.names.group(space), "key": key, "value": value}
    return RecordedCall("other", NAME_SERVER, codes.PUT_KV_CONFIG, fields)


def values(context: Context, to: str, *, space: str = "space") -> RecordedCall:
    del to
    return RecordedCall("other", NAME_SERVER, codes.GET_KVLIST_BY_NAMESPACE, {"namespace": context.names.group(space)})


def _of_broker(context: Context, name: str, broker_id: int, address: str, cluster: str = "cluster") -> dict[str, str]:
    return {
        "brokerName": context.names.group(name),
        "brokerAddr": address,
        "clusterName": context.names.group(cluster),
        "brokerId": str(broker_id),
    }


def stored_bytes(context: Context, call: RecordedCall) -> int:
    """The bytes of the records of a plain message or of a batch."""
    topic, properties = call.fields.get("topic", ""), call.fields.get("properties")
    if call.op == "batch":
        return context.batch_length(batch_items(call.body or b""), topic, properties)
    return context.overhead(call.to, topic, parse_properties(properties, exact=False)) + len(call.body or b"")


def batch_items(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Body and properties of each message of a batch, as far as it is one: by their lengths, as a broker reads them (BAT-04)."""
    at = 0
    while at + ITEM.size <= len(data):
        length = max(0, ITEM.unpack_from(data, at)[4])
        at += ITEM.size
        body, at = data[at : at + length], at + length
        size = int.from_bytes(data[at : at + 2], "big")
        yield body, data[at + 2 : at + 2 + size]
        at += 2 + size
