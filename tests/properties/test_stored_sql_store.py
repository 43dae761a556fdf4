"""A damaged store's queues, entries, files and topics judged by SQL over tables that are read here, beside the audit."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from audit_by_sql import load
from damaged_stores import BLANK, DAMAGES, MAGIC, Damage, Stored, copied, made

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.programs import Plan
from rocketproof_traces.audit.run import Kept, audit
from rocketproof_traces.pools import on_processes

PLAN = Plan(stored_rules, tuple(settings("P494").items()), limit=1 << 30)
Found = tuple[str, int, int]  # topic, queue id, and the physical offset or the number of the entry

QUEUES = {
    "INV-30.sign": "queueId < 0",
    "INV-30.stored": "queueId >= greatest(readNums, writeNums)",
    "INV-31.stored": "queueId >= writeNums",
    "INV-32.stored": "queueId >= readNums",
    "INV-34.first": "firstOffset <> 0",
    # Stores of 4.3.2, 4.5.2, 4.9.4, 5.0.0 and 5.3.3: rows of these three come late or never, and the broker delivers without them.
    "INV-27.stored": "perm is null and topic not in ('SCHEDULE_TOPIC_XXXX', 'RMQ_SYS_TRANS_HALF_TOPIC', 'RMQ_SYS_TRANS_OP_HALF_TOPIC')",
    "INV-53.stored": "perm & 2 = 0",
    "HAZ-31.stored": "perm & 4 = 0",
    "CHK-02.stored": "not regexp_full_match(topic, '[%|a-zA-Z0-9_-]+')",
}
ENTRIES = {
    "INV-44.record": "said is null",
    "INV-44.back": "said = entryTopic and saidQueue = entryQueue and saidIndex <> index",
    "INV-44.queue": "not (said = entryTopic and saidQueue = entryQueue)",
    "REC-04.counted": "flags & 12 in (4, 12)",
}
FILES = {
    "INV-06.stored": "select name, 0 from files where magic = 'blank'",
    "INV-37.files": "select name, 0 from (select *, lag(name + size) over (order by name) there from files) where name <> there",
    "PRE-01.size": "select name, 0 from (select *, lag(size) over (order by name) before from files) where size <> before",
}
TOPICS = {
    "INV-10.stored": "perm & 1 = 1 and key not in ('TBW102', 'DefaultCluster', 'broker-a')",
    "INV-16.stored": "perm & 1 = 0 and key = 'TBW102'",
    "INV-13.stored": "readNums < 1 or writeNums < 1",
    "INV-12.stored": "readNums <> writeNums",
    "PERM-01.stored": "perm < 0 or perm > 15",
    "HAZ-05.stored": "perm & 4 = 0 and perm & 2 = 0 and key not in ('DefaultCluster', 'broker-a')",
    "TCM-01.name": "name <> key",
    "REC-05.levels": "key = 'SCHEDULE_TOPIC_XXXX' and readNums < 18 and writeNums < 18",
}


def tables(root: Path) -> duckdb.DuckDBPyConnection:
    """`log` and `entries` as the audit's other second opinion has them; `topics`, `files`, and what is where entries point at."""
    connection = load(root)
    table = json.loads((root / "config" / "topics.json").read_text())["topicConfigTable"]
    connection.execute("create table topics (key text, name text, readNums int, writeNums int, perm int)")
    rows = [[key, t["topicName"], t["readQueueNums"], t["writeQueueNums"], t["perm"]] for key, t in table.items()]
    connection.executemany("insert into topics values (?, ?, ?, ?, ?)", rows)
    connection.execute("create table files (name bigint, size bigint, magic text)")
    logs = {int(path.name): path.read_bytes() for path in sorted((root / "commitlog").iterdir())}
    for name, data in logs.items():
        magic = {MAGIC: "record", BLANK: "blank"}.get(struct.unpack_from(">I", data, 4)[0], "other")
        connection.execute("insert into files values (?, ?, ?)", [name, len(data), magic])
    pointed = [offset for (offset,) in connection.execute("select distinct entryOffset from entries").fetchall()]
    heads = [(offset, *said) for offset in pointed if (said := record_at(logs, offset)) is not None]
    columns = ("place", "said", "saidQueue", "saidIndex", "flags")
    connection.register("heads", pa.table({name: [head[n] for head in heads] for n, name in enumerate(columns)}))
    return connection


def record_at(logs: dict[int, bytes], offset: int) -> tuple[str, int, int, int] | None:
    """Topic, queue id, queue offset and flags of what begins at a physical offset like a record; None if nothing does."""
    for name, data in logs.items():
        at = offset - name
        if 0 <= at <= len(data) - 91 and struct.unpack_from(">I", data, at + 4)[0] == MAGIC:
            queue, _, index, _, flags = struct.unpack_from(">iiqqi", data, at + 12)
            topic_at = at + 88 + max(0, struct.unpack_from(">i", data, at + 84)[0])
            length = data[topic_at] if topic_at < len(data) else 0
            return data[topic_at + 1 : topic_at + 1 + length].decode("latin1"), queue, index, flags
    return None


def by_sql(root: Path) -> dict[str, list[Found]]:
    connection = tables(root)
    connection.execute(
        "create view queues as select log.topic, log.queueId, min(physicalOffset) begun, readNums, writeNums, perm, "
        "arg_min(queueOffset, physicalOffset) filter (where sysFlag & 12 in (0, 8)) firstOffset "
        "from log left join topics on log.topic = topics.key where topic is not null group by all"  # without a topic it is in no queue
    )
    found = {id_: f"select topic, queueId, begun from queues where {broken}" for id_, broken in QUEUES.items()}
    pointing = "entries left join heads on entryOffset = place"
    found |= {id_: f"select entryTopic, entryQueue, index from {pointing} where {broken}" for id_, broken in ENTRIES.items()}
    found |= {id_: f"select '', -1, name from ({query})" for id_, query in FILES.items()}
    found |= {id_: f"select key, -1, 0 from topics where {broken}" for id_, broken in TOPICS.items()}
    return {id_: sorted(connection.execute(query).fetchall()) for id_, query in found.items()}


def by_audit(root: Path) -> dict[str, list[Found]]:
    (totals,) = audit(PLAN, [str(root)], on_processes(1), Kept(None, PLAN), lambda done, all_: None).totals
    return {
        id_: sorted(
            (found.topic, found.queue_id, found.queue_offset if id_ in ENTRIES else found.offset)
            for found in totals.findings
            if found.property == id_
        )
        for id_ in (*QUEUES, *ENTRIES, *FILES, *TOPICS)
    }


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    return made(tmp_path_factory.mktemp("sound") / "store")


@pytest.mark.parametrize("seed", [21, 22])
def test_queues_and_entries_of_a_store_with_many_damages(seed: int, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", seed)
    for damage in DAMAGES:
        if not damage.whole:
            damage.do(store)
    found = by_sql(store.root)
    assert by_audit(store.root) == found
    assert {"INV-30.sign", "INV-30.stored", "INV-34.first", *ENTRIES} <= {id_ for id_, places in found.items() if places}


OF_ALL = [damage for damage in DAMAGES if damage.whole and damage.name not in ("cut file", "blank that is too short")]


@pytest.mark.parametrize("damage", OF_ALL, ids=lambda damage: damage.name)
def test_files_and_topics(damage: Damage, sound: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = copied(*sound, tmp_path / "store", 7)
    damage.do(store)
    found = by_sql(store.root)
    assert by_audit(store.root) == found
    assert found.get(damage.property, True), "the damage is not one that is looked for here"
