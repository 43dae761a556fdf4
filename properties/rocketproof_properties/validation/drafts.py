"""Draft bug reports for the project that makes the broker: one per cause, for a person to complete and send.

A draft has what a reader needs to reproduce the problem: the release, the relevant settings, every request with its response, the expected
behaviour with its rule, and how often the problem was reproduced. The prefix of the run is removed from names. Nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.codes import ANSWERS, REQUESTS
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.history import Event, Header, read
from rocketproof_traces.history.exchanges import CallEvents, paired

from ..catalogue.rules import rules
from ..reports.choices import InputError
from ..reports.output import counted
from ..reports.results import first_line
from ..reports.text import code_block, in_markdown
from .causes import by_cause
from .report import SENTENCES, ValidationFinding, ValidationReport

DRAFTS: Final = "drafts"
_VALUE: Final = 80  # characters per field or remark
_ROWS: Final = 60  # requests per table
_ENDS: Final[Mapping[str, str]] = {
    "crash": "its process is killed (`kill -9`) and started again",
    "stop": "it is stopped and started again",
    "configure": "its settings are changed",
}


def write(validation: ValidationReport, folder: Path) -> None:
    """Write a file in `drafts` for each cause with open findings and a history, and delete older drafts. Raises InputError.

    Open findings are not accepted, and were reproduced or could not be repeated.
    """
    try:
        for old in (folder / DRAFTS).glob("cause-*.md"):
            old.unlink()
        for number, group in enumerate(by_cause(validation.open), 1):
            if not group[0].history:
                continue
            (folder / DRAFTS).mkdir(exist_ok=True)
            (folder / DRAFTS / f"cause-{number}.md").write_text(draft(validation, group, folder), "utf-8")
    except OSError as error:
        raise InputError(f"a draft cannot be written to {folder} ({error.strerror}); free some space there or give another") from None


def draft(validated: ValidationReport, group: Sequence[ValidationFinding], folder: Path) -> str:
    """Return the bug report on findings of one cause as Markdown.

    The first finding has the shortest program. `folder` has the histories.
    """
    first = group[0]
    header, events = read(folder / first.history)
    rows = [tuple(_named(cell, header) for cell in row) for row in _rows(list(events))]
    texts = [_named(first.verdict.text, header), *(_text(finding, folder) for finding in group[1:])]
    parts = [
        f"# {in_markdown(f'{first.verdict.property}: {_title(texts[0])}')}",
        f"**Broker**: {in_markdown(_name(validated.target))}{_settings(first)}",
        "## What happens",
        in_markdown(first_line(texts[0])),
        "## What was expected",
        *(f"- {in_markdown(line)}" for line in _expected(first)),
        "## How to see it",
        "Requests as they are on the wire; topics and groups are new:",
        _table(rows[:_ROWS]),
        *([f"{len(rows) - _ROWS} more are in `{first.history}`."] if len(rows) > _ROWS else []),
        *([f"The same as a program: `python {first.file} BROKER`"] if first.file else []),
        f"Seen in {counted(first.count, 'program')}{_again(first)}.",
    ]
    if len(group) > 1:
        parts += ["## Seen of the same cause", *(f"- {in_markdown(first_line(text))}" for text in texts[1:])]
    if "\n" in texts[0]:
        parts += ["## In full", code_block(texts[0])]
    parts.append(
        f"Found by rocketproof {validated.tool}, judged by {validated.profile} with seed {validated.seed}. "
        "A draft: see whether it is known, and whether the newest release still does it, before it is sent."
    )
    return "\n\n".join(_listed(parts)) + "\n"


def _listed(parts: Sequence[str]) -> Iterator[str]:
    """Join consecutive list items into one block."""
    items: list[str] = []
    for part in parts:
        if part.startswith("- "):
            items.append(part)
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield part
    if items:
        yield "\n".join(items)


def _text(finding: ValidationFinding, folder: Path) -> str:
    """Return the text of a finding, with the names of the program."""
    return _named(finding.verdict.text, read(folder / finding.history)[0]) if finding.history else finding.verdict.text


def _named(text: str, header: Header) -> str:
    """Remove the prefix of the run from a text."""
    prefix = str(header.origin.get("prefix") or "")
    return text.replace(prefix, "") if prefix else text


def _title(finding: str) -> str:
    """Return the text for a title. The property's sentence would state the contrary, so the title is the finding."""
    text = first_line(finding)
    head, colon, rest = text.partition(": ")
    return rest if colon and head.startswith("event ") else text


