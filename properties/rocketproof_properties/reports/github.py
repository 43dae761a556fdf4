"""GitHub's log of a job: annotations as workflow commands, and the summary of the job in Markdown.

What is printed of a broker's words could be a command too, so commands are switched off while a run prints its own text.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from rocketproof_protocol.shown import one_line, printable

from . import markdown
from .choices import InputError
from .output import nobody_listens
from .places import in_repository
from .results import Result, Run, SourcePlace
from .since import Changes
from .text import shortened

SHOWN: Final = 10
"""Annotations of a level that GitHub shows of one step; further ones are dropped there."""
SUMMARY: Final = "GITHUB_STEP_SUMMARY"
SUMMARY_BYTES: Final = 1_000_000
"""A little less than the largest summary that GitHub takes."""
_TEXT: Final = 2_000
Level = Literal["error", "warning"]


@contextmanager
def commands_off() -> Iterator[None]:
    """Whatever is printed meanwhile is no workflow command."""
    token = secrets.token_hex(16)
    _say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        _say(f"::{token}::")


def _say(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        nobody_listens()


def commands(run: Run) -> list[str]:
    """A workflow command for each result that needs attention, at most as many of a level as are shown, groups of one cause once."""
    return [*_commands("error", run.attention), *_commands("warning", run.of("undecided"))]


def _commands(level: Level, results: Sequence[Result]) -> list[str]:
    groups = markdown.grouped(results)
    shown = groups if len(groups) <= SHOWN else groups[: SHOWN - 1]
    lines = [_command(level, group) for group in shown]
    if len(shown) < len(groups):
        more = f"{len(groups) - len(shown)} more; the summary of the job lists them"
        lines.append(f"::{level} title=rocketproof::{_data(more)}")
    return lines


def _command(level: Level, group: Sequence[Result]) -> str:
    first = group[0]
    given = {**_place(first.place), "title": shortened(one_line(f"{first.id}: {first.sentence}"), 200)}
    also = f"\nof the same cause: {', '.join(one_line(one.id) for one in group[1:])}" if len(group) > 1 else ""
    text = "\n".join(part for part in (one_line(first.name), first.said, first.details, *first.commands) if part)
    fields = ",".join(f"{name}={_property(value)}" for name, value in given.items())
    return f"::{level} {fields}::{_data(shortened(printable(text), _TEXT) + also)}"


def _place(place: SourcePlace | None) -> dict[str, str]:
    """The place as GitHub finds it: a file of the repository that is checked out; nothing where it lies elsewhere."""
    file = None if place is None or place.line is None else in_repository(place.file)
    if place is None or file is None or not Path(place.file).exists():
        return {}
    return {"file": file, "line": str(place.line)}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write(run: Run, changes: Changes | None = None) -> None:
    """Print the annotations, and add to the summary of the job where there is one. Raises InputError if it cannot be written."""
    for line in commands(run):
        _say(line)
    summary = os.environ.get(SUMMARY)
    if not summary:
        return
    text = markdown.write(run, changes)
    if len(text.encode("utf-8")) > SUMMARY_BYTES:
        cut = text.encode("utf-8")[:SUMMARY_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
        text = f"{cut}\n\nThe rest is too long for the summary of a job; see the other reports.\n"
    try:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{SUMMARY}={summary}: cannot be written ({error.strerror}); leave it as GitHub sets it") from None
