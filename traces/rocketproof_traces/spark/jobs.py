"""Jobs of a search on a session's workers: one task per item, a check of the clock during the job, and a test of the workers.

Items and results travel as in `spread`. Spark repeats a task whose process is lost.
"""

from __future__ import annotations

import pickle
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocketproof_model import LimitReached
from rocketproof_model.result import MEMORY

from ..common.errors import TraceError
from . import shares
from .failures import reason
from .session import end_soon
from .spread import ANSWER, Mapping, name_jobs, over_items

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_BEAT = 0.25  # seconds between two checks of the clock

Perform = Callable[[Any], Any]

OTHER_FOLDER = "give --scratch a folder with room that driver and workers reach by this path"


class Workers:
    """A session's workers. Jobs run in a separate thread, so that this thread can handle Ctrl-C and time limits."""

    def __init__(self, spark: SparkSession, perform: Perform) -> None:
        self.spark, self.perform = spark, perform
        self.tag = f"rocketproof-search-{uuid.uuid4().hex[:12]}"
        self.thread = ThreadPoolExecutor(1)
        self.parallel_tasks = 0  # 0 before the first job
        self.start_seconds = 0.0  # the fewest seconds that a job took in addition to its tasks

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.shutdown(wait=False)

    def prepare(self, folder: Path, beat: Callable[[], None]) -> None:
        """Measure how many tasks run at a time and how long starting them takes.

        Raises TraceError if a worker cannot reach the folder.
        """
        here = socket.gethostname()
        visits = self._job(_over_partitions(lambda: _visit(str(folder))), None, beat)
        for host, name, problem in visits:
            if problem or not (folder / name).exists():
                why = problem or "what a worker writes there is not seen here"
                raise TraceError(str(folder), f"is not reached by the worker on {host} (driver: {here}): {why}", OTHER_FOLDER)
        self.parallel_tasks = len(visits)
        start = time.perf_counter()
        self._job(_over_partitions(lambda: None), self.parallel_tasks, beat)
        self.start_seconds = time.perf_counter() - start

    def run(self, work: Sequence[Any], beat: Callable[[], None]) -> list[Any]:
        """Run the tasks and return one result for each. `beat` is called during the job and can raise."""
        return self._job(over_items(self.perform, list(work)), len(work), beat)

    def _job(self, function: Mapping, tasks: int | None, beat: Callable[[], None]) -> list[Any]:
        future = self.thread.submit(self._collect, function, tasks)
        try:
            while not wait([future], _BEAT).done:
                beat()
            return future.result()
        except (KeyboardInterrupt, LimitReached):
            self._interrupt(future)
            raise
        except MemoryError:
            raise LimitReached(MEMORY) from None
        except Exception as error:  # noqa: BLE001  (whatever Spark raises, classic or Connect)
            if "MemoryError" in str(error):
                raise LimitReached(MEMORY) from None
            raise TraceError("Spark", f"a task of the search failed: {reason(error)}", "see its log, fix this and search again") from None

    def _collect(self, function: Mapping, tasks: int | None) -> list[Any]:
        self.spark.addTag(self.tag)
        name_jobs(self.spark, "rocketproof check", "test of the workers" if tasks is None else f"a step of the search in {tasks} tasks")
        items = self.spark.range(1 << 12) if tasks is None else self.spark.range(0, tasks, 1, tasks)
        return [pickle.loads(row["answer"]) for row in items.mapInArrow(function, ANSWER).collect()]

    def _interrupt(self, future: Future[Any]) -> None:
        end_soon(future, partial(self.spark.interruptTag, self.tag))


def _over_partitions(visit: Callable[[], Any]) -> Mapping:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"answer": pa.array([pickle.dumps(visit())], pa.binary())})

    return run


def _visit(folder: str) -> tuple[str, str, str]:
    """Return the name of this host, the name of a file written to the folder, and why writing failed or an empty text."""
    host, name = socket.gethostname(), f"visit-{uuid.uuid4().hex[:12]}"
    try:
        shares.account(folder)
        Path(folder, name).touch()
    except OSError as error:
        return host, name, str(error.strerror or error)
    return host, name, ""
