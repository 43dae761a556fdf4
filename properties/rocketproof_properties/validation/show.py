"""Print the results of a validation or a self-test: unexpected verdicts, known violations, findings, and missing capabilities."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rocketproof_model import interrupts
from rocketproof_protocol.numbers import whole_number

from ..brokers.deployment import ValidationTarget
from ..brokers.selftest import Checked
from ..conformance.witnesses.known import Performed
from ..judging.specification import EXPANDED
from ..judging.statistics import ProgramStatistics
from ..programs.boundaries import BOUNDARIES, SIDES
from ..reports.estimates import unseen_text
from ..reports.output import Page, TableRow, counted
from .causes import by_cause
from .cover import CoverageReport, share
from .faults.found import FaultTests
from .levels import MANNERS, described
from .report import UNSERVED, ClaimRow, ValidationFinding, ValidationReport
from .results import STRUCK
from .text import WIDTH, text_of
from .undecided import MORE_STATES, REPEAT

_SHOWN = 10  # maximum number of sentences of one kind
_FEW = 4  # maximum number of actions that are not covered
_HAZARD = re.compile(r"HAZ-[0-9]+")


def render_self_test(target: ValidationTarget, checked: Iterable[Checked]) -> tuple[list[Checked], bool]:
    """Print each trial of a target when it ends, then the capabilities that the target lacks.

    Return the trials, and whether an interrupt skipped the rest.
    """
    page = Page()
    trials, stopped = interrupts.gathered(_printed(checked, page))
    interrupts.decide()
    _print_lost({capability.value: loss for capability, loss in target.lost.items()}, page)
    rest = "; stopped by Ctrl-C before the rest" if stopped else ""
    page.line(f"\n{_closing_self_test(target.name, trials, stopped=stopped)}{rest}", "bold")
    return trials, stopped


def _printed(checked: Iterable[Checked], page: Page) -> Iterator[Checked]:
    for trial in checked:
        page.line(f"{'works' if trial.works else 'FAILS':<6} {trial.what} ({trial.seconds:.1f} s)", "" if trial.works else "bold red")
        if trial.problem:
            _folded(trial.problem, page, 7)
        yield trial


def render_performed(done: Performed) -> None:
    """Print the steps and responses of a witness on a target, and whether the target followed the witness."""
    page = Page()
    claim = done.course.property
    for line in done.said:
        page.line(line)
    if done.lost:
        page.line(f"{done.target} could not be judged: {done.problem}", "bold yellow")
    elif done.problem:
        page.line(f"{done.target} does otherwise: {done.problem}", "bold red")
    else:
        page.line(f"{done.target} follows the witness of {claim.id}: {claim.sentence}", "bold")


def _closing_self_test(name: str, trials: Sequence[Checked], *, stopped: bool) -> str:
    bad = [trial.what for trial in trials if not trial.works]
    if not bad:
        return f"{name}: all that {'was tried' if stopped else 'it offers'} works, {len(trials)} things tried"
    return f"{name}: {len(bad)} of {len(trials)} things tried do not work: {', '.join(bad)}; fix the target's adapter before validating"


def _print_lost(lost: Mapping[str, str], page: Page) -> None:
    if lost:
        page.line("\nWhat this target does not offer, and what is lost by it:")
    for name, loss in lost.items():
        _folded(f"{name}: {loss}", page)


def render(report: ValidationReport, folder: Path) -> None:
    """Print unexpected verdicts, known violations, findings, and missing capabilities."""
    page = Page()
    rows = report.rows
    held = [row for row in rows if row.expected == "holds" and row.agrees]
    page.line(f"{len(held)} properties hold in all programs that could show otherwise", "green" if held else "")
    known = [row for row in rows if row.expected == "violated" and row.broken]
    if known:
        page.line(f"\nKnown violations, expected under {report.profile} and shown by these programs:")
        page.table((TableRow((row.id,), f"{row.condition}: {row.broken} of {row.tried} programs{_hazard(row)}") for row in known), indent=4)
    if report.vanished:
        page.line("\nKnown violations that were not shown:", "bold red")
        missed = f"expected under {report.profile}, and {{}} programs did not show it".format
        page.table((TableRow((row.id,), f"{row.condition}: {missed(row.tried)}") for row in report.vanished), indent=4)
    _print_witnesses(report, page)
    for faults in report.faults:
        _print_faults(faults, page)
    accepted = [(finding.verdict.property, finding.accepted.reason) for finding in report.findings if finding.accepted is not None]
    accepted += [(f"{name}, fixed", entry.reason) for name, entry in report.fixed.items()]
    if accepted:
        page.line("\nAccepted:")
    for property_, reason in accepted:
        _folded(f"{property_}: {reason}", page)
    shown_findings = [finding for finding in report.findings if finding.accepted is None]
    _print_unserved([finding for finding in shown_findings if finding.cause == UNSERVED], page)
    _print_findings([finding for finding in shown_findings if finding.cause != UNSERVED], report, folder, page)
    _print_transport(report, page)
    _print_done(report, page)
    _print_coverage(report.coverage, page)
    _print_unknown(rows, page)
    _print_undecided(report, folder, page)
    _print_lost(report.lost, page)
    if report.target.get("note"):
        page.line(f"\n{report.target['note']}", "yellow")
    for text in report.notes:
        page.line(text, "yellow")
    for text in report.over:
        page.line(text, "bold red")
    if report.stopped:
        page.line(f"stopped: {report.stopped}", "bold yellow")
        if report.stopped.startswith("--time"):
            page.line(f"    go on, with more --time: rocketproof validate --resume {shlex.quote(str(folder))}", "dim")
    page.line(f"\n{_closing(report)}", "bold")
    page.line(f"report: {folder}/report.json; judge it again: rocketproof validate --again {shlex.quote(str(folder))}", "dim")


def _print_findings(findings: Sequence[ValidationFinding], report: ValidationReport, folder: Path, page: Page) -> None:
    """Print the findings by level and cause, with their numbers in the report."""
    numbers = {finding.key: number for number, finding in enumerate(report.findings, 1)}
    causes, level = by_cause(findings), None
    for number, group in enumerate(causes, 1):
        if group[0].level != level:
            level = group[0].level
            page.line(f"\nWhat keeps it from {described(level)}:" if level else f"\n{MANNERS.capitalize()}:", "bold")
        page.line()
        page.wrapped(f"cause {number} of {len(causes)}, {counted(len(group), 'finding')}: {group[0].cause}", "bold")
        first_of: dict[str, int] = {}
        for finding in group:
            like = first_of.setdefault(repr(finding.program.steps), numbers[finding.key]) if finding.program.steps else 0
            _print_finding(numbers[finding.key], finding, 0 if like == numbers[finding.key] else like, report, folder, page)


def _print_unserved(findings: Sequence[ValidationFinding], page: Page) -> None:
    if findings:
        page.line("\nRequests that are not served; no program has them:", "bold red")
    page.table((TableRow((finding.verdict.property,), finding.verdict.text) for finding in findings), indent=4)


def _hazard(row: ClaimRow) -> str:
    """Return the hazard's id in the reason of a known violation, if it has one."""
    ids = _HAZARD.findall(row.reason)
    return f" ({', '.join(ids)})" if ids else ""


