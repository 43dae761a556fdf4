"""Store directories of Apache RocketMQ and of the reference implementation, each opened by the other."""

from __future__ import annotations

import asyncio
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from waiting import until

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import Message, properties_text
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v2
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.store.index import keys_of
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.system.disk import SystemDisk
from rocketproof_impl.system.node import BrokerNode
from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.ports import Addresses
from rocketproof_properties.brokers.probe import ask
from rocketproof_properties.commands.audits import command as audits
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.flags import NOT, PREPARED
from rocketproof_traces.common.pools import on_processes
from rocketproof_traces.stored.segments import log_files

COMMANDS = ("java", "mvn")
VERSIONS = ("4.9.4", "5.3.3")
SMALL = {"mapped_file_size_commit_log": 1 << 20, "mapped_file_size_consume_queue": 20_000, "max_hash_slot_num": 1000, "max_index_num": 4000}
FOREVER = 1 << 62
HALF = "RMQ_SYS_TRANS_HALF_TOPIC"


# Messages to send


def send(address: str, topic: str, body: bytes, queue: int = 0, sys_flag: int = 0, **properties: str) -> str:
    """Send a message and return its id from the broker."""
    return put(address, topic, body, queue, sys_flag, **properties)["msgId"]


def put(address: str, topic: str, body: bytes, queue: int = 0, sys_flag: int = 0, **properties: str) -> dict[str, str]:
    text = properties_text(properties, trailing=False)
    header = SendMessageRequestHeader("producers", topic, "TBW102", 4, queue, sys_flag, 1_600_000_000_000, 7, text, 0, False, 16)
    answer = ask(address, Command(codes.SEND_MESSAGE_V2, encode_v2(header), body))
    assert answer.code == codes.SUCCESS, answer.remark
    assert answer.ext_fields is not None
    return answer.ext_fields


def fill(address: str, rounds: int = 40) -> dict[str, bytes]:
    """Send messages of every kind, over several files of a queue: body by id. One is delayed for longer than any test takes."""
    sent: dict[str, bytes] = {}
    for number in range(rounds):
        for topic, queue in (("Orders", number % 4), ("Events", 0), ("Events", 1)):
            body = f"{topic}-{number}".encode() * (1 + number % 50)
            given = {"KEYS": f"k{number} g{number % 2}", "TAGS": f"t{number % 3}", "UNIQ_KEY": f"U{topic}{number}{queue}"}
            sent[send(address, topic, body, queue, **given)] = body
    for number in range(3):
        body = b"later-%d" % number
        sent[send(address, "Orders", body, DELAY="1" if number else "5", KEYS="delayed")] = body
        send(address, "Orders", b"half-%d" % number, sys_flag=PREPARED, TRAN_MSG="true", PGROUP="producers", UNIQ_KEY=f"T{number}")
    return sent


def stored(address: str, msg_id: str) -> bytes:
    """Return the record that the broker returns."""
    answer = ask(address, Command(codes.VIEW_MESSAGE_BY_ID, {"offset": str(int(msg_id[16:], 16))}))
    assert answer.code == codes.SUCCESS, answer.remark
    assert answer.body is not None
    return answer.body


