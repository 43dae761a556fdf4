"""Failures of the last run, saved in `.rocketproof/failures`. The next run tries them first.

Nothing depends on these files: a missing or unreadable file means that there are no saved failures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from . import files as store
from .choices import InputError

SCHEMA: Final = "rocketproof-failures"
VERSION: Final = 1
FOLDER: Final = Path(".rocketproof") / "failures"


def file_of(*names: str) -> Path:
    """Return the file for a command and its subject."""
    return FOLDER / ("-".join(re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "any" for name in names) + ".json")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the failures in a file; none if it cannot be read."""
    try:
        saved = json.loads(path.read_text("utf-8"))
        if saved["schema"] != SCHEMA or saved["version"] != VERSION:
            return []
        return [row for row in saved["failures"] if isinstance(row, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def keep(path: Path, failures: Sequence[dict[str, Any]]) -> str:
    """Replace the saved failures, and delete a file that would be empty. Return an error message, or "" on success."""
    try:
        if not failures:
            path.unlink(missing_ok=True)
            return ""
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_json(path, {"schema": SCHEMA, "version": VERSION, "failures": list(failures)})
    except OSError as error:
        return f"failures are not remembered: {path} cannot be written ({error.strerror})"
    except InputError:
        return f"failures are not remembered: {path} cannot be written"
    return ""
