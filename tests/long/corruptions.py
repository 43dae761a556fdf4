"""Corruptions of store files as data: each changes a file that a real broker wrote, and names the detecting rule and the location.

The stores are `tests/data/store-mixed-*.tar.gz`: 4.9.4 and 5.3.3 with batches, delayed, transactional and sent-back messages, dead letters,
several log files and index files. A few lines of struct read them, as for generated stores.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damaged_stores import Stored, read_records

BLANK = 0xCBD43194
HALF, OPERATIONS, SCHEDULE = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX"
FILE, QUEUE_FILE, SLOTS = 65536, 1000, 50


class Damaged:
    """A store to damage."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.records = read_records(root)

    def one(self, topic: str = "Orders", nth: int = 7, flags: int = 0, has: bytes = b"") -> Stored:
        """Return the record with this number among those of a topic with these flags, from the end if negative."""
        return [r for r in self.records if r.topic == topic and r.flags == flags and has in r.properties][nth]

    def log(self, offset: int) -> tuple[Path, int]:
        return self.root / "commitlog" / f"{offset // FILE * FILE:020}", offset % FILE

    def entry(self, r: Stored) -> tuple[Path, int]:
        at = r.index * 20
        return self.root / "consumequeue" / r.topic / str(r.queue) / f"{at // QUEUE_FILE * QUEUE_FILE:020}", at % QUEUE_FILE

    @property
    def indexes(self) -> list[Path]:
        return sorted(self.root.glob("index/*"))

    def key(self, number: int = 20, file: int = 0) -> tuple[Path, int]:
        return self.indexes[file], 40 + 4 * SLOTS + 20 * number


def properties_at(r: Stored) -> int:
    """Return where the properties begin in a record."""
    return r.size - len(r.properties)


Place = int | None
"""Required offset of a finding, None for any."""


@dataclass(frozen=True)
class Corruption:
    """`do` corrupts a store and returns the file (a part of its path) and the offset.

    `rules`: id prefixes, at least one of which must be found there; empty if the files do not show the corruption.
    """

    name: str
    rules: tuple[str, ...]
    do: Callable[[Damaged], tuple[str, Place]]


def write(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def at_place(path: Path, at: int) -> tuple[str, int]:
    """Return the required location of a finding about a byte of a log file."""
    return "/".join(path.parts[-2:]), at


def field(at: int, form: str, change: Callable[[int], int], **which: Any) -> Callable[[Damaged], tuple[str, Place]]:
    """Change a number of a record; found at the record."""

    def do(d: Damaged) -> tuple[str, Place]:
        r = d.one(**which)
        path, start = d.log(r.offset)
        (old,) = struct.unpack_from(form, path.read_bytes(), start + at)
        write(path, start + at, struct.pack(form, change(old)))
        return "commitlog", r.offset

    return do


def text(old: bytes, new: bytes, **which: Any) -> Callable[[Damaged], tuple[str, Place]]:
    """Change a text in the properties of a record to another of the same length; found at the record."""

    def do(d: Damaged) -> tuple[str, Place]:
        r = d.one(has=old, **which)  # type: ignore[arg-type]
        path, start = d.log(r.offset)
        assert len(old) == len(new)
        write(path, start + properties_at(r) + r.properties.index(old), new)
        return "commitlog", r.offset

    return do


def span(at: Callable[[Stored], int], data: Callable[[Stored, bytes], bytes], **which: Any) -> Callable[[Damaged], tuple[str, Place]]:
    """Replace bytes of a record, from `at(record)` on, by `data` of the whole record; found at the record."""

    def do(d: Damaged) -> tuple[str, Place]:
        r = d.one(**which)
        path, start = d.log(r.offset)
        whole = path.read_bytes()[start : start + r.size]
        write(path, start + at(r), data(r, whole))
        return "commitlog", r.offset

    return do


def origin(topic: str) -> Callable[[Damaged], tuple[str, Place]]:
    """Change the physical offset in ORIGIN_MESSAGE_ID by one."""

    def do(d: Damaged) -> tuple[str, Place]:
        r = d.one(topic, 0, has=b"ORIGIN_MESSAGE_ID")
        path, start = d.log(r.offset)
        last = properties_at(r) + r.properties.index(b"ORIGIN_MESSAGE_ID") + len("ORIGIN_MESSAGE_ID") + 32
        old = path.read_bytes()[start + last : start + last + 1]
        write(path, start + last, b"1" if old != b"1" else b"2")
        return "commitlog", r.offset

    return do


def queue_entry(at: int, form: str, change: Callable[[int], int], **which: Any) -> Callable[[Damaged], tuple[str, Place]]:
    """Change a number of a record's queue entry; found at the record, or the entry."""

    def do(d: Damaged) -> tuple[str, Place]:
        r = d.one(**which)
        path, start = d.entry(r)
        (old,) = struct.unpack_from(form, path.read_bytes(), start + at)
        write(path, start + at, struct.pack(form, change(old)))
        return "", None if not which.get("exact", True) else r.offset

    return do


def table(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Damaged], tuple[str, Place]]:
    """Edit a table of config."""

    def do(d: Damaged) -> tuple[str, Place]:
        path = d.root / "config" / name
        found = json.loads(re.sub(r"([{,]\s*)(-?\d+)\s*:", r'\1"\2":', path.read_text()))
        change(found)
        path.write_text(json.dumps(found))
        return name, None

    return do


