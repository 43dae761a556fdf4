"""Each switch of a profile is a constant of the specification, or a table gives the reason why it is not."""

from __future__ import annotations

from collections import Counter

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_profiles.switches import SWITCHES
from rocketproof_spec import FAULTS, Placed, Specification, constants, part
from rocketproof_spec.admission import Admission, SendFacts, flaw_of, rejections
from rocketproof_spec.unmodelled import UNMODELLED, modelled

NONE = SendFacts(*[False] * len(SendFacts._fields))


def test_each_switch_is_a_constant_or_has_a_reason() -> None:
    reasons = Counter(name for names in UNMODELLED.values() for name in names)
    assert max(reasons.values()) == 1
    assert not reasons.keys() & modelled(), "a constant needs no reason"
    assert reasons.keys() | modelled() == set(SWITCHES)


@pytest.mark.parametrize("of", [Specification, Placed, Admission, *FAULTS.values()], ids=lambda of: of.__name__)
def test_the_switches_of_a_model_are_switches(of: type) -> None:
    assert set(of.switches) <= set(SWITCHES)


def test_the_specification_has_the_code_of_each_release() -> None:
    specification = part("names")
    codes = {name: specification.model.given(**constants(name)).readable()["illegal_code"] for name in PROFILES}
    assert codes == {name: profile.illegal_code for name, profile in PROFILES.items()}
    assert set(codes.values()) == {1, 29}


@pytest.mark.behaviour("REM-04", "REM-06", "SEND-03", "TCM-30")
@pytest.mark.parametrize(
    ("problem", "switch", "rejects"),
    [
        ("no body", "wants_request_body", True),
        ("no flag", "wants_flags", True),
        ("field missing in a send-back", "null_fields", False),
        ("field missing in an end", "null_fields", False),
        ("end not served", "half_messages", False),
        ("send to a slave", "slave_rejects", True),
        ("change on a slave", "slave_creates", False),
        ("illegal group", "tests_groups", True),
    ],
)
def test_a_switch_decides_a_rejection(problem: str, switch: str, rejects: bool) -> None:
    found = {name: problem in rejections(name) for name in PROFILES}
    assert found == {name: getattr(profile, switch) is rejects for name, profile in PROFILES.items()}
    assert set(found.values()) == {True, False}


@pytest.mark.behaviour("STO-02", "APP-06", "BAT-02", "BAT-04", "HAZ-51")
@pytest.mark.parametrize(
    ("facts", "switch", "flaws"),
    [
        ({"batch", "to_retry"}, "batch_retry", {True: "none", False: "size"}),
        ({"inner"}, "refuses_inner", {True: "size", False: "none"}),
        ({"empty"}, "wants_body", {True: "size", False: "none"}),
        ({"too_large"}, "encode_first", {True: "encoding", False: "size"}),
        ({"batch", "too_large", "large_body"}, "throws_large_batch", {True: "error", False: "size"}),
        ({"batch", "misread"}, "hosts_by_flag", {True: "error", False: "none"}),
        ({"unread_level", "waits"}, "null_fields", {True: "error", False: "error"}),
        ({"unread_level"}, "null_fields", {True: "none", False: "none"}),
        ({"batch", "unfit_batch", "unread_level"}, "null_fields", {True: "error", False: "error"}),
        ({"batch", "unfit_batch"}, "null_fields", {True: "size", False: "size"}),
    ],
)
def test_facts_and_a_switch_decide_the_flaw(facts: set[str], switch: str, flaws: dict[bool, str]) -> None:
    sent = NONE._replace(**dict.fromkeys(facts, True))
    found = {name: flaw_of(name, sent) for name in PROFILES}
    assert found == {name: flaws[getattr(profile, switch)] for name, profile in PROFILES.items()}
