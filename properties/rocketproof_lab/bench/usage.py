"""Resource usage reported by the operating system: memory, and CPU seconds of a process, of a process tree, and of Java under Spark."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes, None if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def resident_memory() -> int | None:
    """Return the current memory of this process in bytes, None if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def java_pid(spark: SparkSession) -> int | None:
    """Return the pid of a session's Java process, None if this process did not start it."""
    try:
        process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001  (pyspark has no public attribute for it)
        return int(process.pid)
    except AttributeError:
        return None


def own_seconds(pid: int) -> float | None:
    """Return the CPU seconds of a process without its children, None if the system does not report them."""
    try:
        fields = _fields(Path(f"/proc/{pid}"))
    except OSError:
        return None
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _fields(process: Path) -> list[str]:
    """Return the fields of /proc/PID/stat after the process name, which may contain any character."""
    return (process / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def tree_seconds(root: int) -> float:
    """Return the CPU seconds of a process and all its descendants, including ended ones."""
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
    to_visit, total = [root], 0.0
    while to_visit:
        pid = to_visit.pop()
        total += used.get(pid, 0.0)
        to_visit += parents.get(pid, ())
    return total


def with_java(spark: SparkSession | None) -> float:
    """Return the CPU seconds of this process, plus Java and its descendants for a session that this process started."""
    java = None if spark is None else java_pid(spark)
    return time.process_time() + (0.0 if java is None else tree_seconds(java))