def file_of(
    choose: Callable[[Damaged], Path], change: Callable[[Path], object], where: str, place: Place = None
) -> Callable[..., tuple[str, Place]]:
    """Change a whole file: truncate, copy, swap."""

    def do(d: Damaged) -> tuple[str, Place]:
        change(choose(d))
        return where, place

    return do


def header(at: int, form: str, change: Callable[[int], int], file: int = 0) -> Callable[[Damaged], tuple[str, Place]]:
    """Change a number of an index file's header."""

    def do(d: Damaged) -> tuple[str, Place]:
        path = d.indexes[file]
        (old,) = struct.unpack_from(form, path.read_bytes(), at)
        write(path, at, struct.pack(form, change(old)))
        return at_place(path, 0)

    return do


def key(at: int, form: str, change: Callable[[int], int], number: int = 20) -> Callable[[Damaged], tuple[str, Place]]:
    """Change a number of an index entry; found at the entry."""

    def do(d: Damaged) -> tuple[str, Place]:
        path, start = d.key(number)
        (old,) = struct.unpack_from(form, path.read_bytes(), start + at)
        write(path, start + at, struct.pack(form, change(old)))
        return at_place(path, start)

    return do


def cut(path: Path, to: int) -> None:
    with path.open("r+b") as file:
        file.truncate(to)


def _swap_records(d: Damaged) -> tuple[str, Place]:
    """Swap two neighbouring records of equal size."""
    pairs = zip(d.records, d.records[1:], strict=False)
    first = next(a for a, b in pairs if a.size == b.size and b.offset == a.offset + a.size)
    path, at = d.log(first.offset)
    data = path.read_bytes()
    write(path, at, data[at + first.size : at + 2 * first.size] + data[at : at + first.size])
    return "commitlog", first.offset


def _over(d: Damaged) -> tuple[str, Place]:
    """Write a record over a later record of its size."""
    size = d.one(nth=20).size
    first, second = [r for r in d.records if r.size == size][:2]
    path, at = d.log(first.offset)
    write(*d.log(second.offset), path.read_bytes()[at : at + size])
    return "commitlog", second.offset


def _page(d: Damaged) -> tuple[str, Place]:
    """Lose a page of the log."""
    write(d.root / "commitlog" / f"{0:020}", 4096, bytes(4096))
    return "commitlog", max(r.offset for r in d.records if r.offset <= 4096)


