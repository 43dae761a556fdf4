"""The place of a finding in the user's repository. Code scanning and annotations only show files of the repository."""

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
    """Return a file's path relative to the root of the repository, with slashes; None for a file outside it, or in an environment of
    installed packages.
    """
    if not file or "://" in file:
        return None
    try:
        path, base = Path(file).resolve(), root()
    except (OSError, ValueError):  # not a valid path on this system
        return None
    if path == base or not path.is_relative_to(base) or not _INSTALLED.isdisjoint(path.parts):
        return None
    return path.relative_to(base).as_posix()


def anchor(run: Run) -> SourcePlace | None:
    """Return the default place for results without a place: the workflow that runs the command, else the file that the command was given;
    None if neither is a file of the repository.
    """
    workflow = _WORKFLOW_FILE.match(os.environ.get(WORKFLOW, ""))
    for file in (workflow[1] if workflow else "", run.source):
        relative = in_repository(str(root() / file)) if file else None
        if relative is not None and (root() / relative).is_file():
            return SourcePlace(relative, 1)
    return None


def located(result: Result, run: Run, otherwise: SourcePlace | None) -> SourcePlace:
    """Return a result's place in the repository: its own, else `otherwise` (the run's `anchor`), else its witness, else a file name made
    from the command. The line is at least 1.
    """
    own = None if result.place is None else in_repository(result.place.file)
    if result.place is not None and own is not None:
        line = result.place.line if isinstance(result.place.line, int) else 1
        return SourcePlace(own, max(1, line), result.place.offset)
    witness = in_repository(result.witness) if otherwise is None else None
    return otherwise or SourcePlace(witness or f"rocketproof-{run.command}", 1)
