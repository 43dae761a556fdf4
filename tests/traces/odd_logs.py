"""Commit log files for tests of the reader: records of every form, and files of them that are damaged."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

V1, V2, BLANK = 0xDAA320A7, 0xDAA320AB, 0xCBD43194
NAMES = [b"TAGS", b"KEYS", b"WAIT", b"DELAY", b"REAL_TOPIC", b"REAL_QID", b"TRAN_MSG", b"PGROUP", b"RETRY_TOPIC", b"ORIGIN_MESSAGE_ID"]
NAMES += [
    b"UNIQ_KEY",
    b"RECONSUME_TIME",
    b"MAX_RECONSUME_TIMES",
    b"INNER_NUM",
    b"INNER_MULTI_DISPATCH",
    b"__CRC32#",
    b"TIMER_OUT_MS",
    b"CLUSTER",
    b"",
    b"TAG",
]
NAMES += [
    b"TAG",
    b"TAGSS",
    b"REAL_TOPIX",
    b"MAX_RECONSUMX_TIMES",
    b"ORIGIN_MESSAGE_IE",
    b"MSG_REGION",
    b"a" * 70,
    b"RECONSUME_TIMF",
    b"UNIQ_KEZ",
]
VALUES = [b"", b"true", b"TRUE", b"false", b"3", b"-1", b"+7", b"2147483648", b"-2147483648", b"12a", b"-", b"tagA", b"12345678", b"x" * 9]
VALUES += [
    "grün".encode(),
    "标签".encode(),
    "😀".encode(),
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"a\1b",
    b"v" * 130,
    b"1234567890",
    b"w" * 300,
    b"9" * 19,
]
TOPICS = [
    b"",
    b"T",
    b"TopicTest",
    b"1234567",
    b"12345678",
    b"%RETRY%group-a-production-service",
    b"%RETRY%group-b-production-service",
    b"t" * 127,
]


def text_of(chance: random.Random) -> bytes:
    pieces = [chance.choice(NAMES) + chance.choice([b"\1", b"\1", b"\1", b""]) + chance.choice(VALUES) for _ in range(chance.randrange(7))]
    return b"\2".join(pieces) + chance.choice([b"", b"\2"])


def record(
    chance: random.Random,
    offset: int,
    *,
    topic: bytes | None = None,
    text: bytes | None = None,
    body: bytes | None = None,
    v2: bool = False,
) -> bytes:
    """A random record at an offset."""
    flags = chance.choice([0, 0, 0, 4, 8, 12, 16, 32, 48, 1, 259])
    topic = chance.choice(TOPICS) if topic is None else topic
    text = text_of(chance) if text is None else text
    body = chance.randbytes(chance.choice([0, 1, 3, 15, 16, 17, 63, 64, 65, 100, 300])) if body is None else body
    born, store = chance.randbytes(20 if flags & 16 else 8), chance.randbytes(20 if flags & 32 else 8)
    long = chance.choice([0, 5, 1 << 40, (1 << 63) - 1, -(1 << 63)])
    head = struct.pack(">Iiiiqqiq", V2 if v2 else V1, zlib.crc32(body) & 0x7FFFFFFF, chance.randrange(-1, 9), 0, long, offset, flags, 1700)
    tail = born + struct.pack(">q", 1701) + store + struct.pack(">iqi", 0, long, len(body)) + body
    tail += struct.pack(">H" if v2 else ">B", len(topic)) + topic + struct.pack(">H", len(text)) + text
    return struct.pack(">i", 4 + len(head) + len(tail)) + head + tail


def log(chance: random.Random, base: int, count: int, *, size: int | None = None) -> bytes:
    """The bytes of a file: records, then zeros, or a blank followed by arbitrary bytes."""
    found = b""
    for _ in range(count):
        found += record(chance, base + len(found), v2=chance.random() < 0.2)
    rest = chance.choice([0, 8, 30, 700]) if size is None else size - len(found)
    if rest and chance.random() < 0.5:
        return found + struct.pack(">iI", rest, BLANK) + chance.choice([bytes(rest), chance.randbytes(rest)])[: rest - 8]
    return found + bytes(rest)


def damage(chance: random.Random, data: bytes) -> bytes:
    """Return the bytes after one random damage."""
    found = bytearray(data)
    if not found:
        return data
    at = chance.randrange(len(found))
    some = at + chance.choice([1, 2, 4, 8, 40, 400])
    match chance.randrange(7):
        case 0:
            found[at] ^= 1 << chance.randrange(8)
        case 1:
            found[at:some] = bytes(len(found[at:some]))
        case 2:
            found[at:some] = chance.randbytes(len(found[at:some]))
        case 3:
            del found[at:]
        case 4:
            del found[at:some]
        case 5:
            found[at:at] = chance.choice([chance.randbytes(9), struct.pack(">I", V1), struct.pack(">II", len(found) - at, BLANK)])
        case _:
            places = [n for n in range(len(found) - 8) if found[n : n + 4] in (struct.pack(">I", V1), struct.pack(">I", V2))]
            if places:
                place = chance.choice(places) - 4 + chance.choice([0, 1, 2, 3, 4, 7, 28, 36, 39, 84, 86, 87, 88])
                found[place : place + 1] = chance.randbytes(1)
    return bytes(found)


def write_log(folder: Path, base: int, data: bytes) -> Path:
    path = folder / "commitlog" / f"{base:020d}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
