"""What a scope keeps of the commit log and its queues: counters, and no messages."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import Index, Int, Model, Variable
from .scope import Scope


@dataclass(frozen=True, eq=False)
class Log:
    """What a scope keeps of the log. Of each queue the next `offset`, how many `records` have one, and how many `entries` its consume queue
    has; of each broker the `segment` that is written, how far it is `filled`, and the position that is `flushed`."""

    offset: Variable
    records: Variable
    entries: Variable
    filled: Variable
    segment: Variable
    flushed: Variable


def declare_log(m: Model, scope: Scope, broker: Index, queues: tuple[Index, ...]) -> Log:
    """The variables of a scope with a log."""
    return Log(
        offset=m.var("offset", Int(0, scope.offsets), over=queues, init=0, sentence="the next offset of the queue"),
        records=m.var("records", Int(0, scope.offsets), over=queues, init=0, sentence="how many records of the queue have an offset"),
        entries=m.var("entries", Int(0, scope.offsets), over=queues, init=0, sentence="how many entries the consume queue has"),
        filled=m.var("filled", Int(0, scope.file_size), over=broker, init=0, sentence="how far the commit log's last file is filled"),
        segment=m.var("segment", Int(0, scope.files - 1), over=broker, init=0, sentence="which file of the commit log is written"),
        flushed=m.var(
            "flushed",
            Int(0, scope.file_size * scope.files),
            over=broker,
            init=0,
            sentence="the position up to which the commit log is flushed",
        ),
    )
