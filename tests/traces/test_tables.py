"""A store's files as Arrow tables: every row, every clause, in parts of any size, and damage as rows."""

import json
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from written_store import BLANK, Sent, Stored, java_hash, record, write_store, write_topics

from nonempty import nonempty
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark.tables import commitlog, consumequeue, index, topics
from rocketproof_traces.spark.tables.clauses import Clause, Clauses, bounds
from rocketproof_traces.spark.tables.table import PART_SIZE, StoreTable
from unpacking import unpack

BODY_AT = 88  # of a record with IPv4 hosts
GOLDEN = Path(__file__).parents[1] / "data" / "store-4.9.4.tar.gz"


def rows(table: StoreTable, folder: Path, columns: str = "*", clauses: Clauses = (), part_size: int = PART_SIZE) -> list[dict[str, Any]]:
    names = table.chosen(columns)
    found = []
    for part in table.parts([str(folder)], clauses, part_size):
        for batch in table.read(part, names, clauses):
            assert batch.schema == table.schema(names)
            assert batch.num_rows > 0
            batch.validate(full=True)
            found += batch.to_pylist()
    return found


def messages(count: int, seed: int) -> list[Sent]:
    draw = random.Random(seed)
    sent = []
    for number in range(count):
        properties = {name: f"{name}-{draw.randrange(3)}" for name in ("TAGS", "KEYS", "UNIQ_KEY") if draw.random() < 0.5}
        body = draw.randbytes(draw.choice([0, 1, 40, 700]))
        topic = draw.choice(["orders", "payments", "%RETRY%g", "ü"])
        sent.append(Sent(topic, draw.randrange(4), body, properties, 1_700_000_000_000 + 10 * number, draw.randrange(3)))
    return sent


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    folder = tmp_path_factory.mktemp("tables") / "store"
    return folder, write_store(folder, messages(600, 3))


def test_each_record_is_row_of_sent_message(store: tuple[Path, list[Stored]]) -> None:
    folder, stored = store
    for row, sent in nonempty(zip(rows(commitlog.TABLE, folder), stored, strict=True)):
        assert (row["topic"], row["queueId"], row["queueOffset"]) == (sent.topic, sent.queue_id, sent.queue_offset)
        assert (row["physicalOffset"], row["storedPhysicalOffset"], row["size"]) == (sent.offset, sent.offset, sent.size)
        assert (row["body"], row["bodyLength"], row["bodyCRC"]) == (sent.body, len(sent.body), row["computedCRC"])
        assert dict(row["properties"]) == sent.properties
        assert (row["tags"], row["keys"]) == (sent.properties.get("TAGS"), sent.properties.get("KEYS"))
        assert row["storeTimestamp"] == sent.stored_at == round(row["storeTime"].timestamp() * 1000)
        assert row["bornTimestamp"] == sent.stored_at - 5 == round(row["bornTime"].timestamp() * 1000)
        assert (row["reconsumeTimes"], row["storeHost"], row["error"]) == (sent.reconsumed, "127.0.0.1:10911", None)
        assert Path(row["file"]) == folder / "commitlog" / f"{sent.offset >> 16 << 16:020d}"


@pytest.mark.parametrize("part_size", [500, 4096, 1 << 16])
def test_parts_of_any_size_hold_each_row_once(part_size: int, store: tuple[Path, list[Stored]]) -> None:
    folder, stored = store
    assert [row["physicalOffset"] for row in rows(commitlog.TABLE, folder, "physicalOffset", part_size=part_size)] == [
        sent.offset for sent in stored
    ]


CLAUSES: list[tuple[Sequence[Clause], Any]] = [
    ([Clause("topic", "=", "orders")], lambda s: s.topic == "orders"),
    ([Clause("topic", "among", ("ü", "none"))], lambda s: s.topic == "ü"),
    ([Clause("topic", "begins", "%RETRY%")], lambda s: s.topic.startswith("%RETRY%")),
    ([Clause("topic", "absent")], lambda s: False),
    ([Clause("queueId", "among", (1, 3)), Clause("topic", "present")], lambda s: s.queue_id in (1, 3)),
    ([Clause("queueOffset", ">", 7), Clause("queueOffset", "<=", 9)], lambda s: s.queue_offset in (8, 9)),
    ([Clause("storeTimestamp", ">=", 1_700_000_003_000)], lambda s: s.stored_at >= 1_700_000_003_000),
    ([Clause("storeTime", "<", 1_700_000_003_000_000 + 1)], lambda s: s.stored_at <= 1_700_000_003_000),
    ([Clause("physicalOffset", "<", 70_000), Clause("physicalOffset", ">=", 60_000)], lambda s: 60_000 <= s.offset < 70_000),
    ([Clause("physicalOffset", "=", -1)], lambda s: False),
    ([Clause("error", "absent"), Clause("size", "<", 150)], lambda s: s.size < 150),
    ([Clause("error", "present")], lambda s: False),
    ([Clause("file", "begins", "/no such folder")], lambda s: False),
]


