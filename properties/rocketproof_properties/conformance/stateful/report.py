"""Saves a finding as a pytest test, with the specification's states for its steps in a witness file for the explorer."""

from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path

from rocketproof_traces.witness import itf

from ...catalogue.source import ModelSource
from ...reports.choices import InputError
from .follow import ConformanceError

DEFAULT_FOLDER = Path(".rocketproof") / "findings"


def as_test(source: ModelSource, finding: ConformanceError) -> str:
    """Return the source of a test that performs the program and fails like the finding."""
    text = textwrap.indent(finding.text.replace("\\", "\\\\").replace('"""', "'''"), "    ").strip()
    steps = "".join(f"\n        {step!r}," for step in finding.steps)
    constants = dict(source.given)
    return (
        "from rocketproof_properties.conformance.stateful.replay import replay\n\n\n"
        f"def test_finding() -> None:\n"
        f'    """{text}\n    """\n'
        f"    replay(\n        scope={source.scope!r},\n        profile={source.profile!r},\n        given={constants!r},\n"
        f"        steps=[{steps}\n        ],\n    )\n"
    )


def save(source: ModelSource, finding: ConformanceError, folder: Path = DEFAULT_FOLDER) -> Path:
    """Write the test and the witness (`course_of`). The same finding gets the same name. Raises InputError if they cannot be written."""
    text = as_test(source, finding)
    path = folder / f"test_finding_{hashlib.sha256(text.encode()).hexdigest()[:10]}.py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        course_of(path).write_text(itf.dumps(finding.course, source.record()), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); run in a folder that you may write to") from None
    return path


def course_of(test: Path) -> Path:
    """Return the path of the witness next to a finding's test, which `rocketproof explore` opens."""
    return test.with_suffix(".itf.json")