def _name(target: Mapping[str, Any]) -> str:
    name, version = str(target.get("name", "")), str(target.get("version") or "")
    return name if version in name else f"{name} {version}"


def _settings(finding: ValidationFinding) -> str:
    """Return the settings of the program, in the form of a broker's file."""
    rows = [f"{name}={value}" for name, value in sorted(finding.program.settings.items())]
    return f", with `{'`, `'.join(rows)}`" if rows else ""


def _expected(finding: ValidationFinding) -> Iterator[str]:
    verdict = finding.verdict
    sentence = SENTENCES.get(verdict.property) or SENTENCES.get(verdict.judge, "")
    yield f"{verdict.property}: {sentence}" if sentence else verdict.property
    for id_ in verdict.rules:
        if id_ in rules():
            yield f"{id_}: {rules()[id_].sentence}"
    if verdict.guard:
        yield f"the guard that refuses: {verdict.guard}, {verdict.sentence}"


def _again(finding: ValidationFinding) -> str:
    return f"; done again, {finding.again} of {finding.repeats} times" if finding.repeats else ""


def _rows(events: Sequence[Event]) -> Iterator[tuple[str, str, str]]:
    """Yield each request, crash and change of settings in order: its receiver, the request or event, the response."""
    ordered = sorted(paired(events), key=lambda event: (event.begun if isinstance(event, CallEvents) else event).seq)
    for event in ordered:
        if isinstance(event, CallEvents):
            if event.begun.op != "configure":
                yield _row(event)
        elif event.type in ("crash", "invoke"):
            to = event.process if event.type == "crash" else str(event.value.get("to", ""))
            yield (
                to,
                _ENDS.get(event.op, event.op) + _changes(event.value),
                "",
            )


def _changes(value: Mapping[str, Any]) -> str:
    """Return what is changed at a restart: settings, the clock, a file."""
    changes = [_fields(value["settings"])] if value.get("settings") else []
    changes += [f"its clock is {value['clock']} ms ahead"] if value.get("clock") else []
    changes += ["{how} of the {place} in {file}".format_map(value["corrupt"])] if value.get("corrupt") else []
    return f": {', '.join(changes)}" if changes else ""


def _row(call: CallEvents[Event]) -> tuple[str, str, str]:
    request = call.begun.value
    code = request.get("code")
    name = f"{REQUESTS.get(code, call.begun.op)} ({code})" if isinstance(code, int) else call.begun.op
    size = f", a body of {counted(whole_number(request['bodySize']), 'byte')}" if request.get("bodySize") else ""
    if request.get("oneWay"):
        text = "(one-way)"
    elif call.answer is None:
        text = "none"
    else:
        answered = call.answer.value
        status = answered.get("code")
        remark = f": {_value(answered['remark'])}" if answered.get("remark") else ""
        text = f"{status} {ANSWERS.get(status, '') if isinstance(status, int) else ''}{remark} {_fields(answered.get('fields'))}".strip()
    return str(request.get("to", "")), f"{name} {_fields(request.get('fields'))}{size}", text


def _fields(fields: object) -> str:
    if not isinstance(fields, Mapping):
        return ""
    return ", ".join(f"{name}={_value(value)}" for name, value in fields.items() if value not in ("", None))


def _value(value: object) -> str:
    """Return a value; a long value is cut, with its length."""
    text = str(value)
    size = len(text.encode("utf-8", "surrogatepass"))
    return text if len(text) <= _VALUE else f"{text[: _VALUE // 2]}… ({len(text):,} characters, {size:,} bytes)"


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| | to | what | answer |", "| ---: | --- | --- | --- |"]
    lines += [f"| {number} | {' | '.join(in_markdown(cell) for cell in row)} |" for number, row in enumerate(rows, 1)]
    return "\n".join(lines)
