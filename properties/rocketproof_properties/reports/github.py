"""GitHub's job log: annotations as workflow commands, and the job summary in Markdown.

A broker's text could contain a workflow command. Commands are therefore disabled while a run prints its own output.
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
"""Maximum number of annotations per level that GitHub shows for one step. It drops the rest."""
SUMMARY: Final = "GITHUB_STEP_SUMMARY"
SUMMARY_BYTES: Final = 1_000_000
"""Slightly less than the largest summary that GitHub accepts."""
_TEXT: Final = 2_000
Level = Literal["error", "warning"]


@contextmanager
def commands_off() -> Iterator[None]:
    """Disable workflow commands in the output printed meanwhile."""
    token = secrets.token_hex(16)
    _print_line(f"::stop-commands::{token}")
    try:
        yield
    finally:
        _print_line(f"::{token}::")


def _print_line(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        nobody_listens()


def commands(run: Run) -> list[str]:
    """Return a workflow command for each result that needs attention, one per group with the same cause.

    Their number per level is limited to `SHOWN`.
    """
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
    parameters = {**_place(first.place), "title": shortened(one_line(f"{first.id}: {first.sentence}"), 200)}
    same_cause = f"\nof the same cause: {', '.join(one_line(result.id) for result in group[1:])}" if len(group) > 1 else ""
    text = "\n".join(part for part in (one_line(first.name), first.said, first.details, *first.commands) if part)
    fields = ",".join(f"{name}={_property(value)}" for name, value in parameters.items())
    return f"::{level} {fields}::{_data(shortened(printable(text), _TEXT) + same_cause)}"


def _place(place: SourcePlace | None) -> dict[str, str]:
    """Return the place as GitHub expects it: a file of the checked-out repository; nothing for a file elsewhere."""
    file = None if place is None or place.line is None else in_repository(place.file)
    if place is None or file is None or not Path(place.file).exists():
        return {}
    return {"file": file, "line": str(place.line)}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write(run: Run, changes: Changes | None = None) -> None:
    """Print the annotations, and append to the job summary if there is one. Raises InputError if it cannot be written."""
    for line in commands(run):
        _print_line(line)
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