def _queue_swapped(d: Damaged) -> tuple[str, Place]:
    a, b = (d.root / "consumequeue" / "Events" / str(n) / f"{0:020}" for n in (0, 1))
    one, two = a.read_bytes(), b.read_bytes()
    a.write_bytes(two)
    b.write_bytes(one)
    return "", None


def _entries_swapped(d: Damaged) -> tuple[str, Place]:
    r = d.one(nth=12)
    path, at = d.entry(r)
    data = path.read_bytes()
    at = min(at, QUEUE_FILE - 40)
    write(path, at, data[at + 20 : at + 40] + data[at : at + 20])
    return "", None


def _flip(d: Damaged, at: Callable[[Stored], int], bit: int, **which: Any) -> tuple[str, Place]:
    r = d.one(**which)
    path, start = d.log(r.offset)
    write(path, start + at(r), bytes([path.read_bytes()[start + at(r)] ^ bit]))
    return "commitlog", r.offset


def flip(at: Callable[[Stored], int], bit: int, **which: Any) -> Callable[[Damaged], tuple[str, Place]]:
    return lambda d: _flip(d, at, bit, **which)


def _config(d: Damaged, name: str) -> Path:
    return d.root / "config" / name


def _offsets(name: str, key_: str, offset: int) -> Callable[[dict[str, Any]], object]:
    def change(data: dict[str, Any]) -> None:
        rows = data["offsetTable"]
        assert isinstance(rows, dict)
        if name:
            rows[name][key_] = offset
        else:
            rows[key_] = offset

    return change


def _rename(d: Damaged, old: str, new: str) -> tuple[str, Place]:
    (d.root / "consumequeue" / old).rename(d.root / "consumequeue" / new)
    return "", None


def _consumed(change: Callable[[dict[str, Any]], object]) -> Callable[[Damaged], tuple[str, Place]]:
    def of_table(data: dict[str, Any]) -> object:
        rows = data["offsetTable"]
        assert isinstance(rows, dict)
        return change(rows)

    return table("consumerOffset.json", of_table)


def _topics(change: Callable[[dict[str, dict[str, Any]]], object]) -> Callable[[Damaged], tuple[str, Place]]:
    def of_table(data: dict[str, Any]) -> object:
        rows = data["topicConfigTable"]
        assert isinstance(rows, dict)
        return change(rows)

    return table("topics.json", of_table)


def checkpoint(at: int, change: Callable[[int], int]) -> Callable[[Damaged], tuple[str, Place]]:
    def do(d: Damaged) -> tuple[str, Place]:
        path = d.root / "checkpoint"
        (old,) = struct.unpack_from(">q", path.read_bytes(), at)
        write(path, at, struct.pack(">q", change(old)))
        return "checkpoint", at

    return do


_LOST = ("INV-37", "INV-39", "INV-40")
_QUEUE = ("INV-44", "INV-36", "REC-04")
_COMMITTED = {"topic": "Orders", "flags": 8, "nth": 2}
_IN_HALF, _IN_SCHEDULE, _OPERATION = {"topic": HALF, "nth": 5}, {"topic": SCHEDULE, "nth": 2}, {"topic": OPERATIONS, "nth": -1}
_RETRY = {"topic": "%RETRY%cg1", "nth": 1}
_PLAIN: dict[str, Any] = {}


