"""Requirements of GitHub code scanning for a SARIF file beyond the schema. A single violation makes it reject the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

SCHEMA = json.loads((Path(__file__).parents[1] / "data/sarif-schema-2.1.0.json").read_text("utf-8"))


def breaches(text: str) -> Iterator[str]:
    """Yield what code scanning would reject, for a file of its largest size too."""
    if len(text.encode()) > 10_000_000:
        yield f"{len(text.encode())} bytes"
    jsonschema.validate(log := json.loads(text), SCHEMA)
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        if len(rules) != len(set(rules)) or len(rules) > 25_000:
            yield f"{len(rules)} rules, {len(set(rules))} ids"
        if len(run["results"]) > 25_000:
            yield f"{len(run['results'])} results"
        noted = run["invocations"][0]["toolExecutionNotifications"]
        of_rules = [(result["ruleId"], result["ruleIndex"]) for result in run["results"]]
        of_rules += [
            (notification["associatedRule"]["id"], notification["associatedRule"]["index"])
            for notification in noted
            if "associatedRule" in notification
        ]
        yield from (f"rule {id_} is not number {number}" for id_, number in of_rules if rules[number : number + 1] != [id_])
        for result in run["results"]:
            yield from _of_result(result)


def _of_result(result: dict[str, Any]) -> Iterator[str]:
    if not 1 <= len(result["locations"]) <= 1_000:
        yield f"{len(result['locations'])} locations"
    for location in result["locations"]:
        place = location["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        if not uri or uri.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri) or ".." in unquote(uri).split("/"):
            yield f"{uri!r} is no path of the repository"
        if place["region"]["startLine"] < 1:
            yield f"line {place['region']['startLine']}"
