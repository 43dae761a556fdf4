"""Every test belongs to one tier: .ci/run runs it, or .ci/nightly does."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression
from steps_of_ci import CI, ROOT

NAMED = ("tests/long", "tests/real", "tests/spark")
"""Folders whose tests only run where they are named."""
LISTING = """
import json, os
def pytest_collection_finish(session):
    found = [[item.nodeid, sorted({mark.name for mark in item.iter_markers()})] for item in session.items]
    with open(os.environ["LISTED"], "w") as file:
        json.dump(found, file)
"""


def collected(folder: Path) -> dict[str, set[str]]:
    """All tests with their marks."""
    (folder / "listing.py").write_text(LISTING)
    env = {**os.environ, "LISTED": str(folder / "listed.json"), "PYTHONPATH": str(folder)}
    command = ["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "listing", "-n0", "-m", "", "tests", *NAMED]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return {name: set(marks) for name, marks in json.loads((folder / "listed.json").read_text())}


def chosen(step: Any, tests: dict[str, set[str]]) -> list[str]:
    """The tests that a step runs: those of its folder that its `-m` chooses."""
    words = shlex.split(step.command)
    wanted = Expression.compile(words[words.index("-m") + 1])
    folder = next((word for word in words if word.startswith("tests/")), None)
    found = []
    for name, marks in tests.items():
        here = name.startswith(folder) if folder else not name.startswith(NAMED)
        if here and wanted.evaluate(lambda mark, marks=marks: mark in marks):
            found.append(name)
    return found


@pytest.mark.slow
def test_every_test_belongs_to_one_tier(tmp_path: Path) -> None:
    tests = collected(tmp_path)
    assert len(tests) > 10_000
    steps = [step for step in (*CI.RUN, *CI.NIGHTLY) if step.tests and "-k" not in shlex.split(step.command)]
    runs = [chosen(step, tests) for step in steps]
    assert all(runs), [step.name for step, each in zip(steps, runs, strict=True) if not each]
    assert sorted(name for each in runs for name in each) == sorted(tests)
    assert not [name for name, marks in tests.items() if {"slow", "nightly"} <= marks]
