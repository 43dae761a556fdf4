"""How fast histories are judged from Parquet: in one process, on Spark, and beside DuckDB's window over the same file.

`python -m rocketproof_bench.judge_speed SHELF PROFILE` is one measurement without Spark in a process of its own. DuckDB does
less: it pairs calls, and looks whether the answered offsets of each queue follow one another. Times of the processes that Spark starts are
Java's and those of its workers.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocketproof_traces.bulk.cache import PieceCache
from rocketproof_traces.bulk.ingest import take
from rocketproof_traces.bulk.partition import partition
from rocketproof_traces.bulk.verdicts import judge_whole
from rocketproof_traces.bulk.work import Order, dockets
from rocketproof_traces.history import event_line, header_line

from .contention import Load, contend
from .figures import Bench, Tell, aligned, machine_line
from .measure import java_pid, peak_memory, tree_seconds

PROFILE = "P49"
EVENTS, RUNS = 40_000, 5
KEYS = (
    "tool", "events", "verdict", "cpu_seconds", "wall_seconds", "peak_rss_bytes", "events_per_cpu_second", "of_duckdb", "of_local",
)  # fmt: skip
LIMIT = 1_000_000
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


def run_many_bench(
    *, spark: bool = False, events: int = EVENTS, tell: Tell = lambda _: None, into: list[Bench] | None = None
) -> list[Bench]:
    """Rows of KEYS: reading NDJSON, judging in one process, DuckDB, and with `spark` judging on Spark's workers when it is warm."""
    from .verdict_speed import child

    rows = [] if into is None else into
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tell(f"a history of {events * RUNS} events")
        _write(folder / "history.ndjson", events)
        cache = PieceCache(str(folder / "cache"))
        cache.create()
        cpu, wall = time.process_time(), time.perf_counter()
        taken = take(cache, str(folder / "history.ndjson"))
        count = sum(piece.rows for piece in taken.pieces)
        rows.append(
            _row("read NDJSON", {"events": count, "cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall})
        )
        tell("judging in one process")
        own = _row("judge, one process", child([sys.executable, "-m", __name__, cache.path, PROFILE]))
        rows.append(own)
        window = _duckdb(f"{cache.path}/*.parquet", count, tell)
        if window is not None:
            rows.append(window)
            own["of_duckdb"] = own["cpu_seconds"] / window["cpu_seconds"]
        if spark:
            tell("judging on Spark, once to warm up")
            rows.append(_spark(Order((cache.path,), PROFILE, "", cache.path), folder, count))
            rows[-1]["of_local"] = own["cpu_seconds"] / rows[-1]["cpu_seconds"]
    return rows


def _write(path: Path, events: int) -> None:
    """A long history: the same run again and again, each time with topics of its own."""
    header, run = contend(Load(events=events, profile=PROFILE, looks=False))
    with path.open("w", encoding="utf-8") as file:
        file.write(header_line(header) + "\n")
        kept = [event for event in run if event.type != "state"]
        for again in range(RUNS):
            for number, event in enumerate(kept, again * len(kept)):
                value = event.value
                if event.type == "invoke":
                    value = {**value, "fields": {**value["fields"], "topic": f"{value['fields']['topic']}-{again}"}}
                file.write(event_line(replace(event, seq=number, value=value)) + "\n")


def _duckdb(files: str, events: int, tell: Tell) -> Bench | None:
    """The window, in this process and in one thread."""
    try:
        import duckdb
    except ImportError:
        tell("DuckDB: left out, it is not installed")
        return None
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(WINDOW.format(files)).fetchall()
    cpu, wall = time.process_time(), time.perf_counter()
    odd = connection.execute(WINDOW.format(files)).fetchall()[0][0]
    found = {
        "events": events,
        "verdict": f"{odd} gaps",
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
    }
    return _row("DuckDB's window", found)


def _spark(order: Order, folder: Path, events: int) -> Bench:
    from rocketproof_traces.spark import histories
    from rocketproof_traces.spark.session import session

    spark = session()
    histories.judge(spark, replace(order, out=str(folder / "warm")))
    java = java_pid(spark)
    assert java is not None, "a session of this process has one"
    cpu, wall = tree_seconds(java) + time.process_time(), time.perf_counter()
    found = histories.judge(spark, replace(order, out=str(folder / "out")))
    cpu, wall = tree_seconds(java) + time.process_time() - cpu, time.perf_counter() - wall
    return _row("judge, Spark", {"events": events, "verdict": found.verdict, "cpu_seconds": cpu, "wall_seconds": wall})


def _row(tool: str, found: Bench) -> Bench:
    row = {**dict.fromkeys(KEYS), **found, "tool": tool}
    return {**row, "events_per_cpu_second": row["events"] / row["cpu_seconds"]}


def measure(root: str, profile: str) -> dict[str, Any]:
    """What judging all histories of a cache takes, the specification's functions compiled before."""
    cache = PieceCache(root)
    todo = dockets(cache.taken().values(), {}, Order((), profile, "", root))
    calls = [batch for docket in todo for batch in partition(cache, docket)]
    judge_whole((batch.slice(0, 2_000) for batch in calls[:1]), profile, LIMIT)
    del calls
    cpu, wall = time.process_time(), time.perf_counter()
    verdicts = [judge_whole(partition(cache, docket), profile, LIMIT) for docket in todo]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    said = {verdict for table in verdicts for verdict in table["verdict"].to_pylist()}
    return {
        "events": sum(piece.rows for docket in todo for piece in docket.pieces),
        "verdict": "ok" if said == {"ok"} else "illegal",
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "peak_rss_bytes": peak_memory(),
    }


def table(rows: Sequence[Bench]) -> str:
    """The rows as text."""
    lines: list[tuple[str, ...]] = [
        ("tool", "events", "verdict", "CPU s", "wall s", "peak MiB", "events a CPU s", "CPU of DuckDB's", "of local")
    ]
    for row in rows:
        memory = "" if row["peak_rss_bytes"] is None else f"{row['peak_rss_bytes'] / 2**20:.0f}"
        ratio = "" if row["of_duckdb"] is None else f"{row['of_duckdb']:.0f}"
        share = "" if row["of_local"] is None else f"{row['of_local']:.2f}"
        cells = (row["tool"], f"{row['events']:,}", row["verdict"] or "", f"{row['cpu_seconds']:.2f}", f"{row['wall_seconds']:.2f}")
        lines.append((*cells, memory, f"{row['events_per_cpu_second']:,.0f}", ratio, share))
    return "\n".join([*aligned(lines, 1), machine_line()])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], sys.argv[2])) + "\n")
