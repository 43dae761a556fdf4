"""Check a user's rules over the exchanges of a history, and over verdicts. Both results are findings in rows of VERDICTS."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

from ..audit.own import OwnRules
from ..audit.rules import chosen
from ..audit.vocabulary import MARKS, HistoryState
from ..history import Moment
from ..history.exchanges import CallEvents
from ..stored.facts import LIMIT
from .tables import VERDICTS, broken_row

if TYPE_CHECKING:
    from ..audit.programs import Decider

KEPT: Final = 100
"""At most this number of findings of a rule is kept for each history. All are counted."""
_ROWS: Final = 8192
_INT: Final = 1 << 31


class ExchangeMoment(Moment, Protocol):
    """An event with the columns of EVENTS that rules read."""

    @property
    def broker(self) -> str | None: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def code(self) -> int | None: ...
    @property
    def queue_id(self) -> int | None: ...
    @property
    def queue_offset(self) -> int | None: ...


@lru_cache(maxsize=8)
def _decider(own: OwnRules, over: str) -> Decider:
    """Return the compiled rules over a kind of rows, compiled once per process."""
    from ..audit.programs import Decider  # loads a compiler, which a judge without such rules does not need

    return Decider(chosen(own.rules, over), over, {})


@dataclass
class ExchangeRules:
    """The rules over exchanges of one history. `counts` has the rows that break each rule, `findings` some of them."""

    own: OwnRules
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    _waiting: list[CallEvents[Any]] = field(default_factory=list)

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is no rule to check."""
        return not chosen(self.own.rules, "judged")

    def take(self, call: CallEvents[Any]) -> None:
        """Check an exchange, which has an `ExchangeMoment` for the request and one for the response."""
        self._waiting.append(call)
        if len(self._waiting) == _ROWS:
            self._check()

    def data(self) -> dict[str, Any]:
        """Return the counts and the findings of all exchanges, as JSON values."""
        self._check()
        self.findings.sort(key=lambda finding: (finding["rule"], finding["seq"]))
        return {"counts": dict(sorted(self.counts.items())), "findings": self.findings}

    def _check(self) -> None:
        calls, self._waiting = self._waiting, []
        if not calls:
            return
        marks: dict[tuple[str, ...], int] = {}
        rows = [self._row(call, marks) for call in calls]
        counts, breaches = _decider(self.own, "judged").decide(_columns(rows), None, KEPT, self.counts)
        self.counts.update(counts)
        for breach in breaches:
            begun = calls[breach.row].begun
            self.findings.append(broken_row(breach, seq=begun.seq, process=begun.process, op=begun.op))

    def _row(self, call: CallEvents[Any], marks: dict[tuple[str, ...], int]) -> dict[str, int]:
        begun, answer = call.begun, call.answer
        texts = begun.op, begun.process, begun.broker or "", begun.topic or ""
        if texts not in marks:
            marks[texts] = self.own.marks(**dict(zip(("op", "process", "broker", "topic"), texts, strict=True)))
        ended = None if answer is None else answer.time
        return {
            "seq": begun.seq,
            "answered": int(answer is not None),
            "failed": int(call.failed),
            "took": -1 if ended is None or begun.time is None else ended - begun.time,
            "code": _int(None if answer is None else answer.code),
            "queueId": _int(None if answer is None else answer.queue_id),
            "queueOffset": -1 if answer is None or answer.queue_offset is None else answer.queue_offset,
            MARKS: marks[texts],
        }


def with_verdict_rules(table: pa.Table, own: OwnRules) -> pa.Table:
    """Return rows of VERDICTS with the findings of the rules over verdicts."""
    if not chosen(own.rules, "verdict"):
        return table
    verdicts = table.to_pylist()
    rows = [
        {
            "whole": int(row["part"] is None),
            "verdict": HistoryState.encode(row["verdict"]),
            **{name: row[name] for name in ("events", "explained", "expanded")},
            "outOfReach": sum(json.loads(row["outOfReach"]).values()),
            "findings": sum(finding["rule"] is None for finding in row["findings"]),
            MARKS: own.marks(history=row["history"], part=row["part"] or ""),
        }
        for row in verdicts
    ]
    _, breaches = _decider(own, "verdict").decide(_columns(rows), None, len(rows))
    for breach in breaches:
        row = verdicts[breach.row]
        row["findings"].append(broken_row(breach, part=row["part"]))
        row["rules"] = json.dumps(Counter(json.loads(row["rules"])) + Counter([breach.rule.id]))
    return pa.Table.from_pylist(verdicts, VERDICTS)


def _columns(rows: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    clipped = {name: [min(max(row[name], -LIMIT), LIMIT) for row in rows] for name in rows[0]}
    return {name: np.array(values, np.int64) for name, values in clipped.items()}


def _int(value: int | None) -> int:
    """Return a Java int, -1 for none; a larger number becomes the nearest."""
    return -1 if value is None else min(max(value, -_INT), _INT - 1)


__all__ = ["ExchangeRules", "with_verdict_rules"]
