"""A second opinion on reading a commit log: the whole file in memory, record by record, without kernels or shared code.

It is slow and agrees with the walk: rows, and begin and end of a range's walk.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any

V1, V2, BLANK = b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xab", b"\xcb\xd4\x31\x94"
LIMIT = 2**62
KNOWN = [
    "TAGS", "KEYS", "WAIT", "DELAY", "REAL_TOPIC", "REAL_QID", "TRAN_MSG", "PGROUP", "RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "UNIQ_KEY",
    "RECONSUME_TIME", "MAX_RECONSUME_TIMES", "INNER_NUM", "INNER_MULTI_DISPATCH", "__CRC32#", "TIMER_OUT_MS",
]  # fmt: skip
INTS = {"DELAY": "delayLevel", "REAL_QID": "realQueueId", "RECONSUME_TIME": "reconsumeTime", "MAX_RECONSUME_TIMES": "maxReconsumeTimes"}
INTS |= {"INNER_NUM": "innerNumber"}
Row = dict[str, Any]


def is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass
class Answer:
    rows: list[Row]
    begin: int | None
    end: int | None
    data_end: int | None


class Reader:
    """`last`: trailing zeros are the end of the log."""

    def __init__(self, data: bytes, base: int = 0, *, last: bool = True) -> None:
        self.data, self.base, self.last = data, base, last

    def int(self, at: int) -> int:
        return int(struct.unpack_from(">i", self.data, at)[0])

    def long(self, at: int) -> int:
        return int(struct.unpack_from(">q", self.data, at)[0])

    def magic(self, at: int) -> bytes:
        return self.data[at + 4 : at + 8]

    def lengths(self, at: int) -> dict[str, Any] | None:
        """Return offsets and lengths of a record's parts, as far as they are inside the file."""
        size = len(self.data)
        if at + 91 > size:
            return None
        flags = self.int(at + 36)
        body_at = at + 88 + 12 * bool(flags & 16) + 12 * bool(flags & 32)
        if body_at + 3 > size:
            return None
        found = {"body_at": body_at, "body": -1, "topic_at": -1, "topic": -1, "properties": -1, "parts": -1}
        wide = 2 if self.magic(at) == V2 else 1
        body = self.int(body_at - 4)
        topic_at = body_at + body + wide
        if body < 0 or topic_at + 2 > size:
            return found
        found |= {"body": body, "topic_at": topic_at}
        topic = struct.unpack_from(">h" if wide == 2 else ">b", self.data, topic_at - wide)[0]
        if topic < 0 or topic_at + topic + 2 > size:
            return found
        found["topic"] = topic
        properties = struct.unpack_from(">h", self.data, topic_at + topic)[0]
        end = topic_at + topic + 2 + properties
        if properties < 0 or end > size:
            return found
        return found | {"properties": properties, "parts": end - at}

    def agreeing(self, at: int) -> int | None:
        size = len(self.data)
        if at + 8 > size:
            return None
        if self.magic(at) == BLANK:
            return size if self.int(at) == size - at else None
        if self.magic(at) not in (V1, V2):
            return None
        lengths = self.lengths(at)
        fits = lengths is not None and lengths["parts"] == self.int(at) and self.long(at + 28) == self.base + at
        return at + self.int(at) if fits else None

    def plausible(self, at: int) -> bool:
        end = self.agreeing(at)
        if end is None:
            return False
        if end == len(self.data) or self.agreeing(end) is not None or not any(self.data[end : end + 8]):
            return True
        lengths = self.lengths(at)
        assert lengths is not None
        body = self.data[lengths["body_at"] : lengths["body_at"] + lengths["body"]]
        return self.int(at + 8) == zlib.crc32(body) & 0x7FFFFFFF

    def next_plausible(self, at: int, end: int) -> int | None:
        pattern = re.compile(b"|".join(map(re.escape, (V1, V2, BLANK))))
        place = at + 4
        while (found := pattern.search(self.data, place)) and found.start() - 4 < end:
            if self.plausible(found.start() - 4):
                return found.start() - 4
            place = found.start() + 1
        return None

    def walk(self, start: int = 0, end: int | None = None, *, exact: bool = True) -> Answer:
        size = len(self.data)
        end = size if end is None else end
        begin = None if start >= min(end, size) else start if exact else self.next_plausible(start, end)
        if begin is None:
            return Answer([], None, None, None)
        at, rows, data_end = begin, [], None
        while at < size and not (at >= end and self.plausible(at)):
            if not any(self.data[at:]):
                if self.last:
                    data_end = self.base + at
                else:
                    rows.append(self.corrupt(at, size, 7))
                at = size
                break
            row, at = self.step(at)
            rows.append(row)
        return Answer(rows, begin, at, data_end)

    def corrupt(self, at: int, end: int, reason: int) -> Row:
        return {"kind": 4, "reason": reason, "physicalOffset": self.base + at, "size": end - at}

    def stretch(self, at: int, reason: int, *, cut: bool = False) -> tuple[Row, int]:
        end = self.next_plausible(at + 1, len(self.data))
        if end is None:
            end, reason = len(self.data[at:].rstrip(b"\0")) + at, 4 if cut else reason
            end = max(end, at + 1)
        return self.corrupt(at, end, reason), end

    def step(self, at: int) -> tuple[Row, int]:
        rest = len(self.data) - at
        if rest < 8:
            return self.corrupt(at, len(self.data), 4), len(self.data)
        size, magic = self.int(at), self.magic(at)
        if magic == BLANK and size == rest:
            return {"kind": 3, "reason": 0, "physicalOffset": self.base + at, "size": size}, len(self.data)
        if magic == BLANK:
            return self.stretch(at, 6, cut=size > rest)
        if not any(self.data[at : at + 8]):
            return self.stretch(at, 5)
        if magic not in (V1, V2):
            return self.stretch(at, 1)
        lengths = self.lengths(at)
        if lengths is None:
            return self.stretch(at, 2, cut=True)
        fits = 91 <= size <= rest
        if fits and lengths["parts"] == size:
            return self.record(at, lengths, right=True), at + size
        ends = [at + each for each in (lengths["parts"], size) if 91 <= each <= rest]
        good = [each for each in ends if each == len(self.data) or self.plausible(each)]
        good = good or [each for each in ends if not any(self.data[each : each + 8])]
        if good:
            return self.record(at, lengths, right=good[0] == at + lengths["parts"]), good[0]
        return self.stretch(at, 3 if fits else 2, cut=size > rest and self.long(at + 28) == self.base + at)

    def record(self, at: int, lengths: dict[str, Any], *, right: bool) -> Row:
        born = 12 * bool(self.int(at + 36) & 16)
        store = 12 * bool(self.int(at + 36) & 32)
        moved = at + born + store

        def cut(value: int) -> int:
            return max(-LIMIT, min(LIMIT, value))

        def address(place: int) -> int:
            return int.from_bytes(self.data[place : place + 4], "big")

        row: Row = {
            "kind": 2 if self.magic(at) == V2 else 1, "reason": 0, "physicalOffset": self.base + at, "size": self.int(at),
            "partsSize": lengths["parts"], "storedPhysicalOffset": cut(self.long(at + 28)), "queueId": self.int(at + 12),
            "queueOffset": cut(self.long(at + 20)), "flag": self.int(at + 16), "sysFlag": self.int(at + 36),
            "bornTimestamp": cut(self.long(at + 40)), "bornAddress": -1 if born else address(at + 48), "bornPort": self.int(at + 52 + born),
            "storeTimestamp": cut(self.long(at + 56 + born)), "storeAddress": -1 if store else address(at + 64 + born),
            "storePort": self.int(at + 68 + born + store), "reconsumeTimes": self.int(moved + 72),
            "preparedTransactionOffset": cut(self.long(moved + 76)), "bodyLength": self.int(moved + 84), "bodyCRC": self.int(at + 8),
            "computedCRC": -1, "topic": None, "topicLength": -1, "propertiesLength": -1, "text": b"",
        }  # fmt: skip
        if right:
            body = self.data[lengths["body_at"] : lengths["body_at"] + lengths["body"]]
            topic_end = lengths["topic_at"] + lengths["topic"]
            topic = self.data[lengths["topic_at"] : topic_end]
            text = self.data[topic_end + 2 : topic_end + 2 + lengths["properties"]]
            row |= {"computedCRC": zlib.crc32(body) & 0x7FFFFFFF, "topic": topic if len(topic) <= 255 else None, "topicLength": len(topic)}
            row |= {"propertiesLength": len(text), "text": text}
        return row | self.properties(row["text"], self.data[at : at + max(0, lengths["parts"] - 20)])

    def properties(self, text: bytes, checked: bytes) -> Row:
        row: Row = {
            "properties": 0, "odd": 0, "items": 0, "ignoredItems": 0, "tagsHash": 0, "tags": None, "keys": None, "delayLevel": 0,
            "realTopic": None, "realQueueId": -1, "retryTopic": None, "reconsumeTime": -1, "maxReconsumeTimes": -1, "innerNumber": 1,
            "recordCRC": -1, "computedRecordCRC": -1,
        }  # fmt: skip
        pieces = text.split(b"\2")
        values: dict[str, bytes] = {}
        for number, piece in enumerate(pieces):
            name, mark, value = piece.partition(b"\1")
            if number == len(pieces) - 1 and not piece:
                continue
            if mark and name and value:
                row["items"] += 1
                values[name.decode("latin-1")] = value
            else:
                row["ignoredItems"] += 1
        for bit, name in enumerate(KNOWN):
            value = values.get(name)
            if value is not None:
                row["properties"] |= 1 << bit
                row["odd"] |= (not self.known(row, name, value, checked)) << bit
        row["odd"] |= (b"\1" in values.get("TAGS", b"")) << len(KNOWN)
        row["odd"] |= (not is_text(text)) << len(KNOWN) + 1
        return row

    def known(self, row: Row, name: str, value: bytes, checked: bytes) -> bool:
        """Store a known property in the row; return whether its value is valid."""
        if name == "KEYS":
            row["keys"] = value
        elif name == "TAGS":
            row["tags"] = value
            try:
                row["tagsHash"] = java_hash(value.decode())
            except UnicodeDecodeError:
                row["tagsHash"] = None
                return False
        elif name in ("WAIT", "TRAN_MSG"):
            return value.lower() == b"true"
        elif name in ("REAL_TOPIC", "RETRY_TOPIC"):
            row["realTopic" if name == "REAL_TOPIC" else "retryTopic"] = value if len(value) <= 255 else None
            return len(value) <= 255
        elif name in INTS:
            good = re.fullmatch(rb"[+-]?[0-9]{1,18}", value) is not None and -(2**31) <= int(value) < 2**31
            row[INTS[name]] = int(value) if good else row[INTS[name]]
            return good
        elif name == "__CRC32#":
            row["computedRecordCRC"] = zlib.crc32(checked) & 0x7FFFFFFF if checked else -1
            row["recordCRC"] = int(value[::-1]) if re.fullmatch(rb"[0-9]{10}", value) else -1
            return row["recordCRC"] >= 0
        return True


def java_hash(text: str) -> int:
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + high * 256 + low) % 2**32
    return value - 2**32 if value >= 2**31 else value
