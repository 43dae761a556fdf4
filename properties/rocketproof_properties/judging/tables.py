"""Convert verdicts on many histories into rows of the result tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rocketproof_traces.audit.rules import Rule
from rocketproof_traces.bulk.kinds import BROKEN
from rocketproof_traces.bulk.results import FolderResults, Summary, combined

from ..reports.recurring import EXPLAINED, SPECIFICATION
from ..reports.tables import NO_PLACE, TableTarget, run_row
from . import results


def append(target: TableTarget, folder: str, summary: Summary, rules: Sequence[Rule], seconds: float, exit_code: int) -> None:
    """Add a run of the judge to the tables: everything that the folder of its verdicts has. Raises InputError."""
    verdicts = list(FolderResults(folder).verdicts())
    run = run_row(
        "judge", summary.profile, seconds, exit_code, stopped=False, histories=summary.histories.total(), events=summary.events,
    )  # fmt: skip
    rows = {"findings": _findings(summary), "metrics": _metrics(verdicts, rules, summary.profile)}
    target.append(run, {**rows, "verdicts": _verdicts(verdicts, summary.profile)})


def _findings(summary: Summary) -> Iterator[dict[str, Any]]:
    for finding in summary.findings:
        result = results.result_of(finding, summary.profile)
        yield {
            **NO_PLACE, "store": finding["history"], "profile": summary.profile, "rule": result.id,
            "severity": finding["severity"] or "error", "outcome": result.outcome, "place": result.about, "file": finding["file"] or "",
            "offset": -1, "event": -1 if finding["seq"] is None else finding["seq"], "expected": finding["specified"] or "",
            "found": finding["recorded"] or "", "reason": finding["sentence"] or "",
        }  # fmt: skip


def _metrics(verdicts: Sequence[dict[str, Any]], rules: Sequence[Rule], profile: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each history and rule; the specification is one of the rules."""
    by_history: dict[str, list[dict[str, Any]]] = {}
    for row in verdicts:
        by_history.setdefault(row["history"], []).append(row)
    for history, rows in sorted(by_history.items()):
        unknown = [row["unknown"] for row in rows if row["unknown"]]
        verdict = combined(row["verdict"] for row in rows)
        of_history = {
            "store": history, "labels": [], "profile": profile, "status": verdict, "problem": next(iter(unknown), ""),
            "unknown": verdict in ("unknown", "unreadable"), "records": sum(row["events"] for row in rows), "bytes": 0, "seconds": 0.0,
        }  # fmt: skip
        unexplained = sum(finding["kind"] != BROKEN for row in rows for finding in row["findings"])
        yield {**of_history, "rule": SPECIFICATION, "sentence": EXPLAINED, "severity": "error", "violated": unexplained}
        for rule in rules:
            violated = sum(json.loads(row["rules"] or "{}").get(rule.id, 0) for row in rows)
            yield {**of_history, "rule": rule.id, "sentence": rule.claim.sentence, "severity": rule.severity, "violated": violated}


def _verdicts(verdicts: Sequence[dict[str, Any]], profile: str) -> Iterator[dict[str, Any]]:
    for row in verdicts:
        yield {
            "profile": profile, "history": row["history"], "kind": "history" if row["part"] is None else "part",
            "part": row["part"] or "", "verdict": row["verdict"], "unknown": row["unknown"] or "",
            **{name: row[name] for name in ("events", "explained", "expanded")},
            "outOfReach": list(json.loads(row["outOfReach"]).items()), "stamp": row["stamp"] or "", "findings": len(row["findings"]),
        }  # fmt: skip
