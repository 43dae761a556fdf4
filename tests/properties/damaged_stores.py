"""A fabricated store and ways to damage it: each damage changes a few bytes at a random offset, with the rule and offset of its finding.

This module reads the store itself, with a few lines of struct, so that tests do not depend on the reader under test.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rocketproof_lab.bench.fabricate import StorePlan, fabricate

MAGIC, BLANK = 0xDAA320A7, 0xCBD43194
SMALL = StorePlan(
    700_000, seed=3, topics=5, queues=3, bodies=(80, 400), delayed=60, transactions=60, file_size=200_000, queue_file_size=12_000
)


@dataclass(frozen=True)
class Stored:
    """A stored record: its file, position in that file, physical offset and some of its fields."""

    path: Path
    at: int
    offset: int
    size: int
    topic: str
    queue: int
    index: int
    flags: int
    body: int
    properties: bytes

    @property
    def properties_at(self) -> int:
        return self.at + self.size - len(self.properties)

    @property
    def is_plain(self) -> bool:
        return self.flags == 0 and self.topic.startswith("topic")


def read_records(root: Path) -> list[Stored]:
    found = []
    for path in sorted((root / "commitlog").iterdir()):
        data, at = path.read_bytes(), 0
        while at + 8 <= len(data):
            size, magic = struct.unpack_from(">II", data, at)
            if magic != MAGIC:
                break
            queue, _, index, offset, flags = struct.unpack_from(">iiqqi", data, at + 12)
            (body,) = struct.unpack_from(">i", data, at + 84)
            topic_at = at + 88 + body
            name = data[topic_at + 1 : topic_at + 1 + data[topic_at]]
            properties = data[topic_at + 3 + len(name) : at + size]
            found.append(Stored(path, at, offset, size, name.decode(), queue, index, flags, body, properties))
            at += size
    return found


@dataclass
class Damaged:
    """A store that is being damaged. `used` are offsets of records that are damaged, or near one that is."""

    root: Path
    records: list[Stored]
    rng: random.Random
    used: set[int] = field(default_factory=set)

    @property
    def log(self) -> Path:
        return next(self.root.glob("dledger-*/data"), self.root / "commitlog")

    def take(self, wanted: Callable[[Stored], bool] = lambda r: r.is_plain, apart: int = 1) -> Stored:
        """Return a random record of the wanted kind that has neighbours in its queue and is away from other damage."""
        for _ in range(10_000):
            n = self.rng.randrange(apart + 2, len(self.records) - apart - 2)
            record = self.records[n]
            near = self.records[n - apart - 1 : n + apart + 2]
            if wanted(record) and record.index > 0 and not any(r.offset in self.used or r.path != record.path for r in near):
                self.used |= {r.offset for r in near} | {r.offset for r in self.of_queue(record, -2, 3)}
                return record
        raise AssertionError("the store has no such record left")

    def of_queue(self, record: Stored, first: int, past: int) -> list[Stored]:
        """Return neighbouring records of the record's queue."""
        wanted = range(record.index + first, record.index + past)
        return [
            r for r in self.records if (r.topic, r.queue) == (record.topic, record.queue) and r.index in wanted and r.flags & 12 in (0, 8)
        ]

    def write(self, path: Path, at: int, data: bytes) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(data)

    def put(self, record: Stored, at: int, form: str, value: int) -> int:
        """Change a number of a record, and return the record's offset."""
        self.write(record.path, record.at + at, struct.pack(form, value))
        return record.offset

    def entry(self, record: Stored) -> tuple[Path, int]:
        """Return the file and position of the record's consume queue entry."""
        files = sorted((self.root / "consumequeue" / record.topic / str(record.queue)).iterdir())
        at = record.index * 20
        path = next(p for p in reversed(files) if int(p.name) <= at)
        return path, at - int(path.name)

    def table(self, change: Callable[[dict[str, Any]], object]) -> None:
        path = self.root / "config" / "topics.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))


