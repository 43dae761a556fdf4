"""Convert an audit into rows of the result tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...reports.tables import NO_PLACE, TableTarget, run_row
from .command import Audited
from .results import results_of_findings


def append(target: TableTarget, audited: Audited, seconds: float) -> None:
    """Add an audit of `seconds` to the tables. Raises InputError."""
    totals = audited.outcome.totals
    run = run_row(
        "audit", audited.profile, seconds, audited.exit_code, stopped=audited.outcome.stopped, stores=len(totals),
        records=sum(store.records for store in totals), bytes=sum(store.bytes for store in totals),
    )  # fmt: skip
    target.append(run, {"findings": _findings(audited), "metrics": _metrics(audited)})


def _findings(audited: Audited) -> Iterator[dict[str, Any]]:
    for finding, result in results_of_findings(audited):
        yield {
            **NO_PLACE, **finding.data(), "rule": finding.property, "labels": list(audited.labels_of(finding.store).items()),
            "profile": result.profile, "outcome": result.outcome, "place": result.about,
        }  # fmt: skip


def _metrics(audited: Audited) -> Iterator[dict[str, Any]]:
    for totals in audited.outcome.totals:
        of_store = {
            "store": totals.store, "labels": list(audited.labels_of(totals.store).items()),
            "profile": audited.profile_of(totals.store), "status": totals.status,
            "problem": totals.failure or next(iter(totals.problems), ""),
            "unknown": audited.outcome.stopped or not totals.is_complete,
            "records": totals.records, "bytes": totals.bytes, "seconds": totals.seconds,
        }  # fmt: skip
        for rule in audited.rules:
            violated = totals.counts.get(rule.id, 0)
            yield {**of_store, "rule": rule.id, "sentence": rule.claim.sentence, "severity": rule.severity, "violated": violated}
