"""Convert a campaign into rows of the result tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...conformance.stateful.follow import ALLOWED
from ...reports.recurring import SPECIFICATION
from ...reports.tables import NO_PLACE, TableTarget, run_row
from ..checks.plan import CheckTask
from .run import CampaignResult, parts
from .shard import CampaignPart
from .totals import CampaignFinding, PartTotals


def append(target: TableTarget, done: CampaignResult, tasks: Sequence[CheckTask], profile: str) -> None:
    """Add a campaign of these tasks to the tables. Raises InputError."""
    run = run_row("campaign", profile, done.seconds, done.exit_code, stopped=bool(done.stopped), programs=done.totals.programs)
    target.append(run, {"findings": _findings(done.findings), "metrics": _metrics(done, tasks)})


def _findings(findings: list[CampaignFinding]) -> Iterator[dict[str, object]]:
    for finding in findings:
        expected = finding.is_expected()
        yield {
            **NO_PLACE, "store": finding.part, "profile": finding.profile, "rule": finding.property or SPECIFICATION,
            "severity": "note" if expected else "error", "outcome": "ok" if expected else "differs",
            "place": f"{finding.condition or finding.part}: {' ; '.join(finding.steps)}", "file": finding.file,
            "expected": finding.expected or "a step of the specification", "found": finding.text, "reason": finding.sentence,
        }  # fmt: skip


def _metrics(done: CampaignResult, tasks: Sequence[CheckTask]) -> Iterator[dict[str, Any]]:
    """Yield a row for each part and property; the specification is one of the properties."""
    made = parts(tasks)
    planned = done.of // len(made)  # every part has the same number of shards
    of_source: dict[Any, dict[str, list[CheckTask]]] = {}
    for task in tasks:
        of_source.setdefault(task.source, {}).setdefault(task.property, []).append(task)
    for part in made:
        totals = done.totals.parts.get(part.name, PartTotals())
        missing = totals.shards < planned
        of_part = {
            "store": part.name, "labels": [], "profile": part.source.profile,
            "status": "partly run" if missing and totals.shards else "not run" if missing else "run",
            "problem": f"stopped by {done.stopped}" if missing else "", "records": totals.programs, "bytes": 0, "seconds": 0.0,
        }  # fmt: skip
        yield {
            **of_part, "rule": SPECIFICATION, "sentence": ALLOWED, "severity": "error", "violated": totals.departed, "unknown": missing,
        }  # fmt: skip
        for rule, same in of_source[part.source].items():
            yield {**of_part, "rule": rule, **_metric(done, part, list(dict.fromkeys(same)), missing=missing)}


def _metric(done: CampaignResult, part: CampaignPart, tasks: Sequence[CheckTask], *, missing: bool) -> dict[str, Any]:
    """Return a property's columns. A state that is to be reached is never violated: unknown if no program reached it."""
    shards = {task: done.totals.shown.get((part.name, task.claim), (None, 0))[1] for task in tasks}
    refutable = [task for task in tasks if task.kind != "reachable"]
    unreached = any(not shards[task] for task in tasks if task.kind == "reachable")
    return {
        "sentence": tasks[0].sentence,
        "severity": "error" if any(task.expected != "violated" for task in refutable) else "note",
        "violated": sum(shards[task] for task in refutable),
        "unknown": unreached or (missing and bool(refutable)),
    }
