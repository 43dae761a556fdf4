"""Audit stores: cut the logs into ranges, spread them over workers, walk ranges again where borders disagree, merge the results.

The worker pool (`pools.WorkerPool`: threads of this machine, or Spark) does not change the findings.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import starmap
from pathlib import Path

import rocketproof_model
import rocketproof_protocol
from rocketproof_model import interrupts
from rocketproof_model.diskcache import code_digest
from rocketproof_model.language import show

from ..common.pools import WorkerPool
from ..stored.paths import states_of
from ..stored.segments import RANGE_SIZE, LogFile, log_files, ranges, ranges_to_reread
from .merge import AuditTotals, Merger
from .programs import AuditPlan
from .segment import audit_task
from .store import store_folder
from .task import NOT_READ, LogRange, Segment, failed_segment

Report = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class AuditOutcome:
    """The totals of each store.

    `stopped`: the audit was interrupted, and the totals cover only `done` of `size` bytes.
    """

    totals: list[AuditTotals]
    done: int = 0
    size: int = 0
    stopped: bool = False


@dataclass
class SavedAnswers:
    """Results of ranges, kept in a file during an audit, so that the same audit continues after an interruption.

    A result depends on the plan, the rules, the code that applies them, and every file of its store: auditing a range reads queues, tables
    and other files of the log. A saved result is used only if all of these are unchanged. `own`: files of the audit itself, which can be
    inside a store.
    """

    path: Path | None
    plan: AuditPlan
    own: Sequence[Path] = ()
    _known: dict[str, str] = field(default_factory=dict, init=False)
    _stores: dict[str, str] = field(default_factory=dict, init=False)

    def begin(self, stores: Sequence[str]) -> None:
        """Record the state of the stores and create the folder, before a long read can fail. Raises OSError and Unreadable."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        own = {str(path.absolute()) for path in (self.path, *self.own)}
        for store in stores:
            self._stores[store] = _digest((_code(), _text(self.plan), *map(repr, states_of(store, own))))
        if self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                self._known[entry["task"]] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue  # the incomplete last line of a killed run

    def find(self, task: LogRange) -> str | None:
        return self._known.get(self._key(task)) if self._known else None

    def add(self, task: LogRange, text: str) -> None:
        """Append a result. Raises OSError, such as for a full disk."""
        if self.path is not None:
            line = json.dumps({"task": self._key(task), "answer": text})
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def done(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _key(self, task: LogRange) -> str:
        return _digest((self._stores[task.store], replace(task, moment=0).text()))


def _digest(texts: Iterable[str]) -> str:
    content = hashlib.sha256()
    for text in texts:
        content.update(text.encode("utf-8", "surrogateescape") + b"\0")
    return content.hexdigest()


def _text(plan: AuditPlan) -> str:
    """Return everything of a plan that a result depends on, including the formulas of its rules."""
    rules = [
        (rule.id, rule.over, rule.severity, rule.claim.sentence, show(rule.claim.formula), show(rule.expected), show(rule.found))
        for rule in plan.rules
    ]
    return repr((plan.settings, plan.limit, plan.hosts_by_flag, rules))


@cache
def _code() -> str:
    """Return a digest of the code that reads stores and applies rules: these packages, and those that evaluate terms and read numbers."""
    here = Path(__file__).parent
    packages = (Path(str(package.__file__)).parent for package in (rocketproof_model, rocketproof_protocol))
    return code_digest(path for folder in (here, here.parent / "stored", *packages) for path in folder.rglob("*.py"))


def ignore_progress(done: int, all_: int) -> None:
    """Ignore the progress."""


def audit(
    plan: AuditPlan,
    stores: Sequence[str],
    spread: WorkerPool,
    saved: SavedAnswers,
    report: Report = ignore_progress,
    size: int = RANGE_SIZE,
) -> AuditOutcome:
    """Audit stores. Raises TraceError for a folder without a commit log, and OSError if results cannot be saved."""
    moment = time.time_ns()
    files_of = {folder: log_files([folder], hosts_by_flag=plan.hosts_by_flag) for folder in stores}
    saved.begin(stores)
    tasks = [
        LogRange(moment, folder, part.file, part.start, part.end, part.exact)
        for folder, files in files_of.items()
        for part in ranges(files, size)
    ]
    outcome = AuditOutcome([], 0, sum(file.length for files in files_of.values() for file in files))
    segments = {(task.file.path, task.end): failed_segment(task, NOT_READ) for task in tasks}
    try:
        while tasks:
            for segment in _audited(plan, tasks, spread, saved):
                segments[segment.task.file.path, segment.task.end] = segment
                outcome.done = sum(segment.task.end - segment.task.start for segment in segments.values() if segment.error != NOT_READ)
                report(min(outcome.done, outcome.size), outcome.size)
            tasks = _again(moment, list(segments.values()))
    except KeyboardInterrupt:
        interrupts.heard()
        outcome.stopped = True
        for task in _again(moment, list(segments.values())):
            segments[task.file.path, task.end] = failed_segment(task, NOT_READ)

    def merged(folder: str, files: Sequence[LogFile]) -> AuditTotals:
        parts = sorted((s for s in segments.values() if s.task.store == folder), key=lambda s: (s.task.file.base, s.task.end))
        return Merger(plan, store_folder(folder, moment, plan.hosts_by_flag), files, parts, stopped=outcome.stopped).run()

    try:
        outcome.totals = list(starmap(merged, files_of.items()))
    except KeyboardInterrupt:
        interrupts.heard()
        outcome.stopped = True
        outcome.totals = list(starmap(merged, files_of.items()))
    if not outcome.stopped:
        saved.done()
    return outcome


def _audited(plan: AuditPlan, tasks: Sequence[LogRange], spread: WorkerPool, saved: SavedAnswers) -> Iterator[Segment]:
    todo = []
    for task in tasks:
        known = saved.find(task)
        if known is None:
            todo.append(task)
        else:
            yield Segment.read(known)
    for text in spread(partial(audit_task, plan), [task.text() for task in todo]):
        segment = Segment.read(text)
        if not (segment.error or segment.problems):
            saved.add(segment.task, text)
        yield segment


def _again(moment: int, segments: Sequence[Segment]) -> list[LogRange]:
    """Return the ranges to walk again: those that begin elsewhere than the previous walk ended."""
    store_of = {segment.task.file.path: segment.task.store for segment in segments}
    broken = {segment.task.file.path for segment in segments if segment.error}
    again = ranges_to_reread(segment.walked for segment in segments if segment.task.file.path not in broken)
    return [LogRange(moment, store_of[part.file.path], part.file, part.start, part.end, part.exact) for part in again]
