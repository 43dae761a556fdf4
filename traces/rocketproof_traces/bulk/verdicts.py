"""Judging one part of a history, or one history whole, as a function from Arrow to Arrow: what a task of any engine does.

A task that is done again gives the same rows: nothing here looks at anything but its input.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from ..checker.histories import cluster_of, is_recording, judge_part
from ..checker.parts import HistoryPartition, Survey, name_of, part_of
from ..checker.steps import SearchBound
from ..common.collection import uncollected
from ..common.errors import TraceError
from ..history import Event, Header
from ..history.exchange import Exchange
from ..history.exchanges import Break, Snapshot, called, served_again, snapshot
from .partition import HISTORY, value_of
from .tables import VERDICTS, finding_row, unreadable_row, verdict_row


class _Row(NamedTuple):
    """A row of CALLS, without what is the same in all of its part. Numbers and texts are null where the kind of row has none."""

    kind: str
    opened: int
    closed: int
    took: int | None
    process: str
    op: str
    asked: str
    answer: str | None


def judge_calls(calls: pa.Table, profile: str, bound: SearchBound) -> pa.Table:
    """The verdict on the rows of one part of one history (CALLS), or on the history itself, as a row of VERDICTS."""
    with uncollected():
        return _judged(calls, profile, bound)


def _judged(calls: pa.Table, profile: str, bound: SearchBound) -> pa.Table:
    if not calls.num_rows:
        return VERDICTS.empty_table()
    history, number = calls["history"][0].as_py(), calls["part"][0].as_py()
    rows = list(map(_Row._make, zip(*(calls[name].to_pylist() for name in _Row._fields), strict=True)))
    brief = json.loads(next(row.asked for row in rows if row.kind == "brief"))
    if number == HISTORY:
        return pa.Table.from_pylist([_whole(history, brief)], VERDICTS)
    name = name_of(brief["broker"], brief["topics"], recorded=is_recording(Header(brief["origin"])))
    found: list[dict[str, Any]] = []
    try:
        asked, bad = _operations([row for row in rows if row.kind in ("call", "twice")])
        if bad is not None:
            found.append({**unreadable_row(bad.why, seq=bad.seq), "part": name})
        part = _part(brief, asked, [_snapshot(row) for row in rows if row.kind == "topics" and (bad is None or row.opened < bad.seq)])
        del rows, asked
        judged = judge_part(part, Header(brief["origin"]), profile, bound)
    except TraceError as error:
        found.append({**unreadable_row(" ".join(str(error).split())), "part": name})
        return pa.Table.from_pylist([verdict_row(history, name, "unreadable", findings=found)], VERDICTS)
    found += map(finding_row, judged.findings)
    row = verdict_row(
        history,
        name,
        "unreadable" if bad is not None else judged.outcome.value,
        explained=judged.explained,
        expanded=judged.expanded,
        outOfReach=json.dumps(judged.out_of_reach),
        unknown=judged.unknown or None,
        findings=found,
    )
    return pa.Table.from_pylist([row], VERDICTS)


def judge_whole(batches: Iterable[pa.RecordBatch], profile: str, bound: SearchBound) -> pa.Table:
    """The verdicts on divided histories that are small enough to be held at once, part by part."""
    with uncollected():
        table = pa.Table.from_batches(list(batches)).combine_chunks()
    table = table.sort_by([("history", "ascending"), ("part", "ascending")])
    edges = _edges(table)
    return pa.concat_tables([judge_calls(table.slice(a, b - a), profile, bound) for a, b in edges] or [VERDICTS.empty_table()])


def _edges(table: pa.Table) -> list[tuple[int, int]]:
    """Where the rows of each part begin and end, in a table that is sorted by history and part."""
    keys = list(zip(table["history"].to_pylist(), table["part"].to_pylist(), strict=True))
    starts = [k for k, key in enumerate(keys) if k == 0 or key != keys[k - 1]]
    return list(zip(starts, [*starts[1:], len(keys)], strict=True)) if keys else []


def _whole(history: str, brief: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a history: how many events it has, what belongs to no part, and where it could not be read on."""
    problems = brief["problems"]
    found = [unreadable_row(p["text"], file=p["file"], line=p["line"], seq=p["seq"]) for p in problems]
    return verdict_row(
        history,
        None,
        "unreadable" if found else "unknown" if brief["unknown"] else "ok",
        events=brief["events"],
        outOfReach=json.dumps(brief["left_out"]),
        unknown=brief["unknown"],
        stamp=brief["stamp"],
        findings=found,
    )


def _part(brief: Mapping[str, Any], asked: list[Exchange], said: list[Snapshot]) -> HistoryPartition:
    broker = brief["broker"]
    header = Header(brief["origin"])
    survey = Survey(cluster_of(header), is_recording(header), begun={broker: brief["begun"]})
    if brief["break"] is not None:
        survey.stop(Break(brief["break"][0], broker, brief["break"][1]))
    if brief["retry"] is not None:
        survey.retries[broker] = brief["retry"]
    survey.commits[broker] = brief["commits"]
    if brief["unheard"] is not None:
        survey.unheard[broker] = brief["unheard"]
    asked.sort(key=attrgetter("seq"))
    said.sort(key=attrgetter("seq"))
    return part_of(survey, broker, tuple(brief["topics"]), asked, said, alone=brief["alone"], placed=brief["placed"])


class _Bad(NamedTuple):
    """An event that no operation can be read from, and why."""

    seq: int
    why: str


def _operations(rows: Sequence[_Row]) -> tuple[list[Exchange], _Bad | None]:
    """The operations up to the first event that none can be read from, and that event."""
    try:
        return _served(rows), None
    except TraceError:
        bad = min(one for one in map(_bad, rows) if one is not None)
    before = [row if row.answer is None or row.closed < bad.seq else row._replace(answer=None) for row in rows if row.opened < bad.seq]
    return _served(before), bad


def _served(rows: Sequence[_Row]) -> list[Exchange]:
    """The operations, and once more those that may have been served twice."""
    asked = list(map(_operation, rows))
    return asked + served_again(one for one, row in zip(asked, rows, strict=True) if row.kind == "twice")


def _operation(row: _Row) -> Exchange:
    end = None if row.answer is None else (row.closed, value_of(row.closed, row.answer))
    return called(row.process, row.op, row.opened, value_of(row.opened, row.asked), end, row.took)


def _bad(row: _Row) -> _Bad | None:
    """The event of a call that is not readable."""
    for asked in (row._replace(answer=None), row):
        try:
            _operation(asked)
        except TraceError as error:
            return _Bad(row.opened if asked.answer is None else row.closed, f"{error.problem}; {error.remedy}")
    return None


def _snapshot(row: _Row) -> Snapshot:
    return snapshot(Event(row.opened, "state", row.process, row.op, json.loads(row.asked)))


__all__ = ["judge_calls", "judge_whole"]
