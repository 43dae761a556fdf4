"""Create the Spark session. No other module does this.

An active session, or the session that `spark-submit` prepared, is used unchanged and left running. Otherwise a session is created: on this
machine (the default), on a cluster by the URL of its master, or on a Spark Connect server. A session that was created here ends with the
process.

A local session is self-contained: only the loopback address, all of Spark's folders in one temporary folder, messages in a log there
instead of on the console. Spark's web page and event logs follow Spark's defaults.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

from rocketproof_model import interrupts
from rocketproof_protocol.numbers import java_int

from ..common.errors import TraceError
from ..common.pools import cores as usable_cores
from ..common.reach import ANSWER_SECONDS, unreachable
from . import gateway
from .cluster import is_cluster
from .environment import cluster_variables, variables, worker_variables
from .failures import spark_errors
from .installed import missing
from .java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_PATIENCE = 0.5  # seconds for interrupted work to end
_END_SECONDS = 20.0  # for Java to end
_LAST_SECONDS = 1.0  # for Java on this machine to end after an interrupt
_BEAT = 0.05  # seconds between two calls that stop interrupted work: a job that begins meanwhile is stopped too

# Java on this machine serves short jobs whose work is done in Python. Its second compiler and its parallel collector would take half of the
# CPU time of a session with a few jobs, without any benefit.
_BRIEF_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_UNPACKED = "environment"  # the folder of a packed environment in a worker's folder
_PACKED_PYTHON = f"./{_UNPACKED}/bin/python"

_MASTERS = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|(spark|k8s)://.+|yarn")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

# Properties that every session of this project needs.
_ALWAYS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
}
# Properties that make a classic session quiet and self-contained. The web page and event logs follow Spark's defaults.
_QUIET = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
}


def session(
    master: str | None = None,
    remote: str | None = None,
    cores: int | None = None,
    conf: Mapping[str, str] | None = None,
    environment: Path | None = None,
    **more: str,
) -> SparkSession:
    """Return a session with this project's data sources registered. The workers of a cluster can import this project.

    `master` is a Spark URL (default `local[cores]`), `remote` the URL of a Spark Connect server. `cores` is the number of cores to use
    (default: all of this machine, or what the cluster grants). `conf` and `more` are Spark's properties by name; they override those set
    here. `environment` is an archive with the Python of a cluster's workers, as conda-pack or venv-pack write it. If a session is active,
    all of these are ignored. Raises TraceError without pyspark or Java, if the master or server cannot be used, or if a worker cannot run
    this project's code.
    """
    require_pyspark()
    # The warning appears at every job, about functions that this project does not use: data is exchanged as Arrow.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    if master and remote:
        raise TraceError("--master and --remote", "are two ways to one session", "give one of them")
    if master is not None and not _MASTERS.fullmatch(master):
        raise TraceError(f"--master {master}", "is no URL of a Spark master", "give local[N], spark://host:7077, yarn or k8s://URL")
    if cores is not None and cores < 1:
        raise TraceError("--cores", f"is {cores}", "give a number from 1 on")
    if environment is not None and not (remote or is_cluster(master)):
        raise TraceError(f"--environment {environment}", "is for the workers of a cluster", "give --master or --remote, or leave it out")
    if environment is not None and not environment.is_file():
        raise TraceError(
            f"--environment {environment}", "is no file", "give an archive such as environment.tar.gz of conda-pack or venv-pack"
        )
    properties = {**(conf or {}), **more}
    from . import delivery, source

    spark = running()
    if spark is None:
        if remote or ("SPARK_REMOTE" in os.environ and not master):
            spark = _connected(remote, properties, environment)
        elif "PYSPARK_GATEWAY_PORT" in os.environ:
            spark = _submitted(properties)
        else:
            # In this thread, because Java identifies the session by the thread.
            spark = _created(master or f"local[{cores or usable_cores()},2]", cores, properties, environment)
    delivery.deliver(spark)
    source.register(spark)
    return spark


def in_thread(work: Callable[[], T], stop: Callable[[], object] = lambda: None) -> T:
    """Return the result of `work`, which runs in a separate thread: Ctrl-C must not interrupt the communication with Java.

    On Ctrl-C, `stop` is called to end the work sooner.
    """
    executor = ThreadPoolExecutor(1)
    future = executor.submit(work)
    try:
        return future.result()
    except KeyboardInterrupt:
        end_soon(future, stop)
        raise
    finally:
        executor.shutdown(wait=False)


def end_soon(interrupted: Future[Any], stop: Callable[[], object]) -> None:
    """Stop the running jobs of interrupted work until it has ended or its time is up.

    Work that plans a job or loads Spark's classes has none yet.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        stop()
        if wait([interrupted], _BEAT).done or time.monotonic() > deadline:
            return


