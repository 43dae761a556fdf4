"""Print a check: the progress line on stderr, the verdict matrix on stdout.

The matrix states each property's sentence once, followed by one line per verdict, so that it is readable at 80 and at 160 columns. Marks at
the start of a line: `!` differs, `?` undecided.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rich.text import Text

from rocketproof_model.result import BOUND, DISK, INTERRUPTED, MEMORY, MODEL_ERROR, STATES, TIME, Coverage, Progress, Witness
from rocketproof_traces.witness.question import question

from ...reports.estimates import unseen_text
from ...reports.output import Heading, Page, ProgressLine, TableRow, counted
from .matrix import CheckReport
from .rows import LIMITS, VerdictRow
from .units import Unit
from .witnessfiles import show_command

STOPPED: Final = {
    TIME: "stopped by the time limit",
    MEMORY: "stopped by the memory limit",
    STATES: "stopped by the limit of states",
    DISK: "stopped by a full disk",
    INTERRUPTED: "stopped by Ctrl-C",
    BOUND: "nothing found within the bound",
    MODEL_ERROR: "the model has an error",
}
STYLES: Final = {" ": "green", "?": "bold yellow", "!": "bold red"}
"""Styles by the mark of a row."""
_HEADS = ("profile", "engine", "verdict", "expected", "states or proof", "witness", "condition")


class RunLine(ProgressLine):
    """A listener that shows the progress of a run: one updated line on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._count = ""
        self._decided = self._differ = 0

    def begin(self, number: int, of: int, unit: Unit) -> None:
        self._count = f"[{number}/{of}]"
        self._show_line(str(unit))

    def decided(self, rows: Sequence[VerdictRow]) -> None:
        first = bool(rows) and not self._decided
        self._decided += len(rows)
        differ = [row for row in rows if mark(row) == "!"]
        self._differ += len(differ)
        for row in differ:
            self._show_line(f"{row.id} {row.profile} {row.scope}: {row.verdict}, expected {row.expected}", f"{self._differ} differ")
        if first and not differ:
            self._show_line(f"{rows[0].id} {rows[0].verdict}", "the first verdicts")

    def progress(self, unit: Unit, at: Progress) -> None:
        if at.engine == "stateful":
            self._show_line(f"{unit}, {at.states:,} programs, {at.depth:,} steps")
            return
        states = f", {at.states:,} states" if at.states else ""
        self._show_line(f"{unit}, depth {at.depth}{states}")

    def _show_line(self, text: str, kind: str = "") -> None:
        unexpected = f"{self._differ or 'none'} unexpected"
        so_far = f" {counted(self._decided, 'verdict')}, {unexpected};" if self._decided else ""
        self.show(f"{self._count}{so_far} {text}, {time.monotonic() - self._start:.0f} s".lstrip(), kind)


def print_report(report: CheckReport, left_out: Sequence[str] = (), page: Page | None = None) -> None:
    """Print the matrix, the witnesses, the gaps in coverage and the closing line."""
    page = page or Page()
    print_matrix(report.rows, page)
    print_witnesses(report.rows, page)
    print_invariants(report.rows, page)
    print_coverage(report, page)
    print_problems(report, left_out, page)
    page.line(closing(report), "bold")


def print_matrix(rows: Sequence[VerdictRow], page: Page) -> None:
    claims: dict[tuple[str, str], list[TableRow]] = {}
    for row, cells in _fold(rows):
        words = "; ".join(part for part in (row.condition, remark(row)) if part)
        claims.setdefault((row.id, row.sentence), []).append(TableRow(cells, words, STYLES[mark(row)], mark(row)))
    lines: list[TableRow | Heading] = []
    for (id_, sentence), members in claims.items():
        lines += [Heading(f"{id_}  {sentence}", indent=len(id_) + 2), *members]
    page.table(lines, _HEADS)


