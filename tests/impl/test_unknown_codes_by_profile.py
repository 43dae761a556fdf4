"""Answers to requests with unknown codes, by profile."""

from __future__ import annotations

import pytest
from marks import behaviour

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_protocol.codes import REQUEST_CODE_NOT_SUPPORTED

SEEDS = ("P40", "P45", "P49")
RECORDED = ("P494", "P533")


def refused(code: int) -> tuple[int, str]:
    return REQUEST_CODE_NOT_SUPPORTED, f" request type {code} not supported"


@behaviour("REM-05")
@pytest.mark.parametrize(
    ("profile", "node", "code"),
    [
        *((profile, "broker-a", 9999) for profile in (*SEEDS, *RECORDED)),
        *((profile, "name server", 9999) for profile in (*SEEDS, "P533")),
        *(("P494", "name server", code) for code in (101, 206, 319)),  # the recorded name server serves these codes
    ],
)
def test_unknown_or_unimplemented_code_is_refused(profile: str, node: str, code: int) -> None:
    answer = Cluster(1, profile=profile).call(Command(code), node)
    assert (answer.code, answer.remark) == refused(code)


@behaviour("REM-05", "HAZ-26", "INV-03")
@pytest.mark.parametrize(("profile", "answers"), [*((name, 1) for name in SEEDS), *((name, 0) for name in RECORDED)])
def test_one_way_caller_is_answered_unless_a_processor_refuses(profile: str, answers: int) -> None:
    cluster = Cluster(1, profile=profile)
    address = cluster.nodes["broker-a"].settings.address
    cluster.scheduler.complete(cluster.caller("client").post(address, Command(9999)))
    cluster.scheduler.settle()
    assert [refused(9999)] * answers == [(packet.command.code, packet.command.remark) for packet in cluster.network.unmatched]


@behaviour("REM-05")
def test_recorded_name_server_does_not_answer_unknown_codes() -> None:
    cluster = Cluster(0, profile="P494")
    with pytest.raises(TimedOut):
        cluster.call(Command(9999), "name server")
    assert cluster.network.unmatched == []
