"""The command `audit`, which checks stored data."""

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
    """Check whether stored data keeps what RocketMQ promises: every record, queue, file and topic.

    Parameters
    ----------
    stores
        Folders of stores, each with a commitlog folder: local paths, or URLs such as hdfs:// and s3://.
    out
        A folder for findings.parquet and summary.json. With it, the same command continues an audit that was stopped.
    json
        Write the findings to this file.
    profile
        The profile of the broker that wrote the stores, such as P494.
    broker_conf
        The configuration file of the broker that wrote the stores. The audit reads messageDelayLevel and maxMessageSize from it. By
        default, delays are derived from the store and the size limit is RocketMQ's default.
    settings
        One of these settings, such as --set "messageDelayLevel=1s 5s". It overrides the file.
    property
        Only this property, such as INV-37, or this rule, such as INV-37.stored; may be repeated. Default: all.
    engine
        spark distributes the log over Spark's workers. local uses threads of this machine and needs no Java. Default: spark if it is
        installed, else local.
    master
        The URL of Spark's master. Default: this machine.
    remote
        The URL of a Spark Connect server.
    cores
        Number of cores of this machine to use. Default: all.
    limit
        Maximum number of findings kept per rule and part of the log. All findings are counted.
    every
        Keep every finding. By default, findings of one rule that are close together in the log become one finding.
    pages
        A folder for the HTML page of the run.
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
    write(json, (finding.data() for finding in audited.findings))
    with reports.printing():
        show.render(audited)
    reports.write(lambda: results.run(audited, time.monotonic() - began))
    return audited.exit_code
