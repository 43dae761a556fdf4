"""Brokers that stay busy: they are found, and programs that cause this use separate brokers."""

from __future__ import annotations

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.catalogue.conditions import FAILED_IN_LOCK
from rocketproof_properties.programs.boundaries import context, measured, unread
from rocketproof_properties.programs.program import ProgramOptions, generate
from rocketproof_properties.programs.settings import ENDED
from rocketproof_properties.programs.vocabulary import Step, request_of
from rocketproof_properties.validation.busy import PROPERTY, busy
from rocketproof_protocol.flags import HOSTS_IPV6

FLAGGED: Step = ("send", {"topic": "A", "items": [["a", {}], ["b", {}]], "sys_flag": 16})
PLAIN: Step = ("send", {"topic": "A"})
BLOCKED = ("P492", "P533", "P540")
"""Profiles in which an exception in the lock leaves its time (HAZ-23), and in which a batch with a flag of IPv6 fails there."""


@pytest.mark.parametrize("profile", ["P494", "P533", "P550"])
@pytest.mark.behaviour("CL-05", "HAZ-23", "STO-03")
def test_broker_that_stays_busy_is_found(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketproof_properties.validation.busy.PATIENCE", 2.0)
    with InProcess(profile).open() as running:
        asked = context(profile)
        codes = []
        for step in (PLAIN, FLAGGED):
            call = request_of(step, asked)
            assert call is not None
            with running.connect("broker-a") as line:
                codes.append(line.ask(call.command(), 5.0).code)
        running.act("time", millis=1100)
        found = list(busy(running, profile, "r0a0a0a-", ""))
    assert codes == [0, 1]
    assert [finding.verdict.property for finding in found] == ([PROPERTY] if profile in BLOCKED else [])
    assert all("rejects every message for 2 s and more ([REJECTREQUEST]system busy" in finding.verdict.text for finding in found)


def test_slave_that_rejects_all_is_not_busy() -> None:
    with InProcess("P533").open() as running:
        running.configure("broker-a", {"brokerRole": "SLAVE"})
        assert list(busy(running, "P533", "r0a0a0a-", "brokerRole=SLAVE")) == []


@pytest.mark.parametrize("profile", ["P45", "P49", "P492", "P494", "P533", "P540", "P550"])
@pytest.mark.behaviour("HAZ-23")
def test_batches_that_fail_in_lock_are_known_by_profile(profile: str) -> None:
    def conditions(step: Step) -> set[str]:
        call = request_of(step, context(profile))
        assert call is not None
        return unread(measured(call, PROFILES[profile]))

    assert conditions(FLAGGED) == ({FAILED_IN_LOCK} if profile in BLOCKED else set())
    assert conditions(("send", {"topic": "A", "items": [["a", {}]]})) == set()


@pytest.mark.parametrize("profile", ["P494", "P533"])
def test_programs_with_failing_batches_have_separate_broker(profile: str) -> None:
    programs = generate(ProgramOptions(profile, 300, 5, configure=True, start=True, end=True))
    flagged = [
        program
        for program in programs
        if any(name == "send" and args.get("items") and args.get("sys_flag", 0) & HOSTS_IPV6 for name, args in program.steps)
    ]
    assert flagged
    assert all(one.needs == ENDED for one in flagged) == (profile in BLOCKED)