def require_pyspark() -> None:
    """Raise TraceError if a package of the Spark engine is not installed."""
    package = missing()
    if package:
        remedy = "`pip install 'rocketproof[spark]'` (in a clone `uv run --extra spark rocketproof ...`), or choose another --engine"
        raise TraceError("Spark", f"is not installed (there is no {package})", remedy)


def running() -> SparkSession | None:
    """Return the active session of this thread, classic or of Spark Connect, else the session that this process created."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        return ConnectSession.getActiveSession()  # type: ignore[return-value]  # it has the same methods but another class
    created = SparkSession._instantiatedSession  # noqa: SLF001  (getActiveSession does not see it from another thread)
    return created if created is not None and created.sparkContext._jsc is not None else None  # noqa: SLF001  (None once stopped)


def _connected(remote: str | None, properties: Mapping[str, str], archive: Path | None) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    url = remote or os.environ["SPARK_REMOTE"]
    if not url.startswith("sc://"):
        raise TraceError(f"--remote {url}", "is no address of a Spark Connect server", "give one such as sc://host:15002")
    try:
        _reach(url)
        spark = SparkSession.builder.remote(url).config(map={**_ALWAYS, **properties}).getOrCreate()
        if archive is not None:
            spark.addArtifacts(f"{archive}#{_UNPACKED}", archive=True)
            spark.conf.set("spark.sql.execution.pyspark.python", _PACKED_PYTHON)
        return spark
    except ImportError as error:
        raise TraceError("--remote", f"needs Spark Connect ({_first_line(error)})", "`pip install 'rocketproof[spark]'`") from None
    except (PySparkException, OSError, RuntimeError, ValueError) as error:
        raise TraceError(f"--remote {url}", f"gives no session: {_first_line(error)}", "check the URL and the server") from None


def _reach(url: str) -> None:
    """Raise OSError if nothing responds at the address of a Spark Connect server, PySparkException if it is no address.

    A Spark Connect client would retry an unreachable server for half an hour.
    """
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder  # before grpc: its error names what to install

    builder = DefaultChannelBuilder(url)
    parts = urlsplit(url)
    problem = None if getproxies() else unreachable(parts.hostname or "", parts.port or builder.default_port(), speaks=False)
    if problem is not None:
        raise OSError(problem)
    with builder.toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(ANSWER_SECONDS)
        except grpc.FutureTimeoutError:
            raise OSError(f"no answer in {ANSWER_SECONDS} s") from None


def _check_master(master: str) -> None:
    """Raise TraceError if nothing responds at any address of a standalone master, which Spark would call for minutes.

    One responding master of several is enough: the others can be standbys.
    """
    problems = []
    for address in master.removeprefix("spark://").split(","):
        parts = urlsplit(f"//{address}")
        try:
            problem = unreachable(parts.hostname or "", parts.port or 7077, speaks=False)
        except ValueError:  # no port: Spark has its own error for that
            return
        if problem is None:
            return
        problems.append(problem)
    raise TraceError(f"Spark on {master}", f"gives no session: {', '.join(problems)}", "check the URL and the master")


def _submitted(properties: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(map={**_ALWAYS, **properties}).getOrCreate()


def _created(master: str, cores: int | None, properties: Mapping[str, str], archive: Path | None) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql import SparkSession

    if master.startswith("spark://"):
        _check_master(master)
    is_local = not is_cluster(master)
    folder = Path(tempfile.mkdtemp(prefix="rocketproof-spark-"))
    settings = {"spark.app.name": "rocketproof", **_ALWAYS, **_QUIET, **_places(folder), **_sizes(master, cores)}
    if is_local:
        own = worker_variables()
    else:
        python = properties.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
        own = cluster_variables(python if archive is None else _PACKED_PYTHON)
    if master.startswith("local") or any(host in master for host in _LOOPBACK):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        own["SPARK_LOCAL_IP"] = "127.0.0.1"
    if is_local:
        settings["spark.driver.extraJavaOptions"] = _BRIEF_JAVA
        settings["spark.python.daemon.module"] = "rocketproof_traces.spark.daemon"
    settings |= {"spark.master": master, **properties}
    if archive is not None:
        named = properties.get("spark.archives", "").split(",")
        settings["spark.archives"] = ",".join(filter(None, [*named, f"{archive.absolute()}#{_UNPACKED}"]))
    java_process = None
    try:
        if SparkContext._gateway is None:  # noqa: SLF001  (a stopped session leaves its Java process to the next one)
            home = Path(_find_spark_home())
            java_process = gateway.start(find_java(), home, settings, {**os.environ, **own}, folder / "spark.log")
        with variables(**own):
            with _keeping_interrupt_handler():
                context = SparkContext(conf=SparkConf().setAll(list(settings.items())), gateway=java_process)
            spark = SparkSession(context)
    except BaseException as error:
        expected = (*spark_errors(), OSError, RuntimeError, ValueError)
        is_expected = isinstance(error, expected) and not isinstance(error, TraceError)
        # The message is in Java, so read it before Java ends. After an interrupt py4j raises another exception.
        why = _first_line(error) if is_expected and not interrupts.came() else ""
        if java_process is not None:
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001  (the next session starts its own Java process)
            gateway.end(java_process.proc, 1)
        shutil.rmtree(folder, ignore_errors=True)
        interrupts.stop_if_interrupted()
        if is_expected:
            raise TraceError(f"Spark on {master}", f"gives no session: {why}", "check the URL and the properties") from None
        raise
    atexit.register(_close, spark, folder)
    return spark


@contextmanager
def _keeping_interrupt_handler() -> Iterator[None]:
    """Restore the handler of Ctrl-C that a new context replaces.

    Spark's handler calls Java, even during another call to Java, which py4j does not support. Spark's handler stays if there was none
    before.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not signal.getsignal(signal.SIGINT) and before is not signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def _places(folder: Path) -> dict[str, str]:
    return {"spark.sql.warehouse.dir": (folder / "warehouse").as_uri(), "spark.local.dir": str(folder / "local")}