@pytest.mark.parametrize(("clauses", "passes"), CLAUSES)
def test_clauses_leave_rows_that_pass(clauses: Clauses, passes: Any, store: tuple[Path, list[Stored]]) -> None:
    folder, stored = store
    found = rows(commitlog.TABLE, folder, "physicalOffset, body, tags", clauses, part_size=8192)
    assert [(row["physicalOffset"], row["body"]) for row in found] == [(s.offset, s.body) for s in stored if passes(s)]


def test_url_leads_to_queues_with_percent_signs(tmp_path: Path) -> None:
    write_store(tmp_path / "the store", [Sent("%DLQ%cg"), Sent("%RETRY%cg")], 1 << 12)
    table = consumequeue.TABLE
    parts = table.parts([(tmp_path / "the store").as_uri()], (), PART_SIZE)
    found = [row for part in parts for batch in table.read(part, ("topic", "error"), ()) for row in batch.to_pylist()]
    assert sorted({(row["topic"], row["error"]) for row in found}) == [("%DLQ%cg", None), ("%RETRY%cg", None)]


def nested(at: int, *, to_the_end: bool) -> bytes:
    """Build a body at an offset that contains valid records.

    With `to_the_end` the last one extends to the end of the enclosing record: its properties are the topic `T` and the properties after
    the body.
    """
    found = b"x" * 50
    for number in range(3):
        found += record(Sent("Fake", body=bytes(number)), number, at + len(found))
    if not to_the_end:
        return found + b"x" * 300
    last = bytearray(record(Sent("Fake"), 3, at + len(found)))
    outside = len(b"\x01T\0\0")
    last[-2:], last[:4] = outside.to_bytes(2, "big"), (len(last) + outside).to_bytes(4, "big")
    return found + bytes(last)


@pytest.mark.parametrize("to_the_end", [False, True])
def test_records_inside_of_bodies_are_no_rows(to_the_end: bool, tmp_path: Path) -> None:
    """A part may begin anywhere, also in the body, and a real record may follow those in it."""
    before = [Sent("T", body=bytes(n)) for n in range(4)]
    at = sum(len(record(sent, 0, 0)) for sent in before) + BODY_AT
    stored = write_store(tmp_path / "store", [*before, Sent("T", body=nested(at, to_the_end=to_the_end)), *before], 1 << 12)
    for part_size in (*range(97, 131, 3), 400, 700):
        found = rows(commitlog.TABLE, tmp_path / "store", "physicalOffset, topic, error", part_size=part_size)
        assert [(row["physicalOffset"], row["topic"]) for row in found] == [(each.offset, "T") for each in stored], part_size


def test_older_records_after_blank_are_no_rows(tmp_path: Path) -> None:
    """The file was overwritten: the filler of its blank still has older records."""
    stored = write_store(tmp_path / "store", [Sent("T", body=bytes(100)) for _ in range(40)], 1 << 12)
    log = tmp_path / "store" / "commitlog" / f"{0:020d}"
    data = bytearray(log.read_bytes())
    here = [each for each in stored if each.offset < 1 << 12]
    at = here[5].offset
    data[at : at + 8] = struct.pack(">II", len(data) - at, BLANK)
    log.write_bytes(data)
    found = rows(commitlog.TABLE, tmp_path / "store", "physicalOffset", part_size=600)
    assert [row["physicalOffset"] for row in found] == [each.offset for each in stored if each not in here[5:]]


def test_physical_offsets_choose_parts(store: tuple[Path, list[Stored]]) -> None:
    folder, _ = store
    every = commitlog.TABLE.parts([str(folder)], (), 1 << 14)
    parts = commitlog.TABLE.parts([str(folder)], [Clause("physicalOffset", "=", 70_000)], 1 << 14)
    assert len(every) > 8
    assert [(part.range.file.base, part.range.start) for part in parts] == [(1 << 16, 0)]
    assert bounds([Clause("x", "among", (3, 9)), Clause("x", ">", 3)], "x") == (4, 9)


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[Path, list[Stored], list[Stored]]:
    """Return a store, its records, and those whose magic number was removed."""
    stored = write_store(tmp_path / "store", messages(300, 8))
    hurt = stored[20:21] + stored[100:102] + stored[-1:]
    for each in hurt:
        with (tmp_path / "store" / "commitlog" / f"{each.offset >> 16 << 16:020d}").open("r+b") as file:
            file.seek((each.offset & 0xFFFF) + 4)
            file.write(b"\x00\x01\x02\x03")
    return tmp_path / "store", stored, hurt


