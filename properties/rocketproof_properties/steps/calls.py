"""From a step to a request: the names become the program's own, and records are those that it was told of."""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rocketproof_impl.message import properties_text
from rocketproof_impl.remoting.command import VERSION, Command
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v1
from rocketproof_impl.store.record import FIXED_SIZE
from rocketproof_protocol import codes
from rocketproof_protocol.fields import SHORT_NAMES
from rocketproof_protocol.properties import CLUSTER, WAIT
from rocketproof_protocol.topics import TEMPLATE

from ..choices import InputError, known
from ..deployments.deployment import NAME_SERVER
from ..stateful.messages import Step
from .names import Names

BORN: Final = 1_600_000_000_000
BORN_OF_A_PROGRAM: Final = 1000  # more messages than a program sends
NOBODYS: Final = 9999
"""A request code that no release has."""
_ITEM = struct.Struct(">iiiii")


@dataclass(frozen=True)
class Call:
    """A request as it is recorded: `fields` by their full names, whatever form they travel in. `line` names the connection."""

    op: str
    to: str
    code: int
    fields: Mapping[str, str]
    body: bytes | None = None
    version: int = VERSION
    one_way: bool = False
    line: str = ""

    def command(self) -> Command:
        return command_of(self.code, self.fields, self.body, self.version)


def command_of(code: int, fields: Mapping[str, str], body: bytes | None, version: int = VERSION) -> Command:
    """What goes over the wire: the send requests with short names have them here (REM-04)."""
    short = code in (codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE)
    return Command(code, {SHORT_NAMES.get(n, n): v for n, v in fields.items()} if short else dict(fields), body, version=version)


class Stored(NamedTuple):
    """A message that the broker has acknowledged: its place in the log, its offset in a queue, whether it is a half message, whether
    a consumer can have it where it is, and the topic that it was sent to."""

    place: int
    queue_offset: int
    half: bool
    visible: bool
    topic: str


@dataclass
class Stage:
    """What the steps of one program share: its names, its broker, the messages that were acknowledged so far, and how many were sent back.

    `end` is where the log ends as far as the answers show it, None before the first one; its files have `file_size` bytes.
    """

    names: Names
    broker: str
    stored: list[Stored] = field(default_factory=list)
    file_size: int = 0
    end: int | None = None
    sent_back: int = 0
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def births(self) -> range:
        first = BORN + self.names.number * BORN_OF_A_PROGRAM
        return range(first, first + BORN_OF_A_PROGRAM)

    def overhead(self, topic: str, properties: Mapping[str, str]) -> int:
        """The bytes of a plain record beside its body (APP-06, SEND-25)."""
        stored = {**{name: value for name, value in properties.items() if name != WAIT}, CLUSTER: self.names.cluster}
        return FIXED_SIZE + len(topic.encode()) + len(properties_text(stored, trailing=False).encode())

    def born(self) -> int:
        """A time of birth that no other message of the run has: by it a record is known again."""
        return self.births[next(self.numbers) % BORN_OF_A_PROGRAM]


def call_of(step: Step, stage: Stage) -> Call | None:
    """The request of a step; None for one that has nothing to act on. Raises InputError for a step or argument that there is not."""
    name, given = step
    make = _STEPS[known("step", name, _STEPS)]
    args = {key: value for key, value in given.items() if key not in ("client", "broker")}
    broker = str(given.get("broker") or stage.broker)
    try:
        return make(stage, broker, **args)
    except TypeError as error:
        raise InputError(f"step {name} cannot be done with {args}: {str(error).partition(') ')[2] or error}") from None


def _send(
    stage: Stage,
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
    without: str | None = None,
    altered: tuple[str, str] | None = None,
    leave: int | None = None,
) -> Call:
    """A message or, with `items`, a batch. `size` fills the body up, and `leave` so far that the record leaves so many bytes of its file;
    a field may be left out or given a text of its own."""
    if leave is not None and stage.end is not None and stage.file_size:
        size = max(size, stage.file_size - stage.end % stage.file_size - leave - stage.overhead(stage.names.topic(topic), properties or {}))
    content = None if body is None else body.encode().ljust(size, b"x")
    if packed and content is not None:
        content = zlib.compress(content)
    if items is not None:
        content = b"".join(_item(one.encode(), properties_text(dict(more), trailing=False)) for one, more in items)
        code = codes.SEND_BATCH_MESSAGE
    header = SendMessageRequestHeader(
        stage.names.group("producers"),
        stage.names.topic(topic),
        stage.names.topic(default),
        nums,
        queue,
        sys_flag,
        stage.born(),
        flag,
        properties_text(dict(properties or {}), trailing=False),
        times,
        unit,
        most,
        items is not None,
    )
    fields = encode_v1(header)
    if without is not None:
        fields.pop(without, None)
    if altered is not None:
        fields[altered[0]] = altered[1]
    return Call("send" if items is None else "batch", to, code, fields, content, version, one_way)


