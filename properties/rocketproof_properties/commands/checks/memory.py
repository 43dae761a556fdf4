"""What was not as expected when `check` or `test` ran last, which the next run decides first; a row is known by what it is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from ...reports import failures
from .plan import CheckTask
from .rows import VerdictRow

_FIELDS: Final = ("subject", "property", "sentence", "profile", "condition", "engine", "scope")


def key(task: CheckTask) -> tuple[str, ...]:
    """What a task is about, and the file that it is in."""
    source = task.source
    return (source.file or "", task.property, task.sentence, source.profile, task.condition, task.engine, source.scope)


def read(command: str) -> frozenset[tuple[str, ...]]:
    """The keys of what differed when it was decided last."""
    return frozenset(tuple(str(row.get(name, "")) for name in _FIELDS) for row in failures.read(failures.file_of(command)))


def keep(
    command: str, tasks: Iterable[CheckTask], rows: Iterable[VerdictRow], before: frozenset[tuple[str, ...]], broken: Collection[CheckTask]
) -> str:
    """Remember the rows that differ and those of tasks that are `broken` otherwise, besides what differed before and was not decided now;
    why that was not possible, or ""."""
    known = dict.fromkeys(sorted(before))
    for task, row in zip(tasks, rows, strict=True):
        if row.agrees is False or row.vacuous or task in broken:
            known[key(task)] = None
        elif row.agrees:
            known.pop(key(task), None)
    found: list[dict[str, Any]] = [dict(zip(_FIELDS, one, strict=True)) for one in known]
    return failures.keep(failures.file_of(command), found)
