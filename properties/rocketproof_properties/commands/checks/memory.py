"""Remember the rows that differed in the last run of `check` or `test`, so that the next run decides them first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from ...reports import failures
from .plan import CheckTask
from .rows import VerdictRow

_FIELDS: Final = ("subject", "property", "sentence", "profile", "condition", "engine", "scope")


def key(task: CheckTask) -> tuple[str, ...]:
    """Return the key of a task: its file, property, profile, condition, engine and scope."""
    source = task.source
    return (source.file or "", task.property, task.sentence, source.profile, task.condition, task.engine, source.scope)


def read(command: str) -> frozenset[tuple[str, ...]]:
    """Return the keys of the rows that differed when they were last decided."""
    return frozenset(tuple(str(row.get(name, "")) for name in _FIELDS) for row in failures.read(failures.file_of(command)))


def keep(
    command: str, tasks: Iterable[CheckTask], rows: Iterable[VerdictRow], before: frozenset[tuple[str, ...]], broken: Collection[CheckTask]
) -> str:
    """Save the keys of rows that differ, of `broken` tasks, and of earlier differing rows that this run did not decide.

    Return an error message, or "" on success.
    """
    known = dict.fromkeys(sorted(before))
    for task, row in zip(tasks, rows, strict=True):
        if row.agrees is False or row.vacuous or task in broken:
            known[key(task)] = None
        elif row.agrees:
            known.pop(key(task), None)
    entries: list[dict[str, Any]] = [dict(zip(_FIELDS, row_key, strict=True)) for row_key in known]
    return failures.keep(failures.file_of(command), entries)
