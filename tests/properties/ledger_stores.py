"""A DLedger store made from a plain one: headers before the records, blanks in another order, an index.

Every record has another offset than in the plain store. The copy therefore rewrites each stored offset: in the record itself, in the
commit of a half message and in the consume queues. Damage of plain stores also applies to it, next to some that exists only with DLedger.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from damaged_stores import DAMAGES, Damage, Damaged, Stored

HEADER = struct.Struct(">iiqqqiiii")  # type, size, index, term, position, channel, chain's checksum, body's checksum, body size
INDEX = struct.Struct(">iqiqq")  # type, position, size, index, term
ENTRY = np.dtype([("offset", ">i8"), ("size", ">i4"), ("code", ">i8")])
SIZE, INDEX_SIZE = 150_000, 32_000


def as_ledger(source: Path, records: list[Stored], to: Path, without_record: int = 200) -> list[Stored]:
    """Write the store, in which one of `without_record` entries has no record. Return its records."""
    shutil.copytree(source, to, ignore=shutil.ignore_patterns("commitlog"))
    data, index = to / "dledger-n0" / "data", to / "dledger-n0" / "index"
    data.mkdir(parents=True)
    index.mkdir()
    log, said, moved, found = bytearray(), bytearray(), {}, []

    def add(kind: int, body: bytes) -> None:
        rest = SIZE - len(log) % SIZE
        if len(body) + HEADER.size + 8 > rest:
            log.extend(struct.pack(">ii", -1, rest).ljust(rest, b"\0"))
        number, term, size = len(said) // INDEX.size, len(said) // 20_000, len(body) + HEADER.size
        said.extend(INDEX.pack(1, len(log), size, number, term))
        log.extend(HEADER.pack(kind, size, number, term, len(log), 0, 0, 0, len(body)) + body)

    old = {path: path.read_bytes() for path in sorted({record.path for record in records})}
    for n, record in enumerate(records):
        if n % without_record == without_record // 2:
            add(2, b"")
        body = bytearray(old[record.path][record.at : record.at + record.size])
        add(1, body)
        offset = len(log) - record.size
        moved[record.offset] = offset
        struct.pack_into(">q", log, offset + 28, offset)
        (origin,) = struct.unpack_from(">q", log, offset + 76)
        if record.flags & 12 == 8:
            struct.pack_into(">q", log, offset + 76, moved[origin])
        base = offset - offset % SIZE
        found.append(replace(record, path=data / f"{base:020}", at=offset - base, offset=offset))
    for folder, whole, size in ((data, log, SIZE), (index, said, INDEX_SIZE)):
        for base in range(0, len(whole), size):
            (folder / f"{base:020}").write_bytes(whole[base : base + size].ljust(size, b"\0"))
    for path in (to / "consumequeue").glob("*/*/*"):
        entries = np.fromfile(path, ENTRY)
        there = entries["size"] > 0
        entries["offset"][there] = [moved[offset] for offset in entries["offset"][there].tolist()]
        entries.tofile(path)
    return found


# Damage


def _field(at: int, form: str, change: Callable[[int], int]) -> Callable[[Damaged], int]:
    """Change a number in an entry's header. The damage returns the entry's offset."""

    def do(d: Damaged) -> int:
        record = d.take()
        (value,) = struct.unpack_from(form, record.path.read_bytes(), record.at - HEADER.size + at)
        d.write(record.path, record.at - HEADER.size + at, struct.pack(form, change(value)))
        return record.offset - HEADER.size

    return do


def _in_index(at: int, data: bytes) -> Callable[[Damaged], int]:
    """Overwrite the entry of the index. The damage returns the offset of the log's entry."""

    def do(d: Damaged) -> int:
        record = d.take()
        (number,) = struct.unpack_from(">q", record.path.read_bytes(), record.at - HEADER.size + 8)
        base = number * INDEX.size // INDEX_SIZE * INDEX_SIZE
        d.write(d.root / "dledger-n0" / "index" / f"{base:020}", number * INDEX.size - base + at, data)
        return record.offset - HEADER.size

    return do


def _blank(d: Damaged) -> int:
    """Make the blank of a file state too few bytes."""
    path = sorted(d.log.iterdir())[1]
    last = [r for r in d.records if r.path == path][-1]
    at = last.at + last.size
    (size,) = struct.unpack(">i", path.read_bytes()[at + 4 : at + 8])
    d.write(path, at + 4, struct.pack(">i", size - 1))
    return int(path.name) + at