@dataclass(frozen=True)
class Damage:
    """`do` damages a store and returns the offset at which `property` is expected, None for any. `also`: other rules that the damage
    breaks.

    `whole`: the damage concerns the whole store and cannot be combined with others.
    """

    name: str
    property: str
    do: Callable[[Damaged], int | None]
    also: tuple[str, ...] = ()
    whole: bool = False


def _in_schedule(record: Stored) -> bool:
    return record.topic == "SCHEDULE_TOPIC_XXXX"


def _half(record: Stored) -> bool:
    return record.topic == "RMQ_SYS_TRANS_HALF_TOPIC"


def _committed(record: Stored) -> bool:
    return record.flags == 8


def _body(d: Damaged) -> int:
    record = d.take()
    at = record.at + 88 + d.rng.randrange(record.body)
    d.write(record.path, at, bytes([record.path.read_bytes()[at] ^ 0x10]))
    return record.offset


def _entry(form: str, place: int, value: Callable[[Stored], int], wanted: Callable[[Stored], bool] = lambda r: r.is_plain) -> Any:
    def do(d: Damaged) -> int:
        record = d.take(wanted)
        path, at = d.entry(record)
        d.write(path, at + place, struct.pack(form, value(record)))
        return record.offset

    return do


def _waits_longer(d: Damaged) -> int:
    record = d.take(_in_schedule)
    path, at = d.entry(record)
    (due,) = struct.unpack_from(">q", path.read_bytes(), at + 12)
    d.write(path, at + 12, struct.pack(">q", due + 2000))
    return record.offset


def _more_entries(d: Damaged) -> int:
    """Add an entry after the last one, pointing at a record of another queue."""
    record = d.take()
    other = next(r for r in d.records if r.is_plain and r.topic == record.topic and r.queue != record.queue)
    last = max(r.index for r in d.records if (r.topic, r.queue) == (record.topic, record.queue))
    files = sorted((d.root / "consumequeue" / record.topic / str(record.queue)).iterdir())
    path, at = files[-1], (last + 1) * 20 - int(files[-1].name)
    assert at < path.stat().st_size, "the seed gives a queue whose last file is not full"
    d.write(path, at, struct.pack(">qiq", d.records[-1].offset + 100_000_000, other.size, 0))
    return at


