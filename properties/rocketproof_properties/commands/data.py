"""Commands about recorded data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from . import reporting
from .common import (
    INTERVAL,
    Conf,
    Count,
    Environment,
    Flag,
    Json,
    Many,
    Natural,
    Pages,
    Profile,
    Seconds,
    TableFormat,
    Tables,
    tables_of,
    without_follow,
    write,
)

if TYPE_CHECKING:
    from .explorer.pages import PageEntry


def judge(
    *histories: str,
    profile: Profile | None = None,
    rules: Annotated[tuple[Path, ...], Many] = (),
    engine: Literal["spark", "local"] | None = None,
    out: str | None = None,
    parquet: str | None = None,
    late: Seconds | None = None,
    limit: Count | None = None,
    time: Seconds | None = None,
    follow: Flag = False,
    interval: Seconds | None = None,
    master: str | None = None,
    remote: str | None = None,
    cores: Count | None = None,
    conf: Conf = (),
    environment: Environment = None,
    json: Json = None,
    tables: Tables = None,
    format: TableFormat = "parquet",
    report: reporting.Reports = (),
    since: reporting.Since = None,
    pages: Pages = None,
) -> int:
    """Judge recorded responses of a real or simulated broker: does the specification explain them?

    With --out, many histories are judged. A history that was judged before and has not changed is skipped.

    Parameters
    ----------
    histories
        A recording of single cases, one JSON object per line, or a history of concurrent requests. With --out: files and folders of
        histories as NDJSON or Parquet, local paths or URLs such as hdfs:// and s3://.
    profile
        The profile to judge by, such as P494.
    rules
        A Python file with rules of your own over exchanges and verdicts; may be repeated.
    engine
        local judges in processes of this machine and needs no Java; spark judges on Spark's workers.
    out
        The folder for findings.parquet and the verdicts.
    parquet
        The folder for the histories converted to Parquet. Default: OUT/histories.
    late
        For histories in several pieces: how many seconds (by the clock of the events) to wait for a late event.
    limit
        Maximum number of states that the judge expands per part of a history. Default: 1,000,000, for a recording 10,000.
    time
        Seconds of computing without a further explained response, after which the judge gives up a part of a history. Default: 30.
    follow
        With --out: judge further files as they appear, each once, until Ctrl-C.
    interval
        With --follow: seconds between two looks at the folders. A file is judged if it has not changed in between. Default: 1.
    master
        The URL of Spark's master. Default: this machine.
    remote
        The URL of a Spark Connect server.
    cores
        Number of cores of this machine to use. Default: all.
    json
        Write the verdicts to this file.
    tables
        Result tables: the run is added to runs, findings, metrics and verdicts. A folder, a URL, or table:NAMESPACE of the Spark session.
    pages
        A folder for the HTML page of the run. Without --out, also for the explorer's page of the history, or of each cfg of a recording.
    """
    from rocketproof_profiles import PROFILES

    if not histories:
        raise InputError("no history; give a file, or files and folders with --out")
    for path in histories:
        if "://" not in path and not os.path.exists(path):
            raise InputError(f"{path} is not there; give files or folders of histories")
    if profile is None:
        raise InputError(f"no profile; give the one to judge by with --profile: {', '.join(sorted(PROFILES))}")
    if follow and out is None:
        raise InputError("--follow without --out; give the folder that the findings go to")
    if not follow:
        without_follow(interval=interval)
    reports = reporting.asked("judge", report, since, pages)
    if out is None:
        first, *more = histories
        if engine is not None or more or Path(first).is_dir() or first.endswith((".parquet", ".pq")):
            raise InputError("many histories, Parquet or an engine without --out; give the folder that the findings go to")
        if not rules and tables is None:
            return _judge_one(Path(first), profile, limit, time, json, reports)
    from rocketproof_traces.audit.fields import JUDGED_ROWS
    from rocketproof_traces.bulk.work import JudgingJob
    from rocketproof_traces.checker.histories import LIMIT, SECONDS
    from rocketproof_traces.checker.steps import SearchBound
    from rocketproof_traces.spark.cluster import SparkCluster
    from rocketproof_traces.stored.paths import absolute

    from ..catalogue import ownrules
    from ..judging import followedhistories, manyhistories, results
    from ..judging.tables import append

    own = ownrules.load(rules, JUDGED_ROWS, "the judge")
    cluster, used = SparkCluster(master, remote, cores, conf, environment), engine or "local"
    target = tables_of(tables, format, cluster, used)
    began = monotonic()
    with ExitStack() as stack:
        folder = absolute(out or stack.enter_context(TemporaryDirectory(prefix="rocketproof-judge-")))
        pieces = absolute(parquet or f"{folder.rstrip('/')}/histories")
        bound = SearchBound(limit or LIMIT, time or SECONDS)
        job = JudgingJob(tuple(map(absolute, histories)), profile, folder, pieces, bound, late, own=own)
        judge_files = partial(manyhistories.run, engine=used, cluster=cluster)
        if follow:
            verdict = followedhistories.follow(job, judge_files, manyhistories.render_new, interval or INTERVAL)
        else:
            verdict = judge_files(job)
        code = manyhistories.code_of(verdict)
        if target is not None:
            append(target, folder, verdict, own.rules, monotonic() - began, code)
    write(json, verdict.data())
    with reports.printing():
        manyhistories.render(verdict, out)
    reports.write(lambda: results.run(verdict.data(), ", ".join(histories), code))
    return code


def _judge_one(file: Path, profile: str, limit: int | None, time: float | None, json: Path | None, reports: reporting.Reporting) -> int:
    """Judge a single history or recording without an output folder."""
    from rocketproof_traces.checker.histories import SECONDS, HistoryVerdict

    from ..judging import results, show
    from ..reports import output
    from .library.recorded import judge

    with output.counting("judging answer") as report:
        judged = judge(file, profile=profile, limit=limit, time=time or SECONDS, report=report)
    data = {**judged.data(), "unknown": list(judged.unknown)}
    write(json, data)
    with reports.printing():
        if isinstance(judged, HistoryVerdict):
            show.print_verdict(judged)
        else:
            show.print_judgement(judged)
    code = exit_code(findings=judged.findings, undecided=judged.unknown)
    reports.write(lambda: results.run(data, str(file), code), lambda: _pages(file, judged), source=str(file))
    return code


def _pages(file: Path, judged: Any) -> Sequence[PageEntry]:
    """Return the explorer's pages of a verdict or of a judgement."""
    from .explorer.pages import of_judgement

    return of_judgement(file, judged)


