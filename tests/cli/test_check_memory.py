"""`check` first decides the tasks that differed last time, and its output does not change."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rocketproof_properties.commands.checks import verdictcache

Run = Callable[..., Any]


def test_differing_tasks_are_decided_first_until_as_expected(
    catalogue: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    decide = verdictcache.decide

    def noted(unit: Any, *rest: Any) -> Any:
        order.append(f"{unit.engine} {unit.tasks[0].condition}".strip())
        return decide(unit, *rest)

    monkeypatch.setattr(verdictcache, "decide", noted)
    right = catalogue.CASES
    catalogue.CASES = tuple(replace(one, expected="holds") if one.condition else one for one in right)  # type: ignore[attr-defined]
    assert rocketproof("check", "--json", "first.json").code == 1
    first = list(order)
    assert first == ["explicit", "explicit broken lock", "symbolic"]
    (kept,) = json.loads(Path(".rocketproof/failures/check.json").read_text())["failures"]
    assert (kept["property"], kept["engine"], kept["profile"]) == ("D-1", "explicit", "P49")
    order.clear()
    assert rocketproof("check", "--property", "D-2").code == 0  # tasks outside the request stay remembered
    order.clear()
    assert rocketproof("check", "--json", "second.json").code == 1
    assert order == ["explicit broken lock", "explicit", "symbolic"]
    told = [[row["property"] for row in json.loads(Path(name).read_text())] for name in ("first.json", "second.json")]
    assert told[0] == told[1]
    catalogue.CASES = right  # type: ignore[attr-defined]
    assert rocketproof("check").code == 0
    assert not Path(".rocketproof/failures/check.json").exists()
