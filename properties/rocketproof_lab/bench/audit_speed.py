"""Measure the speed of the audit, compared with zlib's checksum over the same bytes, DuckDB's window over the same columns, and the audit
on Spark.

All figures of a size come from one run over one generated store with records of 1 KiB. Compilation and loading happen before. The speed on
processors with narrower carry-less multiplication is measured in processes that do not use the wider instructions, together with zlib.
DuckDB does less: it only checks that the offsets of each queue are consecutive, in columns given to it. Spark's times are those of Java and
its descendants.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rocketproof_properties.commands.audits.command import plan_of
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.common.pools import WorkerPool, on_threads
from rocketproof_traces.stored.crc import blocks_at_once, features_with
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk

from .fabricate import StorePlan as Made
from .fabricate import fabricate
from .figures import Bench, FigureColumn, FigureTable, Tell, apart, benchmark, mebibytes, ratio, timed
from .peers import duckdb_connection
from .usage import with_java

PROFILE = "P494"
GIB = 1 << 30
A = TypeVar("A")
B = TypeVar("B")
TABLE = FigureTable(
    (
        FigureColumn("tool", "tool"), FigureColumn("GiB", "bytes", lambda size: f"{size / GIB:g}"),
        FigureColumn("records", "records", ",d"), FigureColumn("findings", "findings", ",d"),
        FigureColumn("CPU s", "cpu_seconds", ".2f"), FigureColumn("wall s", "wall_seconds", ".2f"),
        FigureColumn("MiB a CPU s", "bytes_per_cpu_second", mebibytes), FigureColumn("of zlib", "of_zlib", ".2f"),
        FigureColumn("of 1 thread", "of_local", ".2f"), FigureColumn("in wall time", "wall_of_local", ".2f"),
    ),
)  # fmt: skip
WINDOW = """
select count(*) from (
    select queueOffset - lag(queueOffset) over (partition by topic, queueId order by physicalOffset) as step from facts where member
) where step <> 1
"""
CHECKSUMS = ("audit, 1 thread, checksum by tables", "audit, 1 thread, narrow checksum")
_STEP = 1 << 20


@benchmark
def run_audit_bench(sizes: Sequence[float] = (1,), *, threads: int = 2, spark: bool = True, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE for stores of these sizes in GiB. Ratios compare speeds within one size: with zlib, and with the audit in one
    thread."""
    session = _Session(threads) if spark else None
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="rocketproof-bench-") as name:
            tell(f"making up a store of {size:g} GiB")
            made = fabricate(Path(name) / "store", Made(int(size * GIB), bodies=(1024, 1024), file_size=int(min(size, 1) * GIB)))
            yield from _measured(str(Path(name) / "store"), made.records, threads, session, tell)


def _measured(root: str, records: int, threads: int, session: _Session | None, tell: Tell) -> Iterator[Bench]:
    size = sum(file.length for file in log_files([root]))
    plan = plan_of(PROFILE, (), 100)
    rows: list[Bench] = []

    def of(tool: str, work: Callable[[], int | None], clock: Callable[[], float] = time.process_time) -> Bench:
        tell(tool)
        findings, spent = timed(work, clock)
        cpu = spent["cpu_seconds"]
        figures = {"tool": tool, "bytes": size, "records": records, "findings": findings, "bytes_per_cpu_second": size / cpu}
        rows.append(TABLE.row(figures | spent))
        rows[-1]["of_zlib"] = rows[0]["cpu_seconds"] / cpu
        own = next((each for each in rows if each["tool"] == "audit, 1 thread"), None)
        if own is not None:
            rows[-1] |= {"of_local": own["cpu_seconds"] / cpu, "wall_of_local": own["wall_seconds"] / spent["wall_seconds"]}
        return rows[-1]

    _audit(plan, root, _first)  # compile or load
    yield of("zlib.crc32", lambda: _checksum(root))
    yield of("scan with CRC", lambda: _scan(root))
    yield of("audit, 1 thread", lambda: _audit(plan, root, on_threads(1)))
    yield of(f"audit, {threads} threads", lambda: _audit(plan, root, on_threads(threads)))
    for blocks in range(blocks_at_once() - 1, -1, -1):
        tell(CHECKSUMS[blocks])
        other = apart(_alone, root, places={"NUMBA_CPU_FEATURES": features_with(blocks)})
        yield TABLE.row({**rows[0], "tool": CHECKSUMS[blocks], **other, "bytes_per_cpu_second": size / other["cpu_seconds"]})
    with _window(root) as window:
        if window is not None:
            yield of("DuckDB's window", window)
    if session is not None:
        added = "cold" if session.is_new else "first"
        yield of(f"audit, Spark, {added}", lambda: _audit(plan, root, session.spread()), session.seconds)
        yield of("audit, Spark", lambda: _audit(plan, root, session.spread()), session.seconds)


