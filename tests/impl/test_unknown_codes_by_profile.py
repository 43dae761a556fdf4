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
@pytest.mark.parametrize("profile", [*SEEDS, *RECORDED])
def test_broker_refuses_an_unknown_code(profile: str) -> None:
    cluster = Cluster(1, profile=profile)
    answer = cluster.call(Command(9999), "broker-a")
    assert (answer.code, answer.remark) == refused(9999)


@behaviour("REM-05", "HAZ-26", "INV-03")
@pytest.mark.parametrize(("profile", "answers"), [*((name, 1) for name in SEEDS), *((name, 0) for name in RECORDED)])
def test_one_way_caller_is_answered_unless_a_processor_refuses(profile: str, answers: int) -> None:
    cluster = Cluster(1, profile=profile)
    address = cluster.nodes["broker-a"].settings.address
    cluster.scheduler.complete(cluster.caller("client").post(address, Command(9999)))
    cluster.scheduler.settle()
    assert [refused(9999)] * answers == [(one.command.code, one.command.remark) for one in cluster.network.unmatched]


@behaviour("REM-05")
@pytest.mark.parametrize("profile", [*SEEDS, "P533"])
def test_name_server_refuses_an_unknown_code(profile: str) -> None:
    cluster = Cluster(0, profile=profile)
    answer = cluster.call(Command(9999), "name server")
    assert (answer.code, answer.remark) == refused(9999)


@behaviour("REM-05")
def test_recorded_name_server_does_not_answer_unknown_codes() -> None:
    cluster = Cluster(0, profile="P494")
    with pytest.raises(TimedOut):
        cluster.call(Command(9999), "name server")
    assert cluster.network.unmatched == []


@behaviour("REM-05")
@pytest.mark.parametrize("code", [101, 206, 319])
def test_name_server_refuses_unimplemented_codes(code: int) -> None:
    """An administrator's tool then does not wait for the list of topics."""
    cluster = Cluster(0, profile="P494")
    answer = cluster.call(Command(code), "name server")
    assert (answer.code, answer.remark) == refused(code)