def _print_witnesses(report: ValidationReport, page: Page) -> None:
    if report.witnesses:
        page.line("\nKnown violations whose witnesses in the model were replayed:")
    for witness in report.witnesses:
        word, style = {True: ("reproduced", ""), False: ("not reproduced", "bold red"), None: ("not replayed", "")}[witness.reproduced]
        if witness.hazard in report.fixed:
            word, style = "not reproduced, accepted as fixed", ""
        _folded(f"{witness.hazard} {witness.property} {witness.condition}: {word}", page, style=style)
        if not witness.reproduced and witness.said:
            _folded(witness.said[-1], page, 8)


def _print_faults(faults: FaultTests, page: Page) -> None:
    count = len(faults.findings)
    summary = f"{faults.acknowledged:,} messages acknowledged, {counted(count, 'finding')}"
    page.line(f"\n{counted(faults.rounds, 'time')} {STRUCK[faults.kind]}: {summary}", "bold red" if count else "")
    for sentence in faults.findings[:_SHOWN]:
        _folded(sentence, page)
    for sentence in faults.unknown[:_SHOWN]:
        _folded(f"not known: {sentence}", page, style="yellow")
    if count > _SHOWN:
        _folded(f"and {count - _SHOWN} more in the report", page)
    known = Counter((violation.claim, violation.reason) for violation in faults.wrong if violation.reason)
    page.table((TableRow((claim,), f"{counted(times, 'time')}, known: {reason}") for (claim, reason), times in known.items()), indent=4)


