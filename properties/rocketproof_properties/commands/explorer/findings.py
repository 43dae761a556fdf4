"""Findings of a validation: each is the history of the smallest program that shows it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketproof_traces.explorer.opened import OpenedDocument, Progress

from ...reports.choices import InputError
from ...validation.results import REPORT, SCHEMA


@dataclass(frozen=True)
class SavedFinding:
    """A finding of a report: its history, the profile that it is judged by, its title, and the file of its program."""

    history: Path
    profile: str
    title: str
    program: str


def of_report(folder: Path) -> Sequence[SavedFinding]:
    """Return the findings of a report's folder whose histories exist. Raises InputError if the folder is no report."""
    file = folder / REPORT
    try:
        data = json.loads(file.read_text("utf-8"))
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError
        return [_finding(folder, str(data["profile"]), row) for row in data["findings"] if (folder / str(row["history"])).is_file()]
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); give the folder of a validation's report") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{file} is no report of a validation; give the folder that `rocketproof validate --report` has written") from None


def _finding(folder: Path, profile: str, row: Mapping[str, Any]) -> SavedFinding:
    return SavedFinding(folder / str(row["history"]), profile, _title(row), str(row.get("file", "")))


def _title(row: Mapping[str, Any]) -> str:
    """Return the property with the guard that refuses; without a guard, with what was found."""
    found = f"refused by {row['guard']}" if row.get("guard") else row.get("text") or row.get("found") or ""
    return textwrap.shorten(f"{row['property']}: {found}".strip().rstrip(":"), 200, placeholder=" …")


def of_program(path: Path) -> SavedFinding:
    """Return the finding whose program is this file of a report's folder. Raises InputError."""
    folder = path.absolute().parent.parent
    for finding in of_report(folder):
        if finding.program and folder / finding.program == path.absolute():
            return finding
    raise InputError(f"{path} is no finding of {folder / REPORT}, or its history is gone; give the folder of the report")


def opened(finding: SavedFinding, report: Progress, around: int | None = None) -> OpenedDocument:
    """Judge the history of a finding again, and return it for the explorer."""
    from ...judging import documents as histories

    return histories.of_file(finding.history, finding.profile, report, finding.title, around)


__all__ = ["SavedFinding", "of_program", "of_report", "opened"]