def campaign(
    *,
    programs: Count = 100_000,
    seed: Natural = 0,
    profile: Profile = "P49",
    out: Path | None = None,
    engine: Literal["spark", "local"] | None = None,
    workers: Count | None = None,
    time: Seconds | None = None,
    master: str | None = None,
    remote: str | None = None,
    conf: Conf = (),
    environment: Environment = None,
    json: Json = None,
    tables: Tables = None,
    format: TableFormat = "parquet",
) -> int:
    """Run many programs of the specification and of messages on simulated clusters, and merge their findings.

    The result of each shard of programs is saved at once: the same command resumes a campaign that was stopped.

    Parameters
    ----------
    programs
        Number of programs, divided evenly among the instances of the specification and the conditions of messages.
    seed
        Seed of the programs. Equal seeds give equal programs, on any number of machines.
    profile
        The profile to test, such as P494.
    out
        The folder of the campaign. Default: .rocketproof/campaigns/PROFILE-SEED-PROGRAMS.
    engine
        spark distributes the programs over Spark's workers. local uses processes of this machine and needs no Java. Default: spark if it
        is installed, else local.
    workers
        Number of processes of this machine. Default: one per core.
    time
        Seconds after which no further shard is started.
    master
        The URL of Spark's master. Default: this machine.
    remote
        The URL of a Spark Connect server.
    json
        Write the findings to this file.
    tables
        Result tables: the run is added to runs, findings and metrics. A folder, a URL, or table:NAMESPACE of the Spark session.
    """
    from rocketproof_traces.spark.cluster import SparkCluster

    from ..judging import engines
    from ..reports import output
    from .campaign import run as running
    from .campaign.show import render
    from .campaign.tables import append
    from .checks.programs import tasks

    cluster = SparkCluster(master, remote, workers, conf, environment)
    used = engines.chosen_engine(engine, cluster)
    target = tables_of(tables, format, cluster, used)
    folder = out or Path(".rocketproof") / "campaigns" / f"{profile}-{seed}-{programs}"
    options = running.CampaignOptions(profile, programs, seed, folder, time)
    spread = engines.spreading(used, cluster, f"rocketproof campaign {profile} seed {seed}", running.description, short=False)
    output.Page().wrapped(engines.sentence(used))
    asked = tasks(profile)
    with output.phases() as progress:
        done = running.run(options, asked, spread, progress)
    write(json, (finding.data() for finding in done.findings))
    if target is not None:
        append(target, done, asked, profile)
    render(done)
    return done.exit_code