def _print_finding(number: int, finding: ValidationFinding, like: int, report: ValidationReport, folder: Path, page: Page) -> None:
    """Print a finding with its number. `like`: the number of an earlier finding with the same program, 0 for none."""
    word, style = ("? not reproduced", "bold yellow") if finding.reproduced is False else ("! finding", "bold red")
    text = text_of(finding, report, folder, min(page.width, WIDTH), like)
    page.line()
    page.wrapped(f"{word} {number}: {text.entry.title}", style)
    for line in text.lines({"program": str(folder / finding.file)} if finding.file else {}):
        page.line(line, "bold" if line.startswith("-->") else "")


def _print_transport(report: ValidationReport, page: Page) -> None:
    """Print the faults of the connection, which are not the broker's."""
    transport = report.transport
    if transport.counts:
        counts = ", ".join(f"{kind} {number:,}" for kind, number in transport.counts.items())
        page.line()
        page.wrapped(f"Faults of the connection, which by themselves say nothing of the broker: {counts}", "yellow")
    for text in transport.examples:
        _folded(text, page)
    if transport.undecided:
        page.wrapped(f"could not be judged: {transport.undecided}", "bold yellow")


def _print_undecided(report: ValidationReport, folder: Path, page: Page) -> None:
    """Print what no judge decided, the reason, and the command that may decide it."""
    questions = report.undecided
    if not questions:
        return
    page.line("\nNot decided, and so neither as described nor a finding:", "bold yellow")
    for question in questions[:_SHOWN]:
        _folded(f"{question.what} ({question.history}): {question.reason}", page, style="yellow")
    if len(questions) > _SHOWN:
        _folded(f"and {len(questions) - _SHOWN} more in the report", page)
    remedies = {question.remedy for question in questions}
    if MORE_STATES in remedies:
        states = 10 * whole_number(report.settings.get("states") or EXPANDED.states)
        page.line(f"    decide it with a larger bound: rocketproof validate --again {shlex.quote(str(folder))} --states {states}", "dim")
    if REPEAT in remedies:
        page.line("    validate the target again: what comes again is a finding", "dim")


def _print_done(report: ValidationReport, page: Page) -> None:
    """Print what the programs did, and what they did not."""
    done = report.done
    if not done.answers:
        return
    by_op: dict[str, Counter[str]] = {}
    for (op, code), times in done.answers.items():
        by_op.setdefault(op, Counter())[code] += times
    page.line("\nWhat was done, by operation and answer:")
    by_answer = {op: ", ".join(f"{code} {times:,}" for code, times in codes.most_common()) for op, codes in sorted(by_op.items())}
    page.table((TableRow((op, f"{by_op[op].total():,}"), words) for op, words in by_answer.items()), indent=4)
    sides = [(boundary.name, SIDES[side]) for boundary in BOUNDARIES for side in boundary.sides]
    unmet = [f"{name} ({side})" for name, side in sides if (name, side) not in done.boundaries]
    met = f"{len(sides) - len(unmet)} of {len(sides)} sides of boundaries met"
    _folded(f"{met}, {len(done.pairs)} pairs of operations, {len(done.actions)} actions of the specification", page, 0)
    if unmet:
        more = f" and {len(unmet) - _SHOWN} more" if len(unmet) > _SHOWN else ""
        _folded(f"not met: {', '.join(unmet[:_SHOWN])}{more}", page)
    if done.values:
        _folded(_settings_summary(done), page, 0)
    _folded(unseen_text(done.kinds, "requests and pairs", "request"), page, 0)
    for what, programs in done.never.items():
        _folded(f"promised by {counted(programs, 'program')} and never done: {what}", page, style="yellow")


