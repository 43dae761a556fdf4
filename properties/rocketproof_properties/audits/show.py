"""An audit for people: each broken rule with its first finding, records by topic, and a closing line."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from rocketproof_traces.audit.findings import Finding
from rocketproof_traces.audit.rules import Rule

from .command import Audited

Say = Callable[..., None]
TOPICS = 10  # that are listed, those with the most records
_STYLE = {"error": "bold red", "warning": "bold yellow", "note": "default"}
_MARK = {"error": "!", "warning": "?", "note": "-"}


def render(audited: Audited, console: Console | None = None) -> None:
    console = console or Console(highlight=False, soft_wrap=True)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    found = audited.findings
    for rule in (rule for severity in _STYLE for rule in audited.broken(severity)):
        _rule(audited, rule, [each for each in found if each.property == rule.id], say)
    for problem in audited.problems:
        say(f"! not audited: {problem}", "bold red")
    for totals in audited.outcome.totals:
        for left_out in totals.unread:
            say(f"- left out of {totals.store}: {left_out}")
    _topics(audited, found, say)
    say("\n" + closing(audited), "bold red" if audited.broken("error") or audited.problems else "bold green")


def _rule(audited: Audited, rule: Rule, found: list[Finding], say: Say) -> None:
    count = audited.count(rule.id)
    times = f"{count:,} time{'s' * (count != 1)}"
    say(f"{_MARK[rule.severity]} {rule.id}  {rule.severity}, {times}: {rule.claim.sentence}", _STYLE[rule.severity])
    if found:
        first = found[0]
        say(f"    first in {first.file} at {first.offset:,}{_place(first)}: expected {first.expected}, found {first.found}")
    if len(found) < count:
        say(f"    {len(found):,} of them are kept as findings")


def _place(found: Finding) -> str:
    if not found.topic:
        return ""
    queue = f" queue {found.queue_id}" if found.queue_id >= 0 else ""
    offset = f" offset {found.queue_offset:,}" if found.queue_offset >= 0 else ""
    return f", {found.topic}{queue}{offset}"


def _topics(audited: Audited, found: list[Finding], say: Say) -> None:
    for totals in audited.outcome.totals:
        most = sorted(totals.topics.items(), key=lambda item: (-item[1], item[0]))
        if not most:
            continue
        say(f"\n{totals.store}: {totals.records:,} records of {len(most):,} topics in {totals.files} file{'s' * (totals.files != 1)}")
        width = max(len(name) for name, _ in most[:TOPICS])
        for name, count in most[:TOPICS]:
            findings = sum(each.topic == name and each.store == totals.store for each in found)
            told = f"  {findings:,} finding{'s' * (findings != 1)}" if findings else ""
            say(f"    {name.ljust(width)}  {count:>12,} records{told}")
        if len(most) > TOPICS:
            say(f"    and {len(most) - TOPICS:,} more (summary.json of --out has all)")


def closing(audited: Audited) -> str:
    """One line: what was read, and how many rules are broken."""
    totals = audited.outcome.totals
    size, records = sum(each.bytes for each in totals), sum(each.records for each in totals)
    broken = [f"{len(audited.broken(severity))} by {severity}s" for severity in _STYLE if audited.broken(severity)]
    said = f"{len(audited.rules)} rules, " + (f"broken: {', '.join(broken)}" if broken else "none broken")
    stopped = f"; stopped by Ctrl-C after {audited.outcome.done:,} of {audited.outcome.size:,} bytes, the same command goes on"
    return f"{records:,} records, {size:,} bytes: {said}{stopped if audited.outcome.stopped else ''}"
