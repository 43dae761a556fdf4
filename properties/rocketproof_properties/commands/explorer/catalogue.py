"""The catalogue of a running explorer, for the specification or a model file.

It lists properties with the cases that a search decides, the known hazards that such a case shows, and scopes to explore.
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


def hazards(offered: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, str]]:
    """Return the known hazards for which a search finds a counterexample, each with its case.

    The first property of a hazard shows it. If an earlier hazard already names that property, the later hazard is not listed.
    """
    from ...hazards import HAZARDS

    cases = {row["id"]: [case for case in row["cases"] if case["expected"] == "violated"] for row in offered}
    result: list[Mapping[str, str]] = []
    touched: set[str] = set()
    for hazard in HAZARDS.values():
        shown = next(iter(hazard.properties), "")
        fitting = [case for profile in hazard.profiles for case in cases.get(shown, ()) if case["profile"] == profile]
        if fitting and shown not in touched:
            case = min(fitting, key=lambda case: (hazard.profiles.index(case["profile"]), "administrator" in case["condition"]))
            where = {name: case[name] for name in ("profile", "scope", "condition")}
            result.append({"id": hazard.id, "title": hazard.title, "property": shown, **where})
        touched.update(hazard.properties)
    return result


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


__all__ = ["hazards", "properties", "scopes"]
