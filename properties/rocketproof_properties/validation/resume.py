"""Resume an interrupted run from its folder, which has the run's options and the histories of completed programs.

A program whose history is incomplete is run again; its history is moved to another folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.shown import json_text
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import read as read_history
from rocketproof_traces.history.exchanges import OVER

from ..programs.program import Program
from ..reports.choices import InputError
from .report import HISTORIES, document
from .report import read as read_report
from .results import REPORT

SCHEMA: Final = "rocketproof-validation-run"
VERSION: Final = 2
RUN: Final = "run.json"
ASIDE: Final = "interrupted"
_TAIL: Final = 4096  # bytes at the end of a history that contain its last event


def note(folder: Path, options: Mapping[str, Any]) -> None:
    """Save the options of a run. Raises InputError if they cannot be written."""
    try:
        text = json_text({"schema": SCHEMA, "version": VERSION, **options}, indent=1)
        (folder / RUN).write_text(text + "\n", "utf-8")
    except OSError as error:
        raise InputError(f"the report cannot be written to {folder} ({error.strerror}); free some space there or give another") from None


def read(folder: Path) -> dict[str, Any]:
    """Return the options of the run in this folder. Raises InputError if it has none."""
    options = document(folder, RUN, SCHEMA, VERSION, "--resume")
    return {name: value for name, value in options.items() if name not in ("schema", "version")}


def report(folder: Path) -> dict[str, Any]:
    """Return the report of the run so far, empty if none was written. Raises InputError if it is invalid."""
    return read_report(folder, "--resume") if (folder / REPORT).exists() else {}


def recorded(folder: Path, programs: Sequence[Program]) -> dict[int, Path]:
    """Return the histories of completed programs, by program number. Incomplete histories are moved to another folder.

    Raises InputError if a history is not of these programs: another release of this tool generates other programs from the same seed.
    """
    by_number = {one.number: one for one in programs}
    completed: dict[int, Path] = {}
    for path in sorted((folder / HISTORIES).glob("*.ndjson")):
        program = _program(path)
        if program is None or not is_over(path):
            (folder / ASIDE).mkdir(exist_ok=True)
            path.rename(folder / ASIDE / path.name)
            continue
        number = whole_number(program.get("number", 0))
        if number not in by_number or program != json.loads(json.dumps(by_number[number].data())):
            raise InputError(f"--resume {folder}: {path.name} is of a program that this seed does not give any more; begin a new run")
        completed[number] = path
    return completed


def is_over(path: Path) -> bool:
    """Return whether the last event of a history marks the end of its program."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        lines = file.read().splitlines(keepends=True)
    try:
        return bool(lines) and lines[-1].endswith(b"\n") and json.loads(lines[-1]).get("op") == OVER
    except (ValueError, AttributeError):
        return False


def _program(path: Path) -> dict[str, Any] | None:
    """Return the program in a history's header; None if there is no header, because the run was killed before it was written."""
    try:
        header, _ = read_history(path)
    except TraceError:
        return None
    program = header.origin.get("program")
    return program if isinstance(program, dict) else None
