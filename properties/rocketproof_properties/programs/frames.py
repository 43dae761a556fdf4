"""Hostile frames for a broker, drawn from a seed: odd names and sizes in all requests that create something.

The builder of the steps makes most requests. Fields and bodies that no step can have are set afterwards. JSON text escapes lone surrogates,
which is also their form on the wire.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final

from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import ONE_WAY, ROCKETMQ, Command
from rocketproof_protocol import codes
from rocketproof_protocol.topics import TEMPLATE

from .values import NAMES, ODD_NAMES
from .vocabulary import plain

STRANGE_NAMES: Final = (
    *("a\0b", "../../../commitlog", "a/b", "..", ".", "/etc/x", "\ud800", "x\udfff", "x" * 4000, "a\nb", "a\x1b[31mb", "~YS9i"),
    *('a"b', "a\\b", "a@b", "a#b", "a-0", "null", "{}", "\u2028", "é" * 40, "a\x01b\x02c", "abort", "lock", "g" * 120, "g" * 122),
)
"""Names that no well-behaved client uses. A name that is short enough in characters is also short enough in bytes to be stored."""
LONG_IN_BYTES: Final = ("é" * 60, "é" * 63, "値" * 42)
"""At most 127 characters including a prefix, but more than 127 bytes: a record with this topic cannot be read again."""
_SIZES: Final = (0, 1, 5, 100, 100, 100, 1000, 4096)
_LARGE: Final = (65_536, 300_000, 1_100_000, 4_194_304, 4_194_305)
_LEVELS: Final = ("", "1", "18", "19", "-1", "x", "99999999999")
_QUEUES: Final = (0, 0, 1, 2, 3, 3, 7, -1, -(2**31), 2**31 - 1)
_HEAD: Final = Struct(">II")
_WIDTH: Final = 32_767


@dataclass(frozen=True)
class Drawn:
    """A drawn request. `poison`: some releases may store a record that they cannot read again."""

    kind: str
    command: Command
    poison: bool = False


@dataclass
class Frames:
    """Frames of one seed. `poison`: also draw names and properties that make some profiles lose later records."""

    seed: int
    poison: bool = False
    most_place: int = 0
    """The highest place in the log for messages that are sent back."""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._number = 0

    def draw(self) -> Drawn:
        kind = self._chance.choices(tuple(_KINDS), tuple(weight for weight, _ in _KINDS.values()))[0]
        name, poison = self._name()
        self._number += 1
        command = _KINDS[kind][1](self, name)
        if kind == "end transaction" or self._chance.random() < 0.02:  # brokers do not answer the end of a transaction
            command.flag |= ONE_WAY
        command.opaque = self._number
        return Drawn(kind, command, poison or (kind == "wide batch"))

    def encoded(self, command: Command) -> bytes:
        """Encode the command in one of the two header formats."""
        if self._chance.random() < 0.3:
            return frame.encode(command, ROCKETMQ)
        fields = {"extFields": command.ext_fields} if command.ext_fields is not None else {}
        data = {
            "code": command.code,
            "language": "JAVA",
            "version": command.version,
            "opaque": command.opaque,
            "flag": command.flag,
            **fields,
        }
        header, body = json.dumps(data).encode(), command.body or b""
        return _HEAD.pack(4 + len(header) + len(body), len(header)) + header + body

    def _name(self) -> tuple[str, bool]:
        if self.poison and self._chance.random() < 0.002:
            return self._chance.choice(LONG_IN_BYTES), True
        return self._chance.choice((*NAMES, *NAMES, *ODD_NAMES, *STRANGE_NAMES)), False

    def pick(self, *of: Any) -> Any:
        return self._chance.choice(of)

    def properties(self, name: str) -> dict[str, str]:
        """Draw some properties, often with odd values."""
        properties = {"KEYS": name, "TAGS": name, "PGROUP": name, "WAIT": self.pick("true", "false", ""), "UNIQ_KEY": name, name: name}
        properties |= {"DELAY": self.pick(*_LEVELS), "TRAN_MSG": self.pick("true", "false", "")}
        return {key: value for key, value in properties.items() if self._chance.random() < (0.15 if key in ("DELAY", "TRAN_MSG") else 0.3)}

    def send(self, name: str) -> Command:
        numbers = {"queue": self.pick(*_QUEUES), "nums": self.pick(4, 4, 4, 1, 0, -1, 9), "sys_flag": self.pick(0, 0, 0, 0, 1, 2, 4, 8, 12)}
        template, code = self.pick(TEMPLATE, TEMPLATE, name, "DefaultCluster"), self.pick(310, 310, 10)
        wide = {"wide": "w" * self.pick(100, _WIDTH // 2, _WIDTH - 5, _WIDTH)} if self._chance.random() < 0.003 else {}
        more = {
            "properties": {**self.properties(name), **wide},
            "size": self.pick(*(_LARGE if self._chance.random() < 0.0005 else _SIZES)),
            "times": self.pick(0, 0, 16),
            "unit": self.pick(False, True),
        }
        return plain("send", topic=name, body=f"{self._number} ", default=template, code=code, **numbers, **more)

    def batch(self, name: str, wide: int = 0) -> Command:
        more = {**self.properties(name), "wide": "w" * wide}
        items = [(f"{self._number} {number}", more) for number in range(self.pick(1, 2, 5))]
        return plain("send", topic=name, items=items, queue=self.pick(*_QUEUES))

    def wide_batch(self, name: str) -> Command:
        """A batch whose properties are up to the limit before the broker adds its own."""
        del name
        items = [(f"{self._number} ", {"wide": "w" * self.pick(100, *([_WIDTH - 10, _WIDTH - 30] if self.poison else []))})]
        return plain("send", topic=self.pick(*NAMES), items=items)

    def back(self, name: str) -> Command:
        """Send back a message from any place in the log. Bytes inside of a record may be read as flags that change the layout (HAZ-51)."""
        place = self.pick(-1, 0, 2**40, self._chance.randint(0, self.most_place))
        return plain("back", group=name, offset=place, level=self.pick(0, 0, -1, 3, 99))

    def placed(self, name: str) -> Command:
        """Send back a message from a place that had a record."""
        return plain("back", group=name, offset=self.most_place, level=self.pick(0, 0, -1, 3, 99), most=self.pick(16, 16, 0, None))

    def topic(self, name: str) -> Command:
        return plain(
            "topic",
            topic=name,
            read=self.pick(4, 0, -1, 8),
            write=self.pick(4, 1, 0, -1),
            perm=self.pick(6, 7, 0, 2**31 - 1),
            order=self.pick(False, True),
        )

    def group(self, name: str) -> Command:
        command = plain("group", group=name, queues=self.pick(1, 0, 2), retries=self.pick(16, 0, -1))
        if self._chance.random() < 0.1:
            command.body = json.dumps(
                {"groupName": self.pick(5, 1.5, True, None, [name], {}), "retryQueueNums": self.pick(1, "1", 2**70)}
            ).encode()
        return command

    def heartbeat(self, name: str) -> Command:
        command, consumer = plain("heartbeat"), {"groupName": name, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING"}
        subscribed = [{"topic": name, "subString": self.pick("*", name, "a || b"), "subVersion": 1}]
        data = {
            "clientID": name,
            "producerDataSet": [{"groupName": name}],
            "consumerDataSet": [{**consumer, "subscriptionDataSet": subscribed}],
        }
        command.body = json.dumps(data).encode()
        return command

    def other(self, code: int, **fields: str) -> Command:
        command = plain("unknown", code=code)
        command.ext_fields, command.flag = fields, 0
        return command

    def end(self, name: str) -> Command:
        place, outcome = str(self._chance.randint(0, self.most_place)), self.pick("8", "12", "0")
        fields = {"producerGroup": name, "msgId": name, "transactionId": name, "fromTransactionCheck": "false"}
        return self.other(codes.END_TRANSACTION, tranStateTableOffset="0", commitLogOffset=place, commitOrRollback=outcome, **fields)

    def pull(self, name: str) -> Command:
        command = plain("pull", topic=self.pick(name, "A"), group=name, queue=self.pick(0, 1))
        if self._chance.random() < 0.5 and command.ext_fields is not None:
            command.ext_fields |= {"sysFlag": "5", "commitOffset": self.pick("1", "-1", str(2**62))}
        return command


_KINDS: Final = {
    "send": (40, Frames.send),
    "batch": (8, Frames.batch),
    "wide batch": (1, Frames.wide_batch),
    "send back": (4, Frames.back),
    "send back of a record": (6, Frames.placed),
    "update topic": (8, Frames.topic),
    "update group": (6, Frames.group),
    "heartbeat": (6, Frames.heartbeat),
    "end transaction": (4, Frames.end),
    "pull": (6, Frames.pull),
    "unregister client": (2, lambda f, name: f.other(codes.UNREGISTER_CLIENT, clientID=name, producerGroup=name, consumerGroup=name)),
    "max offset": (3, lambda f, name: plain("max_offset", topic=name, queue=f.pick(*_QUEUES))),
    "delete topic": (0.3, lambda f, name: plain("delete", topic=name)),
    "delete group": (0.5, lambda f, name: plain("delete_group", group=name)),
}
"""Each kind of request with its weight and its builder."""
