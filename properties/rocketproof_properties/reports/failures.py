"""What failed in the last run, kept in `.rocketproof/failures` for the next one, which tries it first.

A convenience that nothing depends on: a file that is not there or cannot be read is no failure to remember.
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
    """The file of a command and what it was asked about."""
    return FOLDER / ("-".join(re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "any" for name in names) + ".json")


def read(path: Path) -> list[dict[str, Any]]:
    """The failures in a file, none where it cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["schema"] != SCHEMA or found["version"] != VERSION:
            return []
        return [row for row in found["failures"] if isinstance(row, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def keep(path: Path, failures: Sequence[dict[str, Any]]) -> str:
    """Replace what is remembered, and remove a file that would be empty; why it could not be done, "" if it was."""
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
