"""The queries of the documentation run unchanged and give the documented results; the example writes its report."""

import importlib.util
import re
import shutil
import struct
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from written_store import Sent, write_store, write_topics

ROOM = Path(__file__).parents[2] / "traces"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hours of messages: `orders` uses one of its four queues; group g retried twice and dead-lettered once; one record is damaged."""
    folder = tmp_path_factory.mktemp("docs") / "store"
    hour = 1_700_000_000_000 // 3_600_000 * 3_600_000
    sent = [Sent("orders", 0, bytes(100), stored_at=hour + n) for n in range(40)]
    sent += [Sent("payments", n % 4, bytes(10), stored_at=hour + 3_600_000 + n) for n in range(60)]
    sent += [Sent("%RETRY%g", 0, stored_at=hour, reconsumed=1 + n) for n in range(2)] + [
        Sent("%DLQ%g", 0, stored_at=hour + 9, reconsumed=3)
    ]
    stored = write_store(folder, sent, 1 << 15)
    write_topics(folder, {name: {} for name in ("orders", "payments", "%RETRY%g", "%DLQ%g")})
    hurt = stored[7]
    with (folder / "commitlog" / f"{0:020d}").open("r+b") as file:
        file.seek(hurt.offset + 4)
        file.write(struct.pack(">I", 12345))
    return folder


def test_queries_of_documentation(spark: SparkSession, store: Path) -> None:
    text = (ROOM / "docs" / "spark.md").read_text().split("## What is read")[0]
    views, queries = [], []
    for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        (views if "CREATE" in block else queries).append(block.replace("/data/rocketmq/store", str(store)))
    assert (len(views), len(queries)) == (3, 5)
    for view in views:
        spark.sql(view.replace("CREATE TEMPORARY", "CREATE OR REPLACE TEMPORARY"))
    hours, disk, groups, skew, damage = ([row.asDict() for row in spark.sql(query).collect()] for query in queries)
    assert [(row["topic"], row["messages"]) for row in hours] == [("orders", 39), ("%RETRY%g", 2), ("%DLQ%g", 1), ("payments", 60)]
    assert [(row["topic"], row["largest"]) for row in disk][:2] == [("orders", 197), ("payments", 109)]
    assert sum(row["percent"] for row in disk) == pytest.approx(100, abs=0.3)
    assert [(row["consumerGroup"], row["retries"], row["deadLetters"], row["mostTimes"]) for row in groups] == [("g", 2, 1, 3)]
    assert [(row["topic"], row["queues"], row["used"], row["skew"]) for row in skew if row["topic"] == "orders"] == [("orders", 4, 1, 4.0)]
    assert "payments" not in {row["topic"] for row in skew}
    assert [(row["physicalOffset"], row["size"]) for row in damage] == [(7 * 197, 197)]


def test_stream_of_documentation(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    """The script of the page is run twice; the second run has nothing new."""
    (script,) = re.findall(r"```python\n(.*?)```", (ROOM / "docs" / "follow.md").read_text(), re.DOTALL)
    # Spark finds relative paths from the folder where its JVM was started, which is the project's.
    paths = {"/data/rocketmq/store": store, "checkpoint": tmp_path / "checkpoint", "damage": tmp_path / "damage"}
    for shown, used in paths.items():
        assert script.count(f'"{shown}"') == 1
        script = script.replace(f'"{shown}"', f'"{used}"')
    for _ in range(2):
        exec(compile(script, "follow.md", "exec"), {})
        rows = spark.read.json(str(tmp_path / "damage")).collect()
        assert [(row.physicalOffset, row.size) for row in rows] == [(7 * 197, 197)]


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_example_makes_its_report(spark: SparkSession, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = shutil.copy(ROOM / "examples" / "store_report.py", tmp_path)  # as an operator would
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.spec_from_file_location("store_report", script)
    assert spec is not None and spec.loader is not None
    store_report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(store_report)
    topics = store_report.report(spark, str(store), tmp_path / "report")
    stored = {row.topic: row.messages for row in topics.itertuples() if row.messages}
    assert stored == {"orders": 39, "payments": 60, "%RETRY%g": 2, "%DLQ%g": 1}
    assert topics["error"].sum() > 0, "the damaged record"
    assert (tmp_path / "report" / "topics.csv").read_text().count("\n") == len(topics) + 1
    assert (tmp_path / "report" / "topics.png").read_bytes().startswith(b"\x89PNG")
