"""Follow stores: print findings as they come until Ctrl-C, and keep what was judged in a checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocketproof_model import interrupts
from rocketproof_traces.audit.checkpoint import Checkpoint
from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.following import LogFollower, Round, followed_rules
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.rules import Rule
from rocketproof_traces.common.pools import WorkerPool

from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from ...reports.output import Page, counted
from .show import MARK, SOME, STYLE, where_and_what
from .thresholds import Thresholds


@dataclass
class FollowedOutcome:
    """What following has judged since the checkpoint was made, and what could not be read."""

    judged: tuple[Rule, ...]
    left_out: tuple[Rule, ...]
    thresholds: Thresholds
    findings: list[AuditFinding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    records: int = 0
    bytes: int = 0
    missing: int = 0
    problems: Mapping[str, str] = field(default_factory=dict)
    unfinished: Mapping[str, int] = field(default_factory=dict)
    stopped: bool = False

    @property
    def failing(self) -> list[Rule]:
        return [rule for rule in self.judged if self.thresholds.fails(rule, self.counts[rule.id])]

    @property
    def exit_code(self) -> int:
        """Return 2 if a store cannot be followed, 1 for findings, 3 if records were deleted unread or none was judged, otherwise 0."""
        return exit_code(findings=self.failing, undecided=bool(self.missing) or not self.records, unreadable=bool(self.problems))


def description(items: Sequence[str]) -> str:
    """Describe the ranges of a round for Spark's page."""
    return f"{counted(len(items), 'range')} of growing logs"


def follow(
    stores: Sequence[str],
    plan: AuditPlan,
    profile: str,
    folder: Path,
    spread: WorkerPool,
    thresholds: Thresholds,
    *,
    once: bool,
    interval: float,
) -> FollowedOutcome:
    """Judge what the stores have and gain, until Ctrl-C or, with `once`, until everything is judged. Raises TraceError."""
    if not followed_rules(plan)[0]:
        raise InputError(f"--follow with --property {plan.only[0]}: its rules need the whole store; audit it without --follow")
    given = [list(each) for each in plan.settings]
    settings = {"profile": profile, "property": list(plan.only), "setting": given, "file of rules": plan.own.text}
    page = Page()
    with Checkpoint(folder, settings) as checkpoint:
        follower = LogFollower(plan, stores, checkpoint)
        page.wrapped(_introduction(follower, once=once))
        outcome = FollowedOutcome(follower.judged, follower.left_out, thresholds)
        try:
            while True:
                done = follower.round(spread)
                if not checkpoint.stores and len(done.problems) == len(stores):
                    raise InputError(next(iter(done.problems.values())))
                _print_round(done, outcome.problems, page)
                outcome.problems = {**{store: str(error) for store, error in follower.lost.items()}, **done.problems}
                if done.more:
                    continue
                if once:
                    break
                interrupts.pause(interval)
        except KeyboardInterrupt:
            interrupts.heard()
            outcome.stopped = True
        interrupts.decide()
        outcome.unfinished = follower.unfinished
        outcome.findings = checkpoint.findings()
        for store in stores:
            if store in checkpoint.stores:
                followed = checkpoint.stores[store]
                outcome.counts.update(followed.counts)
                outcome.records += followed.records
                outcome.bytes += followed.bytes
                outcome.missing += sum(end - first for first, end in followed.missing)
    return outcome


def _introduction(follower: LogFollower, *, once: bool) -> str:
    judged, left_out = len(follower.judged), len(follower.left_out)
    need = counted(left_out, "rule needs the whole store and is", "rules need the whole store and are")
    rest = f"; {need} not judged while following" if left_out else ""
    return f"{counted(judged, 'rule judges', 'rules judge')} each new record{rest}" + ("" if once else "; Ctrl-C stops")


def _print_round(done: Round, known: Mapping[str, str], page: Page) -> None:
    """Print up to SOME findings of each rule, what was deleted, and problems that are new."""
    shown: Counter[str] = Counter()
    for finding in done.findings:
        shown[finding.property] += 1
        if shown[finding.property] <= SOME:
            page.line(f"{MARK[finding.severity]} {finding.property}  {finding.severity}: {finding.reason}", STYLE[finding.severity])
            page.line(f"    {where_and_what(finding)}")
    for id_, number in shown.items():
        if number > SOME:
            page.line(f"    and {number - SOME:,} more of {id_} (the checkpoint has all)")
    for store, (first, end) in done.missing.items():
        page.line(f"? {store}: offsets {first:,} to {end:,} were deleted before they were read: not judged", "bold yellow")
    for store, problem in done.problems.items():
        if known.get(store) != problem:
            page.line(f"! not followed: {problem}", "bold red")


def render(outcome: FollowedOutcome) -> None:
    """Print the broken rules with their numbers, what was not judged, and a closing line."""
    page = Page()
    for store, offset in list(outcome.unfinished.items())[:SOME]:
        page.line(f"- {store}: the bytes after offset {offset:,} are no complete record yet: not judged")
    broken = [rule for rule in outcome.judged if outcome.counts[rule.id]]
    for rule in broken:
        page.line(f"{MARK[rule.severity]} {rule.id}  {rule.severity}, {counted(outcome.counts[rule.id], 'time')}", STYLE[rule.severity])
    verdict = f"{counted(len(outcome.judged), 'rule')}, {f'{len(broken)} broken' if broken else 'none broken'}"
    parts = [f"{outcome.records:,} records, {outcome.bytes:,} bytes: {verdict}"]
    if outcome.left_out:
        parts.append(f"{counted(len(outcome.left_out), 'rule')} not judged while following")
    if outcome.missing:
        parts.append(f"{outcome.missing:,} bytes deleted unread")
    if outcome.stopped:
        parts.append("stopped by Ctrl-C, the same command goes on")
    is_red = bool(outcome.failing or outcome.problems)
    page.wrapped("; ".join(parts), "bold red" if is_red else "bold yellow" if outcome.missing else "bold green")
