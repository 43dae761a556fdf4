"""Snapshots of what people read: help texts, first steps, errors, and the output of `check`.

After an intended change, `ROCKETPROOF_SNAPSHOTS=write pytest tests/cli/test_snapshots.py` writes them again; review the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rocketproof_properties.commands.program import app
from rocketproof_properties.reports.output import Output

Run = Callable[..., Any]
FOLDER = Path(__file__).with_name("snapshots")
WRITE = "ROCKETPROOF_SNAPSHOTS"
COMMANDS = sorted(name for name in app if not name.startswith("-"))
ERRORS = {
    "command": ("chek",),
    "option": ("check", "--profle", "P49"),
    "property": ("check", "--property", "INV-999"),
    "profile": ("check", "--profile", "P999"),
    "hazard": ("hazard", "HAZ-99"),
    "scope": ("check", "--scope", "tinny"),
    "kind": ("list", "propertys"),
    "target": ("validate", "--target", "apache"),
    "witness": ("show", "missing.itf.json"),
    "page": ("docs", "portin"),
}


def compare(name: str, text: str) -> None:
    """Compare a text with its snapshot, or write it."""
    file = FOLDER / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get(WRITE) == "write":
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), f"{file.name} differs; {WRITE}=write writes it again"


def without_seconds(text: str) -> str:
    return re.sub(r"[0-9.]+ s$", "0.0 s", text, flags=re.MULTILINE)


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(app, "console", Output(width=80))


def test_help_of_the_program(rocketproof: Run) -> None:
    compare("help", rocketproof("--help").out)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "bench"])
def test_help_of_a_command(command: str, rocketproof: Run) -> None:
    compare(f"help-{command}", rocketproof(command, "--help").out)


def test_first_steps(rocketproof: Run) -> None:
    done = rocketproof()
    assert done.code == 0
    compare("first-steps", done.out)


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_name_the_nearest(kind: str, rocketproof: Run) -> None:
    done = rocketproof(*ERRORS[kind])
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    compare(f"error-{kind}", done.err)


def test_check_as_expected(catalogue: ModuleType, rocketproof: Run) -> None:
    compare("check", without_seconds(rocketproof("check").out))


@pytest.mark.parametrize("width", [40, 80])
def test_check_with_an_unexpected_verdict(width: int, catalogue: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    catalogue.CASES = tuple(replace(case, expected="holds") if case.condition else case for case in catalogue.CASES)
    done = rocketproof("check")
    assert done.code == 1
    compare(f"check-unexpected-{width}", without_seconds(done.out))
