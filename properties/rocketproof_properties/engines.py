"""Where work on recorded data and campaigns is done: on this machine's threads or processes, or by Spark."""

from __future__ import annotations

from rocketproof_traces.pools import Spread, cores, on_processes, on_threads

from .choices import InputError


def check_engine(engine: str, master: str | None, remote: str | None) -> None:
    """Refuse the address of a cluster for an engine that uses this machine alone. Raises InputError."""
    if engine == "local" and (master or remote):
        raise InputError("--engine local with --master or --remote: it uses this machine alone; leave out one of them")


def spreading(engine: str, workers: int | None, master: str | None, remote: str | None, *, short: bool) -> Spread:
    """How tasks are done; `short` ones take a fraction of a second, in kernels. Raises RocketproofError where there is no Spark."""
    if engine == "local":
        return (on_threads if short else on_processes)(workers or cores())
    from rocketproof_traces.spark.session import session
    from rocketproof_traces.spark.spread import on_spark

    return on_spark(session(master=master, remote=remote, cores=workers), short=short)
