"""`rocketproof bench`: commands that measure. They are offered in a clone, where this package is; the wheel leaves it out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App

from rocketproof_properties.choices import InputError
from rocketproof_properties.cli.common import DIFFERS, OK, STOPPED, Many, positive


def search(*, peers: bool = False, spark: bool = False, json: Path | None = None) -> int:
    """Measure the search on the routing model and on the specification.

    Parameters
    ----------
    peers
        Also run SPIN, Stateright and TLC where they are installed.
    spark
        Measure the search on Spark instead, beside the local one.
    json
        Write the rows to this file.
    """
    from rocketproof_properties import store

    from . import bench

    if peers and spark:
        raise InputError("--peers with --spark: the peers are beside the local search; leave out one of them")
    if json is not None:
        store.check_writable(json)
    rows, finished = bench.spread() if spark else bench.search(peers=peers)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def skew(*, topics: int = 2000, seed: int = 0, profile: str = "P49", json: Path | None = None) -> int:
    """Simulate how often a topic ends on one of two brokers, beside the formula and recorded brokers.

    Parameters
    ----------
    topics
        Topics for each number of first messages.
    seed
        The seed of the random walks.
    profile
        The profile of the specification.
    json
        Write the rows to this file.
    """
    from rocketproof_profiles import PROFILES
    from rocketproof_properties import store
    from rocketproof_properties.choices import known

    positive("--topics", topics)
    profile = known("profile", profile, PROFILES)
    if json is not None:
        store.check_writable(json)
    from .bench import print_skew
    from .skew import FIRST_MESSAGES, share

    shares = []
    try:
        for k in FIRST_MESSAGES:
            shares.append(share(k, topics=topics, seed=seed, profile=profile))
    except KeyboardInterrupt:
        print("rocketproof: stopped by Ctrl-C; what was simulated follows", file=sys.stderr)
    if json is not None:
        store.write_json(json, [found.data() for found in shares])
    print_skew(shares)
    if len(shares) < len(FIRST_MESSAGES):
        return STOPPED
    return OK if all(found.standard_errors <= 3 for found in shares) else DIFFERS


def serve(*, seconds: int = 10, rounds: int = 3, version: str = "4.9.4", json: Path | None = None) -> int:
    """Measure `serve` beside a real broker: synchronous sends of 1 KiB from the real Java client, which Maven fetches.

    Parameters
    ----------
    seconds
        How long each broker is measured in each round, with 1 thread and with 8.
    rounds
        How often.
    version
        The release of Apache RocketMQ, of the broker and of the client.
    json
        Write the rows to this file.
    """
    positive("--seconds", seconds)
    positive("--rounds", rounds)
    from rocketproof_properties import store

    if json is not None:
        store.check_writable(json)
    from .bench import serve as measure

    rows, finished = measure(seconds=seconds, rounds=rounds, version=version)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def simulate(*, seconds: float = 20, json: Path | None = None) -> int:
    """Measure the simulated cluster: sends, appends, dispatch and the programs of `rocketproof test`.

    Parameters
    ----------
    seconds
        How long to measure, about; three rounds at least.
    json
        Write the rows to this file.
    """
    positive("--seconds", seconds)
    from rocketproof_properties import store

    if json is not None:
        store.check_writable(json)
    from .bench import simulate as measure

    rows, finished = measure(seconds=seconds)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def judge(*, parquet: bool = False, spark: bool = False, json: Path | None = None) -> int:
    """Measure the judge of histories on 10,000 events of 8 producers, beside porcupine where Go is installed.

    Parameters
    ----------
    parquet
        Measure judging 200,000 events from Parquet instead, beside DuckDB's window over the same file.
    spark
        The same, and on Spark.
    json
        Write the rows to this file.
    """
    from rocketproof_properties import store

    from . import bench

    if json is not None:
        store.check_writable(json)
    rows, finished = bench.judge_many(spark=spark) if parquet or spark else bench.judge()
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


def audit(*, sizes: Annotated[tuple[int, ...], Many] = (1,), spark: bool = True, plot: Path | None = None, json: Path | None = None) -> int:
    """Measure the audit of made-up stores beside zlib's checksum, DuckDB's window, and on Spark.

    Parameters
    ----------
    sizes
        GiB of commit log; give it again for more.
    spark
        Also on Spark, cold and warm.
    plot
        Draw CPU seconds by size into this file, with matplotlib.
    json
        Write the rows to this file.
    """
    for size in sizes:
        positive("--sizes", size)
    from rocketproof_properties import store

    from . import bench

    for path, option in ((json, "--json"), (plot, "--plot")):
        if path is not None:
            store.check_writable(path, option)
    rows, finished = bench.audit(sizes=sizes, spark=spark, plot=plot)
    if json is not None:
        store.write_json(json, rows)
    return OK if finished else STOPPED


app = App(name="bench", help="Measure the engines.", suppress_keyboard_interrupt=False)
for _command in (search, skew, serve, simulate, judge, audit):
    app.command(_command)
