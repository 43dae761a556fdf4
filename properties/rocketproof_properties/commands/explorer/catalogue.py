"""What a running explorer offers besides files: properties with the cases that a search decides, the known hazards that such a case shows,
and scopes to walk in; those of the specification, or of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...catalogue import modelfile
from ..checks.plan import CheckRequest, plan
from .traces import ENGINE


def properties(file: str | None) -> Sequence[Mapping[str, Any]]:
    """Properties that a search decides, each with its cases."""
    found: dict[str, dict[str, Any]] = {}
    for source, id_, sentence, condition, expected in _cases(file):
        row = found.setdefault(id_, {"id": id_, "sentence": sentence, "cases": []})
        case = {"profile": source[1], "scope": source[0], "condition": condition, "expected": expected}
        if case not in row["cases"]:
            row["cases"].append(case)
    return list(found.values())


def hazards(offered: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, str]]:
    """The known hazards of which a search finds a counterexample, each with the case in which it does.

    A hazard is shown by the first property that it names, unless that is the property of a hazard before it: then it only touches it.
    """
    from ...hazards import HAZARDS

    cases = {row["id"]: [case for case in row["cases"] if case["expected"] == "violated"] for row in offered}
    found: list[Mapping[str, str]] = []
    seen: set[str] = set()
    for one in HAZARDS.values():
        shown = next(iter(one.properties), "")
        fitting = [case for profile in one.profiles for case in cases.get(shown, ()) if case["profile"] == profile]
        if fitting and shown not in seen:
            case = min(fitting, key=lambda case: (one.profiles.index(case["profile"]), "administrator" in case["condition"]))
            where = {name: case[name] for name in ("profile", "scope", "condition")}
            found.append({"id": one.id, "title": one.title, "property": shown, **where})
        seen.update(one.properties)
    return found


def _cases(file: str | None) -> list[tuple[tuple[str, str], str, str, str, str]]:
    sizes: Sequence[str | None] = [None] if file is None else [row["name"] for row in scopes(file)]
    return [
        ((task.source.scope, task.source.profile), task.claim, task.sentence, task.condition, task.expected)
        for scope in sizes
        for task in plan(CheckRequest(file, scope=scope)).tasks
        if task.engine == ENGINE
    ]


def scopes(file: str | None) -> Sequence[Mapping[str, str]]:
    """The finite sizes in which one can walk freely, each with what it is about."""
    if file is not None:
        return [{"name": name, "about": ""} for name in modelfile.load(file).scopes]
    from rocketproof_spec import NAMES, SCOPES

    return [{"name": name, "about": SCOPES[name].about if name in SCOPES else "a fault in a small model of its own"} for name in NAMES]


__all__ = ["hazards", "properties", "scopes"]
