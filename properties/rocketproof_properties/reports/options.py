"""`--report KIND` or `--report KIND:PATH`: which reports a user wants, refused before the run begins where they could not be written."""

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
    """A report: its kind, and the file or folder that it is written to, None for what goes to the log of a build."""

    kind: str
    path: Path | None = None

    @property
    def place(self) -> Path:
        """The path, of a kind that has one."""
        assert self.path is not None
        return self.path

    def __str__(self) -> str:
        return self.kind if self.path is None else f"{self.kind}:{self.path}"


def wanted(values: Sequence[str]) -> tuple[WantedReport, ...]:
    """The reports that these values of --report name. Raises InputError for an unknown kind and for a place that cannot be written."""
    found: dict[WantedReport, None] = {}
    for value in values:
        found.setdefault(_one(value))
    taken: dict[Path, WantedReport] = {}
    for one in found:
        if one.path is not None:
            other = taken.setdefault(one.path.absolute(), one)
            if other is not one:
                raise InputError(f"--report {one}: {other.kind} is written there too; give each report a place of its own")
    return tuple(found)


def is_kind(value: str) -> bool:
    """Whether a value means a report of a kind and not a folder, which `validate` takes as well."""
    kind, colon, _ = value.partition(":")
    return kind in KINDS or (bool(colon) and os.sep not in kind)


def _one(value: str) -> WantedReport:
    kind, colon, path = value.partition(":")
    if kind not in KINDS:
        raise InputError(f"--report {value}: unknown kind {kind!r}; {offer(kind, KINDS)}")
    if kind in _NOWHERE:
        if colon:
            raise InputError(f"--report {value}: {kind} goes to the log and the summary of the job and takes no path; leave out :{path}")
        return WantedReport(kind)
    if not path:
        raise InputError(f"--report {value}: it lacks a {_what(kind)}; give {kind}:{_EXAMPLES[kind]}")
    made = WantedReport(kind, Path(path))
    if kind == "badge" and made.place.suffix not in BADGES:
        raise InputError(
            f"--report {value}: a badge is a picture or the JSON of an endpoint; give badge:FILE{' or badge:FILE'.join(BADGES)}"
        )
    if kind in _FOLDERS:
        _check_folder(made)
    else:
        check_writable(made.place, f"--report {kind}:")
    return made


def _what(kind: str) -> str:
    return "folder" if kind in _FOLDERS else "file"


def _check_folder(one: WantedReport) -> None:
    """Refuse a folder that could not be written at the end of a long run."""
    path = one.place
    if path == STREAM:
        raise InputError(f"--report {one}: a folder cannot be standard output; give a folder")
    if path.exists() and not path.is_dir():
        raise InputError(f"--report {one}: it is a file; give a folder")
    known = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not known.is_dir() or not os.access(known, os.W_OK):
        raise InputError(f"--report {one}: it may not be written; give a folder of your own")
