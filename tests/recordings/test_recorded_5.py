"""Every case of a recorded 5.3.3, replayed under P533; each switch of that profile, turned back, shows in a case that is its reason."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES, Profile
from rocketproof_profiles.switches import SWITCHES
from rocketproof_properties.judging.reference import masks
from rocketproof_properties.judging.reference.cases import ReplayCase, read
from rocketproof_properties.judging.reference.recording import EXCEPTIONS, SimulatedReplay, replay
from rocketproof_properties.judging.reference.settings import settings_of
from rocketproof_traces.checker.recordings import judge_recording

RECORDING = Path(__file__).parents[1] / "data" / "rocketmq-5.3.3.jsonl"
P494, P533 = PROFILES["P494"], PROFILES["P533"]
DIFFERING = [name for name in SWITCHES if getattr(P494, name) != getattr(P533, name)]
NOT_RECORDED = {name for name, reason in P533.reasons.items() if reason.startswith("not recorded")}


@cache
def recorded() -> tuple[ReplayCase, ...]:
    return read(RECORDING).cases


def different(profile: Profile) -> set[str]:
    """Return the cases that differ from the recording, such as A-5."""
    found = set()
    for cfg in dict.fromkeys(case.cfg for case in recorded()):
        cases = [case for case in recorded() if case.cfg == cfg]
        stage = SimulatedReplay(profile, cases, settings_of(cfg, cases, {}, ()))
        found |= {f"{cfg}-{case.number}" for case, seen in zip(cases, stage.play(), strict=True) if seen}
    return found


@pytest.mark.behaviour("CHK-02", "CHK-10", "TCM-01", "TCM-03", "TCM-30", "NS-06", "SEND-03", "SEND-25", "SEND-46", "DLQ-02", "TRX-04")
def test_all_cases_match_without_exceptions() -> None:
    assert not [key for key in EXCEPTIONS if key[0] == "P533"]
    replayed = replay(RECORDING, "P533")
    assert (len(replayed.outcomes), replayed.same, replayed.excepted) == (245, 245, ())


def test_earlier_profile_differs_in_most() -> None:
    assert len(different(P494)) > 150


@pytest.mark.behaviour("REM-06", "FLU-07", "BAT-02", "SEND-26", "TRX-05")
@pytest.mark.parametrize("switch", [name for name in DIFFERING if name not in NOT_RECORDED])
def test_reverting_switch_changes_case_that_justifies_it(switch: str) -> None:
    named = set(re.findall(r"[AMNL]-\d+", P533.reasons[switch]))
    found = different(replace(P533, **{switch: getattr(P494, switch)}))
    if switch == "gathers_operations":
        assert found, "the record shows in the message behind"
    else:
        assert named & found


def test_every_switch_has_its_reason() -> None:
    assert {*DIFFERING} <= {*P533.reasons}
    assert all(getattr(P494, name) != getattr(P533, name) for name in P533.reasons)


@pytest.mark.nightly
def test_specification_explains_all_modelled_requests() -> None:
    verdict = judge_recording(RECORDING, "P533")
    assert not verdict.unexplained
    assert verdict.explained == 245


@pytest.mark.nightly
def test_other_profile_does_not_explain_what_limit_leaves_undecided() -> None:
    verdict = judge_recording(RECORDING, "P494", limit=300)
    assert len(verdict.unexplained) > 40 and verdict.unknown
    assert verdict.out_of_reach["not decided within the limit"] > 5
    assert verdict.cases == 245


@pytest.mark.nightly
def test_another_profile_is_decided_within_limit() -> None:
    """Possible spontaneous records of the broker do not multiply the states: most cases are unrelated to them."""
    verdict = judge_recording(RECORDING, "P494", limit=1000)
    assert not verdict.unknown
    assert verdict.cases == 245 and len(verdict.unexplained) == 61


def test_sent_values_are_compared_and_generated_values_are_not() -> None:
    assert masks.made_up("C000020265A94E0E2F2A68626D850000", "7F0000012E870000000000001E480058")
    assert not masks.made_up("U0", "U0") and not masks.made_up("C000020265A94E0E2F2A68626D850000", None)
