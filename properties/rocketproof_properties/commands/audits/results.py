"""An audit as a run that reports are written from: a result for each rule that holds, and one for each finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rocketproof_traces.audit.findings import COLUMNS, AuditFinding
from rocketproof_traces.audit.rules import Rule

from ...catalogue.stored import stored_rules
from ...reports.exitcode import exit_code
from ...reports.results import Result, Run, SourcePlace, begun, lines, tool
from .command import Audited


def run(audited: Audited, seconds: float) -> Run:
    """The rules and findings of all stores; `seconds` is how long it took."""
    totals = audited.outcome.totals
    notes = [f"left out of {each.store}: {text}" for each in totals for text in each.unread]
    for rule in audited.rules:
        kept, count = sum(found.property == rule.id for found in audited.findings), audited.count(rule.id)
        if kept < count:
            notes.append(f"{rule.id}: {kept:,} of {count:,} rows that break it are kept as findings")
    return Run(
        "audit",
        ", ".join(each.store for each in totals),
        tuple(_results(audited)),
        audited.exit_code,
        audited.profile,
        begun(seconds),
        seconds,
        tool(),
        tuple(notes),
        "Ctrl-C" if audited.outcome.stopped else "",
    )


def _results(audited: Audited) -> Iterator[Result]:
    rules = {rule.id: rule for rule in audited.rules}
    for found in audited.findings:
        yield _finding(found, rules, audited.profile)
    for problem in audited.problems:
        yield Result(
            "audit", "the whole store can be read", "error", "not audited", profile=audited.profile, about=problem, message=problem
        )
    broken = {found.property for found in audited.findings}
    for id_, rule in rules.items():
        if id_ not in broken:
            yield Result(id_, rule.claim.sentence, "undecided" if audited.outcome.stopped else "ok", "holds", "holds", audited.profile)


def _finding(found: AuditFinding, rules: Mapping[str, Rule], profile: str) -> Result:
    """A finding; a note is no problem, as the exit code is not of one either."""
    rule = rules.get(found.property)
    file = found.file if found.file.startswith(found.store) else f"{found.store.rstrip('/')}/{found.file}"
    queue = f" queue {found.queue_id}" if found.queue_id >= 0 else ""
    offset = f" offset {found.queue_offset:,}" if found.queue_offset >= 0 else ""
    return Result(
        found.property,
        rule.claim.sentence if rule is not None else found.reason,
        "ok" if found.severity == "note" else "differs",
        "violated",
        "holds",
        profile,
        about=f"{found.store}, {found.file} at {found.offset}",
        message=f"{'a note: ' if found.severity == 'note' else ''}expected {found.expected}, found {found.found}",
        details=lines([f"topic {found.topic}{queue}{offset}" if found.topic else "", f"bytes there: {found.hex}" if found.hex else ""]),
        place=SourcePlace(file, offset=found.offset),
        properties={"severity": found.severity, "topic": found.topic},
    )


def read(data: Any) -> Run | None:
    """The run of which `audit --json` wrote this, None if it is none: findings alone, the rules that hold are not in it."""
    if not isinstance(data, list) or not data or not all(isinstance(row, dict) and set(COLUMNS.values()) == row.keys() for row in data):
        return None
    rules = {rule.id: rule for rule in stored_rules()}
    found = tuple(_finding(AuditFinding.of(row), rules, "") for row in data)
    stores = ", ".join(dict.fromkeys(row["store"] for row in data))
    code = exit_code(findings=any(one.outcome != "ok" for one in found), undecided=False)
    return Run("audit", stores, found, code, whole=False)