def _print_coverage(coverage: CoverageReport | None, page: Page) -> None:
    """Print the coverage of each scope, the reasons for the rest, and the actions that the target should have shown."""
    if coverage is None:
        return
    page.line("\nTransitions that requests can cause, and those that the responses show:")
    heads = ("scope", "in scope", "reachable", "covered", "share")
    numbers = {scope: (row.in_scope, row.reachable, row.covered) for scope, row in coverage.scopes.items()} | {"all": coverage.total}
    cells = [(name, f"{all_:,}", f"{able:,}", f"{covered:,}", share(covered, able)) for name, (all_, able, covered) in numbers.items()]
    page.table((TableRow(row, "") for row in cells), heads, right=(1, 2, 3, 4), indent=4)
    reasons: Counter[str] = Counter()
    for row in coverage.scopes.values():
        reasons.update({reason.value: times for reason, times in row.rest.items()})
    page.line("The rest, by reason:")
    page.table((TableRow((f"{times:,}",), reason) for reason, times in reasons.most_common()), right=(0,), indent=4)
    missed = sorted((row for row in coverage.rows if row.missed), key=lambda row: -row.missed)
    for row in missed[:_FEW]:
        _folded(f"{row.scope}, {row.part}: {row.action}: {row.missed:,} of {row.reachable:,} not covered", page, style="bold yellow")
    if len(missed) > _FEW:
        _folded(f"and {len(missed) - _FEW} more actions in the report", page, style="yellow")
    for otherwise, times in [*coverage.otherwise.items()][:_FEW]:
        _folded(f"{otherwise}: {counted(times, 'time')}", page, style="yellow")


def _settings_summary(done: ProgramStatistics) -> str:
    """Return how many programs had non-default settings, and which settings."""
    programs = sum(times for needs, times in done.settings.items() if needs)
    names = sorted({name for name, _ in done.values})
    listed = ", ".join(f"{name} {sum(times for (of, _), times in done.values.items() if of == name)}" for name in names)
    return f"{counted(programs, 'program')} with {counted(len(done.values), 'value')} of {counted(len(names), 'setting')}: {listed}"


def _print_unknown(rows: Iterable[ClaimRow], page: Page) -> None:
    few = [row.id for row in rows if row.agrees is None and row.condition]
    if few:
        were = f"{counted(len(few), 'known violation')} {'was' if len(few) == 1 else 'were'}"
        page.line(f"\n{were} tried too seldom to be missed: {', '.join(few)}")


def _closing(report: ValidationReport) -> str:
    requests = sum(program.requests for program in report.judged)
    findings = len(report.open) + len(report.vanished) + len(report.not_reproduced) + len(report.after_faults) + len(report.over)
    name, version = report.target.get("name", ""), report.target.get("version") or ""
    summary = counted(findings, "finding") if findings else "no finding"
    causes = len(by_cause(report.open))
    summary += f" of {counted(causes, 'cause')}" if causes < len(report.open) else ""
    summary += f", {len(report.not_seen_again)} not reproduced" if report.not_seen_again else ""
    summary += f", {len(report.undecided)} not decided" if report.undecided else ""
    summary += ", could not be judged" if report.transport.undecided else ""
    summary += f", {report.coverage.undecided}" if report.coverage is not None and report.coverage.undecided else ""
    where = f"{name} {version}".strip() if version not in str(name) else str(name)
    return f"{where} under {report.profile}: {len(report.judged)} programs, {requests:,} requests, {summary}, {report.seconds:.1f} s"


def _folded(text: str, page: Page, indent: int = 4, style: str = "") -> None:
    page.wrapped(" ".join(text.split()), style, first=" " * indent, indent=indent + 2)
