"""A run as a file, schema `rocketproof-run`: what `--report run:FILE` writes and `--since FILE` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.shown import json_text

from .choices import InputError
from .results import Covered, Result, Run

SCHEMA: Final = "rocketproof-run"
VERSION: Final = 1


def write(run: Run) -> str:
    """Return the run as JSON, one result per line."""
    head = {
        "schema": SCHEMA, "version": VERSION, "command": run.command, "subject": run.subject, "profile": run.profile,
        "started": run.started, "seconds": round(run.seconds, 3), "tool": run.tool, "exit": run.exit, "stopped": run.stopped,
        "notes": list(run.notes), "line": run.line,
    }  # fmt: skip
    written = partial(json_text, allow_nan=False)
    parts = [f" {json.dumps(name)}: {written(value)}" for name, value in head.items()]
    lists = {"covered": [entry.record() for entry in run.covered], "results": [entry.record() for entry in run.results]}
    for name, rows in lists.items():
        parts.append(f" {json.dumps(name)}: [" + "".join(f"\n  {written(row)}," for row in rows).rstrip(",") + ("\n ]" if rows else "]"))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(path: Path, option: str) -> Any:
    """Return the JSON of a file that the option names. Raises InputError."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be read ({error.strerror}); give the file of an earlier run") from None
    except (ValueError, RecursionError):
        raise InputError(f"{option} {path}: is not JSON; give a file that --report run:FILE or --json has written") from None


def read(data: Mapping[str, Any], shown: str) -> Run:
    """Parse the data of a saved run. `shown` is the file's name in errors. Raises InputError."""
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(f"{shown}: it has version {version}, this one reads up to {VERSION}; update rocketproof")
    try:
        return Run(
            str(data["command"]),
            str(data["subject"]),
            tuple(Result.read(row) for row in data["results"]),
            whole_number(data["exit"]),
            str(data.get("profile") or ""),
            str(data.get("started") or ""),
            float(data.get("seconds") or 0.0),
            str(data.get("tool") or ""),
            tuple(map(str, data.get("notes") or ())),
            str(data.get("stopped") or ""),
            tuple(Covered.read(row) for row in data.get("covered") or ()),
            str(data.get("line") or ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{shown}: its results are not of a run; give a file that --report run:FILE has written") from None
