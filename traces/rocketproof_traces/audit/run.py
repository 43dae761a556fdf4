"""An audit from stores to totals: the logs cut into tasks, the tasks spread, borders repaired, results merged.

How tasks are done (`pools.Spread`: by threads of this machine, or by Spark) makes no difference to what the audit finds.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..pools import Spread
from ..stored.segments import RANGE_SIZE, log_files, mend, ranges
from .merge import Merger, Totals
from .programs import Plan
from .segment import NOT_READ, Segment, Task, answer, nothing
from .store import opened

Report = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class Outcome:
    """The totals of each store. `stopped`: the audit was interrupted, and they are of the part that was done: `done` of `size` bytes."""

    totals: list[Totals]
    done: int = 0
    size: int = 0
    stopped: bool = False


class Kept:
    """Answers kept in a file while an audit runs, so that the same audit goes on where it was stopped."""

    def __init__(self, path: Path | None, plan: Plan) -> None:
        self._path = path
        self._plan = hashlib.sha256(repr((plan.settings, [rule.id for rule in plan.rules], plan.limit)).encode()).hexdigest()
        self._known: dict[str, str] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed
            if entry.get("plan") == self._plan:
                self._known[entry["task"]] = entry["answer"]

    def begin(self) -> None:
        """Make the folder, before anything is read for nothing. Raises OSError."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)

    def find(self, task: Task) -> str | None:
        return self._known.get(self._key(task))

    def add(self, task: Task, text: str) -> None:
        """Raises OSError, such as for a full disk."""
        if self._path is not None:
            line = json.dumps({"plan": self._plan, "task": self._key(task), "answer": text})
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def done(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    @staticmethod
    def _key(task: Task) -> str:
        """A task and the state of its file: what was written since is read again."""
        try:
            changed = os.stat(task.file.path).st_mtime_ns
        except OSError:
            changed = 0
        return f"{replace(task, moment=changed).text()}"


def silent(done: int, all_: int) -> None:
    """Nobody hears how far it is."""


def audit(plan: Plan, stores: Sequence[str], spread: Spread, kept: Kept, report: Report = silent, size: int = RANGE_SIZE) -> Outcome:
    """Audit stores. Raises TraceError for a folder without a commit log, and OSError where answers cannot be kept."""
    moment = time.time_ns()
    found = {folder: log_files([folder], hosts_by_flag=plan.hosts_by_flag) for folder in stores}
    kept.begin()
    tasks = [
        Task(moment, folder, part.file, part.start, part.end, part.exact) for folder, files in found.items() for part in ranges(files, size)
    ]
    outcome = Outcome([], 0, sum(file.length for files in found.values() for file in files))
    segments = {(task.file.path, task.end): nothing(task, NOT_READ) for task in tasks}
    try:
        while tasks:
            for segment in _answers(plan, tasks, spread, kept):
                segments[segment.task.file.path, segment.task.end] = segment
                outcome.done = sum(each.task.end - each.task.start for each in segments.values() if each.error != NOT_READ)
                report(min(outcome.done, outcome.size), outcome.size)
            tasks = _again(moment, list(segments.values()))
    except KeyboardInterrupt:
        outcome.stopped = True
        for task in _again(moment, list(segments.values())):
            segments[task.file.path, task.end] = nothing(task, NOT_READ)
    for folder, files in found.items():
        parts = sorted((s for s in segments.values() if s.task.store == folder), key=lambda s: (s.task.file.base, s.task.end))
        outcome.totals.append(Merger(plan, opened(folder, moment, plan.hosts_by_flag), files, parts).run())
    if not outcome.stopped:
        kept.done()
    return outcome


def _answers(plan: Plan, tasks: Sequence[Task], spread: Spread, kept: Kept) -> Iterator[Segment]:
    open_ = []
    for task in tasks:
        known = kept.find(task)
        if known is None:
            open_.append(task)
        else:
            yield Segment.read(known)
    for text in spread(partial(answer, plan), [task.text() for task in open_]):
        segment = Segment.read(text)
        if not segment.error:
            kept.add(segment.task, text)
        yield segment


def _again(moment: int, segments: Sequence[Segment]) -> list[Task]:
    """Ranges to walk again, since the walk before them ended elsewhere than they began."""
    store_of = {segment.task.file.path: segment.task.store for segment in segments}
    broken = {segment.task.file.path for segment in segments if segment.error}
    again = mend(segment.walked for segment in segments if segment.task.file.path not in broken)
    return [Task(moment, store_of[part.file.path], part.file, part.start, part.end, part.exact) for part in again]
