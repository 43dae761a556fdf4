"""What a running explorer can open: hazards, properties of the catalogue or of a model file, scopes, and the files of a folder.

The files are witnesses, histories and findings of a validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_traces.explorer.opened import Opened, Progress
from rocketproof_traces.history import is_history

from ...reports.choices import InputError
from ...validation.results import REPORT
from ..checks import witnessfiles
from . import findings, hazards, traces
from .catalogue import properties, scopes
from .traces import CHOICES, Wish

WITNESS: Final = ".itf.json"
HISTORIES: Final = ("*.ndjson", "*.ndjson.*", "*.jsonl", "*.jsonl.*")
_ENGINE: Final = re.compile(r" (simulate|symbolic)\b")


@dataclass
class Openings:
    """`opened` is shown first.

    `file` is a model file, None for the specification. `folder` holds witnesses, histories or a validation's report. Histories are judged
    by `profile`, if given; histories of a report are judged by the report's profile.
    """

    opened: Opened | None = None
    file: str | None = None
    folder: Path = witnessfiles.DEFAULT_FOLDER
    profile: str | None = None
    _rows: Mapping[str, Any] | None = field(default=None, init=False)

    def start(self) -> Opened | None:
        return self.opened

    def catalogue(self) -> Mapping[str, Any]:
        """Return known hazards, properties with their cases, witness files and scopes, each with the arguments of `open`."""
        if self._rows is None:
            known = [] if self.file else hazards.listed()
            self._rows = {"hazards": known, "properties": properties(self.file), "scopes": scopes(self.file)}
        witnesses = [{"id": name, "title": title, "path": name} for name, title in self.files().items()]
        return {**self._rows, "witnesses": witnesses}

    def files(self) -> dict[str, str]:
        """Return the title of each file of the folder, by path. For a validation's report, the files are the histories of its findings."""
        if (self.folder / REPORT).is_file():
            return {str(finding.history): finding.title for finding in findings.of_report(self.folder)}
        paths = [path for pattern in (f"*{WITNESS}", *HISTORIES) for path in self.folder.glob(pattern)]
        conditions = _conditions() if paths else {}
        return {str(path): _title(path.name.removesuffix(WITNESS), conditions) for path in sorted(paths)}

    def _profile(self, path: str) -> str | None:
        """Return the profile that a history of the folder is judged by."""
        if (self.folder / REPORT).is_file():
            return next((finding.profile for finding in findings.of_report(self.folder) if str(finding.history) == path), self.profile)
        return self.profile

    def open(self, wish: Mapping[str, Any], report: Progress) -> Opened:
        """Open what a page requests. Raises RocketproofError."""
        for name, value in wish.items():
            if name not in (*CHOICES, "witness", "hazard") or not (value is None or isinstance(value, str)):
                raise InputError(f"{name} is nothing that can be opened; send witness, hazard, or {', '.join(CHOICES)}, as text")
        if wish.get("witness"):
            if wish["witness"] not in self.files():
                raise InputError(f"{wish['witness']} is not in {self.folder}; choose one of the catalogue")
            return of_path(wish["witness"], self._profile(wish["witness"]), report)
        if wish.get("hazard"):
            return hazards.opened(wish["hazard"], wish.get("profile") or None, self.catalogue()["properties"])
        return traces.of_wish(Wish(**{name: wish.get(name) or None for name in CHOICES}, file=self.file), report)


def _title(stem: str, conditions: Mapping[str, str]) -> str:
    """Return a title such as `LIV-03 · P49 · endless sends` for a witness of the specification; other files keep their name.

    An engine or a scope after the condition is separated by a comma. The condition is spelled as in the catalogue.
    """
    match = re.fullmatch(r"(.+?)-(P[0-9]+)(?:-(.+))?", stem)
    if match is None:
        return stem
    rest = match[3] or ""
    slug = max((slug for slug in conditions if f"{rest}-".startswith(f"{slug}-")), key=len, default="")
    if slug:
        case = ", ".join((conditions[slug], *filter(None, rest.removeprefix(slug).split("-"))))
    else:
        case = _ENGINE.sub(r", \1", rest.replace("-", " "))
    return " · ".join(part for part in (match[1], match[2], case) if part)


def _conditions() -> Mapping[str, str]:
    """Return the conditions of the catalogue by their part of a witness's file name."""
    from ...catalogue.table import CASES

    return {witnessfiles.slug(case.condition.lower()): case.condition for case in CASES if case.condition}


def of_path(path: str, profile: str | None, report: Progress, around: int | None = None) -> Opened:
    """Open a witness file, a history, a recording, or the program of a validation's finding.

    A long history is cut to the part `around` an event. Raises RocketproofError.
    """
    file = Path(path)
    if file.suffix == ".py":
        return findings.opened(findings.of_program(file), report, around)
    if not (is_history(file) or any(file.match(pattern) for pattern in HISTORIES)):
        if around is not None:
            raise InputError(f"--around with {path}, which is no history; leave it out")
        return traces.of_file(path)
    if profile is None:
        raise InputError(f"{path} is a history, which is judged by a profile; give --profile, such as P494")
    from ...judging import documents as histories

    return histories.of_file(file, profile, report, around=around)


__all__ = ["WITNESS", "Openings", "of_path"]