def _fold(rows: Sequence[VerdictRow]) -> list[tuple[VerdictRow, tuple[str, ...]]]:
    """Merge rows with the same verdict under the same condition, and return each merged row with its cells."""
    groups: dict[VerdictRow, list[VerdictRow]] = {}
    for row in rows:
        plain = replace(
            row, profile="", scope="", witness=None, certificate=None, seconds=0.0, states=None, transitions=None, depth=None, cached=False
        )
        groups.setdefault(plain if row.engine == "symbolic" else replace(plain, proof=""), []).append(row)
    folded: list[tuple[VerdictRow, tuple[str, ...]]] = []
    for row, same in groups.items():
        profiles = " ".join(dict.fromkeys(r.profile for r in same))
        length = "" if row.length is None else counted(row.length, "step")
        folded.append((row, (profiles, row.engine, row.verdict, row.expected, _explored(same), length)))
    return folded


def _explored(rows: Sequence[VerdictRow]) -> str:
    cached = sum(row.cached for row in rows)
    cached_text = f"{cached} of {len(rows)} cached" if 0 < cached < len(rows) else "cached" if cached else ""
    return ", ".join(part for part in (_counted(rows), cached_text) if part)


def _counted(rows: Sequence[VerdictRow]) -> str:
    counts = sorted({r.states for r in rows if r.states is not None})
    if len(counts) < 2 or any(r.engine != "explicit" for r in rows):
        return rows[0].proof
    return f"{counts[0]:,}-{counts[-1]:,} states"


def mark(row: VerdictRow) -> str:
    """Return `!` for a row that makes the check fail, `?` for an undecided row, else a blank."""
    return "!" if row.vacuous or row.agrees is False else "?" if row.agrees is None else " "


def remark(row: VerdictRow) -> str:
    """Return why a verdict is not as expected, or the note of an expected verdict."""
    if row.vacuous:
        return "vacuous: its premise never held in any explored state; widen the scope or fix the premise"
    text = STOPPED.get(row.reason, row.reason) if row.verdict in ("unknown", "not inductive") else row.note
    if row.verdict == "unknown" and row.note:
        text = f"{text}; {row.note}"
    if row.agrees is False and row.why:
        return f"{text}{'; ' if text else ''}expected because {row.why}"
    return text


def print_witnesses(rows: Sequence[VerdictRow], page: Page) -> None:
    titles = {
        "violated": "Counterexamples, and the commands that show them:",
        "holds": "Examples of what is reachable:",
        "not inductive": "Counterexamples to induction, whose first state may be unreachable:",
    }
    for verdict, title in titles.items():
        same: dict[tuple[object, ...], list[VerdictRow]] = {}
        for row in rows:
            if row.witness is not None and row.verdict == verdict:
                same.setdefault((row.id, row.sentence, row.condition, row.engine, row.length), []).append(row)
        if same:
            page.line(f"\n{title}")
        for group in same.values():
            *others, shown = group
            profiles = ", ".join(dict.fromkeys(r.profile for r in others))
            page.line(Text(f"  {show_command(shown.witness or '')}").append(f"  # and for {profiles}" if profiles else "", "dim"))


