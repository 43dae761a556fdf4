"""The task of auditing one segment of the log, and its result: data that passes through JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from rocketproof_protocol.shown import json_text

from ..stored.segments import LogFile, Range, Walked
from .findings import AuditFinding

NOT_READ = "not read yet"


@dataclass(frozen=True)
class LogRange:
    """A range of a store's log file. `moment` identifies the audit: everything besides the log is read once per audit."""

    moment: int
    store: str
    file: LogFile
    start: int
    end: int
    exact: bool
    exact_end: bool = False

    @property
    def key(self) -> str:
        """Identifies the task within an audit."""
        return f"{self.file.path} {self.start} {self.end}"

    @property
    def size(self) -> int:
        """The bytes of the range."""
        return self.end - self.start

    @property
    def range(self) -> Range:
        return Range(self.file, self.start, self.end, self.exact, self.exact_end)

    def text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> LogRange:
        data = json.loads(text)
        return LogRange(**{**data, "file": LogFile(**data["file"])})


@dataclass(frozen=True)
class Segment:
    """The result of a task.

    - `begin`, `end`: where its walk began and ended in the file, None if no record begins there.
    - `data_end`: the physical offset after which the file has only zeros, None if the walk did not reach it.
    - `queues`: columns by name, with one element for each queue that has a record here. Its `first` and `final` are the columns of the
      first and the last record with a queue offset.
    - `edges`: by kind of rule, the columns of the first and of the last record or DLedger entry. `edge_topics`: the first one's topic.
    - `blanks`: offset and stored size of each blank.
    - `noted`: the data of `notes.SegmentNotes`.
    - `error`: why there is no result; NOT_READ for a task that an interrupted audit did not start.
    - `problems`: what else could not be read. Facts that depend on it are unknown, and rules that need them were not checked.
    - `seconds`: the time that the task took.
    """

    task: LogRange
    begin: int | None
    end: int | None
    data_end: int | None
    records: int
    bytes: int
    counts: dict[str, int]
    findings: list[AuditFinding]
    queues: dict[str, Any]
    edges: dict[str, dict[str, list[int]]]
    edge_topics: dict[str, str]
    blanks: list[tuple[int, int]]
    noted: dict[str, Any]
    error: str = ""
    problems: list[str] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether everything could be read."""
        return not (self.error or self.problems)

    @property
    def walked(self) -> Walked:
        return Walked(self.task.range, self.begin, self.end, self.records, self.bytes)

    def text(self) -> str:
        data = {**self.__dict__, "task": asdict(self.task), "findings": [finding.data() for finding in self.findings]}
        return json_text(data)

    @staticmethod
    def read(text: str) -> Segment:
        data = json.loads(text)
        task = {**data["task"], "file": LogFile(**data["task"]["file"])}
        findings = [AuditFinding.of(finding) for finding in data["findings"]]
        return Segment(**{**data, "task": LogRange(**task), "findings": findings, "blanks": [tuple(blank) for blank in data["blanks"]]})


def failed_segment(task: LogRange, error: str) -> Segment:
    """Return the result of a task that could not be done."""
    return Segment(task, None, None, None, 0, 0, {}, [], {}, {}, {}, [], {}, error)
