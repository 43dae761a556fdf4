"""Parse `--report KIND` and `--report KIND:PATH`. Reports that could not be written are rejected before the run begins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .choices import InputError, offer
from .files import STREAM, check_writable

KINDS: Final = ("junit", "sarif", "html", "markdown", "run", "badge", "github")
BADGES: Final = (".svg", ".json")
_FOLDERS: Final = ("html",)
_NOWHERE: Final = ("github",)
_EXAMPLES: Final = {
    "junit": "junit.xml",
    "sarif": "rocketproof.sarif",
    "html": "report",
    "markdown": "report.md",
    "run": "run.json",
    "badge": "badge.svg",
}


@dataclass(frozen=True)
class WantedReport:
    """A requested report: its kind, and the file or folder to write; None for a kind that is written to the build log."""

    kind: str
    path: Path | None = None

    @property
    def place(self) -> Path:
        """The path, for a kind that has a path."""
        assert self.path is not None
        return self.path

    def __str__(self) -> str:
        return self.kind if self.path is None else f"{self.kind}:{self.path}"


def wanted(values: Sequence[str]) -> tuple[WantedReport, ...]:
    """Parse the values of --report. Raises InputError for an unknown kind and for a path that cannot be written."""
    reports: dict[WantedReport, None] = {}
    for value in values:
        reports.setdefault(_parsed(value))
    by_path: dict[Path, WantedReport] = {}
    for report in reports:
        if report.path is not None:
            other = by_path.setdefault(report.path.absolute(), report)
            if other is not report:
                raise InputError(f"--report {report}: {other.kind} is written there too; give each report a place of its own")
    return tuple(reports)


def is_kind(value: str) -> bool:
    """Return whether a value names a kind of report. If not, it is a folder, which `validate` accepts as well."""
    kind, colon, _ = value.partition(":")
    return kind in KINDS or (bool(colon) and os.sep not in kind)


def _parsed(value: str) -> WantedReport:
    kind, colon, path = value.partition(":")
    if kind not in KINDS:
        raise InputError(f"--report {value}: unknown kind {kind!r}; {offer(kind, KINDS)}")
    if kind in _NOWHERE:
        if colon:
            raise InputError(f"--report {value}: {kind} goes to the log and the summary of the job and takes no path; leave out :{path}")
        return WantedReport(kind)
    if not path:
        raise InputError(f"--report {value}: it lacks a {_what(kind)}; give {kind}:{_EXAMPLES[kind]}")
    report = WantedReport(kind, Path(path))
    if kind == "badge" and report.place.suffix not in BADGES:
        raise InputError(
            f"--report {value}: a badge is a picture or the JSON of an endpoint; give badge:FILE{' or badge:FILE'.join(BADGES)}"
        )
    if kind in _FOLDERS:
        _check_folder(report)
    else:
        check_writable(report.place, f"--report {kind}:")
    return report


def _what(kind: str) -> str:
    return "folder" if kind in _FOLDERS else "file"


def _check_folder(report: WantedReport) -> None:
    """Raise InputError for a folder that could not be written at the end of a long run."""
    path = report.place
    if path == STREAM:
        raise InputError(f"--report {report}: a folder cannot be standard output; give a folder")
    if path.exists() and not path.is_dir():
        raise InputError(f"--report {report}: it is a file; give a folder")
    existing = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InputError(f"--report {report}: it may not be written; give a folder of your own")
