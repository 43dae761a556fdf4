"""Measure the speed of judging histories from Parquet: in one process, on Spark, and compared with DuckDB's window over the same file.

`python -m rocketproof_lab.bench.judge_speed SHELF PROFILE` performs one measurement without Spark in its own process. DuckDB does less: it
pairs calls, and checks that the answered offsets of each queue are consecutive. Times on Spark are those of Java and its workers.
"""

from __future__ import annotations

import json
import sys
import tempfile
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
from .figures import Bench, FigureColumn, Tell, child, mebibytes, quiet, row, table, timed
from .peers import duckdb_connection
from .usage import peak_memory, with_java

PROFILE = "P49"
EVENTS, RUNS = 40_000, 5
KEYS = (
    "tool", "events", "verdict", "cpu_seconds", "wall_seconds", "peak_rss_bytes", "events_per_cpu_second", "of_duckdb", "of_local",
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


def run_many_bench(*, spark: bool = False, events: int = EVENTS, tell: Tell = quiet, into: list[Bench] | None = None) -> list[Bench]:
    """Return rows of KEYS: reading NDJSON, judging in one process, DuckDB, and with `spark` judging on warm Spark workers."""
    rows = [] if into is None else into
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tell(f"a history of {events * RUNS} events")
        _write(folder / "history.ndjson", events)
        cache = PieceCache(str(folder / "cache"))
        cache.create()
        taken, spent = timed(lambda: take(cache, str(folder / "history.ndjson")))
        count = sum(piece.rows for piece in taken.pieces)
        rows.append(_row("read NDJSON", {"events": count, **spent}))
        tell("judging in one process")
        own = _row("judge, one process", child([sys.executable, "-m", __name__, cache.path, PROFILE]))
        rows.append(own)
        window = _duckdb(f"{cache.path}/*.parquet", count, tell)
        if window is not None:
            rows.append(window)
            own["of_duckdb"] = own["cpu_seconds"] / window["cpu_seconds"]
        if spark:
            tell("judging on Spark, once to warm up")
            rows.append(_spark(JudgingJob((cache.path,), PROFILE, "", cache.path), folder, count))
            rows[-1]["of_local"] = own["cpu_seconds"] / rows[-1]["cpu_seconds"]
    return rows


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
    return row(KEYS, {**figures, "tool": tool, "events_per_cpu_second": figures["events"] / figures["cpu_seconds"]})


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


COLUMNS = (
    FigureColumn("tool", "tool"),
    FigureColumn("events", "events", ",d"),
    FigureColumn("verdict", "verdict"),
    FigureColumn("CPU s", "cpu_seconds", ".2f"),
    FigureColumn("wall s", "wall_seconds", ".2f"),
    FigureColumn("peak MiB", "peak_rss_bytes", mebibytes),
    FigureColumn("events a CPU s", "events_per_cpu_second", ",.0f"),
    FigureColumn("CPU of DuckDB's", "of_duckdb", ".0f"),
    FigureColumn("of local", "of_local", ".2f"),
)
text = partial(table, COLUMNS)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], sys.argv[2])) + "\n")
