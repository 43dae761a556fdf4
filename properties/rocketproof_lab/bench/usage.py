"""What the system says that processes used: memory, and CPU seconds of one, of one with all that it started, and of Java under Spark."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def peak_memory() -> int | None:
    """Bytes that this process had at most, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def resident_memory() -> int | None:
    """Bytes of memory that this process has now, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def java_pid(spark: SparkSession) -> int | None:
    """The Java process of a session that this process has made; None for another's, which has none here."""
    try:
        process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001  (pyspark tells it nowhere else)
        return int(process.pid)
    except AttributeError:
        return None


def own_seconds(pid: int) -> float | None:
    """CPU seconds of a process without those that it has started; None where the system does not tell."""
    try:
        fields = _fields(Path(f"/proc/{pid}"))
    except OSError:
        return None
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _fields(process: Path) -> list[str]:
    """What the system says of a process behind its name, which may hold anything."""
    return (process / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def tree_seconds(root: int) -> float:
    """CPU seconds of a process and all that it has started, those that have ended included."""
    parents: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = _fields(entry)
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    todo, total = [root], 0.0
    while todo:
        one = todo.pop()
        total += used.get(one, 0.0)
        todo += parents.get(one, ())
    return total


def with_java(spark: SparkSession | None) -> float:
    """CPU seconds of this process and, with a session that it made, of Java with all that it started."""
    java = None if spark is None else java_pid(spark)
    return time.process_time() + (0.0 if java is None else tree_seconds(java))
