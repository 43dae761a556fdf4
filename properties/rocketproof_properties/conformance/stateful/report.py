"""A finding as something to keep: a pytest test that runs as it stands, and the specification's course beside it, to walk in."""

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
    """The source text of a test that performs the program and fails as the finding did."""
    said = textwrap.indent(finding.text.replace("\\", "\\\\").replace('"""', "'''"), "    ").strip()
    steps = "".join(f"\n        {step!r}," for step in finding.steps)
    given = dict(source.given)
    return (
        "from rocketproof_properties.conformance.stateful.replay import replay\n\n\n"
        f"def test_finding() -> None:\n"
        f'    """{said}\n    """\n'
        f"    replay(\n        scope={source.scope!r},\n        profile={source.profile!r},\n        given={given!r},\n"
        f"        steps=[{steps}\n        ],\n    )\n"
    )


def save(source: ModelSource, finding: ConformanceError, folder: Path = DEFAULT_FOLDER) -> Path:
    """Write the test, and the course beside it (`course_of`); the same finding has the same name. Raises InputError if it cannot."""
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
    """The witness beside a finding's test: the steps as the specification takes them, which `rocketproof explore` opens."""
    return test.with_suffix(".itf.json")
