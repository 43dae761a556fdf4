"""The audit of stores written by brokers: a recorded one, the reference's in every profile, and those that the hazards leave.

The audit reports only violations that they contain; traces/docs/audit.md gives the reasons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import properties_text
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v2
from rocketproof_impl.store import threads
from rocketproof_impl.system.node import BrokerNode
from rocketproof_properties.brokers.probe import ask
from rocketproof_properties.commands.audits import command
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, PREPARED
from rocketproof_traces.common.pools import on_processes
from unpacking import unpack

DATA = Path(__file__).parents[1] / "data"
SMALL: dict[str, Any] = {
    "mapped_file_size_commit_log": 1 << 15, "mapped_file_size_consume_queue": 20_000, "max_hash_slot_num": 1000, "max_index_num": 4000,
    "flush_interval_commit_log": 10,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopping broker waits a second for its last puts; here each put has its response already."""
    monkeypatch.setattr(threads, "LAST_PUTS", 0)


def counts(root: Path, profile: str) -> dict[str, int]:
    plan = command.plan_of(profile, (), 100)
    audited = command.run((str(root),), plan, profile, None, on_processes(1), lambda done, all_: None)
    assert audited.problems == []
    assert all(sum(totals.topics.values()) == totals.records for totals in audited.outcome.totals)
    return {rule.id: audited.count(rule.id) for rule in audited.rules if audited.count(rule.id)}


def written(root: Path, profile: str, fill: Callable[[str], object], **settings: Any) -> None:
    """Fill and stop a reference broker, and keep its store."""

    async def go() -> None:
        made = replace(BrokerSettings(store_path_root_dir=str(root), listen_port=0, name_servers=()), **{**SMALL, **settings})
        node = BrokerNode(made, profile=profile)
        await node.start()
        try:
            await asyncio.to_thread(fill, made.address)
            await asyncio.sleep(0.1)
        finally:
            await node.stop()

    asyncio.run(go())


def send(address: str, topic: str, body: bytes = b"body", **given: Any) -> int:
    code = _sent(address, topic, body, **given).code
    assert code is not None
    return code


def _sent(
    address: str, topic: str, body: bytes = b"body", *, queue: int = 0, flags: int = 0, times: int = 0, queues: int = 4, **properties: str
) -> Command:
    text = properties_text(properties, trailing=False)
    header = SendMessageRequestHeader("producers", topic, "TBW102", queues, queue, flags, 1_600_000_000_000, 7, text, times, False, 16)
    return ask(address, Command(codes.SEND_MESSAGE_V2, encode_v2(header), body))


def everyday(address: str) -> None:
    """Send messages that fill several files and queues, some delayed or transactional."""
    for number in range(150):
        topic, queue = ("Orders", number % 4) if number % 3 else ("Events", number % 2)
        body = f"{topic}-{number}".encode() * (1 + number % 120)
        assert send(address, topic, body, queue=queue, KEYS=f"k{number}", TAGS=f"t{number % 3}ä", UNIQ_KEY=f"U{number}") == 0
    for number in range(3):
        assert send(address, "Orders", b"later", DELAY="3", UNIQ_KEY=f"D{number}") == 0
        assert send(address, "Orders", b"half", flags=PREPARED, TRAN_MSG="true", PGROUP="producers", UNIQ_KEY=f"T{number}") == 0


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["P40", "P45", "P49", "P494", "P533"])
def test_reference_store_is_sound(profile: str, tmp_path: Path) -> None:
    written(tmp_path / "store", profile, everyday)
    assert len(list((tmp_path / "store" / "commitlog").iterdir())) > 2
    assert counts(tmp_path / "store", profile) == {}


def test_recorded_store(tmp_path: Path) -> None:
    """The findings are exactly the effects of its requests: see the table in traces/docs/audit.md."""
    unpack(DATA / "store-4.9.4.tar.gz", tmp_path)
    assert counts(tmp_path / "store-4.9.4", "P494") == {
        "APP-08.compressed": 1,
        "HAZ-05.stored": 3, "HAZ-31.stored": 4, "INV-10.stored": 2, "INV-12.stored": 3, "INV-13.stored": 8, "INV-16.stored": 1,
        "INV-30.stored": 3, "INV-31.stored": 7, "INV-32.stored": 6, "INV-34.again": 1, "INV-36.stored": 13, "INV-44.later": 1,
        "INV-45.applied": 1, "INV-45.half": 1, "INV-47.stored": 6, "INV-49.stored": 11, "INV-53.stored": 4, "TRX-05.stored": 3,
        "TRX-06.commit": 1,
    }  # fmt: skip


