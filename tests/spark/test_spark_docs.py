"""The queries and commands of the documentation run unchanged and give the documented results; the example writes its report.

Only paths and sizes are replaced. The options `--master`, `--remote` and `--conf` of commands have no effect, because a session exists.
"""

import importlib.util
import itertools
import re
import shlex
import shutil
import struct
from pathlib import Path
from typing import Final

import pytest
from many_histories import history, write
from pyspark.sql import SparkSession
from shown_commands import commands
from written_store import Sent, write_store, write_topics

from rocketproof_model import interrupts
from rocketproof_properties.commands import run
from rocketproof_properties.commands.checks import programs

ROOM = Path(__file__).parents[2] / "traces"
SMALL: Final = {
    "/data/rocketmq/store": "store", "/data/store": "store", "/mnt/stores/a": "store", "/data/brokers": "stores", "/mnt/shared": ".",
    "1000000": "4", "large": "answers",
}  # fmt: skip
"""Words of commands, and what the tests use in their place."""
FOUND: Final = {"audit": {1}, "judge": {1}, "campaign": {0, 1}, "check": {0}}
"""Exit codes by command: a record of the store is damaged, and a history is wrong."""


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


def test_first_script_of_documentation(spark: SparkSession, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All 39 readable records of `orders` are in queue 0, but older than the page's date."""
    script = re.findall(r"```python\n(.*?)```", (ROOM / "docs" / "spark.md").read_text(), re.DOTALL)[0]
    exec(compile(script.replace("/data/rocketmq/store", str(store)).replace("2026-11-01", "2023-11-01"), "spark.md", "exec"), {})
    assert re.findall(r"\|\s+(\d+)\|\s+(\d+)\|", capsys.readouterr().out) == [("0", "39")]


@pytest.fixture
def place(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has what the pages' commands read."""
    shutil.copytree(store, tmp_path / "store")
    shutil.copytree(store, tmp_path / "stores" / "a")
    for name in ("runs", "histories"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "wrong.ndjson", *history(sends=3, wrong="T1"))
    shutil.copy(tmp_path / "runs" / "wrong.ndjson", tmp_path / "history.ndjson")
    (tmp_path / "environment.tar.gz").touch()
    rules = re.findall(r"```python\n(.*?)```", (ROOM / "docs" / "own-rules.md").read_text(), re.DOTALL)
    for name, text in zip(("my_rules.py", "sla.py"), rules, strict=True):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stop_in_second_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C end a command that follows stores or histories: when it waits for the second time."""
    number = itertools.count()

    def pause(_seconds: float) -> None:
        if next(number):
            raise KeyboardInterrupt

    monkeypatch.setattr(interrupts, "pause", pause)


@pytest.mark.parametrize(("page", "count"), [("clusters", 6), ("follow", 4), ("own-rules", 5)])
def test_commands_of_documentation(page: str, count: int, spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = [words for words in commands(f"traces/docs/{page}.md", "rocketproof") if len(words) > 1 and words[0] in FOUND]
    assert len(shown) == count
    few = [task for task in programs.tasks("P49") if task.source.scope == "flush"]  # a part of the specification in a campaign
    monkeypatch.setattr(programs, "tasks", lambda profile: few)
    for words in shown:
        stop_in_second_pause(monkeypatch)
        used = [SMALL.get(word, word) for word in words]
        assert run(used) in FOUND[used[0]], shlex.join(used)
    if page == "clusters":
        (query,) = re.findall(r"```sql\n(.*?)```", (ROOM / "docs" / "clusters.md").read_text(), re.DOTALL)
        # Spark finds relative paths from the folder where its JVM was started.
        rows = spark.sql(query.replace("`findings/", f"`{place}/findings/")).collect()
        assert sorted((row.topic, row[1]) for row in rows) == [("T0", 6), ("T1", 6), ("T2", 6)]
