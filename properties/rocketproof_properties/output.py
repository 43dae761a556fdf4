"""All printing of a check: the progress line on stderr, the verdict matrix on stdout.

The matrix states each property's sentence once and then one line for each verdict, so that it reads at 80 columns and at
160. What needs attention is marked at the start of its line: `!` differs, `?` undecided.
"""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.status import Status
from rich.table import Table
from rich.text import Text

from rocketproof_model.result import BOUND, INTERRUPTED, MEMORY, STATES, TIME, Progress

from .benches.skew import RECORDED, RECORDED_TOPICS, Share
from .checks.decide import Unit
from .checks.matrix import Report
from .checks.rows import LIMITS, Row
from .rules import sections

if TYPE_CHECKING:
    from rocketproof_traces.checker.histories import Verdict
    from rocketproof_traces.judge import Judgement

    from .patches import campaign
    from .replay.recording import Outcome
    from .replay.recording import Report as Replay
    from .requirements import Coverage, Requirement

SPARSE_SECONDS = 5.0
CASES = 10  # of a recording that are shown
STOPPED = {
    TIME: "stopped by the time limit",
    MEMORY: "stopped by the memory limit",
    STATES: "stopped by the limit of states",
    INTERRUPTED: "stopped by Ctrl-C",
    BOUND: "nothing found within the bound",
}
_HEAD = ("profile", "engine", "verdict", "expected", "states or proof", "witness")


