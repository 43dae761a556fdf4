"""The measurements that `rocketproof bench` offers: each measured, told of while it goes on, and printed as a table.

The machine's speed drifts: compare figures of one run only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from rocketproof_properties import output
from rocketproof_properties.choices import InputError

from .figures import Bench, Tell
from .skew import RECORDED, RECORDED_TOPICS, Share


def search(*, peers: bool = False) -> tuple[list[Bench], bool]:
    """Measure the search, see `search_speed.run_search_bench`; as `_printed`."""
    from . import search_speed

    return _printed(lambda tell, rows: search_speed.run_search_bench(peers=peers, tell=tell, into=rows), search_speed.table)


def spread() -> tuple[list[Bench], bool]:
    """Measure the search on Spark beside the local one, see `spread_speed.run_spread_bench`; as `_printed`."""
    from . import spread_speed

    return _printed(lambda tell, rows: spread_speed.run_spread_bench(tell=tell, into=rows), spread_speed.table)


def simulate(*, seconds: float) -> tuple[list[Bench], bool]:
    """Measure the simulated cluster for about so many seconds, see `speed.measure`; as `_printed`."""
    from . import speed

    return _printed(lambda tell, rows: speed.measure(seconds=seconds, tell=tell, into=rows), speed.table)


def judge() -> tuple[list[Bench], bool]:
    """Measure the judge of histories, see `verdict_speed.run_judge_bench`; as `_printed`."""
    from . import verdict_speed

    return _printed(lambda tell, rows: verdict_speed.run_judge_bench(tell=tell, into=rows), verdict_speed.table)


def judge_many(*, spark: bool) -> tuple[list[Bench], bool]:
    """Measure judging from Parquet, see `judge_speed.run_many_bench`; as `_printed`."""
    from . import judge_speed

    return _printed(lambda tell, rows: judge_speed.run_many_bench(spark=spark, tell=tell, into=rows), judge_speed.table)


def audit(*, sizes: Sequence[int], spark: bool, plot: Path | None) -> tuple[list[Bench], bool]:
    """Measure the audit of stores of so many GiB, see `audit_speed.run_audit_bench`; as `_printed`. Raises InputError for a plot without
    matplotlib."""
    from . import audit_speed

    rows, finished = _printed(lambda tell, rows: audit_speed.run_audit_bench(sizes, spark=spark, tell=tell, into=rows), audit_speed.table)
    if plot is not None:
        try:
            audit_speed.plot(rows, plot)
        except ImportError:
            raise InputError(f"--plot {plot}: matplotlib is not installed; install it, or leave --plot out") from None
    return rows, finished


def serve(*, seconds: int, rounds: int, version: str) -> tuple[list[Bench], bool]:
    """Measure `rocketproof serve` beside a real broker, see `throughput.measure`; as `_printed`."""
    from . import throughput

    return _printed(
        lambda tell, rows: throughput.measure(seconds=seconds, rounds=rounds, version=version, tell=tell, into=rows), throughput.table
    )


def _printed(measure: Callable[[Tell, list[Bench]], object], text: Callable[[Sequence[Bench]], str]) -> tuple[list[Bench], bool]:
    """Measure everything, tell on stderr what is being done, print the table; its rows, and whether Ctrl-C left some out."""
    rows: list[Bench] = []
    finished = True
    try:
        measure(lambda line: print(line, file=sys.stderr, flush=True), rows)
    except KeyboardInterrupt:
        finished = False
        print("stopped by Ctrl-C; what was measured follows", file=sys.stderr)
    if rows:
        print(text(rows))
    return rows, finished


def print_skew(shares: Sequence[Share]) -> None:
    """Print the simulated shares of skewed topics beside the formula's and the recorded ones."""
    table = Table(title="topics that end on one of two brokers alone, by number of first messages k", title_justify="left", box=box.SIMPLE)
    for head in ("k", "topics", "share", "99 % interval", "formula", "off", *RECORDED):
        table.add_column(head, justify="right")
    for found in shares:
        low, high = found.interval
        row = [str(found.first_messages), f"{found.topics:,}", f"{found.share:.3f}", f"{low:.3f}-{high:.3f}", f"{found.predicted:.2f}"]
        row.append(f"{found.standard_errors:.1f} s.e.")
        row += [f"{counts[found.first_messages - 1]} of {RECORDED_TOPICS}" for counts in RECORDED.values()]
        table.add_row(*row)
    output.stdout().print(table)
