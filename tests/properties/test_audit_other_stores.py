"""Stores written with other settings: the audit reports only real violations, and states what it does not read.

Releases of Apache RocketMQ wrote stores of each form. The tests build each form from a fabricated store and check that damage is still
found.
"""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from damaged_stores import SMALL, Damaged, Stored, copied, made, points_behind

from rocketproof_properties.commands.audits import command
from rocketproof_properties.commands.audits.brokerconf import of_broker
from rocketproof_properties.reports.choices import InputError
from rocketproof_traces.audit.run import AuditOutcome
from rocketproof_traces.audit.store import legal
from rocketproof_traces.common.pools import on_processes
from rocketproof_traces.stored.queues import Queue

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
HOST = bytes((127, 0, 0, 1)) + struct.pack(">i", 10911)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    return made(tmp_path_factory.mktemp("sound") / "store")


@pytest.fixture
def store(sound: tuple[Path, list[Stored]], tmp_path: Path) -> Damaged:
    return copied(*sound, tmp_path / "store", 1)


def audited(root: Path, *given: str, profile: str = "P533", seen: Callable[[], object] = lambda: None) -> AuditOutcome:
    plan = command.plan_of(profile, (), 100, of_broker(None, given))

    def report(done: int, all_: int) -> None:
        seen()

    done = command.run((str(root),), plan, profile, None, on_processes(1), report)
    assert done.problems == []
    return done.outcome


def found(root: Path, *given: str, profile: str = "P533") -> dict[str, int]:
    return audited(root, *given, profile=profile).totals[0].counts


def unread(root: Path) -> str:
    return "; ".join(audited(root).totals[0].unread)


# Delay levels


def delayed(store: Damaged, level: int) -> list[Stored]:
    return [record for record in store.records if record.topic == SCHEDULE and record.queue == level - 1]


def change_tags(store: Damaged, record: Stored, more: int) -> None:
    path, at = store.entry(record)
    (tags,) = struct.unpack_from(">q", path.read_bytes(), at + 12)
    store.write(path, at + 12, struct.pack(">q", tags + more))


@pytest.mark.behaviour("REC-05")
def test_delay_levels_come_from_store_or_option(store: Damaged) -> None:
    level = next(n for n in range(1, 6) if len(delayed(store, n)) > 4)
    for record in delayed(store, level):
        change_tags(store, record, 77_000)
    assert found(store.root) == {}
    usual = "messageDelayLevel=1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
    assert found(store.root, usual) == {"REC-04.level": len(delayed(store, level))}
    change_tags(store, delayed(store, level)[3], 1000)
    assert found(store.root) == {"REC-04.level": 1}
    change_tags(store, delayed(store, level)[2], 1)
    assert found(store.root) == {"REC-04.level": 1, "REC-04.deliver": 1}


