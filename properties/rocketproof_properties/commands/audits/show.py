"""Print an audit: each broken rule with its first finding, records by topic, and a closing line."""

from __future__ import annotations

from collections import Counter

from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.merge import AuditTotals
from rocketproof_traces.audit.rules import Rule

from ...reports.output import Page, TableRow, counted
from .command import Audited
from .thresholds import BY_DEFAULT

LINES = 40  # at most, with the sentence about the engine
RULES = 8  # number of rules printed, with two lines each
SOME = 3  # number of lines about what was not audited, and about what was left out
TOPICS = 8  # number of topics listed, by descending number of records, and of stores
STYLE = {"error": "bold red", "warning": "bold yellow", "note": "default"}
MARK = {"error": "!", "warning": "?", "note": "-"}


def render(audited: Audited) -> None:
    """Print at most LINES lines: the broken rules, what was not read, the stores or topics, and a closing line."""
    page = Page()
    findings = audited.findings
    broken = [rule for severity in STYLE for rule in audited.broken(severity)]
    for rule in broken[:RULES]:
        _print_rule(audited, rule, [finding for finding in findings if finding.property == rule.id], page)
    if len(broken) > RULES:
        more = ", ".join(rule.id for rule in broken[RULES:])
        page.line(f"and {counted(len(broken) - RULES, 'more rule')} (summary.json of --out has all): {more}")
    _print_some([f"! not audited: {problem}" for problem in audited.problems], page, "bold red")
    left_out: dict[str, list[str]] = {}
    for totals in audited.outcome.totals:
        for text in totals.unread:
            left_out.setdefault(text, []).append(totals.store)
    _print_some([f"- left out of {_named(stores)}: {text}" for text, stores in left_out.items()], page)
    if len(audited.outcome.totals) > 1:
        _print_stores(audited, page)
    else:
        _print_topics(audited, findings, page)
    page.line("\n" + closing(audited), "bold red" if _is_red(audited) else "bold green")


def _is_red(audited: Audited) -> bool:
    return bool(audited.problems or any(rule.severity == "error" or audited.thresholds != BY_DEFAULT for rule in audited.failing))


def _named(stores: list[str]) -> str:
    return stores[0] if len(stores) == 1 else f"{len(stores):,} stores, first {stores[0]}"


def _print_some(lines: list[str], page: Page, style: str = "") -> None:
    for line in lines[:SOME]:
        page.line(line, style)
    if len(lines) > SOME:
        page.line(f"  and {len(lines) - SOME:,} more (summary.json of --out has all)", style)


def _print_stores(audited: Audited, page: Page) -> None:
    """Print a row for each of the stores with the most errors, then warnings, then problems."""
    severity_of = {rule.id: rule.severity for rule in audited.rules}

    def counts(totals: AuditTotals) -> dict[str, int]:
        numbers = dict.fromkeys(STYLE, 0)
        for id_, count in totals.counts.items():
            numbers[severity_of[id_]] += count
        return numbers

    stores = [(totals, counts(totals)) for totals in audited.outcome.totals]
    stores.sort(key=lambda item: (-item[1]["error"], not item[0].failure, -item[1]["warning"], -len(item[0].problems), item[0].store))
    status = Counter(totals.status for totals, _ in stores)
    page.line(f"\n{counted(len(stores), 'store')}: " + ", ".join(f"{number:,} {name}" for name, number in sorted(status.items())))
    rows = [
        (totals.store, totals.status, *(counted(numbers[name], name) if numbers[name] else "" for name in ("error", "warning")),
         f"{totals.records:,} records")
        for totals, numbers in stores[:TOPICS]
    ]  # fmt: skip
    page.table(map(TableRow, rows), right=(2, 3, 4), indent=4)
    if len(stores) > TOPICS:
        page.line(f"    and {len(stores) - TOPICS:,} more (summary.json of --out has all)")


def _print_rule(audited: Audited, rule: Rule, findings: list[AuditFinding], page: Page) -> None:
    count = audited.count(rule.id)
    stores = sum(rule.id in totals.counts for totals in audited.outcome.totals)
    where = f" in {stores:,} of {len(audited.outcome.totals):,} stores" if len(audited.outcome.totals) > 1 else ""
    heading = f"{MARK[rule.severity]} {rule.id}  {rule.severity}, {counted(count, 'time')}{where}: {rule.claim.sentence}"
    page.line(heading, STYLE[rule.severity])
    if findings:
        first, kept = findings[0], f" ({len(findings):,} are kept as findings)" if len(findings) < count else ""
        page.line(f"    first in {where_and_what(first)}{kept}")


def where_and_what(finding: AuditFinding) -> str:
    """Return the place of a finding, and its expected and found value."""
    return f"{finding.file} at {finding.offset:,}{_place(finding)}: expected {finding.expected}, found {finding.found}"


def _place(finding: AuditFinding) -> str:
    """Return the topic, queue and offset of a finding, with a leading comma; empty without a topic."""
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
    broken = [f"{len(audited.broken(severity))} by {severity}s" for severity in STYLE if audited.broken(severity)]
    verdict = f"{counted(len(audited.rules), 'rule')}, " + (f"broken: {', '.join(broken)}" if broken else "none broken")
    rest = "the same command goes on" if audited.resumable else "with --out the same command would go on"
    stopped = f"; stopped by Ctrl-C after {audited.outcome.done:,} of {audited.outcome.size:,} bytes, {rest}"
    return f"{records:,} records, {size:,} bytes: {verdict}{_by_thresholds(audited)}{stopped if audited.outcome.stopped else ''}"


def _by_thresholds(audited: Audited) -> str:
    """Return which rules fail the audit, if thresholds were given and a rule is broken."""
    if audited.thresholds == BY_DEFAULT or not audited.broken("error", "warning"):
        return ""
    failing = audited.failing
    return f"; beyond the thresholds: {', '.join(rule.id for rule in failing)}" if failing else "; within the thresholds"
