"""Generator of hostile frames: valid requests of every code, with fields, bodies, lengths or bytes that no client sends.

Everything is drawn from a seed. Names come from bounded pools, so that what a server is asked to store stays bounded: the frames
measure what a server keeps besides that.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import Any, Final

from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import JSON, ONE_WAY, RESPONSE, ROCKETMQ, Command
from rocketproof_properties.programs.frames import STRANGE_NAMES, Frames
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import codes

NUMBERS: Final = (0, 1, -1, 7, 2**15, 2**31 - 1, -(2**31), 2**31, 2**32, 2**63 - 1, -(2**63), 2**63, 10**20, 10**60)
TEXTS: Final = (*map(str, NUMBERS), "", " ", "x", "1_0", " 1", "+1", "\u0663", "1e9", "0x10", "null", "true", "[", *STRANGE_NAMES)
WIDE: Final = ("w" * 40_000, "9" * 5000, "-" * 300)
_INT: Final = Struct(">i")
_WORD: Final = Struct(">I")
_PREFIX: Final = Struct(">II")

BROKER_CODES: Final = (
    *(codes.SEND_MESSAGE, codes.PULL_MESSAGE, codes.QUERY_MESSAGE, codes.QUERY_CONSUMER_OFFSET, codes.UPDATE_CONSUMER_OFFSET),
    *(codes.UPDATE_AND_CREATE_TOPIC, codes.GET_ALL_TOPIC_CONFIG, codes.UPDATE_BROKER_CONFIG, codes.GET_BROKER_CONFIG),
    *(codes.SEARCH_OFFSET_BY_TIMESTAMP, codes.GET_MAX_OFFSET, codes.GET_MIN_OFFSET, codes.GET_EARLIEST_MSG_STORETIME),
    *(codes.VIEW_MESSAGE_BY_ID, codes.HEART_BEAT, codes.UNREGISTER_CLIENT, codes.CONSUMER_SEND_MSG_BACK, codes.END_TRANSACTION),
    *(codes.GET_ALL_CONSUMER_OFFSET, codes.GET_ALL_DELAY_OFFSET, codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP),
    *(codes.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, codes.GET_TOPIC_STATS_INFO, codes.DELETE_SUBSCRIPTIONGROUP),
    *(codes.GET_CONSUMER_LIST_BY_GROUP, codes.LOCK_BATCH_MQ, codes.UNLOCK_BATCH_MQ),
    *(codes.DELETE_TOPIC_IN_BROKER, codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE),
)
NAME_SERVER_CODES: Final = (
    *(codes.PUT_KV_CONFIG, codes.REGISTER_BROKER, codes.UNREGISTER_BROKER, codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_BROKER_CLUSTER_INFO),
    *(codes.WIPE_WRITE_PERM_OF_BROKER, codes.DELETE_TOPIC_IN_NAMESRV, codes.REGISTER_TOPIC, codes.GET_KVLIST_BY_NAMESPACE),
    *(codes.QUERY_DATA_VERSION, codes.ADD_WRITE_PERM_OF_BROKER),
)
BROKER_STEPS: Final = (
    *("send", "topic", "delete", "group", "delete_group", "max_offset", "min_offset", "stats", "earliest", "search", "pull", "progress"),
    *("commit", "find", "view", "topics", "groups", "settings", "heartbeat", "consumer", "leave", "unknown"),
    *("members", "lock", "unlock"),
)
NAME_SERVER_STEPS: Final = (
    *("forget_topic", "register_topic", "route", "register", "register", "register", "unregister", "has_to_register", "permit_writes"),
    *("put_value", "cluster", "values", "unknown"),
)


@dataclass(frozen=True)
class Hostile:
    """The bytes of a frame. `ends`: what follows on its connection may not be read as a frame, so nothing else is sent there."""

    kind: str
    data: bytes
    ends: bool = False


class HostileFrames:
    """Frames of one seed, for a broker or a name server."""

    def __init__(self, seed: int, *, name_server: bool = False) -> None:
        self.chance = random.Random(seed)
        self._known = Frames(seed)
        self._steps = NAME_SERVER_STEPS if name_server else BROKER_STEPS
        self._codes = NAME_SERVER_CODES if name_server else BROKER_CODES
        self.name_server = name_server
        self._opaque = 0

    def draw(self) -> Hostile:
        """Draw one frame. About one in 40 breaks its connection."""
        command, kind = self._command(), []
        for _ in range(self.chance.choice((0, 1, 1, 1, 2, 3))):
            change = self.chance.choice(_CHANGES)
            change(self, command)
            kind.append(change.__name__.strip("_"))
        self._opaque += 1
        command.opaque = self._opaque % 2**30
        data = self._encoded(command)
        if self.chance.random() < 1 / 40:
            spoil = self.chance.choice(_SPOILERS)
            return Hostile(spoil.__name__.strip("_"), spoil(self, data), ends=True)
        return Hostile(kind[0] if kind else "valid", data)

    # Valid requests

    def _command(self) -> Command:
        chance = self.chance.random()
        if self.name_server and chance < 0.25:
            return self._registration()
        if not self.name_server and chance < 0.5:
            return self._known.draw().command
        if chance < 0.9:
            return plain(self.chance.choice(self._steps))
        made = plain(self.chance.choice(self._steps))
        made.code = self.chance.choice(self._codes)
        return made

    def _registration(self) -> Command:
        """A registration in the compressed form, whose counts and lengths are wrong more often than not."""
        topics = {f"t{number}": (4, 4, 6) for number in range(self.chance.choice((0, 1, 5, 200)))}
        made = plain("register", name=f"b{self.chance.randrange(5)}", topics=topics, packed=True, version=self.chance.randrange(9))
        if self.chance.random() < 0.7:
            made.body = self.chance.choice(_bombs()) if self.chance.random() < 0.01 else self._packed(zlib.decompress(made.body or b""))
        return made

    def _packed(self, data: bytes) -> bytes:
        """Compress again, with a number in it changed, or a part of the result missing."""
        if self.chance.random() < 0.2:
            packed = zlib.compress(data)
            return packed[: self.chance.randrange(len(packed))]
        return zlib.compress(self._with_number(data))

    # Changes to a request

    def _with_field(self, command: Command) -> None:
        """Give one field another text."""
        fields = command.ext_fields = dict(command.ext_fields or {})
        name = self.chance.choice((*fields, "topic", "queueId"))
        fields[name] = self._text()

    def _without_field(self, command: Command) -> None:
        fields = command.ext_fields = dict(command.ext_fields or {})
        fields.pop(self.chance.choice((*fields, "topic")), None)

    def _with_more_fields(self, command: Command) -> None:
        number = self.chance.choice((1, 10, 1000))
        command.ext_fields = {**(command.ext_fields or {}), **{f"f{each}": self._text() for each in range(min(number, 10))}}
        command.ext_fields |= {f"f{each}": "" for each in range(number)}

    def _with_code(self, command: Command) -> None:
        command.code = self.chance.choice((*self._codes, *range(0, 400, 13), -1, 2**31 - 1))

    def _with_flag(self, command: Command) -> None:
        command.flag = self.chance.choice((ONE_WAY, RESPONSE, ONE_WAY | RESPONSE, -1, 2**31 - 1, 64))

    def _with_version(self, command: Command) -> None:
        command.version, command.language = self.chance.choice((0, -1, 2**31 - 1, 400)), self.chance.choice(("RUST", "?", "", "x" * 300))

    def _with_number_in_body(self, command: Command) -> None:
        command.body = self._with_number(command.body or b"")

    def _with_bytes_in_body(self, command: Command) -> None:
        command.body = self._flipped(command.body or b"")

    def _cut_body(self, command: Command) -> None:
        body = command.body or b""
        command.body = body[: self.chance.randrange(len(body) + 1)]

    def _with_json(self, command: Command) -> None:
        """Put another value somewhere into a body of JSON, or make one where there is none."""
        try:
            data = json.loads(command.body or b"{}")
        except (ValueError, RecursionError):
            data = {}
        text = json.dumps(self._changed(data))
        command.body = text.replace('"DEEP"', self.chance.choice((_nested("["), _nested('{"a":')))).encode()

    def _with_large_body(self, command: Command) -> None:
        if self.chance.random() < 0.05:
            command.body = self.chance.choice(_large_bodies())
            if command.body.startswith(b'{"clientID"'):
                command.code = codes.HEART_BEAT

    def _compressed(self, command: Command) -> None:
        """Compress the body, with or without saying so."""
        command.body = self._packed(command.body or b"x")
        fields = command.ext_fields = dict(command.ext_fields or {})
        if self.chance.random() < 0.8:
            fields |= {"compressed": "true", "sysFlag": "1", "f": "1"}

    def _text(self) -> str:
        return self.chance.choice(WIDE) if self.chance.random() < 0.02 else self.chance.choice(TEXTS)

    def _changed(self, data: Any) -> Any:
        if isinstance(data, dict) and data and self.chance.random() < 0.8:
            key = self.chance.choice(tuple(data))
            return {**data, key: self._changed(data[key])}
        if isinstance(data, list) and data and self.chance.random() < 0.8:
            at = self.chance.randrange(len(data))
            return [*data[:at], self._changed(data[at]), *data[at + 1 :]]
        return self.chance.choice((*NUMBERS, None, True, 1.5, 1e300, float("inf"), [], {}, [{}], {"": None}, "DEEP", *TEXTS))

    def _with_number(self, data: bytes) -> bytes:
        if len(data) < _INT.size:
            return data
        changed = bytearray(data)
        number = self.chance.choice((0, -1, 1, 2**31 - 1, -(2**31), 100_000, 2**24, len(data), len(data) - 1))
        _INT.pack_into(changed, self.chance.randrange(min(len(data), 200) - _INT.size + 1), number)
        return bytes(changed)

    def _flipped(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.chance.choice((1, 1, 4)) if data else 0):
            changed[self.chance.randrange(len(changed))] = self.chance.randrange(256)
        return bytes(changed)

    # Bytes

    def _encoded(self, command: Command) -> bytes:
        if self.chance.random() < 0.4:
            try:
                return frame.encode(command, ROCKETMQ)
            except (struct.error, OverflowError):
                pass  # this form has no room for it
        return frame.encode(command, JSON)

    def _short_length(self, data: bytes) -> bytes:
        return _WORD.pack(self.chance.choice((0, 1, 3, 4, 5, len(data) // 2))) + data[4:]

    def _long_length(self, data: bytes) -> bytes:
        return _WORD.pack(self.chance.choice((len(data), 2**20, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1))) + data[4:]

    def _header_length(self, data: bytes) -> bytes:
        length = self.chance.choice((0, 1, 10, len(data) - 8, len(data), 2**16, 2**24 - 1))
        return data[:4] + _WORD.pack(data[4] << 24 | length) + data[8:]

    def _serialisation(self, data: bytes) -> bytes:
        return data[:4] + bytes([self.chance.choice((0, 1, 2, 127, 255))]) + data[5:]

    def _flipped_header(self, data: bytes) -> bytes:
        end = 8 + (_PREFIX.unpack_from(data)[1] & 0xFFFFFF)
        return data[:8] + self._flipped(data[8:end]) + data[end:]

    def _partial(self, data: bytes) -> bytes:
        return data[: self.chance.randrange(1, len(data))]

    def _noise(self, data: bytes) -> bytes:
        return self.chance.randbytes(min(len(data), 200))


_CHANGES: Final[tuple[Callable[[HostileFrames, Command], None], ...]] = (
    *(HostileFrames._with_field,) * 3,
    HostileFrames._without_field,
    HostileFrames._with_more_fields,
    HostileFrames._with_code,
    HostileFrames._with_flag,
    HostileFrames._with_version,
    *(HostileFrames._with_number_in_body,) * 2,
    HostileFrames._with_bytes_in_body,
    HostileFrames._cut_body,
    *(HostileFrames._with_json,) * 2,
    HostileFrames._with_large_body,
    HostileFrames._compressed,
)
_SPOILERS: Final[tuple[Callable[[HostileFrames, bytes], bytes], ...]] = (
    HostileFrames._short_length,
    HostileFrames._long_length,
    HostileFrames._header_length,
    HostileFrames._serialisation,
    HostileFrames._flipped_header,
    HostileFrames._partial,
    HostileFrames._noise,
)


_TOPICS: Final = (("few", 90_000), ("many", 150_000))


@cache
def _nested(bracket: str) -> str:
    return bracket * 50_000


@cache
def _bombs() -> tuple[bytes, ...]:
    """Compressed registrations that become 256 MiB and 17 MiB of zeros; with many topics, a large count, many values in a JSON text."""
    stream = zlib.compressobj()
    zeros = b"".join(stream.compress(bytes(2**20)) for _ in range(256)) + stream.flush()
    version, filters = sized(b'{"counter":1,"timestamp":1}'), sized(b"[]")
    few, many = (
        _INT.pack(number) + b"".join(sized(f"{name}{each} 4 4 6 S".encode()) for each in range(number)) for name, number in _TOPICS
    )
    values = sized(b'{"a":[' + b"0," * 3_000_000 + b"0]}")
    return (
        zeros,
        zlib.compress(bytes(17 * 2**20)),
        zlib.compress(version + few + filters),
        zlib.compress(version + many + filters),
        zlib.compress(version + _INT.pack(2**31 - 1) + bytes(12 * 2**20)),
        zlib.compress(values + _INT.pack(0) + filters),
    )


def sized(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


@cache
def _large_bodies() -> tuple[bytes, ...]:
    """Bodies of up to several MiB: JSON of many values, of one long text, of many quotes; batch items without a byte; zeros; heartbeats of
    many groups."""
    return (
        json.dumps({"clientID": "many", "producerDataSet": [{"groupName": f"p{each}"} for each in range(100_000)]}).encode(),
        json.dumps({"clientID": "many", "consumerDataSet": [{"groupName": f"c{each}"} for each in range(50_000)]}).encode(),
        b"[" + b"0," * 2_000_000 + b"0]",
        b'{"a":"' + b"x" * 4_000_000 + b'"}',
        b'{"' * 1_000_000,
        b"{a:" * 1_000_000,
        (_INT.pack(20) + bytes(16)) * 100_000,
        bytes(4 * 2**20),
    )
