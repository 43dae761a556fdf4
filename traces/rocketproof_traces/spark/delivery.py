"""Bring this project's code to the workers of a cluster, and check that they can run it.

Spark unpacks the archives of the packages in the folder of each executor, which is on its workers' import path. A worker then runs the
driver's code, whatever is installed there. Required distributions that a worker lacks are sent in the same way. A worker that cannot run
the code is reported before the job.
"""

from __future__ import annotations

import json
import pkgutil
import platform
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocketproof_protocol.numbers import whole_number

from ..common.errors import TraceError
from .cluster import is_cluster
from .failures import reason, spark_errors
from .spread import context_of, core_count, name_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REQUIRED = ("hypothesis", "llvmlite", "numba", "numpy", "pyarrow", "rich")
"""The distributions that tasks import. What these require in turn is sent with them."""
REMEDY = "install it there, or give the workers a packed environment with --environment"
_DONE = "spark.rocketproof.delivered"
_CACHE = "__pycache__"
_OWN = "rocketproof"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MISMATCH = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([0-9.]+)")


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker reports: its host, its Python, and the versions of the required distributions, None for a missing one.

    `problem`: why the code or a distribution cannot be imported; empty if it can or if that was not tried.
    """

    host: str
    python: str
    executable: str
    platform: str
    versions: dict[str, str | None]
    problem: str


def deliver(spark: SparkSession) -> None:
    """Send the code to the session's workers and check them, unless they run on this machine or this was done.

    Raises TraceError with the first difference that prevents the work.
    """
    if is_local(spark) or spark.conf.get(_DONE, "") == "true":
        return
    lacking = _lacking(_visits(spark, load=()))
    own = _own_packages()
    with tempfile.TemporaryDirectory(prefix="rocketproof-delivery-") as folder:
        _send(spark, [*own, *_top_levels(lacking)], Path(folder))
        packages = [path.name for path in own if path.name != "rocketproof_lab"]
        for facts in _visits(spark, load=(*packages, *(name for name in lacking if name in REQUIRED))):
            if facts.problem:
                raise TraceError(_place(facts), facts.problem, REMEDY)
    spark.conf.set(_DONE, "true")


def is_local(spark: SparkSession) -> bool:
    """Return whether the workers are processes of a classic session on this machine."""
    context = context_of(spark)
    return context is not None and not is_cluster(context.master)


def _visits(spark: SparkSession, load: Sequence[str]) -> list[WorkerFacts]:
    """Run a job with a task per core, and return what each worker reports. A task imports the modules `load`.

    Raises TraceError if no task can run.
    """
    from pyspark.sql.functions import udf

    name_jobs(spark, "rocketproof", "check of the workers")
    tasks = core_count(spark)
    visit = udf(_visitor(REQUIRED, load), "string", useArrow=False)  # a worker without Arrow can report that
    try:
        rows = spark.range(0, tasks, 1, tasks).select(visit("id").alias("facts")).collect()
    except spark_errors() as error:
        raise _refusal(str(error), reason(error)) from None
    return [WorkerFacts(**json.loads(text)) for text in sorted({row["facts"] for row in rows})]


def _visitor(required: Sequence[str], load: Sequence[str]) -> Any:
    """Return the function of the task. It is sent with its code, because a worker cannot import this module."""

    def visit(_: int) -> str:
        import importlib
        import importlib.metadata
        import json
        import platform
        import socket
        import sys
        import time

        def version(name: str) -> str | None:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                return None

        def problem_of(name: str) -> str:
            try:
                importlib.import_module(name)
            except Exception as error:  # noqa: BLE001  (an import runs any code: a library for another machine can raise any exception)
                return f"cannot import {name}: {type(error).__name__}: {error}"
            return ""

        # A barrier would need Arrow here, and a free core per task. Without a pause, an executor that starts early does the tasks of all.
        time.sleep(0.2)
        facts = {
            "host": socket.gethostname(),
            "python": platform.python_version(),
            "executable": sys.executable,
            "platform": f"{sys.platform} {platform.machine()}",
            "versions": {name: version(name) for name in required},
            "problem": next(filter(None, map(problem_of, load)), ""),
        }
        return json.dumps(facts)

    return visit


def _refusal(text: str, cause: str) -> TraceError:
    """Return the error for workers that cannot run a task at all."""
    mismatch = _MISMATCH.search(text)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    remedy = f"set PYSPARK_PYTHON to a Python {here} of the workers, or give them a packed environment with --environment"
    if mismatch:
        return TraceError("Spark's workers", f"run Python {mismatch[1]}, and this process runs {mismatch[2]}", remedy)
    missing = re.search(r'Cannot run program "([^"]+)"', text)
    if missing:
        return TraceError("Spark's workers", f"have no Python at {missing[1]}", remedy)
    return TraceError("Spark's workers", f"cannot run a task: {cause[:300]}", remedy)


def _place(facts: WorkerFacts) -> str:
    return f"Spark's worker on {facts.host} ({facts.executable}, Python {facts.python})"


def _lacking(visits: Iterable[WorkerFacts]) -> list[str]:
    """Return the required distributions that a worker lacks, with those that they require.

    Raises TraceError for a version that is too old, and for a missing one that cannot be sent to a worker's platform.
    """
    lacking: dict[str, None] = {}
    for facts in visits:
        for name, found in facts.versions.items():
            oldest = _oldest(name)
            if found is None:
                here = f"{sys.platform} {platform.machine()}"
                if facts.platform != here:
                    problem = f"has no {name}, and that of this machine ({here}) does not run there ({facts.platform})"
                    raise TraceError(_place(facts), problem, REMEDY)
                lacking[name] = None
            elif _numbers(found) < _numbers(oldest):
                raise TraceError(_place(facts), f"has {name} {found}, and {name}>={oldest} is needed", REMEDY)
    return list(dict.fromkeys(each for name in lacking for each in _closure(name) if each in lacking or each not in REQUIRED))


def _oldest(name: str) -> str:
    """Return the oldest version of a distribution that this project supports, "0" if it states none."""
    try:
        wanted = metadata.requires(_OWN) or []
    except metadata.PackageNotFoundError:
        return "0"
    found = (re.match(rf"{re.escape(name)}\s*>=\s*([0-9.]+)", text) for text in wanted)
    return next((match[1] for match in found if match), "0")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(whole_number(word) for word in re.findall(r"[0-9]+", version)[:3])


def _closure(name: str) -> Iterator[str]:
    """Yield a distribution and the installed ones that it requires without an extra."""
    yield name
    for text in metadata.requires(name) or []:
        match = _NAME.match(text)
        if match and "extra ==" not in text and _is_installed(match[0]):
            yield from _closure(match[0])


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _own_packages() -> list[Path]:
    """Return the folders of this project's packages."""
    specs = (find_spec(module.name) for module in pkgutil.iter_modules() if module.ispkg and module.name.startswith(_OWN))
    return [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]


def _top_levels(distributions: Iterable[str]) -> list[Path]:
    """Return the folders and modules that distributions install into the import path."""
    paths: dict[Path, None] = {}
    for name in distributions:
        distribution = metadata.distribution(name)
        for file in distribution.files or ():
            if file.parts[0] not in ("..", _CACHE):
                paths[Path(str(distribution.locate_file(file.parts[0])))] = None
    return list(paths)


def _send(spark: SparkSession, paths: Sequence[Path], folder: Path) -> None:
    """Send folders and modules, which are then on the import path of the workers."""
    for path in paths:
        if path.is_dir():
            archive = _archive(path, folder / f"{path.name}.zip")
            spark.addArtifacts(f"{archive}#{path.name}", archive=True)
        else:
            spark.addArtifacts(str(path), file=True)


def _archive(package: Path, archive: Path) -> Path:
    """Write the content of a folder into a new archive and return its path."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for path in sorted(package.rglob("*")):
            inner = path.relative_to(package)
            if path.is_file() and _CACHE not in inner.parts:
                file.write(path, inner)
    return archive
