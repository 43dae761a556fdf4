"""DataFrames of stores and histories: the page's join with an order database, pushed filters, columns, damage, and wrong arguments."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from many_histories import history, write, write_parquet
from pyspark.sql import DataFrame, SparkSession
from written_store import Sent, write_store, write_topics

from rocketproof import spark as frames
from rocketproof_traces.bulk.tables import event_row
from rocketproof_traces.common.errors import TraceError

PAGE = (Path(__file__).parents[2] / "traces" / "docs" / "frames.md").read_text("utf-8")
JOIN, SLOWEST, EXPLAINED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def keyed(id_: str, **more: Any) -> Sent:
    return Sent("orders", 0, b"x", {"KEYS": id_}, 1_793_600_000_000, **more)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Order 1 has a message, 2 has two, 3 has none, and 9 is no order."""
    folder = tmp_path_factory.mktemp("frames") / "store"
    write_store(folder, [keyed(id_) for id_ in ("1", "2", "2", "9")] + [Sent("payments", 0, b"x", {"KEYS": "3"})], 1 << 15)
    write_topics(folder, {"orders": {}, "payments": {}})
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frames") / "histories"
    folder.mkdir()
    whole = write(folder / "whole.ndjson", *history(sends=2, lost=False))
    (folder / "cut.ndjson.gz").write_bytes(gzip.compress(whole.read_bytes())[:-20])
    write_parquet(folder / "two.parquet", {"a": history(sends=1)[1], "b": history(sends=2)[1]})
    return folder


def explained(frame: DataFrame) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        frame.explain("formatted")
    return out.getvalue()


@pytest.fixture(scope="module")
def joined(spark: SparkSession, store: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the names of the page's join after it ran."""
    orders = tmp_path_factory.mktemp("orders") / "orders.parquet"
    spark.createDataFrame([(str(n),) for n in (1, 2, 3)], "id string").write.parquet(str(orders))
    names: dict[str, Any] = {}
    exec(JOIN.replace("/data/rocketmq/store", str(store)).replace("orders.parquet", str(orders)), names)
    return names


def test_join_of_page_finds_orders_without_exactly_one_message(joined: dict[str, Any]) -> None:
    assert sorted((row["id"], row["count"]) for row in joined["wrong"].collect()) == [("2", 2), ("3", None)]
    assert [(row["keys"], row["count"]) for row in joined["unknown"].collect()] == [("9", 1)]


def test_explain_of_page_shows_pushed_filters(joined: dict[str, Any]) -> None:
    shown = explained(joined["log"])
    assert "PushedFilters: [IsNotNull(topic), EqualTo(topic,orders)]" in shown
    assert "PushedFilters: [IsNotNull(topic), EqualTo(topic,orders)]" in PAGE and "explain" in EXPLAINED
    assert "Condition" not in shown  # Spark filters nothing again
    assert "Condition : (isnotnull(keys" in explained(joined["log"].where("keys = '1'"))


def test_slowest_requests_of_page(spark: SparkSession, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"spark": spark}
    exec(SLOWEST.replace("/data/histories", str(recorded / "whole.ndjson")), names)
    out = capsys.readouterr().out
    assert (out.count("3000.0"), out.count("1000.0")) == (6, 7)


def test_history_has_the_events_of_its_file(spark: SparkSession, recorded: Path) -> None:
    path = str(recorded / "whole.ndjson")
    names = (
        "history",
        "seq",
        "time",
        "process",
        "type",
        "op",
        "value",
        "broker",
        "topic",
        "defaultTopic",
        "code",
        "queueId",
        "queueOffset",
    )
    expected = [dict.fromkeys(names) | event_row(path, event) for event in history(sends=2)[1]]
    rows = [row.asDict() for row in frames.histories(spark, recorded / "whole.ndjson").orderBy("seq").collect()]
    assert [{name: row[name] for name in names} for row in rows] == expected
    assert {(row["file"], row["error"]) for row in rows} == {(path, None)}


def test_filters_of_histories_give_what_spark_gives(spark: SparkSession, recorded: Path) -> None:
    plain = frames.histories(spark, [recorded]).cache()
    for filters, condition in (
        ([("topic", "=", "T1")], "topic = 'T1'"),
        ([("topic", "in", ["T0", "T9"])], "topic IN ('T0', 'T9')"),
        ([("topic", "is null", None), ("error", "is null", None)], "topic IS NULL AND error IS NULL"),
        ([("process", "startswith", "client"), ("seq", "<=", 9)], "startswith(process, 'client') AND seq <= 9"),
        ([("code", "==", 0), ("queueOffset", ">", 1)], "code = 0 AND queueOffset > 1"),
        ([("history", "=", "b"), ("type", "=", "ok")], "history = 'b' AND type = 'ok'"),
        ([("error", "is not null", None)], "error IS NOT NULL"),
        ([("file", "=", str(recorded / "two.parquet"))], "endswith(file, 'parquet')"),
    ):
        pushed = frames.histories(spark, [recorded], filters=filters)
        here, there = (sorted(map(str, frame.collect())) for frame in (pushed, plain.where(condition)))
        assert here == there and here, condition
        assert "Condition" not in explained(pushed), condition
    plain.unpersist()


def test_times_are_filtered_with_their_zone(spark: SparkSession, store: Path) -> None:
    at = datetime.fromtimestamp(1_793_600_000, UTC)
    later = frames.records(spark, store, ["topic", "storeTime"], [("storeTime", ">=", at)])
    assert later.count() == 4 and "Condition" not in explained(later)
    assert frames.records(spark, store, ["topic"], [("storeTime", "<", at)]).count() == 1


def test_damaged_history_ends_with_a_row_of_its_error(spark: SparkSession, recorded: Path) -> None:
    damaged = frames.histories(spark, recorded / "cut.ndjson.gz").where("error IS NOT NULL").collect()
    assert len(damaged) == 1 and damaged[0]["file"].endswith("cut.ndjson.gz") and damaged[0]["seq"] is None


def test_columns_and_other_tables(spark: SparkSession, store: Path) -> None:
    assert frames.records(spark, store, ["topic", "body"]).columns == ["topic", "body"]
    assert "properties" in frames.records(spark, [store], "*").columns
    assert frames.entries(spark, store, filters=[("topic", "=", "orders")]).count() == 4
    assert frames.topics(spark, store).count() == 2
    assert frames.records(spark, store, part_bytes=1 << 20).count() == 5


def test_wrong_arguments_are_one_line(spark: SparkSession, store: Path) -> None:
    with pytest.raises(TraceError, match=r"rocketproof\.spark\.records: has no path to read; give a path"):
        frames.records(spark, [])
    with pytest.raises(TraceError, match="rocketmq-consumequeue: column topc: does not exist"):
        frames.entries(spark, store, ["topc"])
    with pytest.raises(TraceError, match=r"filters: storeTime: .* is no time with a zone"):
        frames.records(spark, store, filters=[("storeTime", ">", datetime.fromisoformat("2026-11-01"))])
    with pytest.raises(Exception, match="nothing: does not exist; give a store's folder"):
        frames.records(spark, store / "nothing").count()