def test_settings_come_from_broker_configuration_file(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("# of broker-a\nbrokerName=broker-a\nmessageDelayLevel = 1s 2m 3h 1d\nmaxMessageSize=100\n")
    levels = (1000, 120_000, 10_800_000, 86_400_000)
    assert of_broker(path, ()) == {"delay_levels": levels, "max_delay_level": 4, "max_message_size": 100}
    assert of_broker(path, ("maxMessageSize=7",))["max_message_size"] == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("messageDelayLevel=1s 5x", "--set: messageDelayLevel=1s 5x is no value"),
        ("messageDelayLevel=", "is no value"),
        ("maxMessageSize=4m", "maxMessageSize=4m is no value"),
        ("brokerName=a", "brokerName"),
        ("maxMessageSize", "is not a setting; give name=value, such as maxMessageSize"),
    ],
)
def test_setting_that_cannot_be_meant(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        of_broker(None, (text,))


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        of_broker(tmp_path / "none.conf", ())


def test_larger_message_where_broker_allows_it(store: Damaged) -> None:
    assert set(found(store.root, "maxMessageSize=200")) == {"INV-40.limit"}


# Data that is not read


def test_queues_and_table_in_database(store: Damaged) -> None:
    (store.root / "config" / "topics.json").unlink()
    shutil.rmtree(store.root / "consumequeue")
    for folder in ("consumequeue", "config/topics"):
        (store.root / folder).mkdir()
        (store.root / folder / "CURRENT").write_text("MANIFEST-000005\n")
        (store.root / folder / "000004.log").write_bytes(b"\1\2\3")
    record = store.take()
    assert found(store.root) == {}
    assert "consume queues, which are in RocksDB" in unread(store.root)
    assert "topic table, which is in RocksDB" in unread(store.root)
    store.put(record, 28, ">q", 42)
    assert found(store.root) == {"INV-37.stored": 1}


def test_batch_queues_of_topic(store: Damaged) -> None:
    topic = store.take().topic
    queues = store.root / "consumequeue"
    (store.root / "batchconsumequeue").mkdir()
    (queues / topic).rename(store.root / "batchconsumequeue" / topic)
    assert found(store.root) == {}
    assert f"batch consume queues, of 1 topic ({topic})" in unread(store.root)
    other = store.take(lambda record: record.is_plain and record.topic != topic)
    store.write(*store.entry(other), struct.pack(">q", other.offset - 1))
    assert set(found(store.root)) == {"INV-44.offset", "INV-44.record"}


def test_sound_store_is_read_as_whole(store: Damaged) -> None:
    assert unread(store.root) == ""


def test_address_in_queue_extension_is_no_tag(store: Damaged) -> None:
    path, at = store.entry(store.take())
    store.write(path, at + 12, struct.pack(">q", -(1 << 63) + 46))
    assert found(store.root) == {}


# A broker that runs, or was killed


def last(store: Damaged) -> Stored:
    return max((record for record in store.records if record.flags == 0), key=lambda record: record.offset)


def test_undispatched_records_after_kill_are_no_finding(store: Damaged) -> None:
    store.write(*store.entry(last(store)), bytes(20))
    assert found(store.root) == {"INV-36.stored": 1}
    (store.root / "abort").touch()
    assert found(store.root) == {}
    record = store.take()
    path, at = store.entry(record)
    store.write(path, at, bytes(20))
    assert "INV-36.stored" in found(store.root)


def test_records_written_during_audit_are_no_finding(store: Damaged, tmp_path: Path) -> None:
    """The entries of the log's last file exist; the file itself appears only after the walk."""
    (store.root / "abort").touch()
    path = max((store.root / "commitlog").iterdir())
    hidden = path.rename(tmp_path / "hidden")
    assert set(found(store.root)) == {"INV-44.ended"}
    totals = audited(store.root, seen=lambda: hidden.rename(path) if hidden.exists() else None).totals[0]
    assert totals.counts == {}


# Records of forms that only some brokers write


def record(topic: str, offset: int, index: int, properties: bytes) -> bytes:
    body, name = b"body", topic.encode()
    fixed = struct.pack(
        ">iIiiiqqiq8sq8siqi",
        91 + len(body) + len(name) + len(properties), 0xDAA320A7, zlib.crc32(body) & 0x7FFFFFFF, 0, 0, index, offset, 0,
        1_700_000_000_000, HOST, 1_700_000_000_000, HOST, 0, 0, len(body),
    )  # fmt: skip
    return fixed + body + bytes((len(name),)) + name + struct.pack(">h", len(properties)) + properties


def write(root: Path, name: str, data: bytes, size: int) -> None:
    path = root / name / "00000000000000000000"
    path.parent.mkdir(parents=True)
    path.write_bytes(data.ljust(size, b"\0"))


def light_queues(root: Path, second: int) -> None:
    """Create two messages of a topic that are also in a light queue; `second` is the later message's number in that queue."""
    log, entries = b"", b""
    for index in range(2):
        dispatch = b"INNER_MULTI_DISPATCH\1%%LMQ%%a,%%LMQ%%b\2INNER_MULTI_QUEUE_OFFSET\1%d,5\2" % (index * second)
        data = record("Multi", len(log), index, dispatch)
        entries += struct.pack(">qiq", len(log), len(data), 0)
        log += data
    write(root, "commitlog", log, 4000)
    write(root, "consumequeue/Multi/0", entries, 200)
    write(root, "consumequeue/%LMQ%a/0", entries, 200)


def test_light_queues_point_at_records_of_other_topics(tmp_path: Path) -> None:
    light_queues(tmp_path / "sound", 1)
    light_queues(tmp_path / "wrong", 3)
    assert found(tmp_path / "sound") == {"INV-28.stored": 1}
    assert found(tmp_path / "wrong") == {"INV-28.stored": 1, "INV-44.back": 1}


CHECKED = bytes.fromhex(
    "00000101daa320a73dadaf0600000000000000070000000000000000000000000000000000000000000001a2001be4a47f0000010000c88a000001a2001be6d97f000001"
    "00004550000000000000000000000000000000084f72646572732d30064f726465727300986f776ee697a5e69cac01c3bc6ec3aff09f9880024d53475f524547494f4e01"
    "44656661756c74526567696f6e02554e49515f4b455901554f7264657273303002434c55535445520144656661756c74436c757374657202544147530174c3a430024b45"
    "5953016b30206730025741495401747275650254524143455f4f4e0174727565025f5f435243333223013634343630393838353102"
)
"""The first record of a log that 5.3.3 wrote with enabledAppendPropCRC."""


@pytest.mark.behaviour("INV-41")
def test_whole_record_checksum_follows_5_3_3_format(tmp_path: Path) -> None:
    write(tmp_path / "sound", "commitlog", CHECKED, 4000)
    write(tmp_path / "wrong", "commitlog", CHECKED.replace(b"k0 g0", b"k0 g1"), 4000)
    assert found(tmp_path / "sound") == {"INV-28.stored": 1}
    assert found(tmp_path / "wrong") == {"INV-28.stored": 1, "INV-41.record": 1}


@pytest.mark.behaviour("INV-44", "SEND-26")
@pytest.mark.parametrize("value", ["x\1UNIQ_KEY\1y", "x" * 70 + "\1y", "x" * 64 + "\1"])
def test_brokers_before_4_9_do_not_read_run_on_tags(value: str, tmp_path: Path) -> None:
    for name, text in (("run-on", value), ("plain", "x")):
        data = record("Orders", 0, 0, f"TAGS\1{text}\2".encode())
        write(tmp_path / name, "commitlog", data, 4000)
        write(tmp_path / name, "consumequeue/Orders/0", struct.pack(">qiq", 0, len(data), 0), 200)
    wrong = {"INV-28.stored": 1, "INV-44.tags": 1}
    assert found(tmp_path / "run-on", profile="P49") == found(tmp_path / "run-on", profile="P40") == {"INV-28.stored": 1}
    assert found(tmp_path / "run-on", profile="P494") == found(tmp_path / "plain", profile="P49") == wrong


# Entries that are zero


@pytest.fixture(scope="module")
def small_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    return made(tmp_path_factory.mktemp("small") / "store", replace(SMALL, queue_file_size=600))


def longest(store: Damaged) -> list[Stored]:
    """Return the records of the longest queue that does not contain the log's first record."""
    first = store.records[0]
    queues = Counter((r.topic, r.queue) for r in store.records if r.is_plain and (r.topic, r.queue) != (first.topic, first.queue))
    (key, _), *_ = queues.most_common(1)
    return [r for r in store.records if (r.topic, r.queue) == key and r.flags in (0, 8)]


@pytest.mark.behaviour("INV-36", "INV-44")
@pytest.mark.parametrize("cleaned", [False, True])
def test_zero_entry_is_damage_and_no_end(cleaned: bool, small_files: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*small_files, tmp_path / "store", 1)
    records = longest(store)
    log = sorted((store.root / "commitlog").iterdir())
    start = int(log[1].name) if cleaned else 0
    first = next(r.index for r in records if r.offset >= start)
    for record in reversed(records):
        path, at = store.entry(record)
        entry = path.read_bytes()[at : at + 20]
        store.write(path, at, bytes(20))
        queue = Queue(record.topic, record.queue, str(path.parent))
        if record is records[-1]:
            assert queue.max == record.index
            store.write(path, at, entry)
            continue
        assert (queue.min, queue.max) == (0, len(records))
        if record.index != first - 1:  # it may equally be the first record of the log
            assert queue.between(start, 1 << 62) == (first, len(records))
        store.write(path, at, entry)
    if cleaned:
        log[0].unlink()
    at_border = next(r for r in records[30::30] if r.offset > start)
    store.write(*store.entry(at_border), bytes(20))
    assert found(store.root) == {"INV-36.stored": 1, "INV-44.record" if cleaned else "INV-44.queue": 1}


@pytest.mark.behaviour("INV-48", "INV-49")
def test_chain_agrees_with_its_first_record(tmp_path: Path) -> None:
    """The first record names the topic of its chain, the second the retry topic, and the third an id of another host."""
    log = record("Orders", 0, 0, b"TAGS\1a\2")
    for index, (topic, host) in enumerate((("Orders", HOST), ("%RETRY%g", HOST), ("Others", bytes(8)))):
        origin = (host + bytes(8)).hex().upper()
        data = bytearray(record("%RETRY%g", len(log), index, f"RETRY_TOPIC\1{topic}\2ORIGIN_MESSAGE_ID\1{origin}\2".encode()))
        data[72:76] = struct.pack(">i", index != 1)
        log += data
    write(tmp_path, "commitlog", log, 4000)
    assert found(tmp_path) == {"INV-28.stored": 1, "INV-48.chain": 1, "INV-49.chain": 1, "INV-49.stored": 1}


@pytest.mark.behaviour("CHK-02")
def test_retry_topic_of_one_topic_has_plus() -> None:
    assert legal("%RETRY%group+Orders")
    assert not any(map(legal, ("group+Orders", "%RETRY%group+Or ders", "%RETRY%a+b+c", "%RETRY%+Orders", "")))


# Exceptions that rules make for the broker's own topics


def add(store: Damaged, **perms: int) -> None:
    path = store.root / "config" / "topics.json"
    table = json.loads(path.read_text())
    for name, perm in perms.items():
        table["topicConfigTable"][name] = {"topicName": name, "perm": perm, "readQueueNums": 4, "writeQueueNums": 4}
        table["dataVersion"]["counter"] += 1
    path.write_text(json.dumps(table))


@pytest.mark.behaviour("INV-10", "HAZ-05")
def test_reply_topic_does_not_identify_cluster_topic(store: Damaged) -> None:
    """Only a topic that equals the cluster's own in everything is skipped: 16 queues, and a permission that may be inherited."""
    add(store, Mine=7, Mine_REPLY_TOPIC=6, Lost=0, Lost_REPLY_TOPIC=6)
    assert found(store.root) == {"INV-10.stored": 1, "HAZ-05.stored": 1}


def test_queue_that_4_7_1_has_drawn_below_0(store: Damaged) -> None:
    """Its records have entries in a folder of that name; only its id is a warning, and under later releases an error."""
    ends = {(r.topic, r.queue) for r in store.records if r.flags == 8}
    taken = store.take(lambda r: r.is_plain and (r.topic, r.queue) not in ends)
    moved = [r for r in store.records if (r.topic, r.queue) == (taken.topic, taken.queue)]
    for record in moved:
        store.put(record, 12, ">i", -2)
    queues = store.root / "consumequeue" / taken.topic
    (queues / str(taken.queue)).rename(queues / "-2")
    assert found(store.root, profile="P49") == {"INV-30.drawn": 1}
    assert found(store.root, profile="P494") == {"INV-30.sign": 1}
    path, at = store.entry(replace(moved[1], queue=-2))
    store.write(path, at, bytes(8))
    assert "INV-44.offset" in found(store.root, profile="P49"), "its entries are looked at"


@pytest.mark.parametrize("cut", ["file", "tail"])
def test_truncated_log_is_one_finding(store: Damaged, cut: str) -> None:
    """The finding does not list the queues, however many entries point past the end."""
    path = max((store.root / "commitlog").iterdir())
    lost = [record for record in store.records if record.path == path]
    if cut == "file":
        path.unlink()
    else:
        lost = lost[2:]
        store.write(path, lost[0].at, bytes(path.stat().st_size - lost[0].at))
    totals = audited(store.root).totals[0]
    assert totals.counts == {"INV-44.ended": 1}
    finding = totals.findings[0]
    assert finding.found == str(max(r.offset + r.size for r in store.records if r not in lost))
    assert finding.expected == f"at least {lost[-1].offset + lost[-1].size}"
    assert f"{sum(r.flags & 12 in (0, 8) for r in lost)} entries of {len({r.topic for r in lost})} topics" in finding.reason


@pytest.mark.parametrize(
    ("entries", "behind", "wrong"),
    [(1, 0, {"INV-44.record": 1}), (2, 0, {"INV-44.ended": 1}), (2, 4 << 20, {"INV-44.ended": 1}), (2, 5 << 20, {"INV-44.record": 2})],
)
def test_log_is_truncated_if_several_entries_point_past_its_end(store: Damaged, entries: int, behind: int, wrong: dict[str, int]) -> None:
    """Any entries count: the first here is in the middle of its queue."""
    points_behind(store, entries, behind)
    assert found(store.root) == {"INV-44.later": entries} | wrong
