"""Findings that a validation has left: each is the history of the smallest program that shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketproof_traces.explorer.opened import OpenedHistory, Progress

from ...reports.choices import InputError
from ...validation.results import REPORT, SCHEMA


@dataclass(frozen=True)
class SavedFinding:
    """A finding of a report: its history, the profile that it is judged by, and what it says."""

    history: Path
    profile: str
    title: str
    program: str


def of_report(folder: Path) -> Sequence[SavedFinding]:
    """The findings of a report's folder whose histories are there. Raises InputError if it is no report."""
    file = folder / REPORT
    try:
        data = json.loads(file.read_text("utf-8"))
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError
        return [_kept(folder, str(data["profile"]), row) for row in data["findings"] if (folder / str(row["history"])).is_file()]
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); give the folder of a validation's report") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{file} is no report of a validation; give the folder that `rocketproof validate --report` has written") from None


def _kept(folder: Path, profile: str, row: Mapping[str, Any]) -> SavedFinding:
    said = " ".join(f"{row['property']}: {row.get('text') or row.get('found') or ''}".split()).rstrip(": ")
    return SavedFinding(folder / str(row["history"]), profile, said[:200], str(row.get("file", "")))


def of_program(path: Path) -> SavedFinding:
    """The finding whose program this file is, as it lies in a report's folder. Raises InputError."""
    folder = path.absolute().parent.parent
    for kept in of_report(folder):
        if kept.program and folder / kept.program == path.absolute():
            return kept
    raise InputError(f"{path} is no finding of {folder / REPORT}, or its history is gone; give the folder of the report")


def opened(kept: SavedFinding, report: Progress, around: int | None = None) -> OpenedHistory:
    """The history of a finding, judged again."""
    from ...judging import documents as histories

    return histories.of_file(kept.history, kept.profile, report, kept.title, around)


__all__ = ["SavedFinding", "of_program", "of_report", "opened"]
