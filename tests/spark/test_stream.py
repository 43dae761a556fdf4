"""Streams of growing commit logs: each record exactly once across restarts of query and broker, new files, and damage."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from growing_store import grow
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from written_store import Sent, Stored, write_store

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v2
from rocketproof_impl.store import threads
from rocketproof_impl.system.node import BrokerNode
from rocketproof_properties.brokers.probe import ask
from rocketproof_protocol import codes
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark.source import CommitLogSource

FILE_SIZE = 1 << 13


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopping broker waits a second for its last puts; here each put has its response already."""
    monkeypatch.setattr(threads, "LAST_PUTS", 0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    folder = tmp_path_factory.mktemp("whole") / "store"
    return folder, write_store(folder, [Sent("orders", n % 2, bytes(n), {"TAGS": "a"}) for n in range(200)], FILE_SIZE)


def stream(spark: SparkSession, folder: Path, **options: object) -> DataFrame:
    reader = spark.readStream.format("rocketmq-commitlog")
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load(str(folder))


def start(frame: DataFrame, folder: Path, **trigger: Any) -> StreamingQuery:
    """Start a query that writes to files next to its checkpoint."""
    chosen = frame.select("physicalOffset", "size", "file", "error")
    writer = chosen.writeStream.format("json").option("checkpointLocation", str(folder / "checkpoint")).option("path", str(folder / "out"))
    return writer.trigger(**(trigger or {"availableNow": True})).start()


def rows(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    found = spark.read.schema("physicalOffset long, size long, file string, error string").json(str(folder / "out")).collect()
    return sorted((row.asDict() for row in found), key=lambda row: row["physicalOffset"])


def drained(query: StreamingQuery) -> list[int]:
    """Wait for a query that reads what is available, and return the rows of each micro-batch."""
    assert query.awaitTermination(120)
    return [progress["numInputRows"] for progress in query.recentProgress]


@contextmanager
def broker(root: Path) -> Iterator[Callable[[int], None]]:
    """Run a reference broker with small files, and yield a function that sends it messages."""
    ready, done = threading.Event(), threading.Event()
    addresses: list[str] = []

    async def go() -> None:
        small = {"mapped_file_size_commit_log": 1 << 12, "mapped_file_size_consume_queue": 20_000}
        made = replace(BrokerSettings(store_path_root_dir=str(root), listen_port=0, name_servers=()), **small)
        node = BrokerNode(made, profile="P494")
        await node.start()
        addresses.append(made.address)
        ready.set()
        await asyncio.to_thread(done.wait)
        await node.stop()

    def send(number: int) -> None:
        for n in range(number):
            header = SendMessageRequestHeader("producers", "orders", "TBW102", 4, n % 4, 0, 1_600_000_000_000, 7, "", 0, False, 16)
            assert ask(addresses[0], Command(codes.SEND_MESSAGE_V2, encode_v2(header), bytes(n))).code == 0

    thread = threading.Thread(target=lambda: asyncio.run(go()))
    thread.start()
    try:
        assert ready.wait(60)
        yield send
    finally:
        done.set()
        thread.join(60)


def test_growing_store_is_read_once_across_restarts(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """The store is cut inside of records; each query starts from the checkpoint of the one before."""
    folder, stored = whole
    end = stored[-1].offset + stored[-1].size
    for reached in (3001, 3 * FILE_SIZE + 77, end):
        grow(folder, tmp_path / "store", reached)
        drained(start(stream(spark, tmp_path / "store", maxPartitionBytes=2000), tmp_path))
        found = rows(spark, tmp_path)
        assert [row["physicalOffset"] for row in found] == [each.offset for each in stored if each.offset + each.size <= reached]
        assert not [row for row in found if row["error"]]


def test_broker_writes_restarts_and_begins_new_files_while_query_runs(spark: SparkSession, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with broker(store) as send:
        send(3)
        query = start(stream(spark, store), tmp_path, processingTime="200 milliseconds")
        send(40)
        query.processAllAvailable()
    query.stop()
    with broker(store) as send:
        send(40)
        query = start(stream(spark, store), tmp_path, processingTime="200 milliseconds")
        send(20)
        query.processAllAvailable()
        query.stop()
        assert query.exception() is None
    found = rows(spark, tmp_path)
    batch = spark.read.format("rocketmq-commitlog").load(str(store)).orderBy("physicalOffset").collect()
    assert [(row["physicalOffset"], row["size"]) for row in found] == [(row.physicalOffset, row.size) for row in batch]
    assert (len(found), len({row["file"] for row in found}) > 2) == (103, True)


def test_micro_batches_are_bounded(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    batches = drained(start(stream(spark, folder, maxBytesPerTrigger=10_000), tmp_path))
    assert sum(batches) == len(stored) and len(batches) >= 4
    assert drained(start(stream(spark, folder, maxBytesPerTrigger=10_000), tmp_path)) in ([], [0])


def test_deleted_files_are_rows_with_error(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    store = grow(folder, tmp_path / "store", 3000)
    drained(start(stream(spark, store), tmp_path))
    before = rows(spark, tmp_path)
    grow(folder, store, stored[-1].offset + stored[-1].size)
    (store / "commitlog" / f"{0:020d}").unlink()
    drained(start(stream(spark, store), tmp_path))
    after = rows(spark, tmp_path)
    (gap,) = [row for row in after if row["error"]]
    assert (gap["physicalOffset"], gap["size"]) == (before[-1]["physicalOffset"] + before[-1]["size"], FILE_SIZE - gap["physicalOffset"])
    assert gap["error"] == "deleted before these bytes were read"
    assert len(after) == len(before) + 1 + sum(each.offset >= FILE_SIZE for each in stored)


def test_batch_that_failed_is_repeated_as_planned(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """A query ends after it has planned a batch and before it commits it. The store has grown when the batch is repeated."""
    folder, stored = whole
    store = grow(folder, tmp_path / "store", stored[20].offset)

    def fails(_frame: DataFrame, _number: int) -> None:
        raise RuntimeError("planned")

    frame, checkpoint = stream(spark, store), str(tmp_path / "checkpoint")
    with pytest.raises(PySparkException, match="planned"):
        frame.writeStream.foreachBatch(fails).option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination(
            120
        )
    grow(folder, store, stored[50].offset)
    counts = list[int]()
    query = (
        frame.writeStream.foreachBatch(lambda batch, _number: counts.append(batch.count()))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert counts == [20, 30]


def fails_in_one_line(query: StreamingQuery, says: str) -> None:
    with pytest.raises(PySparkException) as caught:
        query.awaitTermination(120)
    text = str(caught.value)
    assert says in text.splitlines()[0] and "Traceback" not in text


def test_rewritten_log_ends_query(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = grow(whole[0], tmp_path / "store", 3000)
    drained(start(stream(spark, store), tmp_path))
    write_store(tmp_path / "other", [Sent("orders", 0, bytes(90))] * 60, FILE_SIZE)
    grow(tmp_path / "other", store, 6000)
    fails_in_one_line(start(stream(spark, store), tmp_path), "now has other bytes before it: the broker truncated the log")


@pytest.mark.parametrize(
    ("format_", "options", "says"),
    [
        ("rocketmq-topics", {}, "rocketmq-topics: readStream: is not supported; stream rocketmq-commitlog, or use read"),
        ("rocketmq-commitlog", {"path": "/no/such/store"}, "/no/such/store: does not exist"),
    ],
)
def test_stream_that_cannot_be_read_fails_in_one_line(
    spark: SparkSession, tmp_path: Path, whole: tuple[Path, list[Stored]], format_: str, options: dict[str, str], says: str
) -> None:
    frame = spark.readStream.format(format_).options(**{"path": str(whole[0]), **options}).load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    fails_in_one_line(query, says)


def test_wrong_number_fails_in_load(spark: SparkSession, whole: tuple[Path, list[Stored]]) -> None:
    with pytest.raises(PySparkException, match="maxBytesPerTrigger: is none; give a number of bytes from 1 on"):
        stream(spark, whole[0], maxBytesPerTrigger="none")


def test_continuous_trigger_is_refused_in_one_line(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="rocketmq-commitlog does not support continuous processing"):
        stream(spark, whole[0]).writeStream.format("console").trigger(continuous="1 second").start()


def test_checkpoint_of_other_form_is_one_line(spark: SparkSession, whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    store = grow(whole[0], tmp_path / "store", 3000)
    drained(start(stream(spark, store), tmp_path))
    log = tmp_path / "checkpoint" / "offsets" / "0"
    version, about, _ = log.read_text().splitlines()
    log.write_text("\n".join((version, about, json.dumps({str(store): {"offset": "many"}}))))
    (tmp_path / "checkpoint" / "offsets" / ".0.crc").unlink(missing_ok=True)
    grow(whole[0], store, 6000)
    fails_in_one_line(start(stream(spark, store), tmp_path), "has no position that this source wrote")


def test_older_pyspark_is_one_line(monkeypatch: pytest.MonkeyPatch, whole: tuple[Path, list[Stored]]) -> None:
    monkeypatch.setitem(sys.modules, "rocketproof_traces.spark.stream", None)
    source = CommitLogSource({"path": str(whole[0])})
    with pytest.raises(TraceError, match=r"rocketmq-commitlog: readStream: needs PySpark 4\.2 or later; update pyspark, or use read"):
        source.streamReader(source.schema()).initialOffset()
