"""Requests are built in one place: whatever asks a broker names a step of the vocabulary."""

from __future__ import annotations

import ast
from pathlib import Path

import rocketproof_properties

PACKAGE = Path(rocketproof_properties.__file__).parent
OTHERS = {"conformance/drivers/answering.py", "validation/releases/pairs.py"}
"""A target of answers has codes and no contents; a recorded answer that is compared with another one is no request."""


def test_no_request_is_built_outside_of_the_builder() -> None:
    builders = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Command(" not in text:
            continue
        calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        if any(isinstance(called, ast.Name) and called.id == "Command" for called in calls):
            builders.add(path.relative_to(PACKAGE).as_posix())
    assert builders == {"programs/call.py", *OTHERS}
