"""Print an audit: each broken rule with its first finding, records by topic, and a closing line."""

from __future__ import annotations

from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.rules import Rule

from ...reports.output import Page, TableRow, counted
from .command import Audited

TOPICS = 10  # number of topics listed, by descending number of records
_STYLE = {"error": "bold red", "warning": "bold yellow", "note": "default"}
_MARK = {"error": "!", "warning": "?", "note": "-"}


def render(audited: Audited) -> None:
    page = Page()
    findings = audited.findings
    for rule in (rule for severity in _STYLE for rule in audited.broken(severity)):
        _print_rule(audited, rule, [finding for finding in findings if finding.property == rule.id], page)
    for problem in audited.problems:
        page.line(f"! not audited: {problem}", "bold red")
    for totals in audited.outcome.totals:
        for left_out in totals.unread:
            page.line(f"- left out of {totals.store}: {left_out}")
    _print_topics(audited, findings, page)
    page.line("\n" + closing(audited), "bold red" if audited.broken("error") or audited.problems else "bold green")


def _print_rule(audited: Audited, rule: Rule, findings: list[AuditFinding], page: Page) -> None:
    count = audited.count(rule.id)
    heading = f"{_MARK[rule.severity]} {rule.id}  {rule.severity}, {counted(count, 'time')}: {rule.claim.sentence}"
    page.line(heading, _STYLE[rule.severity])
    if findings:
        first = findings[0]
        page.line(f"    first in {first.file} at {first.offset:,}{_place(first)}: expected {first.expected}, found {first.found}")
    if len(findings) < count:
        page.line(f"    {len(findings):,} of them are kept as findings")


def _place(finding: AuditFinding) -> str:
    if not finding.topic:
        return ""
    queue = f" queue {finding.queue_id}" if finding.queue_id >= 0 else ""
    offset = f" offset {finding.queue_offset:,}" if finding.queue_offset >= 0 else ""
    return f", {finding.topic}{queue}{offset}"


def _print_topics(audited: Audited, all_findings: list[AuditFinding], page: Page) -> None:
    for totals in audited.outcome.totals:
        most = sorted(totals.topics.items(), key=lambda item: (-item[1], item[0]))
        if not most:
            continue
        page.line(f"\n{totals.store}: {totals.records:,} records of {counted(len(most), 'topic')} in {counted(totals.files, 'file')}")
        findings = {
            name: sum(finding.topic == name and finding.store == totals.store for finding in all_findings) for name, _ in most[:TOPICS]
        }
        rows = [(name, f"{count:,} records", counted(findings[name], "finding") if findings[name] else "") for name, count in most[:TOPICS]]
        page.table(map(TableRow, rows), right=(1, 2), indent=4)
        if len(most) > TOPICS:
            page.line(f"    and {len(most) - TOPICS:,} more (summary.json of --out has all)")


def closing(audited: Audited) -> str:
    """Return one line: how much was read, and how many rules are broken."""
    totals = audited.outcome.totals
    size, records = sum(store.bytes for store in totals), sum(store.records for store in totals)
    broken = [f"{len(audited.broken(severity))} by {severity}s" for severity in _STYLE if audited.broken(severity)]
    verdict = f"{len(audited.rules)} rules, " + (f"broken: {', '.join(broken)}" if broken else "none broken")
    stopped = f"; stopped by Ctrl-C after {audited.outcome.done:,} of {audited.outcome.size:,} bytes, the same command goes on"
    return f"{records:,} records, {size:,} bytes: {verdict}{stopped if audited.outcome.stopped else ''}"
