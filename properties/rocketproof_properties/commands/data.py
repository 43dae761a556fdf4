"""Commands about recorded data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from . import reporting
from .common import Count, Json, Natural, Pages, Profile, Seconds, write

if TYPE_CHECKING:
    from .explorer.pages import PageEntry


def judge(
    *histories: str,
    profile: Profile | None = None,
    engine: Literal["local", "spark"] | None = None,
    out: str | None = None,
    parquet: str | None = None,
    late: Seconds | None = None,
    limit: Count | None = None,
    time: Seconds | None = None,
    master: str | None = None,
    remote: str | None = None,
    cores: Count | None = None,
    json: Json = None,
    report: reporting.Reports = (),
    since: reporting.Since = None,
    pages: Pages = None,
) -> int:
    """Judge what a real or simulated broker answered: does the specification explain it?

    With --out, many histories are judged, and what was judged before and has not changed is not judged again.

    Parameters
    ----------
    histories
        Recorded cases, one JSON object a line, or histories of concurrent requests. With --out files and folders of them, NDJSON or
        Parquet, local or such as hdfs:// and s3://.
    profile
        The profile to judge by, such as P494.
    engine
        local judges in processes of this machine, without Java; spark on Spark's workers.
    out
        The folder for findings.parquet and the verdicts.
    parquet
        The folder for the histories as Parquet, which are read once; OUT/histories unless given.
    late
        Seconds, by the clock of the events, after which an event of a history in pieces is not waited for any more.
    limit
        How many states of each part of a history may be expanded before the judge gives up; 1,000,000 unless given, of a recording
        10,000.
    time
        Seconds of computing after which the judge gives up a part of a history if no further answer was explained; 30 unless given.
    master
        The URL of Spark's master, instead of this machine.
    remote
        The URL of a Spark Connect server.
    cores
        Cores of this machine; all unless given.
    json
        Write the judgement to this file.
    pages
        A folder for the run's page and, without --out, the explorer's page of the history, of a recording one for each cfg.
    """
    from rocketproof_profiles import PROFILES

    if not histories:
        raise InputError("no history; give a file, or files and folders with --out")
    for one in histories:
        if "://" not in one and not os.path.exists(one):
            raise InputError(f"{one} is not there; give files or folders of histories")
    if profile is None:
        raise InputError(f"no profile; give the one to judge by with --profile: {', '.join(sorted(PROFILES))}")
    reports = reporting.asked("judge", report, since, pages)
    if out is None:
        first, *more = histories
        if engine is not None or more or Path(first).is_dir() or first.endswith((".parquet", ".pq")):
            raise InputError("many histories, Parquet or an engine without --out; give the folder that the findings go to")
        return _judge_one(Path(first), profile, limit, time, json, reports)
    from rocketproof_traces.bulk.work import JudgingJob
    from rocketproof_traces.checker.histories import LIMIT, SECONDS
    from rocketproof_traces.checker.steps import SearchBound
    from rocketproof_traces.common import pools
    from rocketproof_traces.stored.paths import absolute

    from ..judging import results, verdicts

    folder, cached = absolute(out), absolute(parquet or f"{out.rstrip('/')}/histories")
    order = JudgingJob(tuple(map(absolute, histories)), profile, folder, cached, SearchBound(limit or LIMIT, time or SECONDS), late)
    found = verdicts.run(order, engine or "local", cores or pools.cores(), master, remote)
    write(json, found.data())
    with reports.printing():
        verdicts.render(found, out)
    code = verdicts.code_of(found)
    reports.write(lambda: results.run(found.data(), ", ".join(histories), code))
    return code


def _judge_one(file: Path, profile: str, limit: int | None, time: float | None, json: Path | None, reports: reporting.Reporting) -> int:
    """Judge one history or recording as it is."""
    from rocketproof_traces.checker.histories import SECONDS, HistoryVerdict

    from ..judging import results, show
    from ..reports import output
    from .library.recorded import judge

    with output.counting("judging answer") as report:
        found = judge(file, profile=profile, limit=limit, time=time or SECONDS, report=report)
    data = {**found.data(), "unknown": list(found.unknown)}
    write(json, data)
    with reports.printing():
        if isinstance(found, HistoryVerdict):
            show.print_verdict(found)
        else:
            show.print_judgement(found)
    code = exit_code(findings=found.findings, undecided=found.unknown)
    reports.write(lambda: results.run(data, str(file), code), lambda: _pages(file, found), source=str(file))
    return code


def _pages(file: Path, found: Any) -> Sequence[PageEntry]:
    """The explorer's pages of a verdict or of a judgement."""
    from .explorer.pages import of_judgement

    return of_judgement(file, found)


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
    json: Json = None,
) -> int:
    """Run very many programs of the specification and of messages on simulated clusters, and put together what they find.

    What each shard of programs found is kept at once: the same command goes on where a campaign was stopped.

    Parameters
    ----------
    programs
        How many programs, shared evenly by the instances of the specification and the conditions of messages.
    seed
        Seed of the programs: the same one gives the same programs, on any number of machines.
    profile
        The profile to test, such as P494.
    out
        The folder of the campaign; .rocketproof/campaigns/PROFILE-SEED-PROGRAMS unless given.
    engine
        spark spreads the programs over Spark's workers; local over processes of this machine, without Java. Spark unless given where it is
        installed, else local.
    workers
        Processes of this machine; all cores unless given.
    time
        Seconds after which no further shard is begun.
    master
        The URL of Spark's master, instead of this machine.
    remote
        The URL of a Spark Connect server.
    json
        Write the findings to this file.
    """
    from ..judging import engines
    from ..reports import output
    from .campaign import run as running
    from .campaign.show import render
    from .checks.programs import tasks

    used = engines.chosen_engine(engine, master, remote)
    folder = out or Path(".rocketproof") / "campaigns" / f"{profile}-{seed}-{programs}"
    wanted = running.CampaignOptions(profile, programs, seed, folder, time)
    spread = engines.spreading(used, workers, master, remote, short=False)
    output.Page().wrapped(engines.sentence(used))
    with output.phases() as progress:
        done = running.run(wanted, tasks(profile), spread, progress)
    write(json, (found.data() for found in done.found))
    render(done)
    return done.exit_code
