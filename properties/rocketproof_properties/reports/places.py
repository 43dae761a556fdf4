"""Where a finding belongs in the repository of whoever runs a command: code scanning and annotations show files of it and no others."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from .results import Result, Run, SourcePlace

WORKFLOW: Final = "GITHUB_WORKFLOW_REF"
"""A variable of GitHub's runners: `owner/repository/.github/workflows/FILE@REF`."""
_WORKFLOW_FILE: Final = re.compile(r"[^/]+/[^/]+/(\.github/workflows/[^@]+)@")
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


def root() -> Path:
    """Return the folder of the repository: GitHub's checkout, else the working directory. Raises OSError."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()


def in_repository(file: str) -> str | None:
    """Return the path of a file of the repository, relative to its root and with slashes; None for a file that lies elsewhere, or in an
    environment of installed packages."""
    if not file or "://" in file:
        return None
    try:
        path, base = Path(file).resolve(), root()
    except (OSError, ValueError):  # no path of this system
        return None
    if path == base or not path.is_relative_to(base) or not _INSTALLED.isdisjoint(path.parts):
        return None
    return path.relative_to(base).as_posix()


def anchor(run: Run) -> SourcePlace | None:
    """Return the place of what has none of its own: the workflow that runs the command, else the file that the command was given; None
    where neither is a file of the repository."""
    workflow = _WORKFLOW_FILE.match(os.environ.get(WORKFLOW, ""))
    for file in (workflow[1] if workflow else "", run.source):
        found = in_repository(str(root() / file)) if file else None
        if found is not None and (root() / found).is_file():
            return SourcePlace(found, 1)
    return None


def located(one: Result, run: Run, otherwise: SourcePlace | None) -> SourcePlace:
    """Return a place in the repository for a result: its own, else `otherwise`, which is the run's `anchor`, else its witness, else a name
    that stands for the command. The line is at least 1."""
    own = None if one.place is None else in_repository(one.place.file)
    if one.place is not None and own is not None:
        line = one.place.line if isinstance(one.place.line, int) else 1
        return SourcePlace(own, max(1, line), one.place.offset)
    witness = in_repository(one.witness) if otherwise is None else None
    return otherwise or SourcePlace(witness or f"rocketproof-{run.command}", 1)
