"""Measure how many messages per second the served implementation accepts, compared with a real broker: the Java client, synchronous sends
of 1 KiB.

The brokers alternate in one run on one machine, each with its own name server, and the client runs on the same machine. A turn begins with
a warm-up. Compare only figures of the same run.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Setup, TargetError, ValidationTarget
from rocketproof_properties.brokers.javaprograms import JavaPrograms
from rocketproof_properties.brokers.processes import Processes
from rocketproof_properties.brokers.served import Served

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark, ratio
from .usage import own_seconds

PROGRAM = "Throughput"
SOURCES = Path(__file__).resolve().parents[2] / "bench" / "java"
BROKER = "broker-a"
PROFILE = "P494"
THREADS = (1, 8)
WARM_SECONDS = 5
SETUP = Setup(settings={"mappedFileSizeCommitLog": str(1 << 28), "mappedFileSizeConsumeQueue": str(300_000 * 20)})
TABLE = FigureTable(
    (
        FigureColumn("target", "target"), FigureColumn("threads", "threads", "d"), FigureColumn("rounds", "rounds", "d"),
        FigureColumn("sends a s", "sends_per_second", ",.0f"), FigureColumn("lowest", "lowest", ",.0f"),
        FigureColumn("highest", "highest", ",.0f"), FigureColumn("broker µs a send", "broker_cpu_micros_per_send", ",.0f"),
        FigureColumn("of the real one", "of_real", ".2f"), FigureColumn("failed", "failed", "d"),
    ),
)  # fmt: skip


@benchmark
def measure(
    *, seconds: int, rounds: int = 3, version: str = "4.9.4", threads: Sequence[int] = THREADS, warm: int = WARM_SECONDS, tell: Tell
) -> Iterator[Bench]:
    """Return rows of TABLE, one per target and number of threads: medians of the rounds, and the total of failed sends.

    `of_real` is the ratio to the real broker's rate. CPU time covers only the broker, None if the system does not report it. Rows come
    at the end, also after Ctrl-C. Raises TargetError if Java, the jars or a broker are not available.
    """
    programs = JavaPrograms(SOURCES, version)
    targets: tuple[ValidationTarget, ...] = (Apache(version, quick=False), Served(PROFILE))
    rounds_of: dict[tuple[str, int], list[Figures]] = {}
    try:
        for number in range(rounds):
            for target in targets:
                for count in threads:
                    tell(f"round {number + 1}: {target.name}, {count} thread{'s' if count > 1 else ''}")
                    figures = turn(programs, target, count, warm, seconds)
                    rounds_of.setdefault((target.name, count), []).append(figures)
    except BaseException:
        yield from _rows(rounds_of, targets[0].name)
        raise
    yield from _rows(rounds_of, targets[0].name)


class Figures(NamedTuple):
    """Sends per second, CPU microseconds of the broker per send, and the number of failed sends, such as those that a busy broker
    rejects."""

    rate: float
    cpu: float | None
    failed: int


def turn(programs: JavaPrograms, target: ValidationTarget, threads: int, warm: int, seconds: int) -> Figures:
    """Measure one broker once."""
    with target.open(SETUP) as running:
        assert isinstance(running, Processes)
        arguments = (str(running.name_server), str(threads), str(warm), str(seconds))
        with programs.started(PROGRAM, *arguments, quick=False) as child:
            assert child.stdout is not None and child.stderr is not None
            _line(child.stdout.readline(), child.stderr.read)
            before = own_seconds(running.pid(BROKER))
            sends, nanos, failed = map(int, _line(child.stdout.readline(), child.stderr.read).split())
            after = own_seconds(running.pid(BROKER))
    used = None if before is None or after is None or not sends else (after - before) / sends * 1e6
    return Figures(sends / nanos * 1e9, used, failed)


def _line(line: str, read_errors: Callable[[], str]) -> str:
    if not line:
        raise TargetError(f"{PROGRAM} printed no figures: {read_errors().strip() or 'it said nothing'}")
    return line


def _rows(turns_of: dict[tuple[str, int], list[Figures]], real: str) -> list[Bench]:
    rows = []
    for (target, threads), turns in turns_of.items():
        rates = [each.rate for each in turns]
        used = [each.cpu for each in turns if each.cpu is not None]
        real_rates = [each.rate for each in turns_of.get((real, threads), ())]
        figures = {
            "target": target, "threads": threads, "rounds": len(turns),
            "sends_per_second": statistics.median(rates), "lowest": min(rates), "highest": max(rates),
            "broker_cpu_micros_per_send": statistics.median(used) if used else None, "of_real": ratio(rates, real_rates),
            "failed": sum(each.failed for each in turns),
        }  # fmt: skip
        rows.append(TABLE.row(figures))
    return rows