class ProgressLine:
    """A listener that shows where a run is: one changing line on a terminal, else a plain line every few seconds."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._status: Status | None = None
        self._start = time.monotonic()
        self._last = float("-inf")
        self._count = ""

    def __enter__(self) -> ProgressLine:
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def begin(self, number: int, of: int, unit: Unit) -> None:
        self._count = f"[{number}/{of}]"
        self._say(f"{self._count} {unit}")

    def progress(self, unit: Unit, at: Progress) -> None:
        if at.engine == "stateful":
            self._say(f"{self._count} {unit}, {at.states:,} programs, {at.depth:,} steps")
            return
        states = f", {at.states:,} states" if at.states else ""
        self._say(f"{self._count} {unit}, depth {at.depth}{states}")

    def _say(self, text: str) -> None:
        now = time.monotonic()
        line = f"{text}, {now - self._start:.0f} s"
        if self._status is not None:
            self._status.update(Text(line))
        elif now - self._last >= SPARSE_SECONDS:
            self._last = now
            print(line, file=sys.stderr, flush=True)


def print_report(report: Report, left_out: Sequence[str] = (), console: Console | None = None) -> None:
    """Print the matrix, the witnesses, the gaps in coverage and the closing line."""
    console = console or Console(highlight=False, soft_wrap=True)
    width = min(max(console.width, 80), 160)
    for line in (
        *matrix_lines(report.rows, width),
        *witness_lines(report.rows),
        *coverage_lines(report, width),
        *problem_lines(report, left_out, width),
    ):
        console.print(line, soft_wrap=True)
    console.print(closing(report), style="bold", soft_wrap=True)


def matrix_lines(rows: Sequence[Row], width: int) -> Iterable[Text]:
    folded = _fold(rows)
    rows = [row for row, _, _ in folded]
    table = [_cells(*one) for one in folded]
    sizes = [max(len(c[i]) for c in (_HEAD, *table)) for i in range(len(_HEAD))]
    shown = [i for i in range(len(_HEAD)) if any(c[i] for c in table)]
    indent = 4 + sum(sizes[i] + 2 for i in shown)
    side = width - indent >= 30
    yield Text(_pad(_HEAD, sizes, shown) + ("condition" if side else ""), "dim")
    by_property: dict[tuple[str, str], list[tuple[Row, tuple[str, ...]]]] = {}
    for row, cells in zip(rows, table, strict=True):
        by_property.setdefault((row.id, row.sentence), []).append((row, cells))
    for (id_, said), members in by_property.items():
        sentence = textwrap.wrap(f"{id_}  {said}", width, subsequent_indent=" " * (len(id_) + 2))
        yield Text("\n".join(sentence), "bold").append("")
        for row, cells in members:
            yield _line(row, cells, sizes, shown, width, indent if side else 0)


def _fold(rows: Sequence[Row]) -> list[tuple[Row, str, str]]:
    """Rows of one verdict under one condition become one, with their profiles and what was explored in all of them."""
    found: dict[Row, list[Row]] = {}
    for row in rows:
        plain = replace(row, profile="", scope="", witness=None, seconds=0.0, states=None, transitions=None, depth=None)
        found.setdefault(plain if row.engine == "symbolic" else replace(plain, proof=""), []).append(row)
    return [(row, " ".join(dict.fromkeys(r.profile for r in same)), _explored(same)) for row, same in found.items()]


def _explored(rows: Sequence[Row]) -> str:
    counts = sorted({r.states for r in rows if r.states is not None})
    if len(counts) < 2 or any(r.engine != "explicit" for r in rows):
        return rows[0].proof
    return f"{counts[0]:,}-{counts[-1]:,} states"


def _line(row: Row, cells: tuple[str, ...], sizes: list[int], shown: list[int], width: int, side: int) -> Text:
    style = {True: "green", False: "bold red", None: "bold yellow"}[row.agrees] if not row.vacuous else "bold red"
    words = "; ".join(part for part in (row.condition, _remark(row)) if part)
    line = Text(_pad(cells, sizes, shown, mark(row)), style)
    if not words:
        line.rstrip()
    elif side:
        line.append(f"\n{' ' * side}".join(textwrap.wrap(words, width - side)), "default")
    else:
        line.rstrip()
        line.append("\n" + "\n".join(textwrap.wrap(words, width, initial_indent=" " * 6, subsequent_indent=" " * 6)), "default")
    return line


def _pad(cells: Sequence[str], sizes: list[int], shown: list[int], sign: str = " ") -> str:
    return f"  {sign} " + "".join(cells[i].ljust(sizes[i] + 2) for i in shown)


def mark(row: Row) -> str:
    """`!` for a row that makes the check fail, `?` for one that was not decided, else a blank."""
    return "!" if row.vacuous or row.agrees is False else "?" if row.agrees is None else " "


def _cells(row: Row, profiles: str, proof: str) -> tuple[str, ...]:
    length = "" if row.length is None else f"{row.length} step{'' if row.length == 1 else 's'}"
    return (profiles, row.engine, row.verdict, row.expected, proof, length)


def _remark(row: Row) -> str:
    if row.vacuous:
        return "vacuous: its premise never held in any explored state; widen the scope or mend the premise"
    said = STOPPED.get(row.reason, row.reason) if row.verdict in ("unknown", "not inductive") else row.note
    if row.agrees is False and row.why:
        return f"{said}{'; ' if said else ''}expected because {row.why}"
    return said


def witness_lines(rows: Sequence[Row]) -> Iterable[Text]:
    titles = {
        "violated": "Counterexamples, and the commands that show them:",
        "holds": "Examples of what is reachable:",
        "not inductive": "Counterexamples to induction, whose first state may be unreachable:",
    }
    for verdict, title in titles.items():
        same: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            if row.witness is not None and row.verdict == verdict:
                same.setdefault((row.id, row.sentence, row.condition, row.engine, row.length), []).append(row)
        if same:
            yield Text(f"\n{title}")
        for alike in same.values():
            *others, shown = alike
            profiles = ", ".join(dict.fromkeys(r.profile for r in others))
            yield Text(f"  {show_command(shown.witness or '')}").append(f"  # and for {profiles}" if profiles else "", "dim")


def show_command(path: str) -> str:
    """The command that shows a witness file."""
    return f"rocketproof show {shlex.quote(path)}"


def coverage_lines(report: Report, width: int, guards: bool = True) -> Iterable[Text]:
    """How many actions happened, those that did not, and `guards` that gave only one answer."""
    if any(r.engine in ("explicit", "stateful") and r.agrees is None and r.reason in LIMITS for r in report.rows):
        yield Text("\nCoverage is not judged: the run was stopped before its end")
        return
    if report.covered:
        yield Text(f"\nCoverage of actions{' and guards' if guards else ''}:")
    same: dict[tuple[Any, ...], list[str]] = {}
    for label, count in report.covered.items():
        same.setdefault((count, *(replace(g, profile="") for g in report.gaps if g.profile == label)), []).append(label)
    for ((taken, of), *found), labels in same.items():
        yield Text(f"  {' '.join(labels)}: {taken} of {of} actions happened")
        silent: dict[str, list[str]] = {}
        never: dict[tuple[str, str], list[str]] = {}
        for gap in found:
            if gap.missing == "action":
                never.setdefault((gap.guard, gap.sentence), []).append(gap.action)
            elif guards:
                silent.setdefault(gap.guard, []).append(gap.action)
        for (guard, said), actions in never.items():
            yield _folded(f"{', '.join(actions)} never happened{_stopped(guard, said, len(actions))}", width)
        if silent:
            listed = "; ".join(f"'{guard}' of {_few(actions)}" for guard, actions in silent.items())
            yield _folded(f"guards that never refused: {listed}", width)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} actions"


def _stopped(guard: str, sentence: str, actions: int) -> str:
    if not guard:
        return ": no state was explored"
    return f": no state passed {'its' if actions == 1 else 'their'} guard '{guard}' ({sentence})"


def _folded(text: str, width: int) -> Text:
    return Text("\n".join(textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="      ", break_long_words=False)))


def problem_lines(report: Report, left_out: Sequence[str], width: int) -> Iterable[Text]:
    yield Text("")
    for line in left_out:
        yield Text(f"not asked: {line}")
    for line in report.problems:
        yield Text(f"error: {line}", "bold red")


def closing(report: Report) -> str:
    """One line: how many verdicts, whether they are the expected ones, how long it took."""
    rows = report.rows
    count = f"{len(rows)} verdict{'' if len(rows) == 1 else 's'}"
    different = sum(1 for r in rows if r.agrees is False)
    undecided = sum(1 for r in rows if r.agrees is None)
    vacuous = sum(1 for r in rows if r.vacuous)
    parts = [
        f"{different} not as expected" if different else "",
        f"{undecided} undecided" if undecided else "",
        f"{vacuous} vacuous" if vacuous else "",
        f"{len(report.problems)} error{'' if len(report.problems) == 1 else 's'}" if report.problems else "",
        "stopped by Ctrl-C" if report.interrupted else "",
    ]
    said = ", ".join(part for part in parts if part) or "all as expected"
    return f"{count}, {said}, {report.seconds:.1f} s"


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress line on stderr, on a terminal only: `report(done, all)`."""
    console = Console(stderr=True, highlight=False)
    with console.status(what) as status:
        yield lambda done, all_: status.update(f"{what} {done} of {all_}")


