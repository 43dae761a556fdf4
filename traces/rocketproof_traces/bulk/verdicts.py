"""Judge one partition of a history, or a whole history, as a function from Arrow to Arrow: the task of every engine.

The result depends only on the input, so repeating a task gives the same rows. The exception is a search that its time limit
(`SearchBound.seconds`) ends: where it ends depends on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from ..audit.own import NONE, OwnRules
from ..checker.histories import cluster_of, is_recording, judge_partition
from ..checker.partition import HistoryPartition, Survey, name_of, partition_of
from ..checker.requests import Break, Snapshot, second_executions, snapshot
from ..checker.steps import SearchBound
from ..common.collection import uncollected
from ..common.errors import TraceError
from ..history import Event, Header
from ..history.exchange import Exchange
from .ownrules import with_verdict_rules
from .partition import HISTORY, exchange_of_texts
from .tables import VERDICTS, finding_row, unreadable_row, verdict_row


class _Row(NamedTuple):
    """A row of CALLS without the columns that are equal within a partition. Fields that do not apply to the kind of row are null."""

    kind: str
    opened: int
    closed: int
    took: int | None
    process: str
    op: str
    asked: str
    answer: str | None


def judge_calls(calls: pa.Table, profile: str, bound: SearchBound, own: OwnRules = NONE) -> pa.Table:
    """Return the verdict on the rows (CALLS) of one partition of a history, or on the history itself, as a row of VERDICTS.

    `own`: rules of the user over verdicts.
    """
    with uncollected():
        return with_verdict_rules(_judged(calls, profile, bound), own)


def _judged(calls: pa.Table, profile: str, bound: SearchBound) -> pa.Table:
    if not calls.num_rows:
        return VERDICTS.empty_table()
    history, number = calls["history"][0].as_py(), calls["part"][0].as_py()
    rows = list(map(_Row._make, zip(*(calls[name].to_pylist() for name in _Row._fields), strict=True)))
    brief = json.loads(next(row.asked for row in rows if row.kind == "brief"))
    if number == HISTORY:
        return pa.Table.from_pylist([_whole(history, brief)], VERDICTS)
    name = name_of(brief["broker"], brief["topics"], recorded=is_recording(Header(brief["origin"])))
    findings: list[dict[str, Any]] = []
    try:
        exchanges, bad = _exchanges([row for row in rows if row.kind in ("call", "twice")])
        if bad is not None:
            findings.append({**unreadable_row(bad.why, seq=bad.seq), "part": name})
        part = _part(brief, exchanges, [_snapshot(row) for row in rows if row.kind == "topics" and (bad is None or row.opened < bad.seq)])
        del rows, exchanges
        judged = judge_partition(part, Header(brief["origin"]), profile, bound)
    except TraceError as error:
        findings.append({**unreadable_row(" ".join(str(error).split())), "part": name})
        return pa.Table.from_pylist([verdict_row(history, name, "unreadable", findings=findings)], VERDICTS)
    findings += map(finding_row, judged.findings)
    row = verdict_row(
        history,
        name,
        "unreadable" if bad is not None else judged.outcome.value,
        explained=judged.explained,
        expanded=judged.expanded,
        outOfReach=json.dumps(judged.out_of_reach),
        unknown=judged.unknown or None,
        findings=findings,
    )
    return pa.Table.from_pylist([row], VERDICTS)


def judge_whole(batches: Iterable[pa.RecordBatch], profile: str, bound: SearchBound, own: OwnRules = NONE) -> pa.Table:
    """Return the verdicts on divided histories that fit into memory, partition by partition."""
    with uncollected():
        table = pa.Table.from_batches(list(batches)).combine_chunks()
    table = table.sort_by([("history", "ascending"), ("part", "ascending")])
    edges = _edges(table)
    return pa.concat_tables([judge_calls(table.slice(a, b - a), profile, bound, own) for a, b in edges] or [VERDICTS.empty_table()])


def _edges(table: pa.Table) -> list[tuple[int, int]]:
    """Return where the rows of each partition begin and end, in a table sorted by history and partition."""
    keys = list(zip(table["history"].to_pylist(), table["part"].to_pylist(), strict=True))
    starts = [k for k, key in enumerate(keys) if k == 0 or key != keys[k - 1]]
    return list(zip(starts, [*starts[1:], len(keys)], strict=True)) if keys else []


def _whole(history: str, brief: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a history: its number of events, the requests in no partition, and where reading stopped."""
    problems = brief["problems"]
    findings = [unreadable_row(p["text"], file=p["file"], line=p["line"], seq=p["seq"]) for p in problems]
    return verdict_row(
        history,
        None,
        "unreadable" if findings else "unknown" if brief["unknown"] else "ok",
        events=brief["events"],
        outOfReach=json.dumps(brief["left_out"]),
        unknown=brief["unknown"],
        stamp=brief["stamp"],
        findings=[*findings, *brief["rules"]["findings"]],
        rules=json.dumps(brief["rules"]["counts"]),
    )


def _part(brief: Mapping[str, Any], exchanges: list[Exchange], snapshots: list[Snapshot]) -> HistoryPartition:
    broker = brief["broker"]
    header = Header(brief["origin"])
    survey = Survey(cluster_of(header), is_recording(header), first_requests={broker: brief["begun"]})
    if brief["break"] is not None:
        survey.add_break(Break(brief["break"][0], broker, brief["break"][1]))
    if brief["retry"] is not None:
        survey.retries[broker] = brief["retry"]
    survey.commits[broker] = brief["commits"]
    if brief["unheard"] is not None:
        survey.unseen_from[broker] = brief["unheard"]
    exchanges.sort(key=attrgetter("seq"))
    snapshots.sort(key=attrgetter("seq"))
    return partition_of(survey, broker, tuple(brief["topics"]), exchanges, snapshots, alone=brief["alone"], placed=brief["placed"])


class _Bad(NamedTuple):
    """An event that cannot be read as a request, and why."""

    seq: int
    why: str


def _exchanges(rows: Sequence[_Row]) -> tuple[list[Exchange], _Bad | None]:
    """Return the exchanges up to the first unreadable event, and that event."""
    try:
        return _with_second_executions(rows), None
    except TraceError:
        bad = min(unreadable for unreadable in map(_bad, rows) if unreadable is not None)
    before = [row if row.answer is None or row.closed < bad.seq else row._replace(answer=None) for row in rows if row.opened < bad.seq]
    return _with_second_executions(before), bad


def _with_second_executions(rows: Sequence[_Row]) -> list[Exchange]:
    """Return the exchanges, including possible second executions."""
    exchanges = list(map(_exchange, rows))
    return exchanges + second_executions(exchange for exchange, row in zip(exchanges, rows, strict=True) if row.kind == "twice")


def _exchange(row: _Row) -> Exchange:
    return exchange_of_texts(row.process, row.op, row.opened, row.asked, row.closed, row.answer, row.took)


def _bad(row: _Row) -> _Bad | None:
    """Return the unreadable event of a call."""
    for asked in (row._replace(answer=None), row):
        try:
            _exchange(asked)
        except TraceError as error:
            return _Bad(row.opened if asked.answer is None else row.closed, f"{error.problem}; {error.remedy}")
    return None


def _snapshot(row: _Row) -> Snapshot:
    return snapshot(Event(row.opened, "state", row.process, row.op, json.loads(row.asked)))


__all__ = ["judge_calls", "judge_whole"]