def _blank_file(d: Damaged) -> int:
    path = sorted(d.log.iterdir())[1]
    path.write_bytes(struct.pack(">ii", -1, SIZE).ljust(SIZE, b"\0"))
    return int(path.name)


def _body_and_checksum(d: Damaged) -> int:
    """Set a checksum that does not match."""
    return _field(40, ">i", lambda _: 12345)(d)


def _wiped(d: Damaged) -> int:
    record = d.take()
    d.write(record.path, record.at - HEADER.size, bytes(HEADER.size))
    return record.offset - HEADER.size


def _hole(d: Damaged) -> int:
    record = d.take()
    d.write(record.path, record.at - HEADER.size, bytes(HEADER.size + record.size))
    return record.offset - HEADER.size


def _zeros_behind_header(d: Damaged) -> int:
    record = d.take()
    d.write(record.path, record.at, bytes(record.size))
    return record.offset - HEADER.size


def _of_entry(damage: Damage) -> Damage:
    """Expect the damage at the begin of its entry, because the whole entry is lost."""

    def do(d: Damaged) -> int:
        offset = damage.do(d)
        assert offset is not None
        return offset - HEADER.size

    return replace(damage, do=do, also=damage.also if damage.also == ("*",) else (*damage.also, "INV-34.ledger"))


_INDEXED = ("INV-44.ledger", "INV-44.ledgerSize", "INV-44.ledgerTerm", "INV-34.ledger")
OWN = [
    Damage("position", "INV-37.ledger", _field(24, ">q", lambda value: value + 1)),
    Damage("size", "INV-40.ledger", _field(4, ">i", lambda value: value + 1), ("INV-44.ledgerSize",)),
    Damage("body size", "INV-40.body", _field(44, ">i", lambda value: value - 1), ("INV-40.ledger",)),
    Damage("type", "APP-08.ledger", _field(0, ">i", lambda _: 2)),
    Damage("body's checksum", "INV-41.ledger", _body_and_checksum),
    Damage("number", "INV-34.ledger", _field(8, ">q", lambda value: value + 1), _INDEXED),
    Damage("huge number", "INV-34.ledger", _field(8, ">q", lambda _: (1 << 63) - 1)),
    Damage("huge term", "INV-42.ledger", _field(16, ">q", lambda _: (1 << 63) - 1), ("INV-44.ledgerTerm",)),
    Damage("earlier term", "INV-42.ledger", _field(16, ">q", lambda _: -1), ("INV-44.ledgerTerm",)),
    Damage("header of zeros", "INV-37.ledger", _wiped, ("INV-40.ledger", "INV-40.body", "APP-08.ledger", "INV-42.ledger", *_INDEXED)),
    Damage("index's place", "INV-44.ledger", _in_index(4, struct.pack(">q", 5))),
    Damage("index's size", "INV-44.ledgerSize", _in_index(12, struct.pack(">i", 5))),
    Damage("index's number", "INV-44.ledgerTerm", _in_index(16, struct.pack(">q", 1 << 40))),
    Damage("index's term", "INV-44.ledgerTerm", _in_index(24, struct.pack(">q", 77))),
    Damage("no entry in the index", "INV-36.ledger", _in_index(0, bytes(INDEX.size))),
    Damage("blank that is too short", "INV-37.blank", _blank, ("INV-37.ended",), whole=True),
    Damage("blank file", "INV-06.ledger", _blank_file, ("*",), whole=True),
]
_BY_NAME = {damage.name: damage for damage in DAMAGES}
OWN += [
    _of_entry(_BY_NAME["magic"]),
    _of_entry(_BY_NAME["cut file"]),
    replace(_BY_NAME["size"], also=(*_BY_NAME["size"].also, "INV-40.body")),
    replace(_BY_NAME["missing file"], also=(*_BY_NAME["missing file"].also, "INV-34.ledger")),
    replace(_BY_NAME["hole"], do=_hole, also=(*_BY_NAME["hole"].also, "INV-34.ledger")),
    Damage("zeros behind the header", "INV-37.contiguous", _zeros_behind_header, (*_BY_NAME["hole"].also, "INV-34.ledger")),
]
_PLAIN = ("stored before the record before it", "no store time")
"""Damage of a plain log that is none here: times may go back."""
OTHERS = [damage for damage in DAMAGES if damage.name not in _PLAIN and damage.name not in {own.name for own in OWN}]
