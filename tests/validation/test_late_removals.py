"""A name server notices late that a connection was closed. Those of 5.x also answer an unregistration before they remove the broker. Routes
queried meanwhile still have the broker.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.validation.handwritten import programfile
from rocketproof_properties.validation.handwritten.trial import perform

BOTH = {"A": (4, 4, 6), "B": (4, 4, 6)}


@pytest.mark.parametrize(
    ("end", "profile", "found"),
    [
        ("unregister", "P494", {"route.queueDatas", "PRO-95"}),
        ("unregister", "P533", set()),
        ("lose", "P494", set()),
        ("lose", "P533", set()),
    ],
)
def test_routes_with_a_broker_that_has_left_are_chance(end: str, profile: str, found: set[str], tmp_path: Path) -> None:
    steps = [
        ("register", {"topics": BOTH}),
        ("register", {"name": "broker-y", "address": "10.0.0.2:1", "topics": BOTH}),
        ("route", {}),
        (end, {}),
        ("route", {}),
        ("route", {}),
    ]
    (tmp_path / "a.py").write_text(f"STEPS = {steps!r}")
    (trial,) = perform(programfile.load(str(tmp_path / "a.py")), InProcess(profile), tmp_path)
    lines = trial.judged.path.read_text().splitlines()
    first, second, _ = (at for at, line in enumerate(lines) if '"op": "route"' in line and '"type": "ok"' in line)
    lines[second] = json.dumps({**json.loads(lines[second]), "value": json.loads(lines[first])["value"]})
    trial.judged.path.write_text("\n".join(lines) + "\n")
    judged = judge_file(trial.judged.path, profile, ("reference", "claims"))
    assert {one.property for one in judged.findings} == found
    assert bool(judged.unconfirmed) is (not found)