def _item(body: bytes, text: str) -> bytes:
    """One message of a batch's body: size, magic, checksum, flag, body, properties; what nobody reads is 0."""
    more = text.encode()
    size = _ITEM.size + len(body) + 2 + len(more)
    return _ITEM.pack(size, 0, 0, 0, len(body)) + body + struct.pack(">h", len(more)) + more


def _back(
    stage: Stage,
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
) -> Call | None:
    """A consumer gives a record back. `offset` asks for a place that need not be one; `named`: it says which topic it had it from, as
    all clients of Apache do."""
    visible = [one for one in stage.stored if one.visible]
    topic = stage.names.topic("A")
    if offset is None:
        if not visible:
            return None
        found = visible[record % len(visible)]
        offset, topic = found.place, found.topic
    fields = {"offset": str(offset), "group": stage.names.group(group), "delayLevel": str(level), "unitMode": "true" if unit else "false"}
    if named:
        fields["originTopic"] = topic
    if most is not None:
        fields["maxReconsumeTimes"] = str(most)
    return Call("send_back", to, codes.CONSUMER_SEND_MSG_BACK, fields, None, version, one_way)


def _end(stage: Stage, to: str, *, record: int = 0, commit: bool = True) -> Call | None:
    """The end of a transaction, one-way as clients send it."""
    halves = [one for one in stage.stored if one.half]
    if not halves:
        return None
    half = halves[record % len(halves)]
    fields = {
        "producerGroup": stage.names.group("producers"),
        "tranStateTableOffset": str(half.queue_offset),
        "commitLogOffset": str(half.place),
        "commitOrRollback": "8" if commit else "12",
        "fromTransactionCheck": "false",
        "msgId": "",
        "transactionId": "",
    }
    return Call("end_transaction", to, codes.END_TRANSACTION, fields, one_way=True)


def _unknown(stage: Stage, to: str, *, code: int = NOBODYS, one_way: bool = True) -> Call:
    del stage
    return Call("other", to, code, {}, one_way=one_way)


def _topic(
    stage: Stage,
    to: str,
    *,
    topic: str = "A",
    read: int = 4,
    write: int = 4,
    perm: int = 6,
    filter_type: str = "SINGLE_TAG",
    sys_flag: int = 0,
    order: bool = False,
) -> Call:
    fields = topic_fields(stage.names.topic(topic), read, write, perm, filter_type, sys_flag, order=order)
    return Call("update_topic", to, codes.UPDATE_AND_CREATE_TOPIC, fields)


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


def _delete(stage: Stage, to: str, *, topic: str = "A") -> Call:
    return Call("delete_topic", to, codes.DELETE_TOPIC_IN_BROKER, {"topic": stage.names.topic(topic)})


def _group(stage: Stage, to: str, *, group: str = "g", queues: int = 1, retries: int = 16) -> Call:
    data = {"groupName": stage.names.group(group), "retryQueueNums": queues, "retryMaxTimes": retries}
    return Call("update_group", to, codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(data).encode())


def _route(stage: Stage, to: str, *, topic: str = "A") -> Call:
    del to
    return Call("route", NAME_SERVER, codes.GET_ROUTEINFO_BY_TOPIC, {"topic": stage.names.topic(topic)})


def _register(
    stage: Stage,
    to: str,
    *,
    name: str = "broker-x",
    broker_id: int = 0,
    address: str = "10.0.0.1:1",
    topics: Mapping[str, tuple[int, int, int]] | None = None,
    version: int = 1,
) -> Call:
    """A broker that is not there registers, on a connection of its own."""
    del to
    own = stage.names.address(address)
    table = {
        stage.names.topic(topic): {
            "topicName": stage.names.topic(topic),
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
    fields = _of_broker(stage, name, broker_id, own) | {"haServerAddr": own, "compressed": "false", "bodyCrc32": "0"}
    return Call("other", NAME_SERVER, codes.REGISTER_BROKER, fields, json.dumps(body).encode(), line=own)


def _unregister(stage: Stage, to: str, *, name: str = "broker-x", broker_id: int = 0, address: str = "10.0.0.1:1") -> Call:
    del to
    own = stage.names.address(address)
    return Call("other", NAME_SERVER, codes.UNREGISTER_BROKER, _of_broker(stage, name, broker_id, own), line=own)


def _of_broker(stage: Stage, name: str, broker_id: int, address: str) -> dict[str, str]:
    return {
        "brokerName": stage.names.group(name),
        "brokerAddr": address,
        "clusterName": stage.names.group("cluster"),
        "brokerId": str(broker_id),
    }


_STEPS: Final[Mapping[str, Callable[..., Call | None]]] = {
    "send": _send,
    "back": _back,
    "end": _end,
    "unknown": _unknown,
    "topic": _topic,
    "delete": _delete,
    "group": _group,
    "route": _route,
    "register": _register,
    "unregister": _unregister,
}
