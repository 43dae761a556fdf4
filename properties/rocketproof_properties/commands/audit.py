"""The command `audit`, which checks stored data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from . import reporting
from .common import (
    INTERVAL,
    Conf,
    Count,
    Environment,
    Flag,
    Json,
    Many,
    Pages,
    Profile,
    Seconds,
    Settings,
    TableFormat,
    Tables,
    tables_of,
    without_follow,
    write,
)

if TYPE_CHECKING:
    from rocketproof_traces.audit.programs import AuditPlan


def audit(
    *stores: str,
    out: Path | None = None,
    json: Json = None,
    profile: Profile = "P494",
    broker_conf: Path | None = None,
    settings: Settings = (),
    property: Annotated[tuple[str, ...], Many] = (),
    rules: Annotated[tuple[Path, ...], Many] = (),
    engine: Literal["spark", "local"] | None = None,
    master: str | None = None,
    remote: str | None = None,
    cores: Count | None = None,
    conf: Conf = (),
    environment: Environment = None,
    limit: Count = 100,
    every: bool = False,
    manifest: str | None = None,
    strict: Flag = False,
    fail_on: Annotated[tuple[str, ...], Many] = (),
    warn: Annotated[tuple[str, ...], Many] = (),
    thresholds: Path | None = None,
    tables: Tables = None,
    format: TableFormat = "parquet",
    follow: Flag = False,
    checkpoint: Path | None = None,
    once: Flag = False,
    interval: Seconds | None = None,
    report: reporting.Reports = (),
    since: reporting.Since = None,
    pages: Pages = None,
) -> int:
    """Check whether stored data keeps what RocketMQ promises: every record, queue, file and topic.

    Parameters
    ----------
    stores
        Folders of stores, each with a commitlog folder; folders that have stores below them; patterns such as "/data/*/store". Local paths,
        or URLs such as hdfs:// and s3://.
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
    rules
        A Python file with rules of your own, which are checked too; may be repeated.
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
    manifest
        A table of stores with the columns path, profile, brokerConf and labels: a CSV, JSON or Parquet file, or table:NAME of the Spark
        session. Options apply to rows without a value.
    strict
        Audit nothing if a store is missing or cannot be read. By default, such a store is reported and the others are audited.
    fail_on
        What gives exit code 1: error, or warning (errors and warnings, the default), or a rule with its number of tolerated rows, such as
        "INV-37>10"; may be repeated.
    warn
        A rule that is reported and never gives exit code 1; may be repeated.
    thresholds
        A TOML file with fail-on, warn and limits. Options override it.
    tables
        Result tables: the run is added to runs, findings and metrics. A folder, a URL, or table:NAMESPACE of the Spark session.
    follow
        Judge records while the broker writes them, each once, and print findings as they come. Ctrl-C stops. Only rules that need nothing
        besides the log are judged.
    checkpoint
        With --follow: the folder that keeps findings and positions. The same command continues there.
    once
        With --follow: end when everything is judged that the stores have now.
    interval
        With --follow: seconds between two looks at the stores. Default: 1.
    pages
        A folder for the HTML page of the run.
    """
    from .audits.folders import folders_of
    from .audits.followed import checkpoint_of

    of_whole_stores = {
        "out": out, "every": every, "manifest": manifest, "strict": strict, "tables": tables, "report": report, "since": since,
        "html": pages,
    }  # fmt: skip
    kept = checkpoint_of(of_whole_stores, checkpoint) if follow else None
    if not follow:
        without_follow(checkpoint=checkpoint, once=once, interval=interval)
    given = folders_of(stores, strict=strict) if stores or manifest is None else ()
    import time

    from rocketproof_traces.audit.fields import AUDITED_ROWS
    from rocketproof_traces.audit.work import description
    from rocketproof_traces.spark.cluster import SparkCluster

    from ..catalogue import ownrules
    from ..catalogue.stored import stored_rules
    from ..judging import engines
    from ..reports import output
    from .audits import brokerconf, command, following, results, show
    from .audits.manifest import of_manifest
    from .audits.tables import append
    from .audits.thresholds import thresholds_of

    reports = reporting.asked("audit", report, since, pages)
    own = ownrules.load(rules, AUDITED_ROWS, "the audit")
    cluster = SparkCluster(master, remote, cores, conf, environment)
    used = engines.chosen_engine(engine, cluster)

    def plan_of(name: str, file: Path | None) -> AuditPlan:
        return command.plan_of(name, property, limit, brokerconf.of_broker(file, settings), every=every, own=own)

    plan = plan_of(profile, broker_conf)
    limits = thresholds_of(thresholds, fail_on, warn, (*stored_rules(), *own.rules))
    if kept is not None:
        outcome = following.follow(
            given, plan, profile, kept, engines.spreading(used, cluster, "rocketproof audit --follow", following.description, short=True),
            limits, once=once, interval=interval or INTERVAL,
        )  # fmt: skip
        write(json, (finding.data() for finding in outcome.findings))
        following.render(outcome)
        return outcome.exit_code
    entries = of_manifest(manifest, cluster, used, profile, broker_conf, plan_of, strict=strict, alone=not given)
    folders = tuple(dict.fromkeys((*given, *entries)))
    checked = ", ".join(plan.only) or f"{len(plan.rules)} rules"
    spread = engines.spreading(used, cluster, "rocketproof audit", lambda items: description(items, checked), short=True)
    target = tables_of(tables, format, cluster, used)
    output.Page().wrapped(engines.sentence(used))
    began = time.monotonic()
    with output.bytes_done("auditing") as tick:
        audited = command.run(folders, plan, profile, out, spread, tick, entries=entries, strict=strict, thresholds=limits)
    write(json, (finding.data() for finding in audited.findings))
    if target is not None:
        append(target, audited, time.monotonic() - began)
    with reports.printing():
        show.render(audited)
    reports.write(lambda: results.run(audited, time.monotonic() - began))
    return audited.exit_code
