"""Where work on recorded data and campaigns is done: on this machine's threads or processes, or by Spark."""

from __future__ import annotations

from rocketproof_traces.common.pools import WorkerPool, cores, on_processes, on_threads
from rocketproof_traces.spark.installed import missing

from ..reports.choices import InputError


def check_engine(engine: str, master: str | None, remote: str | None) -> None:
    """Refuse the address of a cluster for an engine that uses this machine alone. Raises InputError."""
    if engine == "local" and (master or remote):
        raise InputError("--engine local with --master or --remote: it uses this machine alone; leave out one of them")


def chosen_engine(engine: str | None, master: str | None, remote: str | None) -> str:
    """Return the engine that was asked for; else spark where it is asked for by its address, or is installed, and local otherwise."""
    if engine is None:
        engine = "spark" if master or remote or not missing() else "local"
    check_engine(engine, master, remote)
    return engine


def sentence(engine: str) -> str:
    """State which engine runs, and how to get the other one."""
    if engine == "spark":
        return "engine: spark, over the workers of Spark; --engine local uses this machine alone, without Java"
    if not missing():
        return "engine: local, on this machine; --engine spark spreads the work over the workers of Spark"
    return "engine: local, on this machine; Spark is not installed: `pip install 'rocketproof[spark]'`, then --engine spark"


def spreading(engine: str, workers: int | None, master: str | None, remote: str | None, *, short: bool) -> WorkerPool:
    """How tasks are done; `short` ones take a fraction of a second, in kernels. Raises RocketproofError where there is no Spark."""
    if engine == "local":
        return (on_threads if short else on_processes)(workers or cores())
    from rocketproof_traces.spark.session import session
    from rocketproof_traces.spark.spread import on_spark

    return on_spark(session(master=master, remote=remote, cores=workers), short=short)
