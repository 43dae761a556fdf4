"""Frames for a broker that is to be confused: strange names and sizes, in all requests that create something, from a seed.

Requests are those of the steps' builder; a field or a body that no step has is put in its place. In JSON half a surrogate pair is an
escape, as that is how it comes over the wire.
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

from .strategies import NAMES, ODD_NAMES
from .vocabulary import plain

STRANGE_NAMES: Final = (
    *("a\0b", "../../../commitlog", "a/b", "..", ".", "/etc/x", "\ud800", "x\udfff", "x" * 4000, "a\nb", "a\x1b[31mb", "~YS9i"),
    *('a"b', "a\\b", "a@b", "a#b", "a-0", "null", "{}", "\u2028", "é" * 40, "a\x01b\x02c", "abort", "lock", "g" * 120, "g" * 122),
)
"""Names that no client means well; none is longer in bytes than a record can say, while it is short enough in characters."""
LONG_IN_BYTES: Final = ("é" * 60, "é" * 63, "値" * 42)
"""At most 127 characters with what is put before them, and more than 127 bytes: a record of such a topic cannot be read again."""
_SIZES: Final = (0, 1, 5, 100, 100, 100, 1000, 4096)
_LARGE: Final = (65_536, 300_000, 1_100_000, 4_194_304, 4_194_305)
_LEVELS: Final = ("", "1", "18", "19", "-1", "x", "99999999999")
_QUEUES: Final = (0, 0, 1, 2, 3, 3, 7, -1, -(2**31), 2**31 - 1)
_HEAD: Final = Struct(">II")
_WIDTH: Final = 32_767


@dataclass(frozen=True)
class Drawn:
    """A request: its kind, and what a message was given to be found by. `poison`: a release may store what it cannot read again."""

    kind: str
    command: Command
    poison: bool = False


@dataclass
class Frames:
    """Frames of one seed. `poison`: names and properties are drawn too for which some profiles lose what comes after."""

    seed: int
    poison: bool = False
    most_place: int = 0
    """Where records of the broker may lie, for messages that come back."""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._number = 0

    def draw(self) -> Drawn:
        kind = self._chance.choices(tuple(_KINDS), tuple(weight for weight, _ in _KINDS.values()))[0]
        name, poison = self._name()
        self._number += 1
        command = _KINDS[kind][1](self, name)
        if kind == "end transaction" or self._chance.random() < 0.02:  # nobody is told of the end of a transaction
            command.flag |= ONE_WAY
        command.opaque = self._number
        return Drawn(kind, command, poison or (kind == "wide batch"))

    def encoded(self, command: Command) -> bytes:
        """In one of the two forms of headers."""
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

    def one(self, *of: Any) -> Any:
        return self._chance.choice(of)

    def properties(self, name: str) -> dict[str, str]:
        """A few, often strange ones."""
        found = {"KEYS": name, "TAGS": name, "PGROUP": name, "WAIT": self.one("true", "false", ""), "UNIQ_KEY": name, name: name}
        found |= {"DELAY": self.one(*_LEVELS), "TRAN_MSG": self.one("true", "false", "")}
        return {key: value for key, value in found.items() if self._chance.random() < (0.15 if key in ("DELAY", "TRAN_MSG") else 0.3)}

    def send(self, name: str) -> Command:
        numbers = {"queue": self.one(*_QUEUES), "nums": self.one(4, 4, 4, 1, 0, -1, 9), "sys_flag": self.one(0, 0, 0, 0, 1, 2, 4, 8, 12)}
        template, code = self.one(TEMPLATE, TEMPLATE, name, "DefaultCluster"), self.one(310, 310, 10)
        wide = {"wide": "w" * self.one(100, _WIDTH // 2, _WIDTH - 5, _WIDTH)} if self._chance.random() < 0.003 else {}
        more = {
            "properties": {**self.properties(name), **wide},
            "size": self.one(*(_LARGE if self._chance.random() < 0.0005 else _SIZES)),
            "times": self.one(0, 0, 16),
            "unit": self.one(False, True),
        }
        return plain("send", topic=name, body=f"{self._number} ", default=template, code=code, **numbers, **more)

    def batch(self, name: str, wide: int = 0) -> Command:
        more = {**self.properties(name), "wide": "w" * wide}
        items = [(f"{self._number} {number}", more) for number in range(self.one(1, 2, 5))]
        return plain("send", topic=name, items=items, queue=self.one(*_QUEUES))

    def wide_batch(self, name: str) -> Command:
        """Properties up to the limit, to which the broker adds its own."""
        del name
        items = [(f"{self._number} ", {"wide": "w" * self.one(100, *([_WIDTH - 10, _WIDTH - 30] if self.poison else []))})]
        return plain("send", topic=self.one(*NAMES), items=items)

    def back(self, name: str) -> Command:
        """From any place; inside of a record what lies there may have flags that change the layout of what is stored (HAZ-51)."""
        place = self.one(-1, 0, 2**40, self._chance.randint(0, self.most_place))
        return plain("back", group=name, offset=place, level=self.one(0, 0, -1, 3, 99))

    def placed(self, name: str) -> Command:
        """A message that comes back from a place where there was one."""
        return plain("back", group=name, offset=self.most_place, level=self.one(0, 0, -1, 3, 99), most=self.one(16, 16, 0, None))

    def topic(self, name: str) -> Command:
        return plain(
            "topic",
            topic=name,
            read=self.one(4, 0, -1, 8),
            write=self.one(4, 1, 0, -1),
            perm=self.one(6, 7, 0, 2**31 - 1),
            order=self.one(False, True),
        )

    def group(self, name: str) -> Command:
        command = plain("group", group=name, queues=self.one(1, 0, 2), retries=self.one(16, 0, -1))
        if self._chance.random() < 0.1:
            command.body = json.dumps(
                {"groupName": self.one(5, 1.5, True, None, [name], {}), "retryQueueNums": self.one(1, "1", 2**70)}
            ).encode()
        return command

    def heartbeat(self, name: str) -> Command:
        command, consumer = plain("heartbeat"), {"groupName": name, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING"}
        subscribed = [{"topic": name, "subString": self.one("*", name, "a || b"), "subVersion": 1}]
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
        place, outcome = str(self._chance.randint(0, self.most_place)), self.one("8", "12", "0")
        fields = {"producerGroup": name, "msgId": name, "transactionId": name, "fromTransactionCheck": "false"}
        return self.other(codes.END_TRANSACTION, tranStateTableOffset="0", commitLogOffset=place, commitOrRollback=outcome, **fields)

    def pull(self, name: str) -> Command:
        command = plain("pull", topic=self.one(name, "A"), group=name, queue=self.one(0, 1))
        if self._chance.random() < 0.5 and command.ext_fields is not None:
            command.ext_fields |= {"sysFlag": "5", "commitOffset": self.one("1", "-1", str(2**62))}
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
    "max offset": (3, lambda f, name: plain("max_offset", topic=name, queue=f.one(*_QUEUES))),
    "delete topic": (0.3, lambda f, name: plain("delete", topic=name)),
    "delete group": (0.5, lambda f, name: plain("delete_group", group=name)),
}
"""Each kind with its weight and what makes it."""
