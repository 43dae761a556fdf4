"""A run as Markdown for a job summary, a merge request or a mail: deviations, changes, coverage and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from .results import OUTCOMES, WORDS, Covered, Outcome, Result, Run
from .since import Changes
from .text import code_block, in_markdown, shortened

_ROWS: Final = 50  # per table
_LINES: Final = 20  # per list of changes; also the number of results with details
_TEXT: Final = 400  # characters per cell


def write(run: Run, changes: Changes | None = None) -> str:
    """Return the run as Markdown."""
    parts = [f"# {in_markdown(run.title)}", f"**{in_markdown(closing(run))}**"]
    if run.line:
        parts.append(code_block(run.line))
    if run.stopped:
        parts.append(f"Stopped early: {in_markdown(run.stopped)}")
    parts += _attention(run.attention)
    if changes is not None:
        parts += _changes(changes)
    undecided = run.of("undecided")
    if undecided:
        parts += ["## Undecided", *_table(undecided)]
    if run.covered:
        parts += ["## Coverage of the model", *_coverage(run.covered)]
    parts += _counts(run.results)
    parts += [in_markdown(text) for text in run.notes]
    return "\n\n".join(parts) + "\n"


def closing(run: Run) -> str:
    """Return one line: the counts, the duration, the exit code."""
    return f"{run.counts}; {run.seconds:.1f} s; exit code {run.exit}"


def grouped(results: Iterable[Result]) -> list[list[Result]]:
    """Group the results by cause, in the order of the first result of each group."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for number, result in enumerate(results):
        groups.setdefault((result.cause,) if result.cause else ("", str(number)), []).append(result)
    return list(groups.values())


def _attention(results: Sequence[Result]) -> list[str]:
    if not results:
        return []
    parts = ["## Not as expected", *_table(results)]
    shown = [group for group in grouped(results) if any(result.details or result.commands for result in group)]
    for group in shown[:_LINES]:
        first = group[0]
        more = f" and {len(group) - 1} more of the same cause" if len(group) > 1 else ""
        text = "\n".join([*([first.details] if first.details else []), *first.commands])
        parts.append(f"<details><summary>{in_markdown(first.name)}{more}</summary>\n\n{code_block(text)}\n\n</details>")
    if len(shown) > _LINES:
        parts.append(f"{len(shown) - _LINES} more are in the other reports.")
    return parts


def _table(results: Sequence[Result]) -> list[str]:
    rows = ["| property | claim | case | verdict | expected | why |", "| --- | --- | --- | --- | --- | --- |"]
    for result in results[:_ROWS]:
        case = ", ".join(part for part in (result.about, result.profile, result.condition, result.engine, result.scope) if part)
        cells = (result.id, result.sentence, case, result.verdict, result.expected, result.message)
        rows.append("| " + " | ".join(in_markdown(shortened(cell, _TEXT)) for cell in cells) + " |")
    more = [f"{len(results) - _ROWS:,} more are in the other reports."] if len(results) > _ROWS else []
    return ["\n".join(rows), *more]


def _changes(changes: Changes) -> list[str]:
    parts = [f"## Since {in_markdown(changes.before)}"]
    if not changes.any:
        return [*parts, "Nothing has changed."]
    for heading, lines in changes.sections():
        more = [f"- and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
        listed = [f"- {in_markdown(shortened(line, _TEXT))}" for line in lines[:_LINES]]
        parts.append("\n".join([f"{heading}:", "", *listed, *more]))
    return parts


def _coverage(covered: Sequence[Covered]) -> list[str]:
    rows = ["| of | actions that happened | guards that gave one answer only |", "| --- | --- | ---: |"]
    rows += [
        f"| {in_markdown(part.label)} | {part.happened} of {len(part.actions)} | {len(part.missing) - len(part.never)} |"
        for part in covered
    ]
    listed = []
    for part in covered:
        if part.missing:
            never = [f"- {in_markdown(f'{action.name} never happened: {action.sentence}')}" for action in part.never]
            silent = [f"- {in_markdown(text)}" for text in part.missing[len(part.never) :]]
            what = f"What is missing of {in_markdown(part.label)}"
            listed.append(f"<details><summary>{what}</summary>\n\n" + "\n".join([*never, *silent]) + "\n\n</details>")
    return ["\n".join(rows), *listed]


def _counts(results: Sequence[Result]) -> list[str]:
    """Return a collapsed table with one row per id."""
    by_id: dict[str, Counter[Outcome]] = {}
    for result in results:
        by_id.setdefault(result.id, Counter())[result.outcome] += 1
    used: list[Outcome] = [outcome for outcome in OUTCOMES if any(outcome in count for count in by_id.values())]
    if not used:
        return []
    rows = [f"| property | {' | '.join(WORDS[outcome] for outcome in used)} |", "| --- |" + " ---: |" * len(used)]
    for id_, count in sorted(by_id.items()):
        rows.append(f"| {in_markdown(id_)} | {' | '.join(str(count[outcome] or '') for outcome in used)} |")
    return [f"<details><summary>Each property, {len(by_id):,}</summary>\n\n" + "\n".join(rows) + "\n\n</details>"]
