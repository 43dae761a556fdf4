"""The catalogue of a running explorer, for the specification or a model file.

It lists properties with the cases that a search decides, and scopes to explore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...catalogue import modelfile
from ..checks.plan import CheckRequest, plan
from .traces import ENGINE


def properties(file: str | None) -> Sequence[Mapping[str, Any]]:
    """Return the properties that a search decides, each with its cases."""
    rows: dict[str, dict[str, Any]] = {}
    for source, id_, sentence, condition, expected in _cases(file):
        row = rows.setdefault(id_, {"id": id_, "sentence": sentence, "cases": []})
        case = {"profile": source[1], "scope": source[0], "condition": condition, "expected": expected}
        if case not in row["cases"]:
            row["cases"].append(case)
    return list(rows.values())


def _cases(file: str | None) -> list[tuple[tuple[str, str], str, str, str, str]]:
    sizes: Sequence[str | None] = [None] if file is None else [row["name"] for row in scopes(file)]
    return [
        ((task.source.scope, task.source.profile), task.claim, task.sentence, task.condition, task.expected)
        for scope in sizes
        for task in plan(CheckRequest(file, scope=scope)).tasks
        if task.engine == ENGINE
    ]


def scopes(file: str | None) -> Sequence[Mapping[str, str]]:
    """Return the finite sizes that can be explored freely, each with a description."""
    if file is not None:
        return [{"name": name, "about": ""} for name in modelfile.load(file).scopes]
    from rocketproof_spec import NAMES, SCOPES

    return [{"name": name, "about": SCOPES[name].about if name in SCOPES else "a fault in a small model of its own"} for name in NAMES]


__all__ = ["properties", "scopes"]