def _sizes(master: str, cores: int | None) -> dict[str, str]:
    """Return the driver's memory (a quarter of the machine's, 1 to 2 GiB), and the number of partitions if the cores are known."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (AttributeError, OSError, ValueError):
        machine = 4096
    sizes = {"spark.driver.memory": f"{min(2048, max(1024, machine // 4))}m"}
    if not master.startswith("local"):
        return sizes | ({"spark.cores.max": str(cores), "spark.sql.shuffle.partitions": str(cores)} if cores else {})
    wanted = master.removeprefix("local").strip("[]").split(",")[0]
    count = java_int(wanted) or (usable_cores() if wanted == "*" else 1)
    return sizes | {"spark.sql.shuffle.partitions": str(count)}


def _close(spark: SparkSession, folder: Path) -> None:
    """Stop the session and its Java process and delete its folder when the process ends.

    After an interrupt, Java on this machine stops the session itself as it exits, and is killed if that takes long.
    """
    context = spark.sparkContext
    connection: Any = context._gateway  # noqa: SLF001  (no public access)
    java_process = getattr(connection, "proc", None)
    is_hurried = java_process is not None and interrupts.came() and not is_cluster(context.master)
    if not is_hurried:
        spark.stop()
    if java_process is not None:
        # A thread of py4j tells Java which objects Python has freed. It would print a traceback when Java ends meanwhile.
        connection._gateway_client.is_connected = False  # noqa: SLF001
        gateway.end(java_process, _LAST_SECONDS if is_hurried else _END_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def _first_line(error: BaseException) -> str:
    """Return the first line of an error; for an error that Java threw, Java's message."""
    lines = [
        line.strip(": ") for line in str(error).splitlines() if line.strip() and not line.startswith("An error occurred while calling")
    ]
    return lines[0] if lines else type(error).__name__
