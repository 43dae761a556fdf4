"""One measurement of the search in a process of its own.

`python -m rocketproof_bench.measure '{"file": ..., "scope": ..., "threads": ...}'` prints it as JSON.
Compiling (or loading what the cache has) is kept apart from searching by a first search that a limit ends at once.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocketproof_model import Instance, search
from rocketproof_model.result import Limits
from rocketproof_properties.checks.modelfile import load

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


def instance(order: dict[str, Any]) -> Instance:
    """A scope of a model file, or the specification in a scope with some of its sizes changed."""
    if "file" in order:
        return load(order["file"], order["scope"]).model.given()
    from rocketproof_model import specification

    sizes = order.get("sizes", {})
    scope = replace(specification.SCOPES[order["scope"]], **sizes)
    return specification.specify(scope).model.given(**specification.constants(order["profile"]))


def measure(order: dict[str, Any]) -> dict[str, Any]:
    """What one search took."""
    subject = instance(order)
    first = search.explore(subject, workers=order["threads"], limits=Limits(states=0))
    cpu, wall = time.process_time(), time.perf_counter()
    found = search.explore(subject, workers=order["threads"], limits=Limits(seconds=order.get("seconds"), memory=order.get("memory")))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "distinct": found.states,
        "generated": found.transitions,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "compile_seconds": first.compile_seconds,
        "bytes_per_state": found.bytes_per_state,
        "peak_rss_bytes": peak_memory(),
        "finished": found.finished,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
