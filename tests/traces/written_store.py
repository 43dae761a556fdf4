"""A store's files written by hand for tests: records packed with `struct`, independent of the readers and of the implementation."""

import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HOST = bytes([127, 0, 0, 1]) + (10911).to_bytes(4, "big")
MAGIC, BLANK = 0xDAA320A7, 0xCBD43194


@dataclass(frozen=True)
class Sent:
    topic: str
    queue_id: int = 0
    body: bytes = b"body"
    properties: dict[str, str] = field(default_factory=dict)
    stored_at: int = 1_700_000_000_000
    reconsumed: int = 0


@dataclass(frozen=True)
class Stored(Sent):
    """A message with its position."""

    queue_offset: int = 0
    offset: int = 0
    size: int = 0


def record(sent: Sent, queue_offset: int, offset: int) -> bytes:
    topic, text = sent.topic.encode(), "".join(f"{k}\x01{v}\x02" for k, v in sent.properties.items()).encode()
    tail = struct.pack(f">i{len(sent.body)}sB{len(topic)}sh{len(text)}s", len(sent.body), sent.body, len(topic), topic, len(text), text)
    head = struct.pack(
        ">IIiiqqiq8sq8siq",
        *(MAGIC, zlib.crc32(sent.body) & 0x7FFFFFFF, sent.queue_id, 0, queue_offset, offset, 0, sent.stored_at - 5, HOST),
        *(sent.stored_at, HOST, sent.reconsumed, 0),
    )
    return struct.pack(">I", 4 + len(head) + len(tail)) + head + tail


def write_store(folder: Path, messages: Iterable[Sent], file_size: int = 1 << 16) -> list[Stored]:
    """Write commit log and consume queues of these messages. A record that does not fit leaves a blank."""
    counts: Counter[tuple[str, int]] = Counter()
    files: list[bytearray] = [bytearray()]
    queues: dict[tuple[str, int], bytearray] = {}
    stored = []
    for sent in messages:
        key = (sent.topic, sent.queue_id)
        size = len(record(sent, 0, 0))
        if len(files[-1]) + size + 8 > file_size:
            rest = file_size - len(files[-1])
            files[-1] += struct.pack(">II", rest, BLANK) + bytes(rest - 8)
            files.append(bytearray())
        offset = (len(files) - 1) * file_size + len(files[-1])
        files[-1] += record(sent, counts[key], offset)
        queues.setdefault(key, bytearray()).extend(struct.pack(">qiq", offset, size, java_hash(sent.properties.get("TAGS", ""))))
        stored.append(Stored(**sent.__dict__, queue_offset=counts[key], offset=offset, size=size))
        counts[key] += 1
    log = folder / "commitlog"
    log.mkdir(parents=True)
    for number, data in enumerate(files):
        (log / f"{number * file_size:020d}").write_bytes(data.ljust(file_size, b"\0"))
    for (topic, queue_id), entries in queues.items():
        queue = folder / "consumequeue" / topic / str(queue_id)
        queue.mkdir(parents=True)
        (queue / f"{0:020d}").write_bytes(entries.ljust(20 * 1000, b"\0"))
    return stored


def write_topics(folder: Path, topics: dict[str, dict[str, object]]) -> None:
    (folder / "config").mkdir(parents=True, exist_ok=True)
    table = {name: {"topicName": name, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6} | more for name, more in topics.items()}
    data = {"dataVersion": {"counter": 3, "timestamp": 1_700_000_000_000}, "topicConfigTable": table}
    (folder / "config" / "topics.json").write_text(json.dumps(data))


def java_hash(text: str) -> int:
    found = 0
    for letter in text:
        found = (31 * found + ord(letter)) & 0xFFFFFFFF
    return found - (1 << 32) if found >= 1 << 31 else found
