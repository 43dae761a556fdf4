"""A store on the simulated disk and clock, and the store that a real 4.9.4 wrote."""

from __future__ import annotations

import functools
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulated import Simulated

from rocketproof_impl.message import Message
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.store import record
from rocketproof_impl.store.result import AppendResult, PutResult
from rocketproof_impl.store.service import MessageStore

DATA = Path(__file__).parents[1] / "data"
LOG = "store/commitlog/00000000000000000000"


class Stand(Simulated):
    """A store with its disk, clock and scheduler. Keyword arguments are settings; `reopen` is a new process on the same disk."""

    def __init__(self, profile: str = "P49", disk: SimulatedDisk | None = None, **settings: Any) -> None:
        super().__init__(profile, disk, **settings)
        self.store = MessageStore(self.settings, self.profile, self.clock, self.disk)

    def put(self, message: Message) -> PutResult:
        return self.scheduler.complete(self.store.put_message(message))

    def put_batch(self, message: Message) -> PutResult:
        return self.scheduler.complete(self.store.put_messages(message))

    def deliver(self) -> int:
        return self.scheduler.complete(self.store.deliver_delayed())

    def reopen(self) -> Stand:
        fresh = Stand(self.profile.name, self.disk)
        fresh.settings = replace(self.settings)
        fresh.clock.time = self.clock.time
        fresh.store = MessageStore(fresh.settings, fresh.profile, fresh.clock, fresh.disk)
        assert fresh.store.load()
        return fresh

    def log(self, number: int = 0) -> bytes:
        """Return the written bytes of a file of the log."""
        return bytes(self.disk.files[f"store/commitlog/{number * self.settings.mapped_file_size_commit_log:020d}"])


def message(topic: str = "TopicTest", queue_id: int = 0, body: bytes | None = b"hello", **fields: Any) -> Message:
    return Message(topic, queue_id, body, **fields)


def sized(size: int, topic: str = "T", **fields: Any) -> Message:
    """Return a message whose record has this many bytes."""
    return message(topic, body=b"x" * (size - 91 - len(topic)), **fields)


def appended(result: PutResult) -> AppendResult:
    assert result.append is not None
    return result.append


@functools.cache
def real_files() -> dict[str, bytes]:
    """Return the files that a real 4.9.4 wrote, by path below the store's folder."""
    found: dict[str, bytes] = {}
    with tarfile.open(DATA / "store-4.9.4.tar.gz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                found[member.name.partition("/")[2]] = content.read()
    return found


@functools.cache
def listing() -> list[dict[str, Any]]:
    """Return the listing of the records in that store."""
    return [json.loads(line) for line in (DATA / "store-4.9.4-records.jsonl").read_text().splitlines()]


def real_records() -> list[bytes]:
    """Return the records of that store as bytes."""
    log = real_files()["commitlog/00000000000000000000"]
    return [log[entry["offset"] : entry["offset"] + entry["size"]] for entry in listing()]


def real_messages() -> list[Message]:
    found = [record.decode(data, exact=False) for data in real_records()]
    assert all(each is not None for each in found)
    return [each for each in found if each is not None]


def real_stand(log_end: int | None = None) -> Stand:
    """Return a stand on a copy of that store; with `log_end`, on its log alone up to this offset."""
    disk = SimulatedDisk()
    for path, content in real_files().items():
        if log_end is None:
            disk.files[f"store/{path}"] = bytearray(content)
    if log_end is not None:
        disk.files[LOG] = bytearray(real_files()["commitlog/00000000000000000000"][:log_end])
        disk.sizes[LOG] = 1 << 20
    return Stand("P494", disk, mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=20_000)
