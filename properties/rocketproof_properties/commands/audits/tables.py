"""Convert an audit into rows of the result tables."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ...reports import tables
from ...reports.results import tool
from .command import Audited


def append(folder: Path, audited: Audited, seconds: float) -> None:
    """Add an audit of `seconds` to the tables in a folder. Raises InputError."""
    time = datetime.now(UTC) - timedelta(seconds=seconds)
    run_id = f"{time:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    run = {"runId": run_id, "time": time}
    totals = audited.outcome.totals
    row = {
        **run, "command": "audit", "profile": audited.profile, "version": tool(), "stores": len(totals),
        "records": sum(store.records for store in totals), "bytes": sum(store.bytes for store in totals),
        "seconds": seconds, "exitCode": audited.exit_code, "stopped": audited.outcome.stopped,
    }  # fmt: skip
    findings = [
        {**run, **finding.data(), "rule": finding.property, "labels": list(audited.labels_of(finding.store).items())}
        for finding in audited.findings
    ]
    tables.append(folder, run_id, {"runs": [row], "findings": findings, "metrics": _metrics(run, audited)})


def _metrics(run: dict[str, Any], audited: Audited) -> Iterator[dict[str, Any]]:
    for totals in audited.outcome.totals:
        of_store = {
            **run, "store": totals.store, "labels": list(audited.labels_of(totals.store).items()),
            "profile": audited.profile_of(totals.store), "status": totals.status,
            "problem": totals.failure or next(iter(totals.problems), ""),
            "unknown": audited.outcome.stopped or not totals.is_complete,
            "records": totals.records, "bytes": totals.bytes, "seconds": totals.seconds,
        }  # fmt: skip
        for rule in audited.rules:
            yield {**of_store, "rule": rule.id, "severity": rule.severity, "violated": totals.counts.get(rule.id, 0)}
