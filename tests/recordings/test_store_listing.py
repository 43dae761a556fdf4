"""The log that a replay writes is the log that the recorded broker wrote, byte for byte, but for times and callers' ports.

Content is free in a recording; here the bodies are taken from the real log, so that checksums are compared too.
"""

from __future__ import annotations

import json
import struct
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.store.record import decode
from rocketproof_impl.store.service import MessageStore
from rocketproof_profiles import PROFILES
from rocketproof_properties.judging.reference import bodies
from rocketproof_properties.judging.reference.cases import ReplayCase, read
from rocketproof_properties.judging.reference.recording import SimulatedReplay
from rocketproof_properties.judging.reference.settings import settings_of

DATA = Path(__file__).parents[1] / "data"
LISTING = [json.loads(line) for line in (DATA / "store-4.9.4-records.jsonl").read_text("utf-8").splitlines()]
CASES = 215
MESSAGES = [row for row in LISTING if row["offset"] < next(r["offset"] for r in LISTING if r["golden"] and r["golden"][0] >= CASES)]


@cache
def real_files() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tarfile.open(DATA / "store-4.9.4.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                found[member.name.partition("/")[2]] = file.read()
    return found


def real_log() -> bytes:
    return real_files()["commitlog/00000000000000000000"]


@cache
def replayed() -> MessageStore:
    """Return the store after replaying cfg A, with the real bodies in its requests."""
    cases = [with_real_body(case) for case in read(DATA / "rocketmq-4.9.4.jsonl").cases if case.cfg == "A"]
    stage = SimulatedReplay(PROFILES["P494"], cases, settings_of("A", cases, {}, ()))
    assert not any(differences for differences in stage.play())
    stage.broker.store.dispatch()
    return stage.broker.store


def replayed_log() -> bytes:
    store = replayed()
    return b"".join(filter(None, (store.select_one_message_by_offset(message.physical_offset) for message in store.records())))


def with_real_body(case: ReplayCase) -> ReplayCase:
    body = bodies.body(case)
    for entry in case.records:
        real = real_log()[entry["physOffset"] + 88 :][: entry["bodyLen"]]
        body = (body or b"").replace(bodies.FILL * len(real), real, 1)
    return case if not case.records or body is None else replace(case, text=body.decode("latin-1"))


def masked(data: bytes) -> bytes:
    """Mask a record's store time and caller's port; the broker's own records are born when stored."""
    message = decode(data, exact=False)
    assert message is not None
    born = bytes(8) if message.topic == "RMQ_SYS_TRANS_OP_HALF_TOPIC" else data[40:48]
    return data[:40] + born + data[48:52] + bytes(4 + 8) + data[64:]


def records(log: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    for row in MESSAGES:
        yield row, log[row["offset"] : row["offset"] + row["size"]]


@pytest.mark.behaviour("APP-08", "APP-09", "APP-10", "CL-01", "INV-37", "REC-05", "TRX-04", "BAT-04")
def test_replayed_log_equals_real_log() -> None:
    ours, real = replayed_log(), real_log()
    assert len(ours) == MESSAGES[-1]["offset"] + MESSAGES[-1]["size"] == 82767
    for (row, mine), (_, theirs) in zip(records(ours), records(real), strict=True):
        assert masked(mine) == masked(theirs), row


@pytest.mark.behaviour("REC-04")
def test_replayed_queues_equal_real_queues() -> None:
    """The entries are compared one by one, without the times in the schedule topic. Real queues are longer, except for topics deleted at
    the end and the half topic: these are missing or restarted.
    """
    compared, deleted = 0, set[str]()
    for (topic, queue_id), queue in replayed().queues.queues.items():
        real = real_files().get(f"consumequeue/{topic}/{queue_id}/{0:020d}")
        if real is None or topic == "RMQ_SYS_TRANS_HALF_TOPIC" or struct.unpack_from(">q", real)[0] >= MESSAGES[-1]["offset"]:
            deleted.add(topic)
            continue
        for index in range(queue.max_offset):
            physical_offset, size, tags = struct.unpack_from(">qiq", real, 20 * index)
            entry = queue.entry(index)
            assert entry is not None
            assert (entry.physical_offset, entry.size) == (physical_offset, size), (topic, queue_id, index)
            assert topic == "SCHEDULE_TOPIC_XXXX" or entry.tags_code == tags
            compared += 1
    assert compared == 110
    assert deleted == {"w8r4", "RMQ_SYS_TRANS_HALF_TOPIC"}


@pytest.mark.behaviour("REC-04")
def test_replayed_index_equals_real_index() -> None:
    """The entries are compared one by one without their seconds, and the header as far as it concerns the first record."""
    (file,) = replayed().index.files
    (real,) = (data for path, data in real_files().items() if path.startswith("index/"))
    slots = 1000
    for number in range(1, file.header.index_count):
        entry = file.entry(number)
        key_hash, place, _, previous = struct.unpack_from(">iqii", real, 40 + 4 * slots + 20 * number)
        assert (entry.key_hash, entry.physical_offset, entry.previous) == (key_hash, place, previous)
    assert file.header.index_count == 33
    assert file.header.begin_physical_offset == struct.unpack_from(">q", real, 16)[0]


def test_broker_wrote_six_records_spontaneously() -> None:
    assert len(MESSAGES) == 126
    assert [row["offset"] for row in MESSAGES if row["golden"] is None] == [12311, 12472, 12653, 12788, 12969, 13305]
