"""Stores of releases before IPv6: bits 16 and 32 of sysFlag belong to the client, and hosts always have four bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from written_store import Sent, Stored, write_store

from rocketproof_properties.commands.audits import command
from rocketproof_protocol.flags import BORN_IPV6, STORE_IPV6
from rocketproof_traces.common.pools import on_threads
from rocketproof_traces.stored.kinds import Reason
from rocketproof_traces.stored.layout import SYS_FLAG_AT
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.record import read_log
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk

FLAGS = (0, BORN_IPV6, STORE_IPV6, BORN_IPV6 | STORE_IPV6, 0)
FILE_SIZE = 1 << 16


@pytest.fixture
def store(tmp_path: Path) -> list[Stored]:
    messages = [Sent("T", 0, b"body", {"KEYS": f"k{number}", "TAGS": "t"}) for number, _ in enumerate(FLAGS)]
    stored = write_store(tmp_path, messages, FILE_SIZE)
    log = tmp_path / "commitlog" / f"{0:020d}"
    data = bytearray(log.read_bytes())
    for flag, record in zip(FLAGS, stored, strict=True):
        struct.pack_into(">i", data, record.offset + SYS_FLAG_AT, flag)
    log.write_bytes(data)
    return stored


@pytest.mark.behaviour("APP-08", "HAZ-51")
@pytest.mark.parametrize("size", [1 << 20, 150])
def test_walk_reads_them_as_they_are(store: list[Stored], tmp_path: Path, size: int) -> None:
    found = []
    for part in ranges(log_files([str(tmp_path)], hosts_by_flag=False), size):
        for chunk in Walk(part, NameTable()):
            lines = ("physicalOffset", "sysFlag", "partsSize", "storeTimestamp", "bodyOffset")
            texts = zip(chunk.hosts("store").to_pylist(), chunk.text("keys").to_pylist(), chunk.bodies().to_pylist(), strict=True)
            found += [(*map(int, row), *more) for row, more in zip(zip(*(chunk[name] for name in lines), strict=True), texts, strict=True)]
    assert found == [
        (record.offset, flag, record.size, record.stored_at, record.offset + 88, "127.0.0.1:10911", f"k{number}", b"body")
        for number, (flag, record) in enumerate(zip(FLAGS, store, strict=True))
    ]


@pytest.mark.behaviour("APP-08", "HAZ-51")
def test_whoever_believes_flag_finds_damage(store: list[Stored], tmp_path: Path) -> None:
    data = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()
    early = read_log(data, FILE_SIZE, hosts_by_flag=False)
    assert [(record.at, record.parts_size) for record in early.records] == [(stored.offset, stored.size) for stored in store]
    assert early.damage is None
    later = read_log(data, FILE_SIZE)
    assert later.damage is not None and (later.damage.at, later.damage.reason) == (store[1].offset, Reason.LENGTHS)


@pytest.mark.behaviour("APP-08", "HAZ-51")
@pytest.mark.parametrize(("profile", "corrupt"), [("P45", False), ("P494", True)])
def test_audit_reads_by_profile(store: list[Stored], tmp_path: Path, profile: str, corrupt: bool) -> None:
    plan = command.plan_of(profile, (), 100)
    audited = command.run((str(tmp_path),), plan, profile, None, on_threads(1), lambda done, all_: None)
    (totals,) = audited.outcome.totals
    assert totals.records == (len(FLAGS) if not corrupt else 2)
    broken = {finding.property for finding in audited.findings} - {"INV-28.stored"}  # there is no file of topics
    assert bool(broken) == corrupt
