"""The engines for work on recorded data and campaigns: threads or processes of this machine, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rocketproof_traces.common.pools import WorkerPool, cores, on_processes, on_threads
from rocketproof_traces.spark.cluster import SparkCluster
from rocketproof_traces.spark.installed import missing

from ..reports.choices import InputError


def check_engine(engine: str, cluster: SparkCluster) -> None:
    """Reject options of Spark for the local engine. Raises InputError."""
    if engine == "local" and cluster.is_named:
        raise InputError("--engine local with --master or --remote: it uses this machine alone; leave out one of them")
    if engine == "local" and (cluster.conf or cluster.environment):
        raise InputError("--engine local with --conf or --environment: these are for Spark; leave them out, or give --engine spark")


def chosen_engine(engine: str | None, cluster: SparkCluster) -> str:
    """Return the chosen engine. The default is `spark` if a cluster's address is given or Spark is installed, otherwise `local`."""
    if engine is None:
        engine = "spark" if cluster.is_named or not missing() else "local"
    check_engine(engine, cluster)
    return engine


def sentence(engine: str) -> str:
    """State which engine runs, and how to select the other."""
    if engine == "spark":
        return "engine: spark, over the workers of Spark; --engine local uses this machine alone, without Java"
    if not missing():
        return "engine: local, on this machine; --engine spark spreads the work over the workers of Spark"
    return "engine: local, on this machine; Spark is not installed: `pip install 'rocketproof[spark]'`, then --engine spark"


def spreading(engine: str, cluster: SparkCluster, group: str, describe: Callable[[Sequence[Any]], str], *, short: bool) -> WorkerPool:
    """Return the pool that runs the tasks. `short` tasks take a fraction of a second and run in kernels.

    Spark's page shows the jobs by `group` and by `describe` of their items. Raises RocketproofError without Spark.
    """
    if engine == "local":
        return (on_threads if short else on_processes)(cluster.cores or cores())
    from rocketproof_traces.spark.spread import JobNames, on_spark

    return on_spark(cluster.session(), short=short, names=JobNames(group, describe))