def ends(address: str, queues: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Return the end of each of these queues as reported by the broker."""
    found = {}
    for topic, queue in queues:
        answer = ask(address, Command(codes.GET_MAX_OFFSET, {"topic": topic, "queueId": str(queue)}))
        found[topic, queue] = int((answer.ext_fields or {})["offset"])
    return found


def await_end(address: str, topic: str, queue: int, end: int) -> None:
    """Wait until the queue reaches this end: messages stored before it are dispatched by then."""
    until(lambda: ends(address, {(topic, queue): 0})[topic, queue] >= end, f"queue {queue} of {topic} does not reach {end}")


# A store, opened by us


@contextmanager
def opened(root: Path, version: str = "4.9.4") -> Iterator[tuple[MessageStore, Scheduler]]:
    scheduler = Scheduler()
    scheduler.clock.time = int(time.time() * 1000)
    settings = BrokerSettings(store_path_root_dir=str(root), **SMALL)
    with SystemDisk(root) as disk:
        store = MessageStore(settings, PROFILES[nearest_profile(version)], scheduler.clock, disk)
        assert store.load()
        yield store, scheduler


def queue_ends(store: MessageStore) -> dict[tuple[str, int], int]:
    return {place: queue.max_offset for place, queue in store.queues.queues.items()}


def files_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def rebuilt(root: Path, copy: Path, version: str) -> dict[str, bytes]:
    """Return the files after a start of the reference on only the log."""
    shutil.copytree(root / "commitlog", copy / "commitlog")
    with opened(copy, version) as (store, _):
        assert store.behind() == 0
    return files_of(copy)


def without(files: dict[str, bytes], *names: str) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.split("/")[0] not in names}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["stopped", "killed"])
def ended(request: pytest.FixtureRequest) -> Callable[[Deployment], None]:
    stopped = request.param == "stopped"
    return lambda running: running.stop("broker-a") if stopped else running.kill("broker-a")


@pytest.mark.behaviour("APP-08", "REC-01", "REC-02", "REC-03", "REC-04", "INV-34", "INV-37", "INV-41", "INV-44", "INV-45")
def test_real_store_is_sound_and_opens_in_reference(version: str, ended: Callable[[Deployment], None], tmp_path: Path) -> None:
    """Its audit finds nothing. Records, queues, index and table: what we read is what it answered, and what we build from the log alone
    are its files."""
    root = tmp_path / "store"
    with Apache(version).open(Setup(stores={"broker-a": root})) as running:
        address = running.brokers["broker-a"]
        sent = fill(address)
        await_end(address, "Orders", 0, 40 // 4 + 2)  # two that were delayed for a second are delivered
        views = {msg_id: stored(address, msg_id) for msg_id in sent}
        topics = ask(address, Command(codes.GET_ALL_TOPIC_CONFIG)).body
        with_queues = {("Orders", queue): 0 for queue in range(4)} | {("Events", queue): 0 for queue in range(2)}
        told = ends(address, with_queues)
        ended(running)
    assert audited(root, version) == {}
    before = files_of(root)
    with opened(root, version) as (store, scheduler):
        found = queue_ends(store)
        assert {place: found[place] for place in told} == told
        for msg_id, data in views.items():
            assert store.select_one_message_by_offset(int(msg_id[16:], 16)) == data
            message = store.look_message_by_offset(int(msg_id[16:], 16))
            assert message is not None
            assert (message.body or b"") == sent[msg_id]
            assert message.msg_id == msg_id
        for message in store.records():
            for key in keys_of(message):
                assert message.physical_offset in store.index.query(message.topic, key.partition("#")[2], 64, 0, FOREVER)
        scheduler.complete(store.stop())
    after = files_of(root)
    kept = ("abort", "checkpoint", "index", "lock", "config", "consumequeue" if "abort" in before else "")
    assert without(after, *kept).items() <= without(before, *kept).items()
    ours = rebuilt(root, tmp_path / "copy", version)
    theirs = {path: data for path, data in before.items() if path.startswith("consumequeue/")}
    assert {path: data for path, data in ours.items() if path.startswith("consumequeue/")} == theirs
    indexes = [[data for path, data in sorted(files.items()) if path.startswith("index/")] for files in (before, ours)]
    assert indexes[0] == indexes[1]
    assert topics is not None
    assert {"Orders", "Events"} <= set(loads(topics)["topicConfigTable"])


def audited(root: Path, version: str) -> dict[str, int]:
    profile = nearest_profile(version)
    plan = audits.plan_of(profile, (), 100)
    result = audits.run((str(root),), plan, profile, None, on_processes(1), lambda done, all_: None)
    assert result.problems == []
    return {rule.id: result.count(rule.id) for rule in result.rules if result.count(rule.id)}


@pytest.mark.behaviour("INV-06", "INV-45", "TRX-05")
def test_audit_finds_effects_of_invalid_requests(version: str, tmp_path: Path) -> None:
    """HAZ-12, HAZ-22 and HAZ-39."""
    root = tmp_path / "store"
    with Apache(version).open(Setup(stores={"broker-a": root})) as running:
        address = running.brokers["broker-a"]
        fill(address, rounds=4)
        await_end(address, "Orders", 0, 4 // 4 + 2)
        send(address, "Orders", b"prepared", sys_flag=PREPARED)
        send(address, "Orders", b"half and delayed", TRAN_MSG="true", PGROUP="producers", DELAY="2")
        send(address, "Orders", bytes(1 << 20))
        await_end(address, "Orders", 0, int(put(address, "Orders", b"goes on")["queueOffset"]) + 1)
        running.stop("broker-a")
    assert audited(root, version) == {"INV-06.stored": 1, "INV-45.half": 1, "TRX-05.stored": 1}


# A real store with a DLedger log


def entries_of(root: Path) -> list[tuple[int, ...]]:
    """Return the fields of each entry of the DLedger log, and of the record in it its size, stored offset and magic number.

    Fields of an entry: type, size, index, term, position, channel, two checksums, body size.
    """
    found = []
    for path in sorted((root / "dledger-n0" / "data").iterdir()):
        data, at = path.read_bytes(), 0
        while at + 8 <= len(data) and struct.unpack_from(">i", data, at)[0] == 1:
            header = struct.unpack_from(">iiqqqiiii", data, at)
            size, magic = struct.unpack_from(">iI", data, at + 48)
            found.append((*header, size, *struct.unpack_from(">q", data, at + 76), magic))
            at += header[1]
        assert data[at : at + 4] in (bytes(4), b"\xff" * 4)
        assert data[at : at + 4] == bytes(4) or struct.unpack_from(">i", data, at + 4) == (len(data) - at,)
        assert not any(data[at + 8 :])
    return found


@pytest.mark.behaviour("INV-37", "INV-44")
@pytest.mark.parametrize("mixed", [False, True], ids=["from the start", "after a plain log"])
def test_audit_reads_log_of_dledger(version: str, mixed: bool, ended: Callable[[Deployment], None], tmp_path: Path) -> None:
    """Entries and their index have the described form, without findings; a message too large for a file is refused."""
    root = tmp_path / "store"
    small = {"mappedFileSizeCommitLog": "32768"}
    if mixed:
        with Apache(version).open(Setup(stores={"broker-a": root}, settings=small)) as running:
            fill(running.brokers["broker-a"], rounds=20)
            await_end(running.brokers["broker-a"], "Orders", 0, 20 // 4 + 2)
            running.stop("broker-a")
    plain = sum(1 for _ in (root / "commitlog").glob("*")) if mixed else 0
    port = Addresses().take().rpartition(":")[2]
    ledger = {"enableDLegerCommitLog": "true", "dLegerGroup": "g", "dLegerPeers": f"n0-127.0.0.1:{port}", "dLegerSelfId": "n0"}
    with Apache(version).open(Setup(stores={"broker-a": root}, settings={**small, **ledger})) as running:
        address = running.brokers["broker-a"]
        sent = fill(address)
        await_end(address, "Orders", 0, 40 // 4 + 2 + (20 // 4 + 2 if mixed else 0))
        with pytest.raises(AssertionError, match="busy"):
            send(address, "Orders", bytes(40_000))
        await_end(address, "Orders", 0, int(put(address, "Orders", b"goes on")["queueOffset"]) + 1)
        ended(running)
    entries = entries_of(root)
    assert len(entries) >= len(sent) + 4
    assert all((kind, size, position + 48, magic) == (1, 48 + inner, offset, 0xDAA320A7) and body == inner
               for kind, size, _, _, position, _, _, _, body, inner, offset, magic in entries)  # fmt: skip
    assert [entry[2] for entry in entries] == list(range(len(entries)))
    (index,) = (root / "dledger-n0" / "index").iterdir()
    with index.open("rb") as file:
        said = [struct.unpack(">iqiqq", file.read(32)) for _ in entries]
    assert said == [(kind, position, size, number, term) for kind, size, number, term, position, *_ in entries]
    files = log_files([str(root)])
    assert [file.header for file in files] == [0] * plain + [48] * (len(files) - plain)
    assert audited(root, version).keys() == {"INV-06.ledger"}
    last = entries[-1]
    path = Path(files[-1].path)
    with path.open("r+b") as log:
        log.seek(last[4] - files[-1].base + 24)
        log.write(struct.pack(">q", 5))
    assert audited(root, version).keys() == {"INV-06.ledger", "INV-37.ledger"}


# A store of the reference, opened by real brokers


def filled_by_us(root: Path, *, clean: bool) -> tuple[dict[str, bytes], dict[tuple[str, int], int], list[Message]]:
    """Return the store of a reference broker that was stopped or killed: bodies by id, ends of queues, and all records."""

    async def run() -> dict[str, bytes]:
        settings = BrokerSettings(store_path_root_dir=str(root), listen_port=0, name_servers=(), **SMALL)
        node = BrokerNode(settings, profile="P494")
        await node.start()
        try:
            sent = await asyncio.to_thread(fill, settings.address)
            await asyncio.sleep(0.1)
            if not clean:
                shutil.copytree(root, root.with_name("killed"))
        finally:
            await node.stop()
        return sent

    sent = asyncio.run(run())
    if not clean:
        shutil.rmtree(root)
        root.with_name("killed").rename(root)
        assert (root / "abort").exists()
    with SystemDisk(root) as disk:
        store = MessageStore(BrokerSettings(store_path_root_dir=str(root), **SMALL), PROFILES["P494"], Scheduler().clock, disk)
        store.commit_log.files.load(PROFILES["P494"].wrong_length)
        records = [message for _, message in store.commit_log.records(0, store.max_phy_offset) if message is not None]
    queues: dict[tuple[str, int], int] = {}
    for message in records:
        if message.transaction == NOT:
            queues[message.topic, message.queue_id] = max(queues.get((message.topic, message.queue_id), 0), message.queue_offset + 1)
    return sent, queues, records


@pytest.mark.behaviour("APP-08", "REC-02", "REC-03", "REC-04", "PER-01")
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_reference_store_opens_in_real_broker(version: str, clean: bool, tmp_path: Path) -> None:
    root = tmp_path / "store"
    sent, queues, records = filled_by_us(root, clean=clean)
    assert len(records) >= 40 * 3 + 3 * 2, "what was sent; delivered delayed messages may come on top"
    with Apache(version).open(Setup(stores={"broker-a": root})) as running:
        address = running.brokers["broker-a"]
        for msg_id, body in sent.items():
            data = stored(address, msg_id)
            assert body in data
        delivered = [place for place in queues if place[0] in ("Events", HALF)]
        assert {place: queues[place] for place in delivered} == ends(address, dict.fromkeys(delivered, 0))
        topics = ask(address, Command(codes.GET_ALL_TOPIC_CONFIG)).body
        assert topics is not None
        table = loads(topics)["topicConfigTable"]
        for name in ("Orders", "Events"):
            assert (table[name]["readQueueNums"], table[name]["writeQueueNums"], table[name]["perm"]) == (4, 4, 6)
        send(address, "Events", b"goes on", 0)
        assert ends(address, {("Events", 0): 0}) == {("Events", 0): queues["Events", 0] + 1}
        pulled = pull(address, "Events", 0, queues["Events", 0] - 1)
        assert b"Events-39" in pulled
        running.stop("broker-a")
    with opened(root, version) as (store, _):
        found = queue_ends(store)
        assert found["Events", 0] == queues["Events", 0] + 1
        assert [each.msg_id for each in store.records()][: len(records)] == [each.msg_id for each in records]


def pull(address: str, topic: str, queue: int, offset: int) -> bytes:
    fields = {
        "consumerGroup": "consumers",
        "topic": topic,
        "queueId": str(queue),
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }
    answer = ask(address, Command(codes.PULL_MESSAGE, fields))
    assert answer.code == codes.SUCCESS, answer.remark
    return answer.body or b""