def _of_records() -> list[Corruption]:
    c = Corruption
    return [
        c("size + 1", _LOST, field(0, ">i", lambda v: v + 1)),
        c("size 0", _LOST, field(0, ">i", lambda v: 0)),
        c("size negative", _LOST, field(0, ">i", lambda v: -v)),
        c("size beyond the file", _LOST, field(0, ">i", lambda v: v + 70_000)),
        c("magic, a bit", _LOST, field(4, ">I", lambda v: v ^ 1)),
        c("magic of a blank", _LOST, field(4, ">I", lambda v: BLANK)),
        c("magic of the second version", _LOST, field(4, ">I", lambda v: 0xDAA320AB)),
        c("body's checksum", ("INV-41",), field(8, ">I", lambda v: v ^ 0x100)),
        c("a bit of the body", ("INV-41",), flip(lambda r: 88 + r.body // 2, 4)),
        c("the body's first byte", ("INV-41",), flip(lambda r: 88, 128)),
        c("a bit of a half message's body", ("INV-41",), flip(lambda r: 90, 1, **_IN_HALF)),
        c("queue id + 1", (*_QUEUE, "INV-34"), field(12, ">i", lambda v: (v + 1) % 4)),
        c("queue id beyond the counts", ("INV-30", "INV-36"), field(12, ">i", lambda v: 77)),
        c("queue id negative", ("INV-30", "INV-36"), field(12, ">i", lambda v: -2)),
        c("flag", (), field(16, ">i", lambda v: v ^ 8)),
        c("flag of a committed message", ("TRX-06",), field(16, ">i", lambda v: v ^ 8, **_COMMITTED)),
        c("queue offset + 1", ("INV-34", "INV-44"), field(20, ">q", lambda v: v + 1)),
        c("queue offset 0", ("INV-34", "INV-44"), field(20, ">q", lambda v: 0)),
        c("queue offset, a high bit", ("INV-34", "INV-36"), field(20, ">q", lambda v: v | 1 << 40)),
        c("queue offset negative", ("INV-34",), field(20, ">q", lambda v: -3)),
        c("physical offset + 1", ("INV-37",), field(28, ">q", lambda v: v + 1)),
        c("physical offset, a high bit", ("INV-37",), field(28, ">q", lambda v: v ^ 1 << 33)),
        c("sysFlag prepared", ("TRX-05",), field(36, ">i", lambda v: v | 4)),
        c("sysFlag committed", ("TRX-06",), field(36, ">i", lambda v: v | 8)),
        c("sysFlag rolled back", ("TRX-05",), field(36, ">i", lambda v: v | 12)),
        c("sysFlag unknown bit", ("APP-08",), field(36, ">i", lambda v: v | 1 << 24)),
        c("sysFlag of IPv6", (*_LOST, "INV"), field(36, ">i", lambda v: v | 16)),
        c("sysFlag compressed", ("APP-08", "SEND"), field(36, ">i", lambda v: v | 1)),
        c("sysFlag of a half message", ("TRX-04",), field(36, ">i", lambda v: v | 4, **_IN_HALF)),
        c("sysFlag of a commit gone", ("TRX-06",), field(36, ">i", lambda v: 0, **_COMMITTED)),
        c("born in days to come", ("CL-01",), field(40, ">q", lambda v: v + (1 << 42))),
        c("born before 1970", ("CL-01",), field(40, ">q", lambda v: -v)),
        c("birth of a committed message", ("TRX-06",), field(40, ">q", lambda v: v - 1, **_COMMITTED)),
        c("birth of a half message", ("TRX-06",), field(40, ">q", lambda v: v - 1, topic=HALF, nth=5)),
        c("address of birth of a committed message", ("TRX-06",), field(48, ">I", lambda v: v ^ 2, **_COMMITTED)),
        c("port of birth 0", ("INV-43",), field(52, ">i", lambda v: 0)),
        c("port of birth, a high bit", ("INV-43",), field(52, ">i", lambda v: v | 1 << 20)),
        c("port of birth of a committed message", ("TRX-06",), field(52, ">i", lambda v: v ^ 1, **_COMMITTED)),
        c("stored before the record in front", ("INV-42",), field(56, ">q", lambda v: v - 100_000)),
        c("stored later than the record behind", ("INV-42",), field(56, ">q", lambda v: v + 100_000)),
        c("stored at 0", ("CL-01", "INV-42"), field(56, ">q", lambda v: 0)),
        c("store host's address", ("INV-43",), field(64, ">I", lambda v: v ^ 1 << 8)),
        c("store host's port, a bit", ("INV-43",), field(68, ">i", lambda v: v ^ 4)),
        c("store host's port 0", ("INV-43",), field(68, ">i", lambda v: 0)),
        c("consumed again -1 times", ("APP-08",), field(72, ">i", lambda v: -1)),
        c("consumed again, ordinary topic", ("INV-48",), field(72, ">i", lambda v: 5)),
        c("consumed again 0 times, retry topic", ("INV-48",), field(72, ">i", lambda v: 0, **_RETRY)),
        c("prepared offset of a plain record", ("TRX-06",), field(76, ">q", lambda v: 4711)),
        c("prepared offset of a commit, another record", ("TRX-06",), field(76, ">q", lambda v: v + 8, **_COMMITTED)),
        c("prepared offset of a commit 0", ("TRX-06",), field(76, ">q", lambda v: 0, **_COMMITTED)),
        c("prepared offset of a commit behind itself", ("TRX-06",), field(76, ">q", lambda v: v + 2000, **_COMMITTED)),
        c("body length - 1", _LOST, field(84, ">i", lambda v: v - 1)),
        c("body length negative", _LOST, field(84, ">i", lambda v: -1)),
        c("body length huge", _LOST, field(84, ">i", lambda v: 1 << 28)),
        c("topic length + 1", _LOST, flip(lambda r: 88 + r.body, 8)),
        c("a letter of the topic", (*_QUEUE, "INV-27"), flip(lambda r: 89 + r.body, 1)),
        c("a byte of the topic that is no UTF-8", (*_QUEUE, "INV-27", "CHK-02"), flip(lambda r: 90 + r.body, 128)),
        c("properties' length + 1", _LOST, flip(lambda r: properties_at(r) - 1, 1)),
        c("a letter of TAGS", ("INV-44",), text(b"TAGS\x01t", b"TAGS\x01u")),
        c("the name TAGS", ("INV-44",), text(b"TAGS", b"TAGT")),
        c("a byte of KEYS", ("REC-04",), text(b"KEYS\x01k", b"KEYS\x01j")),
        c("the name KEYS", ("REC-04",), text(b"KEYS", b"KEYZ")),
        c("a byte of UNIQ_KEY", ("REC-04",), text(b"UNIQ_KEY\x01U", b"UNIQ_KEY\x01V")),
        c("properties that are no UTF-8", ("SEND-26",), text(b"CLUSTER\x01Def", b"CLUSTER\x01\xff\xfef")),
        c("a separator of properties lost", ("SEND-26", "REC-04", "INV-44"), text(b"\x02CLUSTER", b" CLUSTER")),
        c("REAL_TOPIC of a half message", ("TRX-06",), text(b"REAL_TOPIC\x01Or", b"REAL_TOPIC\x01Ar", **_IN_HALF)),
        c("REAL_QID of a half message", ("TRX-06", "REC-05"), text(b"REAL_QID\x011", b"REAL_QID\x012", topic=HALF, nth=1)),
        c("REAL_QID outside of the topic", ("REC-05", "TRX-06"), text(b"REAL_QID\x010", b"REAL_QID\x019", topic=HALF, nth=1)),
        c("REAL_TOPIC of a committed message", ("REC-05",), text(b"REAL_TOPIC\x01Or", b"REAL_TOPIC\x01Ar", **_COMMITTED)),
        c("REAL_TOPIC of a delayed message", ("INV-45", "REC-05"), text(b"REAL_TOPIC", b"REAL_TOPIK", **_IN_SCHEDULE)),
        c("REAL_QID that is no number", ("INV-45",), text(b"REAL_QID\x010", b"REAL_QID\x01x", **_IN_SCHEDULE)),
        c("REAL_QID of a delayed message outside", ("REC-05",), text(b"REAL_QID\x010", b"REAL_QID\x019", **_IN_SCHEDULE)),
        c("DELAY", ("INV-45", "INV-46", "REC-04"), text(b"DELAY\x01", b"DELAZ\x01", **_IN_SCHEDULE)),
        c("ORIGIN_MESSAGE_ID that is no id", ("INV-50",), text(b"ORIGIN_MESSAGE_ID\x017F", b"ORIGIN_MESSAGE_ID\x01xy", **_RETRY)),
        c("ORIGIN_MESSAGE_ID of another place", ("INV-50",), origin("%RETRY%cg1")),
        c("the name ORIGIN_MESSAGE_ID", ("INV-50",), text(b"ORIGIN_MESSAGE_ID", b"ORIGIN_MESSAGE_IE", **_RETRY)),
        c("RETRY_TOPIC", ("INV-49",), text(b"RETRY_TOPIC\x01Or", b"RETRY_TOPIC\x01Ar", **_RETRY)),
        c("operation on another offset", ("TRX-07", "INV-41"), span(lambda r: 88, lambda r, b: b"9", **_OPERATION)),
        c("tag of an operation", ("TRX-07", "INV-44"), text(b"TAGS\x01d", b"TAGS\x01e", **_OPERATION)),
        c("a record of zeros", _LOST, span(lambda r: 0, lambda r, b: bytes(r.size))),
        c("a record of noise", _LOST, span(lambda r: 0, lambda r, b: bytes((7 * n + 3) % 251 for n in range(r.size)))),
        c("half a record of zeros", (*_LOST, "INV-41"), span(lambda r: r.size // 2, lambda r, b: bytes(r.size - r.size // 2))),
        c("two records swapped", ("INV-37",), _swap_records),
        c("a record written over another", ("INV-37",), _over),
        c("a page of zeros", _LOST, _page),
    ]


def _of_files() -> list[Corruption]:
    c = Corruption
    log = lambda n: lambda d: d.root / "commitlog" / f"{n * FILE:020}"  # noqa: E731
    events = lambda d: d.root / "consumequeue" / "Events" / "0" / f"{0:020}"  # noqa: E731
    return [
        c("the first log file cut", _LOST, file_of(log(0), lambda p: cut(p, 30_001), "commitlog")),
        c("the last log file cut inside a record", (*_LOST, "INV-44"), file_of(log(1), lambda p: cut(p, 20_001), "commitlog")),
        c("the last log file gone", ("INV-44",), file_of(log(1), Path.unlink, "commitlog")),
        c("a log file doubled", ("INV-37",), file_of(log(1), lambda p: shutil.copy(p, p.with_name(f"{2 * FILE:020}")), "commitlog")),
        c(
            "a stale copy of the last log file",
            ("INV-37", "INV-44"),
            file_of(log(1), lambda p: write(p, 8000, bytes(FILE - 8000)), "commitlog"),
        ),
        c("a log file in another's place", ("INV-37",), file_of(log(1), lambda p: shutil.copy(p.with_name("0" * 20), p), "commitlog")),
        c("bytes behind the log's end", _LOST, file_of(log(1), lambda p: write(p, FILE - 50, b"some bytes"), "commitlog")),
        c("the blank's size", _LOST, lambda d: _blank(d, 0, ">i", lambda v: v - 8)),
        c("the blank's magic", _LOST, lambda d: _blank(d, 4, ">I", lambda v: v ^ 2)),
        c("a queue file gone", _QUEUE, file_of(events, Path.unlink, "")),
        c("a queue file of zeros", _QUEUE, file_of(events, lambda p: p.write_bytes(bytes(QUEUE_FILE)), "")),
        c("a queue file cut", _QUEUE, file_of(events, lambda p: cut(p, 333), "")),
        c("a queue's folder renamed", _QUEUE, lambda d: _rename(d, "Events", "Event5")),
        c("two queues' files swapped", _QUEUE, _queue_swapped),
        c("two entries swapped", _QUEUE, _entries_swapped),
    ]


def _blank(d: Damaged, at: int, form: str, change: Callable[[int], int]) -> tuple[str, Place]:
    last = max((r for r in d.records if r.offset < FILE), key=lambda r: r.offset)
    path, place = d.log(last.offset + last.size)
    (old,) = struct.unpack_from(form, path.read_bytes(), place + at)
    write(path, place + at, struct.pack(form, change(old)))
    return "commitlog", last.offset + last.size


def _of_queues() -> list[Corruption]:
    c = Corruption
    return [
        c("entry's offset + 1", _QUEUE, queue_entry(0, ">q", lambda v: v + 1)),
        c("entry's offset of another record", _QUEUE, queue_entry(0, ">q", lambda v: 0)),
        c("entry's offset, a high bit", _QUEUE, queue_entry(0, ">q", lambda v: v ^ 1 << 50)),
        c("entry's size", _QUEUE, queue_entry(8, ">i", lambda v: v + 4)),
        c("entry's size 0", _QUEUE, queue_entry(8, ">i", lambda v: 0)),
        c("entry's tags code", _QUEUE, queue_entry(12, ">q", lambda v: v ^ 1)),
        c("entry's time of delivery", _QUEUE, queue_entry(12, ">q", lambda v: v + 17, **_IN_SCHEDULE)),
        c("entry of a half message", _QUEUE, queue_entry(0, ">q", lambda v: v - 5, **_IN_HALF)),
    ]


def _of_tables() -> list[Corruption]:
    c = Corruption
    return [
        c("delayOffset beyond its queue", ("REC-05",), table("delayOffset.json", _offsets("", "1", 500))),
        c("delayOffset negative", ("REC-05",), table("delayOffset.json", _offsets("", "1", -2))),
        c("delayOffset of what is not due", ("REC-05",), table("delayOffset.json", _offsets("", "5", 1))),
        c("delayOffset of a level that is none", ("REC-05",), table("delayOffset.json", _offsets("", "99", 1))),
        c("delayOffset back by one", (), table("delayOffset.json", _offsets("", "1", 7))),
        c("delayOffset cut", ("PER-03",), lambda d: (cut(_config(d, "delayOffset.json"), 20), ("delayOffset", None))[1]),
        c("consumerOffset beyond its queue", ("CLI-07",), _consumed(lambda t: t["Orders@cg1"].update({"0": 999}))),
        c("consumerOffset negative", ("CLI-07",), _consumed(lambda t: t["Orders@cg1"].update({"0": -7}))),
        c("consumerOffset of a queue that is none", ("CLI-07",), _consumed(lambda t: t["Orders@cg1"].update({"9": 1}))),
        c("consumerOffset of a topic that is none", ("CLI-07",), _consumed(lambda t: t.update({"Other@cg1": {"0": 1}}))),
        c("consumerOffset without a group", ("CLI-07",), _consumed(lambda t: t.update({"Orders": {"0": 1}}))),
        c("consumerOffset empty", ("PER-03",), lambda d: (_config(d, "consumerOffset.json").write_text(""), ("consumerOffset", None))[1]),
        c("a backup cut", ("PER-03",), lambda d: (cut(_config(d, "topics.json.bak"), 30), ("topics.json.bak", None))[1]),
        c("subscriptionGroup cut", ("PER-03",), lambda d: (cut(_config(d, "subscriptionGroup.json"), 30), ("subscriptionGroup", None))[1]),
        c("topics cut", ("PER-03",), lambda d: (cut(_config(d, "topics.json"), 30), ("topics.json", None))[1]),
        c("topics gone", ("INV-28",), lambda d: (_config(d, "topics.json").unlink(), ("topics.json", None))[1]),
        c("a topic gone from the table", ("INV-27",), lambda d: (_topics(lambda t: t.pop("Events"))(d), ("", None))[1]),
        c("a topic's permission", ("PERM-01", "HAZ"), _topics(lambda t: t["Events"].update(perm=64))),
        c(
            "a topic's queues fewer",
            ("INV-30", "INV-31"),
            lambda d: (_topics(lambda t: t["Orders"].update(writeQueueNums=1, readQueueNums=1))(d), ("", None))[1],
        ),
        c("a topic's queues negative", ("INV-13",), _topics(lambda t: t["Events"].update(writeQueueNums=-4))),
        c("a topic's inner name", ("TCM-01",), _topics(lambda t: t["Events"].update(topicName="Event"))),
        c("data version 0", ("INV-17",), table("topics.json", lambda t: t["dataVersion"].update(counter=0))),
        c("checkpoint of the log ahead", ("REC-02",), checkpoint(0, lambda v: v + (1 << 30))),
        c("checkpoint of the queues, a bit", ("REC-02",), checkpoint(8, lambda v: v ^ 1 << 8)),
        c("checkpoint negative", ("REC-02",), checkpoint(0, lambda v: -v - 1)),
        c("checkpoint of the index, a high bit", ("REC-02",), checkpoint(16, lambda v: v | 1 << 45)),
        c("checkpoint cut", ("REC-02",), lambda d: (cut(d.root / "checkpoint", 10), ("checkpoint", None))[1]),
        c("checkpoint of zeros", (), lambda d: (write(d.root / "checkpoint", 0, bytes(24)), ("checkpoint", None))[1]),
    ]


def _of_index() -> list[Corruption]:
    c = Corruption
    i = ("REC-04",)
    return [
        c("index: begin timestamp", i, header(0, ">q", lambda v: v - 1000)),
        c("index: end timestamp", i, header(8, ">q", lambda v: v + 1000)),
        c("index: begin offset", i, header(16, ">q", lambda v: v + 1)),
        c("index: end offset", i, header(24, ">q", lambda v: v ^ 64)),
        c("index: slots in use", i, header(32, ">i", lambda v: v + 3)),
        c("index: count + 1", i, header(36, ">i", lambda v: v + 1, file=-1)),
        c("index: count - 2", i, header(36, ">i", lambda v: v - 2, file=-1)),
        c("index: count huge", i, header(36, ">i", lambda v: 1 << 30)),
        c("index: count 0", i, header(36, ">i", lambda v: 0)),
        c("index: a key's hash", i, key(0, ">i", lambda v: v ^ 16)),
        c("index: an entry's offset", i, key(4, ">q", lambda v: v + 1)),
        c("index: an entry's offset, a high bit", i, key(4, ">q", lambda v: v | 1 << 44)),
        c("index: an entry's time", i, key(12, ">i", lambda v: v + 900)),
        c("index: an entry's chain", i, key(16, ">i", lambda v: v + 1)),
        c("index: an entry of zeros", i, lambda d: (write(*d.key(30), bytes(20)), at_place(*d.key(30)))[1]),
        c("index: a slot", i, lambda d: (write(d.indexes[0], 40 + 4 * 3, struct.pack(">i", 1)), ("index", None))[1]),
        c("index: a slot of zero", i, lambda d: (write(d.indexes[0], 40 + 4 * 7, bytes(4)), ("index", None))[1]),
        c("index: a file cut", i, lambda d: (cut(d.indexes[0], 1001), ("index", None))[1]),
        c("index: a file without header", i, lambda d: (cut(d.indexes[0], 17), ("index", None))[1]),
        c("index: entries of noise", i, lambda d: (write(d.indexes[0], 240, bytes(n * 11 % 256 for n in range(4000))), ("index", None))[1]),
        c("index: a page of zeros", i, lambda d: (write(d.indexes[0], 1024, bytes(2048)), ("index", None))[1]),
    ]


CORRUPTIONS = [*_of_records(), *_of_queues(), *_of_files(), *_of_tables(), *_of_index()]
