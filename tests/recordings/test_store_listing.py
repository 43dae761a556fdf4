"""The log that a replay writes is the log that the recorded broker wrote, byte for byte, but for times and callers' ports.

Content is free in a recording; here the bodies are taken from the real log, so that checksums are compared too.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.store.record import decode
from rocketproof_profiles import PROFILES
from rocketproof_properties.recorded import bodies
from rocketproof_properties.recorded.brokers import settings_of
from rocketproof_properties.recorded.cases import Recorded, read
from rocketproof_properties.recorded.replay import Stage

DATA = Path(__file__).parents[1] / "data"
LISTING = [json.loads(line) for line in (DATA / "store-4.9.4-records.jsonl").read_text("utf-8").splitlines()]
CASES = 215
MESSAGES = [row for row in LISTING if row["offset"] < next(r["offset"] for r in LISTING if r["golden"] and r["golden"][0] >= CASES)]


@cache
def real_log() -> bytes:
    with tarfile.open(DATA / "store-4.9.4.tar.gz") as archive:
        file = archive.extractfile("store-4.9.4/commitlog/00000000000000000000")
        assert file is not None
        return file.read()


@cache
def replayed_log() -> bytes:
    """What the replay of cfg A leaves, with the real bodies in its requests."""
    cases = [with_real_body(case) for case in read(DATA / "rocketmq-4.9.4.jsonl").cases if case.cfg == "A"]
    stage = Stage(PROFILES["P494"], cases, settings_of("A", cases, {}, ()))
    assert not any(differences for differences in stage.play())
    store = stage.broker.store
    return b"".join(filter(None, (store.select_one_message_by_offset(message.physical_offset) for message in store.records())))


def with_real_body(case: Recorded) -> Recorded:
    body = bodies.body(case)
    for entry in case.records:
        real = real_log()[entry["physOffset"] + 88 :][: entry["bodyLen"]]
        body = (body or b"").replace(bodies.FILL * len(real), real, 1)
    return case if not case.records or body is None else replace(case, text=body.decode("latin-1"))


def masked(data: bytes) -> bytes:
    """A record without the time it was stored at and its caller's port; the broker's own are born when they are stored."""
    message = decode(data, exact=False)
    assert message is not None
    born = bytes(8) if message.topic == "RMQ_SYS_TRANS_OP_HALF_TOPIC" else data[40:48]
    return data[:40] + born + data[48:52] + bytes(4 + 8) + data[64:]


def records(log: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    for row in MESSAGES:
        yield row, log[row["offset"] : row["offset"] + row["size"]]


@pytest.mark.behaviour("APP-08", "APP-09", "APP-10", "CL-01", "INV-37", "REC-05", "TRX-04", "BAT-04")
def test_the_replayed_log_is_the_real_one() -> None:
    ours, real = replayed_log(), real_log()
    assert len(ours) == MESSAGES[-1]["offset"] + MESSAGES[-1]["size"] == 82767
    for (row, mine), (_, theirs) in zip(records(ours), records(real), strict=True):
        assert masked(mine) == masked(theirs), row


def test_the_broker_wrote_six_of_these_records_by_itself() -> None:
    assert len(MESSAGES) == 126
    assert [row["offset"] for row in MESSAGES if row["golden"] is None] == [12311, 12472, 12653, 12788, 12969, 13305]