@contextmanager
def bytes_done(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress line on stderr about bytes: it changes on a terminal, else it is a plain line every few seconds."""
    console = Console(stderr=True, highlight=False)
    last = time.monotonic()
    with console.status(what) as status:

        def report(done: int, all_: int) -> None:
            nonlocal last
            line = f"{what}: {done >> 20:,} of {all_ >> 20:,} MiB"
            status.update(line)
            if not console.is_terminal and time.monotonic() - last >= SPARSE_SECONDS:
                last = time.monotonic()
                print(line, file=sys.stderr, flush=True)

        yield report


@contextmanager
def phases() -> Iterator[Callable[[str, int, int], None]]:
    """A progress line on stderr, on a terminal only: `report(what, done, all)`. It has no thread, so the process can be forked."""
    console = Console(stderr=True, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as line:
        yield lambda what, done, all_: line.update(Text(f"{what} {done} of {all_}"), refresh=True)


def print_mutants(report: campaign.Report, console: Console | None = None) -> None:
    """Print what came of each mutant, what to do about those that no test noticed, and a closing line."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    signs = {"killed": " ", "equivalent": " ", "survived": "!", "undecided": "?"}
    styles = {"killed": "green", "equivalent": "green", "survived": "bold red", "undecided": "bold yellow"}
    for row in report.rows:
        line = Text(f"{signs[row.verdict]} {row.id:<6} {row.verdict:<11}", styles[row.verdict])
        told = row.killed_by or row.equivalent or row.sentence
        console.print(line.append(f"{row.seconds:6.1f} s  {told}", "default"), soft_wrap=True)
    left = [row for row in report.rows if row.verdict in ("survived", "undecided")]
    if left:
        console.print(Text("\nNot noticed:"))
    for row in left:
        words = f"{row.id}: {row.sentence}; {row.nearest_miss}"
        console.print(Text("\n".join(textwrap.wrap(words, width, initial_indent="  ", subsequent_indent="    "))), soft_wrap=True)
    survived = [row for row in left if row.verdict == "survived"]
    if survived:
        console.print(
            Text(f"\nTo run tests with the first of them: pytest -p rocketproof_properties.patches.plugin --mutant {survived[0].id}")
        )
    counts = {verdict: sum(1 for row in report.rows if row.verdict == verdict) for verdict in signs}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    stopped = f", stopped by {report.stopped}" if report.stopped else ""
    total = f"{len(report.rows)} mutant{'' if len(report.rows) == 1 else 's'}"
    console.print(Text(f"{total}: {said}{stopped}, {report.seconds:.1f} s", "bold"), soft_wrap=True)


def print_judgement(found: Judgement, console: Console | None = None) -> None:
    """Print what a judgement counted and the first case that nothing explains."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    console.print(Text(f"{found.cases} cases judged by {found.profile}: {found.explained} explained"), soft_wrap=True)
    for reason, number in found.out_of_reach.items():
        console.print(
            Text("\n".join(textwrap.wrap(f"{number:6} out of reach: {reason}", width, subsequent_indent=" " * 9))), soft_wrap=True
        )
    if found.unexplained:
        first = "\n".join(textwrap.wrap(f"first not explained: {found.unexplained[0]}", width, subsequent_indent="  "))
        console.print(Text(first, "bold red"), soft_wrap=True)
        console.print(Text(f"{len(found.unexplained)} not explained", "bold"), soft_wrap=True)


def print_verdict(found: Verdict, console: Console | None = None) -> None:
    """Print what the specification says of a history: what it explains, and of each part the first event that it does not."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)

    def lines(text: str, style: str = "", indent: str = "  ") -> None:
        console.print(Text("\n".join(textwrap.wrap(text, width, subsequent_indent=indent)), style), soft_wrap=True)

    counted = f"{found.events} events in {found.parts} part{'' if found.parts == 1 else 's'} judged by {found.profile}"
    lines(f"{counted}: {found.explained} answers explained")
    for reason, number in found.out_of_reach.items():
        lines(f"{number:6} out of reach: {reason}", indent=" " * 9)
    for one in found.findings:
        lines(f"not explained: {one}", "bold red")
        before = len(one.prefix)
        explained = "1 answer of this part before it is" if before == 1 else f"{before} answers of this part before it are"
        lines(f"  the {explained} explained", indent="    ")
    for text in found.unknown:
        lines(f"not decided: {text}", "bold yellow")
    words = {"ok": ("Ok: the specification explains the history", "bold green"), "illegal": ("Illegal", "bold red")}
    text, style = words.get(found.verdict, ("Unknown: a larger --limit may decide", "bold yellow"))
    console.print(Text(f"{text}{', stopped by Ctrl-C' if found.interrupted else ''}", style), soft_wrap=True)


def print_skew(shares: Sequence[Share], console: Console | None = None) -> None:
    """Print the simulated shares of skewed topics beside the formula's and the recorded ones."""
    console = console or Console(highlight=False)
    table = Table(title="topics that end on one of two brokers alone, by number of first messages k", title_justify="left", box=box.SIMPLE)
    for head in ("k", "topics", "share", "99 % interval", "formula", "off", *RECORDED):
        table.add_column(head, justify="right")
    for found in shares:
        low, high = found.interval
        row = [str(found.first_messages), f"{found.topics:,}", f"{found.share:.3f}", f"{low:.3f}-{high:.3f}", f"{found.predicted:.2f}"]
        row.append(f"{found.standard_errors:.1f} s.e.")
        row += [f"{counts[found.first_messages - 1]} of {RECORDED_TOPICS}" for counts in RECORDED.values()]
        table.add_row(*row)
    console.print(table)


def print_replay(found: Replay, every: bool = False, console: Console | None = None) -> None:
    """Print the first recorded cases that came out differently, or `every` one, those that may with the reason, and a closing line."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    unlike = [one for one in found.outcomes if not one.alike]
    for one in unlike if every else unlike[:CASES]:
        console.print(_outcome(one, width), soft_wrap=True)
    if len(unlike) > CASES and not every:
        console.print(Text(f"and {len(unlike) - CASES} more cases: --all shows them, --json FILE has them", "dim"), soft_wrap=True)
    said = f"{len(found.outcomes)} cases compared under {found.profile}: {found.alike} alike, {len(found.excepted)} excepted, "
    console.print(Text(f"{said}{len(found.different)} different", "bold"), soft_wrap=True)


def _outcome(one: Outcome, width: int) -> Text:
    sign, style = ("?", "yellow") if one.exception else ("!", "bold red")
    line = Text(f"{sign} {one.case.label}", style)
    for difference in one.differences:
        line.append(f"\n    {difference.field}", "default")
        recorded, found = _shown(difference.recorded), _shown(difference.found)
        start = next((at for at, (a, b) in enumerate(zip(recorded, found, strict=False)) if a != b), 0)
        for what, text in (("recorded", recorded), ("found", found)):
            line.append(f"\n      {what:<9}{_cut(text, start, width - 15)}", "dim")
    for what, text in (("rules", ", ".join(one.rules)), ("excepted", one.exception)):
        if text:
            line.append(f"\n    {what:<9}  " + "\n".join(textwrap.wrap(text, width - 15, subsequent_indent=" " * 15)), "dim")
    return line


def _shown(value: object) -> str:
    """A value on one line."""
    text = "null" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _cut(text: str, start: int, width: int) -> str:
    """A part of a text that shows what is at `start`."""
    if len(text) <= width:
        return text
    first = max(0, min(start - width // 3, len(text) - width))
    cut = text[first : first + width]
    return ("..." + cut[3:] if first else cut)[: width - 3] + ("..." if first + width < len(text) else cut[-3:])


def print_requirements(found: Sequence[Requirement], every: bool = False, console: Console | None = None) -> None:
    """Print how many rules of each section are covered, then every gap, or every rule with its places, tests and actions."""
    console = console or Console(highlight=False)
    width = min(max(console.width, 80), 160)
    heads: dict[Coverage, str] = {
        "covered": "covered",
        "no implementation": "no code",
        "no test": "no test",
        "failed test": "failed",
    }
    total = Counter(one.status for one in found)
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("section")
    for head in ("rules", *(heads[status] for status in heads if total[status])):
        table.add_column(head, justify="right", no_wrap=True)
    for section in sections():
        count = Counter(one.status for one in found if one.rule.section == section.id)
        table.add_row(f"{section.id} {section.title}", str(count.total()), *(str(count[status] or "") for status in heads if total[status]))
    console.print(table)
    for one in found:
        if every or one.is_gap:
            console.print(_requirement(one, every, width), soft_wrap=True)
    said = ", ".join(f"{total[status]} {status}" for status in heads if total[status])
    console.print(Text(f"{len(found)} rules: {said}", "bold"), soft_wrap=True)


def _requirement(one: Requirement, every: bool, width: int) -> Text:
    style = "bold red" if one.is_gap else "green"
    line = Text(f"{'!' if one.is_gap else ' '} {one.rule.id:<8}", style)
    side = " " * len(line.plain)
    words = f"{one.rule.sentence} ({one.reason})" if one.reason else one.rule.sentence
    line.append(f"\n{side}".join(textwrap.wrap(words, width - len(side))), "default")
    evidence = {"code": one.implementation, "model": one.model, "failed": one.failed, "test": one.tests if every else ()}
    for name, places in evidence.items():
        for place in places:
            line.append(f"\n{side}{name:<7}{place}", "dim")
    return line


def print_program(text: str, path: str) -> None:
    """A program of messages as it is kept, and how it is run."""
    console = Console(highlight=False, soft_wrap=True)
    for line in text.splitlines():
        console.print(Text(line), soft_wrap=True)
    console.print(
        f"\nIt is a test: pytest {shlex.quote(path)} performs it and passes while the broker does what is shown.",
        style="dim",
        soft_wrap=True,
    )
