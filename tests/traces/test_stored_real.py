"""Stores that a real broker and this project's own implementation wrote, read record by record."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from storing import Stand, listing, message, real_files, real_messages, sized

from rocketproof_impl.message import Message
from rocketproof_impl.store import record
from rocketproof_traces.stored import layout
from rocketproof_traces.stored.config import has_abort, read_checkpoint, read_json, read_topics
from rocketproof_traces.stored.index import index_files
from rocketproof_traces.stored.kinds import RowKind
from rocketproof_traces.stored.layout import ENTRY, NO_ENTRY, NO_QUEUE
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.queues import EntryLookup, Queues
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk


@pytest.fixture(scope="module")
def real_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return on_disk(tmp_path_factory.mktemp("real"), real_files())


def on_disk(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def test_format_constants_equal_those_of_implementation() -> None:
    assert record.MESSAGE_MAGIC & 0xFFFFFFFF == layout.MESSAGE_MAGIC
    assert record.BLANK_MAGIC & 0xFFFFFFFF == layout.BLANK_MAGIC
    assert (record.FIXED_SIZE, record.BLANK_SIZE, record.PROPERTIES_LIMIT) == (
        layout.FIXED_SIZE,
        layout.BLANK_SIZE,
        layout.PROPERTIES_LIMIT,
    )
    made = record._Fixed._make(record._FIXED.unpack(bytes(range(88))))
    places = {
        "total_size": layout.SIZE_AT, "magic": layout.MAGIC_AT, "body_crc": layout.BODY_CRC_AT, "queue_id": layout.QUEUE_ID_AT,
        "flag": layout.FLAG_AT, "queue_offset": layout.QUEUE_OFFSET_AT, "physical_offset": layout.PHYSICAL_OFFSET_AT,
        "sys_flag": layout.SYS_FLAG_AT, "born_timestamp": layout.BORN_TIMESTAMP_AT, "born_host": layout.BORN_HOST_AT,
        "store_timestamp": layout.STORE_TIMESTAMP_AT, "store_host": layout.STORE_HOST_AT, "reconsume_times": layout.RECONSUME_TIMES_AT,
        "prepared_transaction_offset": layout.PREPARED_OFFSET_AT, "body_length": layout.BODY_LENGTH_AT,
    }  # fmt: skip
    assert list(places) == list(record._Fixed._fields)
    for name, value in made._asdict().items():
        first = value[0] if isinstance(value, bytes) else value >> 8 * (7 if value >> 32 else 3) & 0xFF
        assert first == places[name], name


def test_every_record_of_real_store(real_store: Path) -> None:
    (range_,) = ranges(log_files([str(real_store)]))
    walk = Walk(range_, NameTable())
    rows = []
    for chunk in walk:
        names = (
            "size",
            "queueId",
            "flag",
            "queueOffset",
            "storedPhysicalOffset",
            "sysFlag",
            "reconsumeTimes",
            "preparedTransactionOffset",
            "bodyLength",
        )
        columns = [chunk[name].tolist() for name in ("physicalOffset", *names)]
        rows += zip(*columns, chunk.text("topic").to_pylist(), chunk.text("properties").to_pylist(), chunk.bodies().to_pylist(),
                    chunk.hosts("born").to_pylist(), chunk.hosts("store").to_pylist(), chunk.text("tags").to_pylist(),
                    chunk["bodyCRC"].tolist(), chunk["computedCRC"].tolist(), strict=True)  # fmt: skip
    assert len(rows) == len(listing()) == 169
    for row, listed, read in zip(rows, listing(), real_messages(), strict=True):
        wanted = [listed[name] for name in ("offset", "size", "queueId", "flag", "queueOffset", "physOffset", "sysFlag")]
        wanted += [listed[name] for name in ("reconsumeTimes", "preparedTxOffset", "bodyLen", "topic")]
        assert list(row[:11]) == wanted
        properties, body, born, store, tags, stored_crc, computed = row[11:]
        assert (properties or None, body or None) == (read.properties_text, read.body)
        assert (born, store) == tuple(f"{host}:{port}" for host, port in (read.born_host, read.store_host))
        assert tags == read.properties.get("TAGS")
        assert stored_crc == computed == zlib.crc32(body) & 0x7FFFFFFF
    assert walk.data_end == listing()[-1]["offset"] + listing()[-1]["size"]


def test_tables_and_checkpoint_of_real_store(real_store: Path) -> None:
    topics = read_topics(f"{real_store}/config/topics.json")
    assert (topics.counter, topics.state_version) == (61, 0)
    row = topics.topics["w4r8"]
    assert (row.topic, row.read, row.write, row.perm, row.order, row.sys_flag, row.filter_type) == ("w4r8", 8, 4, 6, False, 0, "SINGLE_TAG")
    assert read_json(f"{real_store}/config/delayOffset.json") == {"offsetTable": {"1": 1, "3": 2}}
    assert read_json(f"{real_store}/config/subscriptionGroup.json")["subscriptionGroupTable"]["cg1"]["retryMaxTimes"] == 16
    checkpoint = read_checkpoint(f"{real_store}/checkpoint")
    assert checkpoint.logics == listing_time(real_store) and checkpoint.confirmed == 0
    assert not has_abort(str(real_store))


def listing_time(store: Path) -> int:
    (range_,) = ranges(log_files([str(store)]))
    return max(int(chunk["storeTimestamp"].max()) for chunk in Walk(range_, NameTable()))


def test_every_entry_of_real_queue_has_its_record(real_store: Path) -> None:
    queues, names = Queues([str(real_store)]), NameTable()
    (range_,) = ranges(log_files([str(real_store)]))
    (chunk,) = Walk(range_, names)
    entries = EntryLookup(queues, names).find(chunk["topic"], chunk["queueId"], chunk["queueOffset"])
    good = (entries.found == ENTRY) & (entries.physicalOffset == chunk["physicalOffset"])
    assert (entries.size[good] == chunk["size"][good]).all()
    scheduled = chunk["topic"] == names.number("SCHEDULE_TOPIC_XXXX")
    assert (entries.tagsCode[good & ~scheduled] == chunk["tagsHash"][good & ~scheduled]).all()
    assert (entries.tagsCode[good & scheduled] > chunk["storeTimestamp"][good & scheduled]).all()
    # Halves of transactions have none, and queues that the broker cleaned away.
    texts = names.texts()
    assert {texts[n] for n in chunk["topic"][~good]} == {"w8r4", "w4r4", "RMQ_SYS_TRANS_HALF_TOPIC"}
    assert set(entries.found[~good]) <= {NO_QUEUE, NO_ENTRY, ENTRY}
    assert sum(queue.max - queue.min for queue in queues.all()) == int(good.sum())


def test_index_of_real_store(real_store: Path) -> None:
    (file,) = index_files([str(real_store)])
    assert (file.slots, file.limit, file.count) == (1000, 4000, 49)
    entries = file.entries(1, 1 << 20)
    assert len(entries.physicalOffset) == 48
    offsets = {row["offset"] for row in listing()}
    assert set(entries.physicalOffset.tolist()) <= offsets
    assert entries.physicalOffset[0] == file.begin_offset and entries.physicalOffset[-1] == file.end_offset
    heads = file.heads(0, file.slots)
    assert (heads > 0).sum() == file.used_slots and heads.max() == file.count - 1


def test_store_of_implementation_with_blanks_and_several_files(tmp_path: Path) -> None:
    stand = Stand(mapped_file_size_commit_log=4096, mapped_file_size_consume_queue=400)
    sent: list[Message] = []
    for number in range(60):
        each = sized(200 + 13 * number, f"T{number % 3}", queue_id=number % 2, born_timestamp=number)
        stand.put(each)
        sent.append(each)
    stand.put(message("Tagged", body=b"x", properties={"TAGS": "a"}, properties_text="TAGS\1a"))
    stand.deliver()
    on_disk(
        tmp_path,
        {name.partition("/")[2]: bytes(content).ljust(stand.disk.sizes.get(name, 0), b"\0") for name, content in stand.disk.files.items()},
    )
    log = log_files([str(tmp_path)])
    names, rows, blanks = NameTable(), [], 0
    for range_ in ranges(log, 1000):
        for chunk in Walk(range_, names):
            assert set(chunk["kind"]) <= {RowKind.MESSAGE, RowKind.BLANK}
            blanks += int((chunk["kind"] == RowKind.BLANK).sum())
            rows += [row for row, is_message in zip(chunk.text("topic").to_pylist(), chunk.is_message, strict=True) if is_message]
    assert rows == [f"T{number % 3}" for number in range(60)] + ["Tagged"]
    assert blanks == len(log) - 1
