"""How fast the search on Spark is, beside the local one on the same instances in the same run, and what starting a level costs.

The first scope is small and done on workers level by level, once to warm up and once to measure: its levels cost little but
what is fixed. In the others the driver does what is not worth spreading, as users have it. Java's CPU time is that of the whole
process, which compiles its own code on the way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocketproof_model import RocketproofError, search
from rocketproof_model.result import Explored
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_traces.spark import search as spread
from rocketproof_traces.spark.session import session

from .figures import Bench, FigureColumn, Tell, quiet, row, table, timed
from .search_speed import PROFILE
from .usage import java_pid, own_seconds

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
    scopes: Sequence[str] = SCOPES, cores: int | None = None, *, tell: Tell = quiet, into: list[Bench] | None = None
) -> list[Bench]:
    """Rows of KEYS. `local_*` is the local search with as many threads as there are workers; `spark_cpu_seconds` is that of the
    tasks, `driver_cpu_seconds` that of this process, which does small levels. Of a spread level `overhead_seconds` is the median
    of what it took beside its longest task: `before_seconds` until the last task began, `after_seconds` since the last one ended,
    and inside the workers. `work_seconds` sums what tasks did, by kind. Times are seconds. Raises RocketproofError if the counts differ.
    """
    rows = [] if into is None else into
    tell("a session of Spark")
    spark, start = timed(lambda: session(cores=cores))
    tell(f"{FIXED}: every level on workers, to warm up and to measure")
    cold = _spread(spark, FIXED, 0)[0].ready_seconds
    for scope in (FIXED, *scopes):
        tell(f"{scope}: on workers and here")
        rows.append(_row(spark, scope, 0 if scope == FIXED else None, start["wall_seconds"], cold))
    return rows


def _spread(spark: SparkSession, scope: str, alone: int | None) -> tuple[spread.SparkExplored, float, float | None]:
    """A search on workers, with the CPU seconds of this process and of Java."""
    subject = ModelSource(scope, PROFILE).subject()
    driver, java = time.process_time(), _java_seconds(spark)
    found = spread.explore(spark, subject.instance, subject.properties, alone=alone)
    after = _java_seconds(spark)
    return found, time.process_time() - driver, None if java is None or after is None else after - java


def _row(spark: SparkSession, scope: str, alone: int | None, session_seconds: float, ready_seconds: float) -> Bench:
    found, driver, java = _spread(spark, scope, alone)
    levels = [level for level in found.levels if level.tasks]
    workers = max((level.tasks for level in levels), default=1)
    subject = ModelSource(scope, PROFILE).subject()
    local, spent = timed(lambda: search.explore(subject.instance, subject.properties, workers=workers))
    if _counts(local) != _counts(found):
        raise RocketproofError(f"{scope}: the local search counts {_counts(local)}, the one on Spark {_counts(found)}")
    work = {kind: sum(level.work.get(kind, 0.0) for level in levels) for kind in (levels[0].work if levels else ())}
    figures = {
        "scope": scope, "states": found.states, "depth": found.depth, "workers": workers,
        "local_cpu_seconds": spent["cpu_seconds"] - local.compile_seconds, "local_wall_seconds": local.seconds,
        "spark_cpu_seconds": work.pop("cpu", 0.0), "driver_cpu_seconds": driver, "java_cpu_seconds": java,
        "spark_wall_seconds": found.seconds, "levels_spread": len(levels),
        "overhead_seconds": _median([level.overhead for level in levels]), "before_seconds": _median([level.before for level in levels]),
        "after_seconds": _median([level.after for level in levels]), "work_seconds": work,
        "session_seconds": session_seconds, "ready_seconds": ready_seconds,
    }  # fmt: skip
    return row(KEYS, figures)


def _counts(found: Explored) -> tuple[int, ...]:
    return found.states, found.transitions, found.depth, found.deadlocks


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _java_seconds(spark: SparkSession) -> float | None:
    """CPU seconds of a classic session's Java process without its workers, where the system tells them."""
    java = java_pid(spark)
    return None if java is None else own_seconds(java)


COLUMNS = (
    FigureColumn("scope", "scope"), FigureColumn("states", "states", ",d"), FigureColumn("depth", "depth", "d"),
    FigureColumn("local cpu s", "local_cpu_seconds", ".2f"), FigureColumn("wall s", "local_wall_seconds", ".2f"),
    FigureColumn("tasks cpu s", "spark_cpu_seconds", ".2f"), FigureColumn("driver cpu s", "driver_cpu_seconds", ".2f"),
    FigureColumn("java cpu s", "java_cpu_seconds", ".2f"), FigureColumn("wall s", "spark_wall_seconds", ".2f"),
    FigureColumn("spread", "levels_spread", "d"), FigureColumn("fixed s a level", "overhead_seconds", ".2f"),
)  # fmt: skip


def text(rows: Sequence[Bench]) -> str:
    """The rows as a table, and under it what starting cost, and where the time of a level on workers went."""
    lines = [table(COLUMNS, rows)]
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
