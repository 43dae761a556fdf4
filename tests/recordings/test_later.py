"""Changes of 5.x, as two releases answered: consumers' offsets, large and inner batches, timers, slaves, topics registered without a
version.

The implementation answers equally under both profiles, and each switch shows in a case.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES, Profile
from rocketproof_properties.judging.reference.cases import ReplayCase, read
from rocketproof_properties.judging.reference.recording import SimulatedReplay
from rocketproof_properties.judging.reference.settings import settings_of
from rocketproof_traces.checker.recordings import judge_recording

DATA = Path(__file__).parents[1] / "data"
P494, P533 = PROFILES["P494"], PROFILES["P533"]
CASE = re.compile(r"[PBTWSR]-\d+")
SWITCHES = [name for name, reason in P533.reasons.items() if "later-5.3.3" in reason]


@cache
def recorded(version: str, folder: Path) -> tuple[ReplayCase, ...]:
    path = folder / f"{version}.jsonl"
    path.write_bytes(gzip.decompress((DATA / f"later-{version}.jsonl.gz").read_bytes()))
    return read(path).cases


def different(profile: Profile, cases: tuple[ReplayCase, ...]) -> list[str]:
    """Return the cases that differ from the recording, such as T-5."""
    found = []
    for cfg in dict.fromkeys(case.cfg for case in cases):
        mine = [case for case in cases if case.cfg == cfg]
        played = SimulatedReplay(profile, mine, settings_of(cfg, mine, {}, ())).play()
        found += [f"{cfg}-{case.number}" for case, seen in zip(mine, played, strict=True) if seen]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("later")


@pytest.mark.behaviour("BAT-04", "CL-02", "NS-04", "STO-02", "TCM-30", "TCM-31", "TCM-34", "DLQ-02")
@pytest.mark.parametrize(("version", "profile"), [("4.9.4", P494), ("5.3.3", P533)])
def test_all_cases_match(version: str, profile: Profile, folder: Path) -> None:
    cases = recorded(version, folder)
    assert len(cases) == 129
    assert different(profile, cases) == []


@pytest.mark.nightly
@pytest.mark.behaviour("TCM-13", "TCM-31", "TCM-34", "NS-04", "DLQ-02")
@pytest.mark.parametrize(("version", "profile", "silent"), [("4.9.4", "P494", 8), ("5.3.3", "P533", 0)])
def test_specification_explains_every_case_that_has_answer(version: str, profile: str, silent: int) -> None:
    verdict = judge_recording(DATA / f"later-{version}.jsonl.gz", profile)
    assert not verdict.unexplained
    assert verdict.explained == 129 - silent
    assert verdict.out_of_reach == ({"no answer came": silent} if silent else {})


@pytest.mark.parametrize("switch", SWITCHES)
def test_reverting_switch_changes_cases_that_justify_it(switch: str, folder: Path) -> None:
    named = set(CASE.findall(P533.reasons[switch]))
    back = replace(P533, **{switch: getattr(P494, switch)})
    cases = tuple(case for case in recorded("5.3.3", folder) if any(name.startswith(f"{case.cfg}-") for name in named))
    assert named and named <= set(different(back, cases))