@pytest.mark.parametrize("part_size", [1000, PART_SIZE])
def test_damage_is_rows_with_offset_and_reason(part_size: int, damaged: tuple[Path, list[Stored], list[Stored]]) -> None:
    folder, stored, hurt = damaged
    found = rows(commitlog.TABLE, folder, "*", part_size=part_size)
    errors = [row for row in found if row["error"] is not None]
    assert [row["physicalOffset"] for row in found if row["error"] is None] == [s.offset for s in stored if s not in hurt]
    assert [row["physicalOffset"] for row in errors] == [hurt[0].offset, hurt[1].offset, hurt[3].offset]
    assert errors[1]["size"] == hurt[1].size + hurt[2].size
    assert all(row["topic"] is row["queueId"] is row["body"] is row["properties"] is row["storeTime"] is None for row in errors)
    assert all("magic number" in row["error"] for row in errors)
    assert [r["physicalOffset"] for r in rows(commitlog.TABLE, folder, "*", [Clause("error", "present")], part_size)] == [
        row["physicalOffset"] for row in errors
    ]


def test_file_that_vanishes_is_row_too(store: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    stored = write_store(tmp_path / "store", messages(600, 3))
    parts = commitlog.TABLE.parts([str(tmp_path / "store")], (), PART_SIZE)
    gone = Path(parts[1].range.file.path)
    gone.unlink()
    found = [
        row
        for part in parts
        for batch in commitlog.TABLE.read(part, ("physicalOffset", "size", "error", "file"), ())
        for row in batch.to_pylist()
    ]
    assert [row["physicalOffset"] for row in found if row["error"] is None] == [s.offset for s in stored if s.offset >> 16 != 1]
    (lost,) = [row for row in found if row["error"] is not None]
    assert (lost["physicalOffset"], lost["size"], lost["file"]) == (1 << 16, 1 << 16, str(gone))
    assert "cannot be read" in lost["error"]
    assert not list(commitlog.TABLE.read(parts[1], ("error",), [Clause("topic", "=", "orders")]))


def test_columns_are_chosen_by_name_in_any_case() -> None:
    table = commitlog.TABLE
    assert table.chosen("Topic, SIZE") == ("topic", "size")
    assert table.chosen("*") == tuple(table.columns)
    assert table.chosen(None) == tuple(table.standard)
    assert table.chosen("+body") == (*table.standard, "body")
    assert "body" not in table.standard
    with pytest.raises(TraceError, match="column colour: does not exist; choose among topic"):
        table.chosen("colour")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    unpack(GOLDEN, folder)
    return folder / "store-4.9.4"


def test_real_brokers_log_is_read_as_it_was_recorded(golden: Path) -> None:
    expected = [json.loads(line) for line in (GOLDEN.parent / "store-4.9.4-records.jsonl").read_text().splitlines()]
    found = rows(commitlog.TABLE, golden)
    assert len(found) == len(expected) > 100
    for row, line in zip(found, expected, strict=True):
        assert (row["topic"], row["queueId"], row["queueOffset"]) == (line["topic"], line["queueId"], line["queueOffset"]), line
        assert (row["physicalOffset"], row["size"]) == (line["physOffset"], line["size"]), line
        # The listing cuts long values.
        assert {name: value[:20] for name, value in row["properties"]} == {name: value[:20] for name, value in line["props"].items()}
    assert pa.types.is_map(commitlog.TABLE.columns["properties"])


def test_each_entry_of_queue_is_row(store: tuple[Path, list[Stored]]) -> None:
    folder, stored = store
    found = rows(consumequeue.TABLE, folder, part_size=1)
    expected = sorted(stored, key=lambda s: (s.topic, s.queue_id, s.queue_offset))
    keys = ("topic", "queueId", "queueOffset", "physicalOffset", "size", "tagsCode", "error")
    assert [tuple(row[key] for key in keys) for row in found] == [
        (s.topic, s.queue_id, s.queue_offset, s.offset, s.size, java_hash(s.properties.get("TAGS", "")), None) for s in expected
    ]


QUEUE_CLAUSES: list[tuple[Sequence[Clause], Any]] = [
    ([Clause("topic", "=", "orders"), Clause("queueId", ">", 1)], lambda s: s.topic == "orders" and s.queue_id > 1),
    ([Clause("queueOffset", "among", (0, 5)), Clause("error", "absent")], lambda s: s.queue_offset in (0, 5)),
    ([Clause("physicalOffset", ">=", 30_000), Clause("size", "<", 300)], lambda s: s.offset >= 30_000 and s.size < 300),
    ([Clause("error", "present")], lambda s: False),
]


@pytest.mark.parametrize(("clauses", "passes"), QUEUE_CLAUSES)
def test_clauses_about_queues(clauses: Clauses, passes: Any, store: tuple[Path, list[Stored]]) -> None:
    folder, stored = store
    found = rows(consumequeue.TABLE, folder, "physicalOffset", clauses)
    assert sorted(row["physicalOffset"] for row in found) == [s.offset for s in stored if passes(s)]


def test_zeros_inside_of_queue_are_rows_with_reason(tmp_path: Path) -> None:
    write_store(tmp_path, [Sent("orders") for _ in range(9)])
    with (tmp_path / "consumequeue" / "orders" / "0" / f"{0:020d}").open("r+b") as file:
        file.seek(20 * 2)
        file.write(bytes(20))
    found = rows(consumequeue.TABLE, tmp_path, "queueOffset, physicalOffset, error")
    assert [row["queueOffset"] for row in found] == list(range(9))
    (hole,) = [row for row in found if row["error"] is not None]
    assert hole == {"queueOffset": 2, "physicalOffset": None, "error": "zeros, and entries behind them"}
    assert rows(consumequeue.TABLE, tmp_path, "queueOffset", [Clause("physicalOffset", "absent")]) == [{"queueOffset": 2}]


def test_queue_that_vanishes_is_row(tmp_path: Path) -> None:
    write_store(tmp_path, [Sent("orders")])
    parts = consumequeue.TABLE.parts([str(tmp_path)], (), PART_SIZE)
    (tmp_path / "consumequeue" / "orders" / "0" / f"{0:020d}").unlink()
    (batch,) = [batch for part in parts for batch in consumequeue.TABLE.read(part, ("topic", "queueOffset", "error"), ())]
    (row,) = batch.to_pylist()
    assert (row["topic"], row["queueOffset"]) == ("orders", None)
    assert "cannot be read" in row["error"]


def test_index_of_real_broker_finds_its_keys(golden: Path) -> None:
    records = {row["physicalOffset"]: row for row in rows(commitlog.TABLE, golden)}
    found = rows(index.TABLE, golden)
    assert len(found) > 40
    for row in found:
        record = records[row["physicalOffset"]]
        properties = dict(record["properties"])
        keys = [*properties.get("KEYS", "").split(" "), properties.get("UNIQ_KEY", "")]
        assert row["keyHash"] in {abs(java_hash(f"{record['topic']}#{key}")) for key in keys if key}
        assert abs(row["storeTimestamp"] - record["storeTimestamp"]) <= 1000
    few = [Clause("number", "<=", 3), Clause("keyHash", "=", found[0]["keyHash"])]
    assert rows(index.TABLE, golden, "number", few) == [{"number": n["number"]} for n in found[:3] if n["keyHash"] == found[0]["keyHash"]]


def test_index_that_is_cut_off_is_row(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "20261121062609694").write_bytes(bytes(7))
    (row,) = rows(index.TABLE, tmp_path)
    assert row["physicalOffset"] is None
    assert "fewer than the header" in row["error"]
    assert rows(index.TABLE, tmp_path, "error", [Clause("keyHash", "=", 3)]) == []


def test_table_of_topics(golden: Path, tmp_path: Path) -> None:
    write_topics(tmp_path, {"orders": {"perm": 4, "order": True, "attributes": {"+message.type": "FIFO"}}})
    (row,) = rows(topics.TABLE, tmp_path)
    assert (row["topic"], row["perm"], row["order"], row["attributes"]) == ("orders", 4, True, [("+message.type", "FIFO")])
    assert {row["topic"]: row["perm"] for row in rows(topics.TABLE, golden)}["perm4"] == 4
    (tmp_path / "config" / "topics.json").write_text("{")
    (row,) = rows(topics.TABLE, tmp_path)
    assert row["topic"] is None
    assert "is no JSON" in row["error"]
    assert "is no JSON" in rows(topics.TABLE, tmp_path, "error")[0]["error"]
