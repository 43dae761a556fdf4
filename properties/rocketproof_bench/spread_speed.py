"""How fast the search on Spark is, beside the local one on the same instances in the same run, and what starting a level costs.

The first scope is small and done on workers level by level, once to warm up and once to measure: its levels cost little but
what is fixed. In the others the driver does what is not worth spreading, as users have it. Java's CPU time is that of the whole
process, which compiles its own code on the way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rocketproof_model import RocketproofError, search
from rocketproof_model.result import Explored
from rocketproof_properties.checks.sources import Source
from rocketproof_traces.spark import search as spread
from rocketproof_traces.spark.session import session

from .figures import Bench, Tell, aligned, machine_line
from .measure import java_pid, own_seconds
from .search_speed import PROFILE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXED = "answers"
SCOPES = ("medium", "store", "large")
KEYS = (
    "scope", "states", "depth", "workers", "local_cpu_seconds", "local_wall_seconds", "spark_cpu_seconds", "driver_cpu_seconds",
    "java_cpu_seconds", "spark_wall_seconds", "levels_spread", "overhead_seconds", "before_seconds", "after_seconds", "work_seconds",
    "session_seconds", "ready_seconds",
)  # fmt: skip


def run_spread_bench(
    scopes: Sequence[str] = SCOPES, cores: int | None = None, *, tell: Tell = lambda text: None, into: list[Bench] | None = None
) -> list[Bench]:
    """Rows of KEYS. `local_*` is the local search with as many threads as there are workers; `spark_cpu_seconds` is that of the
    tasks, `driver_cpu_seconds` that of this process, which does small levels. Of a spread level `overhead_seconds` is the median
    of what it took beside its longest task: `before_seconds` until the last task began, `after_seconds` since the last one ended,
    and inside the workers. `work_seconds` sums what tasks did, by kind. Times are seconds. Raises RocketproofError if the counts differ.
    """
    rows = [] if into is None else into
    tell("a session of Spark")
    start = time.perf_counter()
    spark = session(cores=cores)
    started = time.perf_counter() - start
    tell(f"{FIXED}: every level on workers, to warm up and to measure")
    cold = _spread(spark, FIXED, 0)[0].ready_seconds
    for scope in (FIXED, *scopes):
        tell(f"{scope}: on workers and here")
        rows.append(_row(spark, scope, 0 if scope == FIXED else None, started, cold))
    return rows


def _spread(spark: SparkSession, scope: str, alone: int | None) -> tuple[spread.Spread, float, float | None]:
    """A search on workers, with the CPU seconds of this process and of Java."""
    subject = Source(scope, PROFILE).subject()
    driver, java = time.process_time(), _java_seconds(spark)
    found = spread.explore(spark, subject.instance, subject.properties, alone=alone)
    after = _java_seconds(spark)
    return found, time.process_time() - driver, None if java is None or after is None else after - java


def _row(spark: SparkSession, scope: str, alone: int | None, session_seconds: float, ready_seconds: float) -> Bench:
    found, driver, java = _spread(spark, scope, alone)
    levels = [level for level in found.levels if level.tasks]
    workers = max((level.tasks for level in levels), default=1)
    subject = Source(scope, PROFILE).subject()
    start = time.process_time()
    local = search.explore(subject.instance, subject.properties, workers=workers)
    cpu = time.process_time() - start - local.compile_seconds
    if _counts(local) != _counts(found):
        raise RocketproofError(f"{scope}: the local search counts {_counts(local)}, the one on Spark {_counts(found)}")
    work = {kind: sum(level.work.get(kind, 0.0) for level in levels) for kind in (levels[0].work if levels else ())}
    spent: dict[str, Any] = {
        "scope": scope, "states": found.states, "depth": found.depth, "workers": workers,
        "local_cpu_seconds": cpu, "local_wall_seconds": local.seconds,
        "spark_cpu_seconds": work.pop("cpu", 0.0), "driver_cpu_seconds": driver, "java_cpu_seconds": java,
        "spark_wall_seconds": found.seconds, "levels_spread": len(levels),
        "overhead_seconds": _median([level.overhead for level in levels]), "before_seconds": _median([level.before for level in levels]),
        "after_seconds": _median([level.after for level in levels]), "work_seconds": work,
        "session_seconds": session_seconds, "ready_seconds": ready_seconds,
    }  # fmt: skip
    return {key: spent[key] for key in KEYS}


def _counts(found: Explored) -> tuple[int, ...]:
    return found.states, found.transitions, found.depth, found.deadlocks


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _java_seconds(spark: SparkSession) -> float | None:
    """CPU seconds of a classic session's Java process without its workers, where the system tells them."""
    java = java_pid(spark)
    return None if java is None else own_seconds(java)


def table(rows: Sequence[Bench]) -> str:
    """The rows as text, with the machine that they belong to."""
    head = (
        "scope",
        "states",
        "depth",
        "local cpu s",
        "wall s",
        "tasks cpu s",
        "driver cpu s",
        "java cpu s",
        "wall s",
        "spread",
        "fixed s a level",
    )
    lines: list[tuple[str, ...]] = [head]
    for r in rows:
        numbers = [_figure(r[key]) for key in KEYS[4:10]]
        lines.append((r["scope"], f"{r['states']:,}", str(r["depth"]), *numbers, str(r["levels_spread"]), _figure(r["overhead_seconds"])))
    text = [machine_line(), *aligned(lines, left=1)]
    if rows:
        first = rows[0]
        text += ["", f"a session {first['session_seconds']:.1f} s, the first job {first['ready_seconds']:.1f} s"]
    for r in rows:
        if r["levels_spread"]:
            inside = ", ".join(f"{kind} {seconds:.2f}" for kind, seconds in r["work_seconds"].items())
            text.append(
                f"{r['scope']}: of a level {_figure(r['before_seconds'])} s before its tasks, {_figure(r['after_seconds'])} s after them; "
                f"all tasks: {inside} s"
            )
    return "\n".join(text)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
