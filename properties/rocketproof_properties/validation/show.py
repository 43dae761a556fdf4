"""What a validation or a self-test prints: verdicts that are not as expected, known violations, findings, what was lost."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..deployments.deployment import Target
from ..deployments.selftest import Checked
from ..witnesses.known import Performed
from .crashtests import CrashTests
from .report import ClaimRow, ValidationFinding, ValidationReport

_SHOWN = 10  # sentences of one kind


def render(report: ValidationReport, folder: Path, console: Console | None = None) -> None:
    """Print it."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    for line in _lines(report, folder, width):
        console.print(line, soft_wrap=True)


def render_self_test(target: Target, checked: Iterable[Checked], console: Console | None = None) -> list[Checked]:
    """Print what is tried of a target as it is tried, then what it does not offer; what was tried."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    found = []
    for one in checked:
        found.append(one)
        said = f"{'works' if one.works else 'FAILS':<6} {one.what} ({one.seconds:.1f} s)"
        console.print(Text(said, "" if one.works else "bold red"), soft_wrap=True)
        if one.problem:
            console.print(_folded(one.problem, width, 7), soft_wrap=True)
    lost = {capability.value: said for capability, said in target.lost.items()}
    for line in (*_lost(lost, width), Text(f"\n{_closing_self_test(target.name, found)}", "bold")):
        console.print(line, soft_wrap=True)
    return found


def render_performed(done: Performed, console: Console | None = None) -> None:
    """Print what was done and answered when a witness was performed on a target, and whether that is what the witness says."""
    console = console or Console(highlight=False)
    claim = done.course.property
    for said in done.said:
        console.print(Text(said), soft_wrap=True)
    if done.problem:
        console.print(Text(f"{done.target} does otherwise: {done.problem}", "bold red"), soft_wrap=True)
    else:
        console.print(Text(f"{done.target} follows the witness of {claim.id}: {claim.sentence}", "bold"), soft_wrap=True)


def _closing_self_test(name: str, found: Sequence[Checked]) -> str:
    bad = [one.what for one in found if not one.works]
    if not bad:
        return f"{name}: all that it offers works, {len(found)} things tried"
    return f"{name}: {len(bad)} of {len(found)} things tried do not work: {', '.join(bad)}; fix the target's adapter before validating"


def _lost(lost: Mapping[str, str], width: int) -> Iterable[Text]:
    if lost:
        yield Text("\nWhat this target does not offer, and what is lost by it:")
    for name, said in lost.items():
        yield _folded(f"{name}: {said}", width, 4)


def _lines(report: ValidationReport, folder: Path, width: int) -> Iterable[Text]:
    rows = report.rows
    held = [row for row in rows if row.expected == "holds" and row.agrees]
    yield Text(f"{len(held)} properties hold in all programs that could show otherwise", "green" if held else "")
    known = [row for row in rows if row.expected == "violated" and row.broken]
    if known:
        yield Text(f"\nKnown violations, expected under {report.profile} and shown by these programs:")
        for row in known:
            yield _folded(f"{row.id:<16} {row.condition}: {row.broken} of {row.tried} programs", width, 4)
    if report.vanished:
        yield Text("\nKnown violations that were not shown:", "bold red")
        for row in report.vanished:
            yield _folded(
                f"{row.id:<16} {row.condition}: expected under {report.profile}, and {row.tried} programs did not show it", width, 4
            )
    yield from _witnesses(report, width)
    if report.kills is not None:
        yield from _kills(report.kills, width)
    accepted = [one for one in report.findings if one.accepted is not None]
    if accepted:
        yield Text("\nAccepted:")
        for one in accepted:
            yield _folded(f"{one.verdict.property}: {one.accepted.reason if one.accepted else ''}", width, 4)
    for number, one in enumerate(report.findings, 1):
        if one.accepted is None:
            yield from _finding(number, one, folder, width)
    yield from _unknown(rows)
    for said in (said for one in report.shared for said in one.unknown):
        yield _folded(f"not judged to the end: {said}", width, 0)
    yield from _lost(report.lost, width)
    if report.target.get("note"):
        yield Text(f"\n{report.target['note']}", "yellow")
    for said in report.notes:
        yield Text(said, "yellow")
    if report.stopped:
        yield Text(f"stopped: {report.stopped}", "bold yellow")
    yield Text(f"\n{_closing(report)}", "bold")
    yield Text(f"report: {folder}/report.json; judge it again: rocketproof validate --again {shlex.quote(str(folder))}", "dim")


def _witnesses(report: ValidationReport, width: int) -> Iterable[Text]:
    if report.witnesses:
        yield Text("\nKnown violations whose witnesses in the model were replayed:")
    for one in report.witnesses:
        word, style = {True: ("reproduced", ""), False: ("not reproduced", "bold red"), None: ("not replayed", "")}[one.reproduced]
        line = _folded(f"{one.hazard} {one.property:<14} {one.condition}: {word}", width, 4)
        line.stylize(style)
        yield line
        if not one.reproduced and one.said:
            yield _folded(one.said[-1], width, 8)


def _kills(kills: CrashTests, width: int) -> Iterable[Text]:
    count = len(kills.findings)
    said = f"{kills.acknowledged:,} messages acknowledged, {count} finding{'' if count == 1 else 's'}"
    yield Text(f"\nA broker was killed {kills.kills} times under load: {said}", "bold red" if count else "")
    for sentence in kills.findings[:_SHOWN]:
        yield _folded(sentence, width, 4)
    if count > _SHOWN:
        yield _folded(f"and {count - _SHOWN} more in the report", width, 4)


def _finding(number: int, one: ValidationFinding, folder: Path, width: int) -> Iterable[Text]:
    times = "" if one.count == 1 else f" in {one.count} programs"
    repeated = f", again {one.again} of {one.repeats} times" if one.repeats else ""
    yield Text(f"\n! finding {number}: {one.verdict.property} by the {_by(one)}{times}{repeated}", "bold red")
    yield _folded(one.verdict.text, width, 4)
    if one.verdict.guard:
        yield _folded(f"the guard that refuses: {one.verdict.guard}", width, 4)
    if not one.program.steps:
        yield Text(f"    {one.program.source}, seen in {one.history}")
        return
    yield Text("    the shortest program that shows it:")
    for name, args in one.program.steps:
        shown = ", ".join(f"{key}={value!r}" for key, value in args.items())
        yield Text("      " + textwrap.shorten(f"{name}({shown})", width - 6, placeholder="…"), "dim")
    if one.program.needs:
        yield Text(f"    on a broker with {one.program.needs}")
    yield Text(f"    python {shlex.quote(str(folder / one.file))} BROKER", "dim")


def _by(one: ValidationFinding) -> str:
    return {"claims": "catalogue's claims", "reference": "reference implementation"}.get(one.verdict.judge, one.verdict.judge)


def _unknown(rows: Iterable[ClaimRow]) -> Iterable[Text]:
    few = [row for row in rows if row.agrees is None and row.condition]
    if few:
        said = "1 known violation was" if len(few) == 1 else f"{len(few)} known violations were"
        yield Text(f"\n{said} tried too seldom to be missed: {', '.join(row.id for row in few)}")


def _closing(report: ValidationReport) -> str:
    requests = sum(one.requests for one in report.judged)
    findings = len(report.open) + len(report.vanished) + len(report.not_reproduced) + len(report.after_kills)
    name, version = report.target.get("name", ""), report.target.get("version") or ""
    said = f"{findings} finding{'' if findings == 1 else 's'}" if findings else "no finding"
    where = f"{name} {version}".strip() if version not in str(name) else str(name)
    return f"{where} under {report.profile}: {len(report.judged)} programs, {requests:,} requests, {said}, {report.seconds:.1f} s"


def _folded(text: str, width: int, indent: int) -> Text:
    lead = " " * indent
    lines = textwrap.wrap(" ".join(text.split()), width, initial_indent=lead, subsequent_indent=lead + "  ", break_long_words=False)
    return Text("\n".join(lines))
