"""The text of a report for the project that makes the broker: a draft for each cause, which a person reads, completes and sends.

It has what a stranger needs to see the same: the release, the settings that matter, every request with its answer, what was expected and
by which rule, how often it came again. Names have lost the prefix of the run. Nothing is sent anywhere.
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
from ..reports.text import code_block, in_markdown, shortened
from .causes import by_cause
from .report import SENTENCES, ValidationFinding, ValidationReport

DRAFTS: Final = "drafts"
_TITLE: Final = 110  # characters
_VALUE: Final = 80  # characters of a field or a remark
_ROWS: Final = 60  # requests of a table
_ENDS: Final[Mapping[str, str]] = {
    "crash": "its process is killed (`kill -9`) and started again",
    "stop": "it is stopped and started again",
    "configure": "its settings are changed",
}


def write(made: ValidationReport, folder: Path) -> None:
    """A file in `drafts` for each cause that nobody has accepted and that came again; older drafts go. Raises InputError."""
    try:
        for old in (folder / DRAFTS).glob("cause-*.md"):
            old.unlink()
        for number, group in enumerate(by_cause(made.open), 1):
            if not group[0].history:
                continue
            (folder / DRAFTS).mkdir(exist_ok=True)
            (folder / DRAFTS / f"cause-{number}.md").write_text(draft(made, group, folder), "utf-8")
    except OSError as error:
        raise InputError(f"a draft cannot be written to {folder} ({error.strerror}); free some space there or give another") from None


def draft(made: ValidationReport, group: Sequence[ValidationFinding], folder: Path) -> str:
    """The report on findings of one cause as Markdown, the one with the shortest program first. `folder` has their histories."""
    first = group[0]
    header, events = read(folder / first.history)
    rows = [tuple(_named(cell, header) for cell in row) for row in _rows(list(events))]
    texts = [_named(first.verdict.text, header), *(_text(one, folder) for one in group[1:])]
    parts = [
        f"# {in_markdown(shortened(f'{first.verdict.property}: {_told(texts[0])}', _TITLE))}",
        f"**Broker**: {in_markdown(_name(made.target))}{_settings(first)}",
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
        f"Found by rocketproof {made.tool}, judged by {made.profile} with seed {made.seed}. A draft: see whether it is known, and whether "
        "the newest release still does it, before it is sent."
    )
    return "\n\n".join(_listed(parts)) + "\n"


def _listed(parts: Sequence[str]) -> Iterator[str]:
    """Lines of one list together."""
    kept: list[str] = []
    for part in parts:
        if part.startswith("- "):
            kept.append(part)
            continue
        if kept:
            yield "\n".join(kept)
            kept = []
        yield part
    if kept:
        yield "\n".join(kept)


def _text(one: ValidationFinding, folder: Path) -> str:
    """What was found, with the program's own names."""
    return _named(one.verdict.text, read(folder / one.history)[0]) if one.history else one.verdict.text


def _named(text: str, header: Header) -> str:
    """A text of a history without the prefix of its names."""
    prefix = str(header.origin.get("prefix") or "")
    return text.replace(prefix, "") if prefix else text


def _told(found: str) -> str:
    """What a title says: the property's sentence would be the contrary, so it is what was found."""
    text = first_line(found)
    head, colon, rest = text.partition(": ")
    return rest if colon and head.startswith("event ") else text


def _name(target: Mapping[str, Any]) -> str:
    name, version = str(target.get("name", "")), str(target.get("version") or "")
    return name if version in name else f"{name} {version}"


def _settings(one: ValidationFinding) -> str:
    """The settings that its programs are about, as a broker's file has them."""
    rows = [f"{name}={value}" for name, value in sorted(one.program.settings.items())]
    return f", with `{'`, `'.join(rows)}`" if rows else ""


def _expected(one: ValidationFinding) -> Iterator[str]:
    verdict = one.verdict
    sentence = SENTENCES.get(verdict.property) or SENTENCES.get(verdict.judge, "")
    yield f"{verdict.property}: {sentence}" if sentence else verdict.property
    for id_ in verdict.rules:
        if id_ in rules():
            yield f"{id_}: {rules()[id_].sentence}"
    if verdict.guard:
        yield f"the guard that refuses: {verdict.guard}, {verdict.sentence}"


def _again(one: ValidationFinding) -> str:
    return f"; done again, {one.again} of {one.repeats} times" if one.repeats else ""


def _rows(events: Sequence[Event]) -> Iterator[tuple[str, str, str]]:
    """What was done, in order: to whom, the request, the answer."""
    ordered = sorted(paired(events), key=lambda one: (one.begun if isinstance(one, CallEvents) else one).seq)
    for one in ordered:
        if isinstance(one, CallEvents):
            if one.begun.op != "configure":
                yield _asked(one)
        elif one.type in ("crash", "invoke"):
            to = one.process if one.type == "crash" else str(one.value.get("to", ""))
            yield to, _ENDS.get(one.op, one.op) + (f": {_fields(one.value.get('settings'))}" if one.value.get("settings") else ""), ""


def _asked(call: CallEvents[Event]) -> tuple[str, str, str]:
    asked = call.begun.value
    code = asked.get("code")
    name = f"{REQUESTS.get(code, call.begun.op)} ({code})" if isinstance(code, int) else call.begun.op
    size = f", a body of {counted(whole_number(asked['bodySize']), 'byte')}" if asked.get("bodySize") else ""
    if asked.get("oneWay"):
        answer = "(one-way)"
    elif call.answer is None:
        answer = "none"
    else:
        told = call.answer.value
        got = told.get("code")
        remark = f": {_value(told['remark'])}" if told.get("remark") else ""
        answer = f"{got} {ANSWERS.get(got, '') if isinstance(got, int) else ''}{remark} {_fields(told.get('fields'))}".strip()
    return str(asked.get("to", "")), f"{name} {_fields(asked.get('fields'))}{size}", answer


def _fields(fields: object) -> str:
    if not isinstance(fields, Mapping):
        return ""
    return ", ".join(f"{name}={_value(value)}" for name, value in fields.items() if value not in ("", None))


def _value(value: object) -> str:
    """A value, of a long one the begin and how long it is."""
    text = str(value)
    size = len(text.encode("utf-8", "surrogatepass"))
    return text if len(text) <= _VALUE else f"{text[: _VALUE // 2]}… ({len(text):,} characters, {size:,} bytes)"


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| | to | what | answer |", "| ---: | --- | --- | --- |"]
    lines += [f"| {number} | {' | '.join(in_markdown(cell) for cell in row)} |" for number, row in enumerate(rows, 1)]
    return "\n".join(lines)
