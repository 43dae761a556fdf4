"""Measure the speed of judging histories from Parquet: in one process, on Spark, and compared with DuckDB's window over the same file.

The measurement without Spark has its own process. DuckDB does less: it pairs calls, and checks that the answered offsets of each queue are
consecutive. Times on Spark are those of Java and its workers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rocketproof_traces.bulk.cache import PieceCache
from rocketproof_traces.bulk.ingest import take
from rocketproof_traces.bulk.partition import partition
from rocketproof_traces.bulk.verdicts import judge_whole
from rocketproof_traces.bulk.work import JudgingJob, tasks
from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.history import event_line, header_line

from .contention import Load, contend
from .figures import Bench, FigureColumn, FigureTable, Tell, apart, benchmark, mebibytes, timed
from .peers import duckdb_connection
from .usage import peak_memory, with_java

PROFILE = "P49"
EVENTS, RUNS = 40_000, 5
TABLE = FigureTable(
    (
        FigureColumn("tool", "tool"), FigureColumn("events", "events", ",d"), FigureColumn("verdict", "verdict"),
        FigureColumn("CPU s", "cpu_seconds", ".2f"), FigureColumn("wall s", "wall_seconds", ".2f"),
        FigureColumn("peak MiB", "peak_rss_bytes", mebibytes), FigureColumn("events a CPU s", "events_per_cpu_second", ",.0f"),
        FigureColumn("CPU of DuckDB's", "of_duckdb", ".0f"), FigureColumn("of local", "of_local", ".2f"),
    ),
)  # fmt: skip
BOUND = SearchBound()
WINDOW = """
with told as (
    select type, code, queueId, queueOffset, last_value(case when type = 'invoke' then topic end ignore nulls)
        over (partition by history, process order by seq) as topic
    from read_parquet('{}')
)
select count(*) from (
    select queueOffset - lag(queueOffset) over (partition by topic, queueId order by queueOffset) as step
    from told where type = 'ok' and code = 0
) where step <> 1
"""


@benchmark
def run_many_bench(*, spark: bool = False, events: int = EVENTS, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE: reading NDJSON, judging in one process, DuckDB, and with `spark` judging on warm Spark workers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tell(f"a history of {events * RUNS} events")
        _write(folder / "history.ndjson", events)
        cache = PieceCache(str(folder / "cache"))
        cache.create()
        taken, spent = timed(lambda: take(cache, str(folder / "history.ndjson")))
        count = sum(piece.rows for piece in taken.pieces)
        yield _row("read NDJSON", {"events": count, **spent})
        tell("judging in one process")
        own = _row("judge, one process", apart(measure, cache.path, PROFILE))
        yield own
        window = _duckdb(f"{cache.path}/*.parquet", count, tell)
        if window is not None:
            yield window
            own["of_duckdb"] = own["cpu_seconds"] / window["cpu_seconds"]
        if spark:
            tell("judging on Spark, once to warm up")
            on_spark = _spark(JudgingJob((cache.path,), PROFILE, "", cache.path), folder, count)
            yield {**on_spark, "of_local": own["cpu_seconds"] / on_spark["cpu_seconds"]}


def _write(path: Path, events: int) -> None:
    """Write a long history: copies of the same run, each with its own topics."""
    header, run = contend(Load(events=events, profile=PROFILE, looks=False))
    with path.open("w", encoding="utf-8") as file:
        file.write(header_line(header) + "\n")
        kept = [event for event in run if event.type != "state"]
        for copy in range(RUNS):
            for number, event in enumerate(kept, copy * len(kept)):
                value = event.value
                if event.type == "invoke":
                    value = {**value, "fields": {**value["fields"], "topic": f"{value['fields']['topic']}-{copy}"}}
                file.write(event_line(replace(event, seq=number, value=value)) + "\n")


def _duckdb(files: str, events: int, tell: Tell) -> Bench | None:
    """Measure the window in this process and one thread."""
    connection = duckdb_connection()
    if connection is None:
        tell("DuckDB: left out, it is not installed")
        return None
    connection.execute(WINDOW.format(files)).fetchall()
    gaps, spent = timed(lambda: connection.execute(WINDOW.format(files)).fetchall()[0][0])
    return _row("DuckDB's window", {"events": events, "verdict": f"{gaps} gaps", **spent})


def _spark(job: JudgingJob, folder: Path, events: int) -> Bench:
    from rocketproof_traces.spark import histories
    from rocketproof_traces.spark.session import session

    spark = session()
    histories.judge(spark, replace(job, out=str(folder / "warm")))
    summary, spent = timed(lambda: histories.judge(spark, replace(job, out=str(folder / "out"))), partial(with_java, spark))
    return _row("judge, Spark", {"events": events, "verdict": summary.verdict, **spent})


def _row(tool: str, figures: Bench) -> Bench:
    return TABLE.row({**figures, "tool": tool, "events_per_cpu_second": figures["events"] / figures["cpu_seconds"]})


def measure(root: str, profile: str) -> dict[str, Any]:
    """Measure judging all histories of a cache after the specification's functions are compiled."""
    cache = PieceCache(root)
    tasks_ = tasks(cache.sources().values(), {}, JudgingJob((), profile, "", root))
    calls = [batch for task in tasks_ for batch in partition(cache, task)]
    judge_whole((batch.slice(0, 2_000) for batch in calls[:1]), profile, BOUND)
    del calls
    verdicts, spent = timed(lambda: [judge_whole(partition(cache, task), profile, BOUND) for task in tasks_])
    kinds = {verdict for table in verdicts for verdict in table["verdict"].to_pylist()}
    return {
        "events": sum(piece.rows for task in tasks_ for piece in task.pieces),
        "verdict": "ok" if kinds == {"ok"} else "illegal",
        **spent,
        "peak_rss_bytes": peak_memory(),
    }