def test_index_leads_to_records_of_largest_size(tmp_path: Path) -> None:
    """A record with a body of the largest size is longer than 4 MiB."""

    def fill(address: str) -> None:
        for number, size in enumerate((1, 4_194_303, 1)):
            assert send(address, "Orders", bytes(size), UNIQ_KEY=f"U{number}") == 0

    written(tmp_path / "store", "P533", fill, mapped_file_size_commit_log=1 << 24)
    assert counts(tmp_path / "store", "P533") == {}


def _too_large(address: str) -> None:
    """HAZ-22: acknowledged, but only blanks are stored."""
    assert send(address, "Orders", b"fits") == 0
    assert send(address, "Orders", bytes(40_000)) == 0
    assert send(address, "Orders", b"fits again") == 0


def _prepared(address: str) -> None:
    """HAZ-12."""
    assert send(address, "Orders", flags=PREPARED) == 0


def _half_and_delayed(address: str) -> None:
    """HAZ-39."""
    assert send(address, "Orders", TRAN_MSG="true", PGROUP="producers", DELAY="2") == 0


def _half_and_delayed_committed(address: str) -> None:
    """HAZ-39: the record that ends the transaction names the half message's offset, which is after the other delayed messages."""
    _delayed_committed(address, "Orders")


def _retry_committed(address: str) -> None:
    """HAZ-47: it is no half message, but is committed like one. A real 5.1.1 was wrongly reported."""
    _delayed_committed(address, "%RETRY%group", times=1)


def _delayed_committed(address: str, topic: str, **more: Any) -> None:
    assert send(address, "Orders") == 0
    fields = _sent(address, topic, TRAN_MSG="true", PGROUP="producers", DELAY="2", **more).ext_fields or {}
    place = str(int(fields["msgId"][16:], 16))
    end = {"producerGroup": "producers", "tranStateTableOffset": fields["queueOffset"], "commitLogOffset": place}
    end |= {"commitOrRollback": str(COMMIT), "fromTransactionCheck": "false"}
    assert ask(address, Command(codes.END_TRANSACTION, end)).code == 0


def _no_queues(address: str) -> None:
    """HAZ-07: the topic is created, and the request is refused."""
    assert send(address, "Orders") == 0
    assert send(address, "Empty", queues=0) != 0


def _dead_letter(address: str) -> None:
    """HAZ-31 and INV-47: it was sent there directly."""
    assert send(address, "%RETRY%group", b"x", times=16) == 0


def _to_the_schedule(address: str) -> None:
    """INV-46."""
    assert send(address, "SCHEDULE_TOPIC_XXXX", b"x") == 0


def _waits(address: str) -> None:
    """INV-57: as a half message it keeps WAIT if the broker added it."""
    assert send(address, "Orders", b"x", WAIT="true") == 0


HAZARDS = {
    "HAZ-22": (_too_large, "P494", {"INV-06.stored": 1}),
    "HAZ-12": (_prepared, "P494", {"TRX-05.stored": 1}),
    "HAZ-12 in P40": (_prepared, "P40", {}),
    "HAZ-39": (_half_and_delayed, "P494", {"INV-45.half": 1}),
    "HAZ-39, committed": (_half_and_delayed_committed, "P494", {"INV-45.half": 2}),
    "HAZ-47, committed": (_retry_committed, "P533", {}),
    "HAZ-47, committed in P511": (_retry_committed, "P511", {}),
    "HAZ-07": (_no_queues, "P494", {"INV-13.stored": 1}),
    "HAZ-31": (_dead_letter, "P40", {"HAZ-31.stored": 1}),
    "a dead letter in P494": (_dead_letter, "P494", {}),
    "INV-46 in P45": (_to_the_schedule, "P45", {"INV-46.stored": 1, "REC-05.levels": 1}),
    "WAIT": (_waits, "P494", {}),
    "WAIT in P533": (_waits, "P533", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", HAZARDS)
def test_hazard_shows(name: str, tmp_path: Path) -> None:
    fill, profile, found = HAZARDS[name]
    written(tmp_path / "store", profile, fill)
    assert counts(tmp_path / "store", profile) == found
