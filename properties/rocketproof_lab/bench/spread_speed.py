"""Measure the speed of the search on Spark and the cost of starting a level, compared with the local search of the same instances in the
same run.

The first scope is small. Workers process every level, once to warm up and once to measure: almost all cost is fixed. In the other scopes
the driver processes small levels, as it does for users. Java's CPU time covers the whole process, including its just-in-time compilation.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rocketproof_model import RocketproofError, search
from rocketproof_model.result import Explored
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_traces.spark import search as spread
from rocketproof_traces.spark.session import session

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark, timed
from .search_speed import PROFILE
from .usage import java_pid, own_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXED = "answers"
SCOPES = ("medium", "store", "large")
TABLE = FigureTable(
    (
        FigureColumn("scope", "scope"), FigureColumn("states", "states", ",d"), FigureColumn("depth", "depth", "d"),
        FigureColumn("local cpu s", "local_cpu_seconds", ".2f"), FigureColumn("wall s", "local_wall_seconds", ".2f"),
        FigureColumn("tasks cpu s", "spark_cpu_seconds", ".2f"), FigureColumn("driver cpu s", "driver_cpu_seconds", ".2f"),
        FigureColumn("java cpu s", "java_cpu_seconds", ".2f"), FigureColumn("wall s", "spark_wall_seconds", ".2f"),
        FigureColumn("spread", "levels_spread", "d"), FigureColumn("fixed s a level", "overhead_seconds", ".2f"),
    ),
    more=("workers", "before_seconds", "after_seconds", "work_seconds", "session_seconds", "ready_seconds",),
)  # fmt: skip


@benchmark
def run_spread_bench(scopes: Sequence[str] = SCOPES, cores: int | None = None, *, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE. Times are in seconds. Raises RocketproofError if the counts differ.

    - `local_*`: the local search with as many threads as workers.
    - `spark_cpu_seconds`: the tasks. `driver_cpu_seconds`: this process, which processes small levels.
    - `overhead_seconds`: for levels on workers, the median of the duration minus the longest task.
    - `before_seconds`: the part until the last task began. `after_seconds`: the part since the last task ended.
    - `work_seconds`: sums of the tasks' work by kind.
    """
    tell("a session of Spark")
    spark, start = timed(lambda: session(cores=cores))
    tell(f"{FIXED}: every level on workers, to warm up and to measure")
    cold = _spread(spark, FIXED, 0)[0].ready_seconds
    for scope in (FIXED, *scopes):
        tell(f"{scope}: on workers and here")
        yield _row(spark, scope, 0 if scope == FIXED else None, start["wall_seconds"], cold)


def _spread(spark: SparkSession, scope: str, alone: int | None) -> tuple[spread.SparkExplored, float, float | None]:
    """Search on workers, and measure the CPU seconds of this process and of Java."""
    subject = ModelSource(scope, PROFILE).subject()
    driver, java = time.process_time(), _java_seconds(spark)
    explored = spread.explore(spark, subject.instance, subject.properties, alone=alone)
    after = _java_seconds(spark)
    return explored, time.process_time() - driver, None if java is None or after is None else after - java


def _row(spark: SparkSession, scope: str, alone: int | None, session_seconds: float, ready_seconds: float) -> Bench:
    explored, driver, java = _spread(spark, scope, alone)
    levels = [level for level in explored.levels if level.tasks]
    workers = max((level.tasks for level in levels), default=1)
    subject = ModelSource(scope, PROFILE).subject()
    local, spent = timed(lambda: search.explore(subject.instance, subject.properties, workers=workers))
    if _counts(local) != _counts(explored):
        raise RocketproofError(f"{scope}: the local search counts {_counts(local)}, the one on Spark {_counts(explored)}")
    work = {kind: sum(level.work.get(kind, 0.0) for level in levels) for kind in (levels[0].work if levels else ())}
    figures = {
        "scope": scope, "states": explored.states, "depth": explored.depth, "workers": workers,
        "local_cpu_seconds": spent["cpu_seconds"] - local.compile_seconds, "local_wall_seconds": local.seconds,
        "spark_cpu_seconds": work.pop("cpu", 0.0), "driver_cpu_seconds": driver, "java_cpu_seconds": java,
        "spark_wall_seconds": explored.seconds, "levels_spread": len(levels),
        "overhead_seconds": _median([level.overhead for level in levels]), "before_seconds": _median([level.before for level in levels]),
        "after_seconds": _median([level.after for level in levels]), "work_seconds": work,
        "session_seconds": session_seconds, "ready_seconds": ready_seconds,
    }  # fmt: skip
    return TABLE.row(figures)


def _counts(explored: Explored) -> tuple[int, ...]:
    return explored.states, explored.transitions, explored.depth, explored.deadlocks


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _java_seconds(spark: SparkSession) -> float | None:
    """Return the CPU seconds of a classic session's Java process without its workers, None if the system does not report them."""
    java = java_pid(spark)
    return None if java is None else own_seconds(java)


def text(rows: Sequence[Bench]) -> str:
    """Return the rows as a table, followed by the cost of starting and the distribution of a level's time."""
    lines = [TABLE.text(rows)]
    if rows:
        lines += ["", f"a session {rows[0]['session_seconds']:.1f} s, the first job {rows[0]['ready_seconds']:.1f} s"]
    for each in rows:
        if each["levels_spread"]:
            inside = ", ".join(f"{kind} {seconds:.2f}" for kind, seconds in each["work_seconds"].items())
            lines.append(
                f"{each['scope']}: of a level {each['before_seconds']:.2f} s before its tasks, {each['after_seconds']:.2f} s after them; "
                f"all tasks: {inside} s"
            )
    return "\n".join(lines)
