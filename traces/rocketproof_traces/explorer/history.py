"""A history of clients as the document that the page draws on a time line: requests, answers, and the judge's verdict.

Times are event numbers; `nanos` has the clock times, if the history has any. For a history too long for a page, the document has the part
around one event, and counts the rest.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from rocketproof_protocol.codes import ANSWERS

from ..checker.findings import UnexplainedEvent
from ..checker.histories import HistoryVerdict
from ..history import Event, Header
from ..history.exchanges import OVER, SENDS, CallEvents, paired
from ..witness.words import value_text
from .document import SCHEMA, CommandLine, TraceSubject
from .window import LARGEST, window

LONGEST: Final = 200
"""The maximum length of a shown value in characters."""
_RESPONSE_FIELDS: Final = {"queueId": "queue", "queueOffset": "offset", "offset": "offset", "nextBeginOffset": "next offset"}
_OUTCOMES: Final = {"ok": "ok", "fail": "fail"}
_MARKS: Final = {"crash": "crash", "restart": "restart", "disconnect": "disconnect", "configure": "settings"}


def of_history(
    header: Header,
    events: Sequence[Event],
    verdict: HistoryVerdict,
    title: str,
    commands: Sequence[CommandLine] = (),
    *,
    around: int | None = None,
    largest: int = LARGEST,
) -> dict[str, Any]:
    """Return the document of a judged history. If its operations and marks exceed `largest` bytes, it has those around the event with
    number `around`. The default is the first event that nothing explains, or else the first event."""
    calls, marks = [], []
    for call in paired(events):
        if isinstance(call, CallEvents):
            calls.append(call)
        elif (call.type in ("crash", "info") and call.op != OVER) or (call.type == "invoke" and call.op == "configure"):
            marks.append(_mark(call))
    calls.sort(key=lambda call: call.begun.seq)
    finding = verdict.findings[0] if verdict.findings else None
    begun_by = {call.ended.seq: call.begun.seq for call in calls if call.ended is not None}
    if finding is not None and finding.seq not in begun_by:
        marks.append(
            {"at": finding.seq, "nanos": None, "kind": "state", "text": f"{finding.process}: {finding.recorded}; nothing explains it"}
        )
    refused = {begun_by.get(finding.seq) for finding in verdict.findings}
    order = [begun for begun in verdict.order.explained if begun not in refused]
    if around is None and finding is not None:
        around = begun_by.get(finding.seq, finding.seq)
    operations, marks, left_out = _around(_operations(calls, verdict, order), marks, around, largest)
    shown = {row["id"] for row in operations}
    return {
        "schema": SCHEMA,
        "kind": "history",
        "title": title,
        "subject": asdict(TraceSubject(_target(header), "", verdict.profile, header.note, "judge")),
        "clients": list(dict.fromkeys(row["client"] for row in operations)),
        "operations": operations,
        "marks": marks,
        "left_out": left_out,
        "verdict": {"verdict": verdict.verdict, "sentence": _sentence(verdict)},
        "order": [begun for begun in order if begun in shown],
        "refusal": None if finding is None else _refusal(finding, begun_by.get(finding.seq, -1)),
        "commands": [asdict(command) for command in commands],
        "live": None,
    }


Rows = list[dict[str, Any]]


def _around(operations: Rows, marks: Rows, around: int | None, largest: int) -> tuple[Rows, Rows, dict[str, int] | None]:
    """Return the operations and marks, in the order of events, that a page has room for. The third value has the numbers of omitted rows
    before and after them, None if none are omitted."""
    rows = sorted([*((row["begin"], "", row) for row in operations), *((row["at"], "mark", row) for row in marks)], key=lambda row: row[:2])
    place = 0 if around is None else max(0, bisect_right([at for at, _, _ in rows], around) - 1)
    kept = window([len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()) for _, _, row in rows], place, largest)
    chosen = rows[kept.start : kept.stop]
    left_out = {"before": kept.start, "after": len(rows) - kept.stop}
    parts = [row for _, kind, row in chosen if not kind], [row for _, kind, row in chosen if kind]
    return *parts, left_out if any(left_out.values()) else None


def _target(header: Header) -> str:
    """Return the judged target by name and version, if the header has both."""
    target = header.origin.get("target", "")
    if not isinstance(target, Mapping):
        return str(target)
    name, version = str(target.get("name", "")), str(target.get("version") or "")
    return name if version in name else f"{name} {version}"


def _operations(calls: Iterable[CallEvents[Event]], verdict: HistoryVerdict, order: Sequence[int]) -> Rows:
    places = {begun: place for place, begun in enumerate(order)}
    refused, beyond = {finding.seq for finding in verdict.findings}, set(verdict.order.beyond)
    rows = []
    for begun, ended in calls:
        status = "explained" if begun.seq in places else "beyond" if begun.seq in beyond else "unjudged"
        status = "refused" if ended is not None and ended.seq in refused else status
        rows.append(
            {
                "id": begun.seq,
                "client": begun.process,
                "name": begun.op,
                "label": _label(begun),
                "response": "" if ended is None else _response(ended),
                "begin": begun.seq,
                "end": None if ended is None else ended.seq,
                "nanos": [begun.time, None if ended is None else ended.time],
                "outcome": "unknown" if ended is None else _OUTCOMES.get(ended.type, "unknown"),
                "fields": _pairs(begun.value),
                "answer": [] if ended is None else _pairs(ended.value),
                "position": places.get(begun.seq),
                "status": status,
            }
        )
    return rows


def _label(begun: Event) -> str:
    """Return `send orders, queue 2`: the request in one line."""
    fields = begun.value.get("fields")
    fields = fields if isinstance(fields, Mapping) else {}
    words = [begun.op, *(str(fields[name]) for name in ("topic",) if name in fields)]
    queue = f", queue {fields['queueId']}" if begun.op in (*SENDS, "max_offset") and "queueId" in fields else ""
    return _cut(" ".join(words) + queue)


def _response(ended: Event) -> str:
    """Return `SUCCESS, queue 0, offset 7`: the response in a few words, empty if there is none."""
    code, fields = ended.value.get("code"), ended.value.get("fields")
    fields = fields if isinstance(fields, Mapping) else {}
    words = [] if code is None else [ANSWERS.get(code, f"code {code}") if isinstance(code, int) else str(code)]
    words += [f"{noun} {fields[name]}" for name, noun in _RESPONSE_FIELDS.items() if fields.get(name) not in ("", None)]
    return _cut(", ".join(words))


def _pairs(value: Mapping[str, Any]) -> list[list[str]]:
    """Return names and values as text. Header fields are included next to the other values, and empty values are left out."""
    flat: dict[str, Any] = {}
    for name, part in value.items():
        flat |= {str(key): inner for key, inner in part.items()} if name == "fields" and isinstance(part, Mapping) else {name: part}
    return [[name, _cut(_text(part))] for name, part in flat.items() if part not in ("", None)]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _mark(event: Event) -> dict[str, Any]:
    kind = "crash" if event.type == "crash" else _MARKS.get(event.op, "fault")
    details = ", ".join(f"{name} {value}" for name, value in _pairs(event.value))
    return {"at": event.seq, "nanos": event.time, "kind": kind, "text": f"{event.process}: {event.op}{f' ({details})' if details else ''}"}


def _sentence(verdict: HistoryVerdict) -> str:
    if verdict.findings:
        return f"nothing explains {verdict.findings[0]}"
    if verdict.unknown:
        return f"not decided: {'; '.join(verdict.unknown)}"
    return f"the specification explains all {verdict.explained} answers that it speaks of"


def _refusal(finding: UnexplainedEvent, operation: int) -> dict[str, Any]:
    why = finding.refused
    values = [[name, value_text(value)] for name, value in why.values.items()]
    return {
        "operation": operation,
        "recorded": finding.recorded,
        "specified": why.specified,
        "action": why.action,
        "guard": why.guard,
        "sentence": why.sentence,
        "values": values,
    }


__all__ = ["of_history"]
