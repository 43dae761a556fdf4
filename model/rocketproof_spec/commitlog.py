"""The commit log and the queues of a scope, as counters without messages."""

from __future__ import annotations

from rocketproof_model.language import Index, Int, Model

from .scope import Scope


class LogVariables:
    """The log variables of a scope: one value per queue of `queues`, or one per broker."""

    def __init__(self, m: Model, scope: Scope, broker: Index, queues: tuple[Index, ...]) -> None:
        count, position = Int(0, scope.offsets), Int(0, scope.file_size * scope.files)
        self.offset = m.var("offset", count, over=queues, init=0, sentence="the next offset of the queue")
        self.outlived = (
            m.var("outlived", count, over=queues, init=0, sentence="the queue's next offset if it survives the deletion of its topic")
            if scope.deletes
            else None
        )
        self.records = m.var("records", count, over=queues, init=0, sentence="how many records of the queue have an offset")
        self.entries = m.var("entries", count, over=queues, init=0, sentence="how many entries the consume queue has")
        self.filled = m.var("filled", Int(0, scope.file_size), over=broker, init=0, sentence="how far the commit log's last file is filled")
        self.segment = m.var("segment", Int(0, scope.files - 1), over=broker, init=0, sentence="which file of the commit log is written")
        self.flushed = m.var("flushed", position, over=broker, init=0, sentence="the position up to which the commit log is flushed")
