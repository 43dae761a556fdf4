"""A name server of 5.x answers an unregistration before it removes the broker, so that routes queried meanwhile still have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.validation.handwritten import programfile
from rocketproof_properties.validation.handwritten.trial import perform

STEPS = [
    ("register", {"topics": {"A": (4, 4, 6), "B": (4, 4, 6)}}),
    ("register", {"name": "broker-y", "address": "10.0.0.2:1", "topics": {"A": (4, 4, 6), "B": (4, 4, 6)}}),
    ("route", {}),
    ("unregister", {}),
    ("route", {}),
    ("route", {}),
]


@pytest.mark.parametrize(("profile", "found"), [("P494", {"route.queueDatas", "PRO-95"}), ("P533", set())])
def test_routes_with_an_unregistered_broker_are_chance_from_500_on(profile: str, found: set[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"STEPS = {STEPS!r}")
    (trial,) = perform(programfile.load(str(tmp_path / "a.py")), InProcess(profile), tmp_path)
    lines = trial.judged.path.read_text().splitlines()
    first, second, _ = (at for at, line in enumerate(lines) if '"op": "route"' in line and '"type": "ok"' in line)
    lines[second] = json.dumps({**json.loads(lines[second]), "value": json.loads(lines[first])["value"]})
    trial.judged.path.write_text("\n".join(lines) + "\n")
    judged = judge_file(trial.judged.path, profile, ("reference", "claims"))
    assert {one.property for one in judged.findings} == found
    assert bool(judged.unconfirmed) is (not found)
