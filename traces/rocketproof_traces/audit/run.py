"""Audit stores: cut the logs into ranges, spread them over workers, walk ranges again where borders disagree, merge the results.

Of many stores, each small one is a single item of work. A store that cannot be read does not prevent the audit of the others. The worker
pool (`pools.WorkerPool`: threads of this machine, or Spark) does not change the findings.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

import rocketproof_model
import rocketproof_protocol
from rocketproof_model import interrupts
from rocketproof_model.diskcache import code_digest

from ..common.errors import TraceError
from ..common.pools import WorkerPool
from ..stored.paths import states_of
from ..stored.segments import RANGE_SIZE, LogFile, log_files, ranges
from .merge import AuditTotals
from .programs import AuditPlan
from .task import NOT_READ, Segment, failed_segment
from .work import Answer, Task, WholeStore, answer_of, log_ranges, merged, perform, to_reread

Report = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class AuditOutcome:
    """The totals of each store, in the order of the stores.

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
    own: Sequence[Path] = ()
    _known: dict[str, str] = field(default_factory=dict, init=False)
    _stores: dict[str, str] = field(default_factory=dict, init=False)

    def begin(self) -> None:
        """Read the saved results and create the folder, before a long read can fail. Raises OSError."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._read(self.path)

    def add_store(self, store: str, plan: AuditPlan) -> None:
        """Record the state of a store. Raises Unreadable."""
        if self.path is not None:
            own = {str(path.absolute()) for path in (self.path, *self.own)}
            self._stores[store] = _digest((_code(), _text(plan), *map(repr, states_of(store, own))))

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                self._known[entry["task"]] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue  # the incomplete last line of a killed run

    def find(self, task: Task) -> str | None:
        return self._known.get(self._key(task)) if self._known else None

    def add(self, task: Task, text: str) -> None:
        """Append a result. Raises OSError, such as for a full disk."""
        if self.path is not None:
            line = json.dumps({"task": self._key(task), "answer": text})
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def done(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _key(self, task: Task) -> str:
        return _digest((self._stores[task.store], replace(task, moment=0).text()))


def _digest(texts: Iterable[str]) -> str:
    content = hashlib.sha256()
    for text in texts:
        content.update(text.encode("utf-8", "surrogateescape") + b"\0")
    return content.hexdigest()


def _text(plan: AuditPlan) -> str:
    """Return everything of a plan that a result depends on, including the formulas of its rules."""
    return repr((plan.settings, plan.limit, plan.hosts_by_flag, [rule.text for rule in plan.rules], plan.own.patterns))


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
    *,
    plans: Mapping[str, AuditPlan] = MappingProxyType({}),
    strict: bool = True,
) -> AuditOutcome:
    """Audit stores, each by its plan in `plans`, else by `plan`.

    A store without a readable log is a `failure` in its totals. Raises its TraceError if `strict`, or if no store can be read. Raises
    OSError if results cannot be saved.
    """
    run = _Run(plan, stores, plans, size)
    run.find_files(saved, strict=strict)
    saved.begin()
    outcome = AuditOutcome([], 0, run.size)
    try:
        while run.tasks:
            for task, answer in _audited(run, spread, saved):
                run.take(task, answer)
                outcome.done = min(run.done, run.size)
                report(outcome.done, outcome.size)
            run.next_tasks()
    except KeyboardInterrupt:
        interrupts.heard()
        outcome.stopped = True
        run.abandon()
    try:
        outcome.totals = run.totals(stopped=outcome.stopped)
    except KeyboardInterrupt:
        interrupts.heard()
        outcome.stopped = True
        outcome.totals = run.totals(stopped=True)
    if not outcome.stopped:
        saved.done()
    return outcome


class _Run:
    """An audit under way: the open `tasks`, and the results so far. `done` and `size` count bytes of logs."""

    def __init__(self, plan: AuditPlan, stores: Sequence[str], plans: Mapping[str, AuditPlan], size: int) -> None:
        self.moment, self.range_size, self.stores = time.time_ns(), size, tuple(stores)
        self.plans = tuple(dict.fromkeys((plan, *plans.values())))
        numbers = {each: number for number, each in enumerate(self.plans)}
        self._plan_of = {store: numbers[plans.get(store, plan)] for store in stores}
        self.tasks: list[Task] = []
        self.size = self.done = 0
        self._files: dict[str, tuple[LogFile, ...]] = {}
        self._segments: dict[str, dict[tuple[str, int], Segment]] = {}
        self._totals: dict[str, AuditTotals] = {}
        self._open: dict[str, None] = {}

    def plan_number(self, store: str) -> int:
        return self._plan_of[store]

    def plan(self, store: str) -> AuditPlan:
        return self.plans[self._plan_of[store]]

    def find_files(self, saved: SavedAnswers, *, strict: bool) -> None:
        """Find the files of each log and make the tasks. Raises TraceError."""
        first: TraceError | None = None
        for store in self.stores:
            try:
                files = log_files([store], hosts_by_flag=self.plan(store).hosts_by_flag)
                saved.add_store(store, self.plan(store))
            except TraceError as error:
                if strict:
                    raise
                first = first or error
                self._totals[store] = AuditTotals(store, failure=str(error))
            else:
                self._files[store] = files
        if first is not None and not self._files:
            raise first
        for store, files in self._files.items():
            length = sum(file.length for file in files)
            self.size += length
            if len(self.stores) > 1 and length <= self.range_size:
                self.tasks.append(WholeStore(self.moment, store, length, self.range_size))
                continue
            tasks = log_ranges(self.moment, store, ranges(files, self.range_size))
            self.tasks += tasks
            self._segments[store] = {(task.file.path, task.end): failed_segment(task, NOT_READ) for task in tasks}

    def take(self, task: Task, answer: Answer) -> None:
        """Take the result of a task."""
        if isinstance(answer, AuditTotals):
            self._totals[task.store] = answer
            self.done += task.size
            return
        key = answer.task.file.path, answer.task.end
        if self._segments[task.store][key].error == NOT_READ:
            self.done += task.size
        self._segments[task.store][key] = answer
        self._open[task.store] = None

    def next_tasks(self) -> None:
        """Replace the tasks, which are done, with the ranges to walk again."""
        changed, self._open = self._open, {}
        self.tasks = [task for store in changed for task in to_reread(self.moment, self._segments[store].values())]

    def abandon(self) -> None:
        """Mark what an interrupted audit did not read."""
        for segments in self._segments.values():
            for task in to_reread(self.moment, segments.values()):
                segments[task.file.path, task.end] = failed_segment(task, NOT_READ)

    def totals(self, *, stopped: bool) -> list[AuditTotals]:
        """Return the totals of each store; without results, those of a store that was not read."""
        for store, segments in self._segments.items():
            self._totals[store] = merged(self.plan(store), store, self.moment, self._files[store], segments.values(), stopped=stopped)
        return [self._totals.get(store) or AuditTotals(store, len(self._files[store])) for store in self.stores]


def _audited(run: _Run, spread: WorkerPool, saved: SavedAnswers) -> Iterator[tuple[Task, Answer]]:
    todo: dict[str, Task] = {}
    for task in run.tasks:
        known = saved.find(task)
        if known is None:
            todo[task.key] = task
        else:
            yield task, answer_of(task, known)
    items = [(run.plan_number(task.store), task.text()) for task in todo.values()]
    for key, text in spread(partial(perform, run.plans), items):
        task = todo[key]
        answer = answer_of(task, text)
        if answer.is_complete:
            saved.add(task, text)
        yield task, answer
