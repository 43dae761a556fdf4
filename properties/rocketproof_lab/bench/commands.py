"""The commands of `rocketproof bench`: run each benchmark, report its progress, and print a table.

The commands exist only in a clone. The wheel does not contain this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol

from cyclopts import App

from rocketproof_model import interrupts
from rocketproof_properties.commands.common import All, Count, Flag, Gibibytes, Json, Many, Natural, Profile, Seconds, write
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import DIFFERS, OK, STOPPED

from .figures import Bench, Tell

_MEGABYTE = 1 << 20


class Measure(Protocol):
    """A benchmark: it reports its next step, and adds its rows as they arrive."""

    def __call__(self, *, tell: Tell, into: list[Bench]) -> object: ...


class Measured(NamedTuple):
    """The rows of a benchmark, incomplete after Ctrl-C, and the exit code."""

    rows: list[Bench]
    code: int


def measured(measure: Measure, text: Callable[[Sequence[Bench]], str], json: Path | None) -> Measured:
    """Run a benchmark, print its rows and write them, also after Ctrl-C. Raises InputError for a file that cannot be written."""
    from rocketproof_properties.reports.output import tell

    rows: list[Bench] = []
    code = OK
    try:
        measure(tell=tell, into=rows)
    except KeyboardInterrupt:
        interrupts.heard()
        code = STOPPED
        tell("stopped by Ctrl-C; what was measured follows")
    if rows:
        print(text(rows))
    write(json, rows)
    return Measured(rows, code)


def _pictured(draw: Callable[[Sequence[Bench], Path], None], rows: Sequence[Bench], path: Path | None) -> None:
    """Draw the rows if a path is given. Raises InputError without matplotlib."""
    if path is not None:
        try:
            draw(rows, path)
        except ImportError:
            raise InputError(f"--plot {path}: matplotlib is not installed; install it, or leave --plot out") from None


def search(
    *,
    peers: bool = False,
    scope: Annotated[tuple[str, ...], Many] = (),
    threads: Annotated[tuple[Count, ...], Many] = (1, 2),
    rounds: Count = 3,
    spark: bool = False,
    json: Json = None,
) -> int:
    """Measure the search on the routing model and on the specification.

    Parameters
    ----------
    peers
        Also run SPIN, Stateright and TLC if they are installed, alternating with our own search.
    scope
        Only this scope of the routing model, such as main or four. May be repeated.
    threads
        Number of threads of the search. May be repeated.
    rounds
        Number of runs of each search.
    spark
        Measure the search on Spark instead, compared with the local search.
    json
        Write the rows to this file.
    """
    from . import search_speed, spread_speed

    if spark and (peers or scope):
        raise InputError(f"{'--peers' if peers else '--scope'} with --spark: it is for the local search; leave out one of them")
    if spark:
        return measured(spread_speed.run_spread_bench, spread_speed.text, json).code
    measure = partial(search_speed.run_search_bench, threads=threads, peers=peers, repeats=rounds)
    if scope:
        measure = partial(measure, scope, specification_scopes=(), reach_seconds=0)
    return measured(measure, search_speed.TABLE.text, json).code


def skew(*, topics: Count = 2000, seed: int = 0, profile: Profile = "P49", json: Json = None) -> int:
    """Simulate how often a topic ends on one of two brokers, compared with the formula and recorded brokers.

    Parameters
    ----------
    topics
        Number of topics for each number of first messages.
    seed
        Seed of the random walks.
    profile
        Profile of the specification.
    json
        Write the rows to this file.
    """
    from . import skew

    rows, code = measured(partial(skew.measure, topics=topics, seed=seed, profile=profile), skew.text, json)
    errors = [each["standard_errors"] for each in rows]
    return DIFFERS if code == OK and any(each is None or each > 3 for each in errors) else code


def serve(*, seconds: Count = 10, rounds: Count = 3, version: str = "4.9.4", json: Json = None) -> int:
    """Measure `serve` compared with a real broker: synchronous sends of 1 KiB from the Java client, which Maven downloads.

    Parameters
    ----------
    seconds
        Seconds per broker and round, with 1 thread and with 8.
    rounds
        Number of rounds.
    version
        Release of Apache RocketMQ, for the broker and the client.
    json
        Write the rows to this file.
    """
    from . import throughput

    return measured(partial(throughput.measure, seconds=seconds, rounds=rounds, version=version), throughput.TABLE.text, json).code


def start(*, runs: Count = 5, json: Json = None) -> int:
    """Measure whole processes of commands on a small model, with empty and with full caches.

    Parameters
    ----------
    runs
        Number of processes of each command with full caches.
    json
        Write the rows to this file.
    """
    from . import start_speed

    return measured(partial(start_speed.measure, runs=runs), start_speed.TABLE.text, json).code


def disk(*, sends: Annotated[tuple[Count, ...], Many] = (1, 2, 4, 8), rounds: Count = 3, json: Json = None) -> int:
    """Measure the search with saved progress, in files with a quarter of the memory, and with two threads, compared with memory.

    Parameters
    ----------
    sends
        Number of sends in the specification's scope `small`. May be repeated.
    rounds
        Number of runs of each search.
    json
        Write the rows to this file.
    """
    from . import disk_speed

    return measured(partial(disk_speed.measure, sends=sends, rounds=rounds), disk_speed.TABLE.text, json).code


def curve(
    folder: Path,
    *,
    scope: str = "small",
    sends: Count = 8,
    memory: Count = 4000,
    disk: Count = 30_000,
    threads: Count = 1,
    json: Json = None,
) -> int:
    """Measure one long search in files: seconds and bytes at each growth of its states by a quarter. The same command resumes it.

    Parameters
    ----------
    folder
        Folder of the files and the rows.
    scope
        Scope of the specification, without symmetry.
    sends
        Number of sends of each producer.
    memory
        Megabytes of memory before the search continues in files.
    disk
        Maximum megabytes of files.
    threads
        Number of threads of the search.
    json
        Write the rows to this file.
    """
    from rocketproof_model.result import Limits
    from rocketproof_spec import SCOPES

    from . import disk_curve

    if scope not in SCOPES:
        raise InputError(f"no scope {scope}; there are {', '.join(SCOPES)}")
    limits = Limits(memory=memory * _MEGABYTE, disk=disk * _MEGABYTE)
    measure = partial(disk_curve.measure, folder, scope=scope, sends=sends, limits=limits, threads=threads)
    rows, code = measured(measure, disk_curve.TABLE.text, json)
    return STOPPED if rows and not rows[-1]["finished"] else code


def liveness(*, scope: Annotated[tuple[str, ...], Many] = ("small", "main"), threads: Count = 1, json: Json = None) -> int:
    """Measure the search for fair loops in the routing model's graph, with and without such a loop.

    Parameters
    ----------
    scope
        Scope of the model. May be repeated. `crashes` has 58 million states and needs 6.5 GB.
    threads
        Number of threads of the search and the loop search.
    json
        Write the rows to this file.
    """
    from . import liveness_speed

    return measured(partial(liveness_speed.measure, scopes=scope, threads=threads), liveness_speed.TABLE.text, json).code


def simulate(*, seconds: Seconds = 20, json: Json = None) -> int:
    """Measure the simulated cluster: sends, appends, dispatch and the programs of `rocketproof test`.

    Parameters
    ----------
    seconds
        Approximate duration. There are at least three rounds.
    json
        Write the rows to this file.
    """
    from . import speed

    return measured(partial(speed.measure, seconds=seconds), speed.text, json).code


def judge(*, parquet: bool = False, spark: bool = False, json: Json = None) -> int:
    """Measure the judge of histories on 10,000 events of 8 producers, compared with porcupine if Go is installed.

    Parameters
    ----------
    parquet
        Measure judging 200,000 events from Parquet instead, compared with DuckDB's window over the same file.
    spark
        Like --parquet, and also on Spark.
    json
        Write the rows to this file.
    """
    from . import judge_speed, verdict_speed

    if parquet or spark:
        return measured(partial(judge_speed.run_many_bench, spark=spark), judge_speed.TABLE.text, json).code
    return measured(verdict_speed.run_judge_bench, verdict_speed.TABLE.text, json).code


def audit(
    *, sizes: Annotated[tuple[Gibibytes, ...], Many] = (1.0,), spark: bool = True, plot: Path | None = None, json: Json = None
) -> int:
    """Measure the audit of generated stores, compared with zlib's checksum and DuckDB's window, and on Spark.

    Parameters
    ----------
    sizes
        GiB of commit log, such as 0.25. May be repeated.
    spark
        Also measure on Spark, cold and warm.
    plot
        Draw CPU seconds by size into this file, with matplotlib.
    json
        Write the rows to this file.
    """
    from rocketproof_properties.reports import files as store

    from . import audit_speed

    if plot is not None:
        store.check_writable(plot, "--plot")
    rows, code = measured(partial(audit_speed.run_audit_bench, sizes, spark=spark), audit_speed.TABLE.text, json)
    _pictured(audit_speed.plot, rows, plot)
    return code


def scan(folder: str, *, json: Json = None) -> int:
    """Measure the speed of reading a store's log, with and without checksums, compared with zlib.

    Parameters
    ----------
    folder
        Folder of the store.
    json
        Write the rows to this file.
    """
    from . import scan_speed

    return measured(partial(scan_speed.measure, folder), scan_speed.TABLE.text, json).code


def reach(
    *,
    programs: Count = 2000,
    seed: int = 31,
    of: Path | None = None,
    before: Path | None = None,
    plot: Path | None = None,
    json: Json = None,
) -> int:
    """Show the share of a validation's programs that contain each operation, answer, boundary side and setting.

    Parameters
    ----------
    programs
        Number of programs to generate.
    seed
        Seed of the programs.
    of
        Folder of a validation's report. Its programs and answers are used instead of generated programs.
    before
        File written by --json of an earlier version, for comparison.
    plot
        Draw the shares into this file, with matplotlib.
    json
        Write the rows to this file.
    """
    from rocketproof_properties.reports import files as store

    from . import reach

    if plot is not None:
        store.check_writable(plot, "--plot")
    rows, code = measured(partial(reach.measure, programs, seed, of, before), reach.TABLE.text, json)
    _pictured(reach.plot, rows, plot)
    return code


def fields(
    *,
    profile: Profile = "P533",
    programs: Count = 2000,
    seed: Natural = 1,
    every: All = False,
    markdown: Path | None = None,
    released: Flag = False,
    json: Json = None,
) -> int:
    """Show which values programs send in each field of a request and in each message property, and which settings they change.

    The fields are those of the releases with a profile. A field without a second value is listed with the reason for leaving it out.

    Parameters
    ----------
    profile
        Profile of the programs and of the releases.
    programs
        Number of programs to generate.
    seed
        Seed of the programs.
    every
        Also list what programs leave out.
    markdown
        Write the rows as a table to this file.
    released
        Read the fields of all releases from their jars again, which needs a JDK, and keep them.
    json
        Write the rows to this file.
    """
    from rocketproof_properties.reports import files as store

    from . import fields
    from . import released as reading

    if markdown is not None:
        store.check_writable(markdown, "--markdown")
    if released:
        reading.read_again()
    rows, code = measured(partial(fields.measure, profile, programs, seed), partial(fields.text, every=every), json)
    if markdown is not None:
        store.replace_text(markdown, fields.markdown(rows, profile, programs, seed), "--markdown")
    return code or (DIFFERS if fields.missing(rows) else OK)


def feedback(
    *,
    part: Annotated[tuple[str, ...], Many] = (),
    load: Natural = 0,
    before: Path | None = None,
    json: Json = None,
) -> int:
    """Measure waiting times, cold and warm: a command's start, a small model, `check`, the tests and the steps of `.ci`.

    Parameters
    ----------
    part
        Only start, model, check, tests, ci or nightly. May be repeated. The last two show the last runs of those scripts.
    load
        Number of other processes that compute at the same time.
    before
        File written by --json of an earlier version, for comparison.
    json
        Write the rows to this file.
    """
    from . import feedback

    return measured(partial(feedback.measure, part, load=load, before=before), feedback.TABLE.text, json).code


def validate(
    *, target: str = "served", programs: Count = 100, seed: Natural = 7, rounds: Count = 1, profile: Profile = "P494", json: Json = None
) -> int:
    """Measure validate: programs per minute, and CPU-seconds of harness, judge and target, with and without judges in other processes.

    Parameters
    ----------
    target
        What to start: served, or apache:VERSION.
    programs
        Number of programs, without settings of their own.
    seed
        Seed of the programs.
    rounds
        Number of rounds; each measures both ways of judging.
    profile
        Profile to judge by, and that of served.
    json
        Write the rows to this file.
    """
    from rocketproof_properties.brokers.choose import choose_named

    from . import validate_speed

    chosen = choose_named(target, profile)
    return measured(
        partial(validate_speed.measure, chosen, programs=programs, seed=seed, rounds=rounds), validate_speed.TABLE.text, json
    ).code


app = App(name="bench", help="Measure the engines.", suppress_keyboard_interrupt=False)
for _command in (search, disk, curve, liveness, start, skew, serve, simulate, judge, audit, scan, reach, fields, feedback, validate):
    app.command(_command)
