"""The items of an audit that a worker performs: a range of a log, or a small store with everything that is merged from its log.

Small stores cost little time each. As single items they are also merged by the workers and not one after the other by the driver.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from ..common.errors import TraceError
from ..common.pools import first_and_more
from ..stored.segments import LogFile, Range, ranges, ranges_to_reread
from .merge import AuditTotals, Merger
from .programs import AuditPlan
from .segment import audit_task
from .store import store_folder
from .task import LogRange, Segment

Answer = Segment | AuditTotals


@dataclass(frozen=True)
class WholeStore:
    """A store that one task audits. `size`: bytes of its log. `range_size`: see `segments.ranges`. `moment`: see `LogRange`."""

    moment: int
    store: str
    size: int
    range_size: int

    @property
    def key(self) -> str:
        """Identifies the task within an audit."""
        return self.store

    def text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> WholeStore:
        return WholeStore(**json.loads(text))


Task = LogRange | WholeStore


def perform(plans: Sequence[AuditPlan], item: tuple[int, str]) -> tuple[str, str]:
    """Perform an item: the number of its plan, and the text of a task.

    Returns the key of the task, and the text of its result, which `answer_of` reads.
    """
    number, text = item
    if "range_size" in json.loads(text):
        store = WholeStore.read(text)
        return store.key, audit_store(plans[number], store).text()
    part = LogRange.read(text)
    return part.key, audit_task(plans[number], part).text()


def description(items: Sequence[tuple[int, str]], rules: str) -> str:
    """Describe items: their stores, and which rules are checked."""
    stores = list(dict.fromkeys(json.loads(text)["store"] for _, text in items))
    return f"{first_and_more(stores[0], len(stores), 'stores')}: {rules}"


def answer_of(task: Task, text: str) -> Answer:
    """Read the result of a task."""
    return AuditTotals.read(text) if isinstance(task, WholeStore) else Segment.read(text)


def audit_store(plan: AuditPlan, task: WholeStore) -> AuditTotals:
    """Audit a store. If its log cannot be found, the result has a `failure`."""
    began = time.perf_counter()
    store = store_folder(task.store, task.moment, plan.hosts_by_flag)
    try:
        files = store.log
        segments: dict[tuple[str, int], Segment] = {}
        tasks = log_ranges(task.moment, task.store, ranges(files, task.range_size))
        while tasks:
            segments |= {(each.file.path, each.end): audit_task(plan, each) for each in tasks}
            tasks = to_reread(task.moment, segments.values())
        totals = merged(plan, task.store, task.moment, files, segments.values())
    except (TraceError, OSError) as error:
        totals = AuditTotals(task.store, failure=" ".join(str(error).split()))
    return replace(totals, seconds=round(time.perf_counter() - began, 6))


def merged(
    plan: AuditPlan, folder: str, moment: int, files: Sequence[LogFile], segments: Iterable[Segment], *, stopped: bool = False
) -> AuditTotals:
    """Merge the segments of a store."""
    parts = sorted(segments, key=lambda segment: (segment.task.file.base, segment.task.end))
    return Merger(plan, store_folder(folder, moment, plan.hosts_by_flag), files, parts, stopped=stopped).run()


def to_reread(moment: int, segments: Iterable[Segment]) -> list[LogRange]:
    """Return the ranges of one store to walk again: those that begin elsewhere than the previous walk ended."""
    of_store = list(segments)
    broken = {segment.task.file.path for segment in of_store if segment.error}
    again = ranges_to_reread(segment.walked for segment in of_store if segment.task.file.path not in broken)
    return log_ranges(moment, of_store[0].task.store if of_store else "", again)


def log_ranges(moment: int, store: str, parts: Iterable[Range]) -> list[LogRange]:
    """Return the tasks of the ranges of a store."""
    return [LogRange(moment, store, part.file, part.start, part.end, part.exact, part.exact_end) for part in parts]