def points_behind(d: Damaged, entries: int, behind: int) -> None:
    """Let `entries` entries, each in the middle of its queue, point `behind` bytes past the end of the log."""
    queues = sorted({(r.topic, r.queue) for r in d.records if r.is_plain})
    end = d.records[-1].offset + d.records[-1].size
    for topic, queue in queues[:entries]:
        members = sorted((r for r in d.records if (r.topic, r.queue) == (topic, queue) and r.flags & 12 in (0, 8)), key=lambda r: r.index)
        path, at = d.entry(members[len(members) // 2])
        d.write(path, at, struct.pack(">q", end + behind))


def _property(d: Damaged, wanted: Callable[[Stored], bool], old: bytes, new: bytes) -> int:
    record = d.take(lambda r: wanted(r) and old in r.properties)
    assert len(old) == len(new)
    d.write(record.path, record.properties_at + record.properties.index(old), new)
    return record.offset


def _blank(d: Damaged) -> int:
    path = sorted(d.log.iterdir())[1]
    last = [r for r in d.records if r.path == path][-1]
    at = last.at + last.size
    (size,) = struct.unpack(">i", path.read_bytes()[at : at + 4])
    d.write(path, at, struct.pack(">i", size - 1))
    return int(path.name) + at


def _cut(d: Damaged) -> int:
    path = sorted(d.log.iterdir())[-1]
    inside = [r for r in d.records if r.path == path]
    record = inside[-1]
    with path.open("r+b") as file:
        file.truncate(record.at + record.size // 2)
    return record.offset


def _without_file(d: Damaged) -> int:
    _, path, behind = sorted(d.log.iterdir())[:3]
    path.unlink()
    return int(behind.name)


def _only_blank(d: Damaged) -> int:
    path = sorted(d.log.iterdir())[1]
    size = path.stat().st_size
    path.write_bytes(struct.pack(">II", size, BLANK) + bytes(size - 8))
    return int(path.name)


def _topic(change: Callable[[dict[str, Any]], object], table: bool = True) -> Any:
    def do(d: Damaged) -> int | None:
        d.table(lambda data: change(data["topicConfigTable"]["topic-003-ddd"]))
        return 0 if table else min(r.offset for r in d.records if r.topic == "topic-003-ddd" and r.queue == 2)

    return do


def _forgotten(d: Damaged) -> int:
    d.table(lambda data: data["topicConfigTable"].pop("topic-003-ddd"))
    return min(r.offset for r in d.records if r.topic == "topic-003-ddd")


def _hole(d: Damaged) -> int:
    record = d.take()
    d.write(record.path, record.at, bytes(record.size))
    return record.offset


_NEXT = ("INV-34.stored",)  # the queue's next record does not follow any more
_ENTRY = ("INV-44.queue", "INV-44.back", "INV-44.record", "REC-04.counted")  # and its entry is claimed by no record
DAMAGES = [
    Damage("physical offset", "INV-37.stored", lambda d: d.put(r := d.take(), 28, ">q", r.offset + 1)),
    Damage("a bit of a body", "INV-41.stored", _body),
    Damage("checksum", "INV-41.stored", lambda d: d.put(d.take(), 8, ">i", -5)),
    Damage("size", "INV-40.stored", lambda d: d.put(r := d.take(), 0, ">i", r.size + 1), ("INV-44.size",)),
    Damage("body length", "INV-40.stored", lambda d: d.put(r := d.take(), 84, ">i", r.body - 1), ("*",)),
    Damage("magic", "INV-37.contiguous", lambda d: d.put(d.take(), 4, ">I", 0xDAA320A6), (*_NEXT, *_ENTRY)),
    Damage("queue offset", "INV-34.stored", lambda d: d.put(r := d.take(), 20, ">q", r.index + 1), ("INV-44.later", *_ENTRY)),
    Damage("queue offset 0", "INV-34.again", lambda d: d.put(d.take(), 20, ">q", 0), (*_NEXT, "INV-44.offset", *_ENTRY)),
    Damage("negative queue offset", "INV-34.sign", lambda d: d.put(d.take(), 20, ">q", -1), (*_NEXT, "INV-36.stored", *_ENTRY)),
    Damage("huge queue offset", "INV-36.stored", lambda d: d.put(d.take(), 20, ">q", 2**40), (*_NEXT, *_ENTRY)),
    Damage(
        "queue beyond the counts", "INV-30.stored", lambda d: d.put(d.take(), 12, ">i", d.rng.randrange(70, 1 << 20)),
        (*_NEXT, "INV-31.stored", "INV-32.stored", "INV-34.first", "INV-36.stored", *_ENTRY),
    ),
    Damage(
        "negative queue", "INV-30.sign", lambda d: d.put(d.take(), 12, ">i", -d.rng.randrange(70, 1 << 20)),
        (*_NEXT, "INV-34.first", "INV-36.stored", *_ENTRY),
    ),
    Damage("unknown flag", "APP-08.sysFlag", lambda d: d.put(d.take(), 36, ">i", 1 << 20)),
    Damage("prepared", "TRX-05.stored", lambda d: d.put(d.take(), 36, ">i", 4), (*_NEXT, "INV-35.stored", *_ENTRY)),
    Damage("rolled back half message", "TRX-04.bits", lambda d: d.put(d.take(_half), 36, ">i", 12), (*_NEXT, "INV-35.stored", *_ENTRY)),
    Damage("born tomorrow", "CL-01.born", lambda d: d.put(d.take(), 40, ">q", 1_800_000_000_000)),
    Damage("stored before the record before it", "INV-42.stored", lambda d: d.put(d.take(), 56, ">q", 1_699_999_999_999)),
    Damage("no store time", "CL-01.stored", lambda d: d.put(d.take(), 56, ">q", 0), ("INV-42.stored", "CL-01.born")),
    Damage("consumed again -1 times", "APP-08.reconsumeTimes", lambda d: d.put(d.take(), 72, ">i", -1)),
    Damage("no store port", "INV-43.stored", lambda d: d.put(d.take(), 68, ">i", 0), ("INV-43.hosts",)),
    Damage("commit before its half", "TRX-06.commit", lambda d: d.put(d.take(_committed), 76, ">q", 1 << 50), ("TRX-06.half",)),
    Damage("half message of a plain record", "TRX-06.other", lambda d: d.put(d.take(), 76, ">q", 4711)),
    Damage("another level's time", "REC-04.level", _waits_longer),
    Damage("level", "INV-45.queue", lambda d: d.put(d.take(_in_schedule), 12, ">i", 9), ("*",)),
    Damage(
        "no topic to deliver to", "INV-45.topic", lambda d: _property(d, _in_schedule, b"REAL_TOPIC", b"REAL_TROPIC"[:10])
    ),
    Damage("half message without topic", "TRX-04.topic", lambda d: _property(d, _half, b"REAL_QID", b"REEL_QID"), ("TRX-06.queue",)),
    Damage("byte between name and value", "SEND-26.stored", lambda d: _property(d, lambda r: r.is_plain, b"CLUSTER\x01", b"CLUSTER=")),
    Damage("hole", "INV-37.hole", _hole, (*_NEXT, *_ENTRY)),
    Damage("entry before", "INV-44.offset", _entry(">q", 0, lambda r: r.offset - 1), _ENTRY),
    Damage("entry behind", "INV-44.later", _entry(">q", 0, lambda r: r.offset + 1), _ENTRY),
    Damage("entry's size", "INV-44.size", _entry(">i", 8, lambda r: r.size + 1)),
    Damage("entry's tags", "INV-44.tags", _entry(">q", 12, lambda r: 12345)),
    Damage("time of delivery", "REC-04.deliver", _entry(">q", 12, lambda r: 12345, _in_schedule)),
    Damage("an entry too many", "INV-44.record", _more_entries),
    Damage("blank that is too short", "INV-37.blank", _blank, ("INV-37.ended", "INV-37.contiguous", "INV-37.hole"), whole=True),
    Damage("cut file", "INV-39.stored", _cut, ("*",), whole=True),
    Damage("missing file", "INV-37.files", _without_file, ("INV-34.stored", *_ENTRY), whole=True),
    Damage("blank file", "INV-06.stored", _only_blank, ("INV-34.stored", "TRX-06.half", *_ENTRY), whole=True),
    Damage("inherited topic", "INV-10.stored", _topic(lambda t: t.update(perm=7)), whole=True),
    Damage("no queues", "INV-13.stored", _topic(lambda t: t.update(readQueueNums=0)), ("INV-12.stored", "INV-32.stored"), whole=True),
    Damage("fewer queues", "INV-31.stored", _topic(lambda t: t.update(writeQueueNums=2), table=False), ("INV-12.stored",), whole=True),
    Damage("unknown permission", "PERM-01.stored", _topic(lambda t: t.update(perm=70)), whole=True),
    Damage("another name", "TCM-01.name", _topic(lambda t: t.update(topicName="x")), whole=True),
    Damage(
        "a topic that is not in the table", "INV-27.stored",
        _forgotten,
        whole=True,
    ),
    Damage("version behind", "INV-17.stored", lambda d: (d.table(lambda data: data["dataVersion"].update(counter=1)), 0)[1], whole=True),
]  # fmt: skip


def copied(source: Path, records: list[Stored], to: Path, seed: int) -> Damaged:
    shutil.copytree(source, to)
    there = [replace(record, path=to / record.path.relative_to(source)) for record in records]
    return Damaged(to, there, random.Random(seed))


def made(folder: Path, plan: StorePlan = SMALL) -> tuple[Path, list[Stored]]:
    fabricate(folder, plan)
    return folder, read_records(folder)