def _alone(root: str) -> Bench:
    """Measure the audit in one thread and zlib, both after a warm-up: medians of three rounds."""
    plan = plan_of(PROFILE, (), 100)
    _audit(plan, root, on_threads(1))
    rounds = [(timed(lambda: _checksum(root))[1], timed(lambda: _audit(plan, root, on_threads(1)))) for _ in range(3)]
    spent = [{"findings": findings, **own} for _, (findings, own) in rounds]
    of_zlib = ratio([zlib["cpu_seconds"] for zlib, _ in rounds], [own["cpu_seconds"] for own in spent])
    middle = {key: statistics.median(own[key] for own in spent) for key in ("cpu_seconds", "wall_seconds")}
    return {**spent[0], **middle, "of_zlib": of_zlib}


def _checksum(root: str) -> None:
    step = memoryview(bytearray(_STEP))
    for file in log_files([root]):
        with open(file.path, "rb", buffering=0) as opened:
            while count := opened.readinto(step):
                zlib.crc32(step[:count])


def _scan(root: str) -> None:
    for part in ranges(log_files([root])):
        for _ in Walk(part, NameTable(), rows=8192):
            pass


def _first(function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    """Run the first task in this process."""
    return map(function, items[:1])


def _audit(plan: AuditPlan, root: str, spread: WorkerPool) -> int:
    """Return the number of findings."""
    (totals,) = audit(plan, [root], spread, SavedAnswers(None), lambda done, all_: None).totals
    return len(totals.findings)


@contextmanager
def _window(root: str) -> Iterator[Callable[[], int] | None]:
    """Yield DuckDB's window over the columns of the store, in this process and one thread; None if it is not installed."""
    connection = duckdb_connection()
    if connection is None:
        yield None
        return
    import pyarrow as pa

    parts, names = [], NameTable()
    for part in ranges(log_files([root])):
        for chunk in Walk(part, names, crc=False):
            kept = {name: chunk[name].copy() for name in ("topic", "queueId", "queueOffset", "physicalOffset")}
            parts.append(pa.table(kept | {"member": chunk.is_message & (chunk["transaction"] % 8 == 0)}))
    connection.register("facts", pa.concat_tables(parts))
    yield lambda: int(connection.execute(WINDOW).fetchall()[0][0])
    connection.close()


class _Session:
    """A Spark session that is created on demand, with the CPU time of its processes."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._spark: Any = None

    @property
    def is_new(self) -> bool:
        return self._spark is None

    def spread(self) -> WorkerPool:
        from rocketproof_traces.spark.session import session
        from rocketproof_traces.spark.spread import on_spark

        self._spark = session(cores=self._cores)
        return on_spark(self._spark)

    def seconds(self) -> float:
        """Return the CPU seconds of this process and of Java with its descendants."""
        return with_java(self._spark)


def plot(rows: Sequence[Bench], path: Path) -> None:
    """Draw CPU seconds by size, one line per tool. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for tool in dict.fromkeys(each["tool"] for each in rows):
        own = [each for each in rows if each["tool"] == tool]
        axes.plot([each["bytes"] / GIB for each in own], [each["cpu_seconds"] for each in own], marker="o", label=tool)
    axes.set(xlabel="GiB of commit log", ylabel="CPU seconds", xlim=(0, None), ylim=(0, None))
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