def print_invariants(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print the invariants that proofs use in addition to the claim, and the commands that check the certificates."""
    for row in rows:
        if row.invariants:
            page.line(f"\n{row.id} stands on:")
        for formula in row.invariants:
            page.wrapped(formula, first="  ", indent=4)
    certificates = [row.certificate for row in rows if row.certificate is not None]
    if certificates:
        page.line("\nCertificates, and the commands that check them:")
    for path in certificates:
        page.line(f"  rocketproof certificate {shlex.quote(path)}")


def explain_command(path: str, witness: Witness) -> str:
    """Return the `rocketproof explain` command for the most informative step of a witness; "" if it has no steps."""
    suggestion = question(witness)
    if suggestion is None:
        return ""
    why_not = f" --why-not {shlex.quote(suggestion.why_not)}" if suggestion.why_not else ""
    return f"rocketproof explain {shlex.quote(path)} --step {suggestion.step}{why_not}"


def is_cut(report: CheckReport) -> bool:
    """Return whether a limit ended the run early, so that its coverage is not meaningful."""
    return any(r.engine in ("explicit", "stateful") and r.agrees is None and r.reason in LIMITS for r in report.rows)


def print_coverage(report: CheckReport, page: Page, guards: bool = True) -> None:
    """Print how many actions happened, the actions that did not with their sentences, and with `guards` the guards that never refused."""
    if is_cut(report):
        page.line("\nCoverage is not judged: the run was stopped before its end")
        return
    if report.covered:
        page.line(f"\nCoverage of actions{' and guards' if guards else ''}:")
    sentences = dict(report.actions)  # each sentence is printed once
    same: dict[tuple[Any, ...], list[str]] = {}
    for label, count in report.covered.items():
        same.setdefault((count, *(replace(g, profile="") for g in report.gaps if g.profile == label)), []).append(label)
    for ((taken, of), *gaps), labels in same.items():
        page.line(f"  {' '.join(labels)}: {taken} of {of} actions happened")
        silent: dict[str, list[str]] = {}
        never: dict[tuple[str, str], list[str]] = {}
        for gap in gaps:
            if gap.missing == "action":
                never.setdefault((gap.guard, gap.sentence), []).append(gap.action)
            elif guards:
                silent.setdefault(gap.guard, []).append(gap.action)
        for (guard, needed), actions in never.items():
            page.wrapped(f"{', '.join(actions)} never happened{_stopped(guard, needed, len(actions))}", first="    ", indent=6)
            for action in actions:
                if sentence := sentences.pop(action, ""):
                    page.wrapped(f"{action}: {sentence}", first="      ", indent=8)
        if silent:
            listed = "; ".join(f"'{guard}' of {_few(actions)}" for guard, actions in silent.items())
            page.wrapped(f"guards that never refused: {listed}", first="    ", indent=6)


def print_unseen(coverage: Mapping[str, Coverage], page: Page) -> None:
    """Print the estimate of unseen pairs of actions, from the pairs counted by scope or instance; nothing if no programs were run."""
    pairs = {(label, *pair): times for label, of in coverage.items() for pair, times in of.pairs.items()}
    if pairs:
        page.wrapped(unseen_text(pairs, "steps after a step", "step"), indent=2)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} actions"


def _stopped(guard: str, sentence: str, actions: int) -> str:
    if not guard:
        return ": no state was explored"
    return f": no state passed {'its' if actions == 1 else 'their'} guard '{guard}' ({sentence})"


def print_problems(report: CheckReport, left_out: Sequence[str], page: Page) -> None:
    page.line()
    for line in left_out:
        page.line(f"not asked: {line}")
    for line in report.problems:
        page.line(f"error: {line}", "bold red")


def closing(report: CheckReport) -> str:
    """Return one line: the number of verdicts, whether they are as expected, and the duration."""
    counts = {
        "not as expected": sum(r.agrees is False for r in report.rows),
        "undecided": sum(r.agrees is None for r in report.rows),
        "vacuous": sum(r.vacuous for r in report.rows),
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    parts += [counted(len(report.problems), "error")] * bool(report.problems) + ["stopped by Ctrl-C"] * report.interrupted
    cached = sum(row.cached for row in report.rows)
    cached_text = f", {cached:,} cached" if cached else ""
    return f"{counted(len(report.rows), 'verdict')}, {', '.join(parts) or 'all as expected'}{cached_text}, {report.seconds:.1f} s"


def print_program(text: str, path: str) -> None:
    """Print a program of messages, and the command that runs it."""
    page = Page()
    page.line(text.rstrip("\n"))
    page.line(f"\nIt is a test: pytest {shlex.quote(path)} performs it and passes while the broker does what is shown.", "dim")
