"""Going on with a run that was interrupted: its folder keeps how it was asked for, and the histories of the programs that are over.

A program whose history has no end (the run was killed or stopped in the middle of it) is done again; its history is put aside.
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
_TAIL: Final = 4096  # bytes that the last event of a history fits into


def note(folder: Path, asked: Mapping[str, Any]) -> None:
    """Write down how a run is asked for. Raises InputError where that cannot be written."""
    try:
        text = json_text({"schema": SCHEMA, "version": VERSION, **asked}, indent=1)
        (folder / RUN).write_text(text + "\n", "utf-8")
    except OSError as error:
        raise InputError(f"the report cannot be written to {folder} ({error.strerror}); free some space there or give another") from None


def read(folder: Path) -> dict[str, Any]:
    """How the run of this folder was asked for. Raises InputError if it is none of ours."""
    found = document(folder, RUN, SCHEMA, VERSION, "--resume")
    return {name: value for name, value in found.items() if name not in ("schema", "version")}


def report(folder: Path) -> dict[str, Any]:
    """The report of the run so far, empty where it had no time to write one. Raises InputError if it is none of ours."""
    return read_report(folder, "--resume") if (folder / REPORT).exists() else {}


def recorded(folder: Path, programs: Sequence[Program]) -> dict[int, Path]:
    """The histories of the programs that are over, by the program's number; the others are put aside.

    Raises InputError if they are not histories of these programs: another release of this tool makes others of the same seed.
    """
    by_number = {one.number: one for one in programs}
    found: dict[int, Path] = {}
    for path in sorted((folder / HISTORIES).glob("*.ndjson")):
        program = _program(path)
        if program is None or not is_over(path):
            (folder / ASIDE).mkdir(exist_ok=True)
            path.rename(folder / ASIDE / path.name)
            continue
        number = whole_number(program.get("number", 0))
        if number not in by_number or program != json.loads(json.dumps(by_number[number].data())):
            raise InputError(f"--resume {folder}: {path.name} is of a program that this seed does not give any more; begin a new run")
        found[number] = path
    return found


def is_over(path: Path) -> bool:
    """Whether the last event of a history says that its program was done to the end."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        lines = file.read().splitlines(keepends=True)
    try:
        return bool(lines) and lines[-1].endswith(b"\n") and json.loads(lines[-1]).get("op") == OVER
    except (ValueError, AttributeError):
        return False


def _program(path: Path) -> dict[str, Any] | None:
    """The program in a history's header, None where the file has none: it was killed while it was begun."""
    try:
        header, _ = read_history(path)
    except TraceError:
        return None
    found = header.origin.get("program")
    return found if isinstance(found, dict) else None
