"""An audit from stores to totals: the logs cut into tasks, the tasks spread, borders repaired, results merged.

How tasks are done (`pools.Spread`: by threads of this machine, or by Spark) makes no difference to what the audit finds.
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
from .segment import NOT_READ, LogRange, Segment, answer, nothing
from .store import opened

Report = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class AuditOutcome:
    """The totals of each store. `stopped`: the audit was interrupted, and they are of the part that was done: `done` of `size` bytes."""

    totals: list[AuditTotals]
    done: int = 0
    size: int = 0
    stopped: bool = False


@dataclass
class SavedAnswers:
    """Answers kept in a file while an audit runs, so that the same audit goes on where it was stopped.

    An answer depends on the plan, the rules, the code that applies them, and every file of its store: a range looks up queues, tables and
    other files of the log. An answer is used again only where all of these are the same. `own`: files of the audit itself, which may lie in
    a store.
    """

    path: Path | None
    plan: AuditPlan
    own: Sequence[Path] = ()
    _known: dict[str, str] = field(default_factory=dict, init=False)
    _stores: dict[str, str] = field(default_factory=dict, init=False)

    def begin(self, stores: Sequence[str]) -> None:
        """Look at the stores, and make the folder before anything is read for nothing. Raises OSError and Unreadable."""
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
                continue  # the last line of a run that was killed

    def find(self, task: LogRange) -> str | None:
        return self._known.get(self._key(task)) if self._known else None

    def add(self, task: LogRange, text: str) -> None:
        """Raises OSError, such as for a full disk."""
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
    """Everything of a plan that an answer depends on, its rules spelled out."""
    rules = [
        (rule.id, rule.over, rule.severity, rule.claim.sentence, show(rule.claim.formula), show(rule.expected), show(rule.found))
        for rule in plan.rules
    ]
    return repr((plan.settings, plan.limit, plan.hosts_by_flag, rules))


@cache
def _code() -> str:
    """A digest of the code that reads stores and applies rules: this package's, and what computes terms and reads numbers for it."""
    here = Path(__file__).parent
    packages = (Path(str(package.__file__)).parent for package in (rocketproof_model, rocketproof_protocol))
    return code_digest(path for folder in (here, here.parent / "stored", *packages) for path in folder.rglob("*.py"))


def silent(done: int, all_: int) -> None:
    """Nobody hears how far it is."""


def audit(
    plan: AuditPlan, stores: Sequence[str], spread: WorkerPool, kept: SavedAnswers, report: Report = silent, size: int = RANGE_SIZE
) -> AuditOutcome:
    """Audit stores. Raises TraceError for a folder without a commit log, and OSError where answers cannot be kept."""
    moment = time.time_ns()
    found = {folder: log_files([folder], hosts_by_flag=plan.hosts_by_flag) for folder in stores}
    kept.begin(stores)
    tasks = [
        LogRange(moment, folder, part.file, part.start, part.end, part.exact)
        for folder, files in found.items()
        for part in ranges(files, size)
    ]
    outcome = AuditOutcome([], 0, sum(file.length for files in found.values() for file in files))
    segments = {(task.file.path, task.end): nothing(task, NOT_READ) for task in tasks}
    try:
        while tasks:
            for segment in _answers(plan, tasks, spread, kept):
                segments[segment.task.file.path, segment.task.end] = segment
                outcome.done = sum(each.task.end - each.task.start for each in segments.values() if each.error != NOT_READ)
                report(min(outcome.done, outcome.size), outcome.size)
            tasks = _again(moment, list(segments.values()))
    except KeyboardInterrupt:
        interrupts.heard()
        outcome.stopped = True
        for task in _again(moment, list(segments.values())):
            segments[task.file.path, task.end] = nothing(task, NOT_READ)

    def merged(folder: str, files: Sequence[LogFile]) -> AuditTotals:
        parts = sorted((s for s in segments.values() if s.task.store == folder), key=lambda s: (s.task.file.base, s.task.end))
        return Merger(plan, opened(folder, moment, plan.hosts_by_flag), files, parts, stopped=outcome.stopped).run()

    try:
        outcome.totals = list(starmap(merged, found.items()))
    except KeyboardInterrupt:
        interrupts.heard()
        outcome.stopped = True
        outcome.totals = list(starmap(merged, found.items()))
    if not outcome.stopped:
        kept.done()
    return outcome


def _answers(plan: AuditPlan, tasks: Sequence[LogRange], spread: WorkerPool, kept: SavedAnswers) -> Iterator[Segment]:
    open_ = []
    for task in tasks:
        known = kept.find(task)
        if known is None:
            open_.append(task)
        else:
            yield Segment.read(known)
    for text in spread(partial(answer, plan), [task.text() for task in open_]):
        segment = Segment.read(text)
        if not (segment.error or segment.problems):
            kept.add(segment.task, text)
        yield segment


def _again(moment: int, segments: Sequence[Segment]) -> list[LogRange]:
    """Ranges to walk again, since the walk before them ended elsewhere than they began."""
    store_of = {segment.task.file.path: segment.task.store for segment in segments}
    broken = {segment.task.file.path for segment in segments if segment.error}
    again = ranges_to_reread(segment.walked for segment in segments if segment.task.file.path not in broken)
    return [LogRange(moment, store_of[part.file.path], part.file, part.start, part.end, part.exact) for part in again]
