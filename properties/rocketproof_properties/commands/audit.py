"""The command about stored data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from . import reporting
from .common import Count, Json, Many, Pages, Profile, Settings, write


def audit(
    *stores: str,
    out: Path | None = None,
    json: Json = None,
    profile: Profile = "P494",
    broker_conf: Path | None = None,
    settings: Settings = (),
    property: Annotated[tuple[str, ...], Many] = (),
    engine: Literal["spark", "local"] | None = None,
    master: str | None = None,
    remote: str | None = None,
    cores: Count | None = None,
    limit: Count = 100,
    every: bool = False,
    report: reporting.Reports = (),
    since: reporting.Since = None,
    pages: Pages = None,
) -> int:
    """Is what a broker has stored what RocketMQ promises? Every record, queue, file and topic is looked at.

    Parameters
    ----------
    stores
        Folders of stores, each with its commitlog: local ones or such as hdfs:// and s3://.
    out
        A folder for findings.parquet and summary.json. With it, an audit that was stopped goes on by the same command.
    json
        Write the findings to this file.
    profile
        The profile of the broker that wrote the stores, such as P494.
    broker_conf
        The configuration file of the broker that wrote the stores. Of its settings, messageDelayLevel and maxMessageSize are asked for;
        unless they are given, delays are what the store shows and sizes RocketMQ's default.
    settings
        One of these settings, such as --set "messageDelayLevel=1s 5s"; it comes before the file's.
    property
        A property such as INV-37, or a rule such as INV-37.stored, to look at; give it again for more. All unless given.
    engine
        spark spreads the log over Spark's workers; local over threads of this machine, without Java. Spark unless given where it is
        installed, else local.
    master
        The URL of Spark's master, instead of this machine.
    remote
        The URL of a Spark Connect server.
    cores
        Cores of this machine; all unless given.
    limit
        How many findings of a rule each part of the log keeps; they are all counted.
    every
        Keep each finding, also those of one rule that lie near each other and are told as one.
    pages
        A folder for the run's page.
    """
    from .audits.folders import folders_of

    folders_of(stores)
    import time

    from ..judging import engines
    from ..reports import output
    from .audits import brokerconf, command, results, show

    reports = reporting.asked("audit", report, since, pages)
    used = engines.chosen_engine(engine, master, remote)
    plan = command.plan_of(profile, property, limit, brokerconf.of_broker(broker_conf, settings), every=every)
    spread = engines.spreading(used, cores, master, remote, short=True)
    output.Page().wrapped(engines.sentence(used))
    began = time.monotonic()
    with output.bytes_done("auditing") as tick:
        audited = command.run(stores, plan, profile, out, spread, tick)
    write(json, (found.data() for found in audited.findings))
    with reports.printing():
        show.render(audited)
    reports.write(lambda: results.run(audited, time.monotonic() - began))
    return audited.exit_code
