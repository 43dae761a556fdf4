"""The simulated cluster as a deployment: connections that drive its clock, steps that are not requests, and what others cannot do."""

from __future__ import annotations

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.simulated import history_of
from rocketproof_properties.brokers.simulated import SimulatedDeployment, cluster_of
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.parts import NAME_SERVER, Capability
from rocketproof_properties.programs.requests import UNSUPPORTED_CODE
from rocketproof_properties.programs.selections import SMALL_FILES
from rocketproof_properties.programs.settings import ClusterSettings
from rocketproof_properties.programs.vocabulary import STEPS, Step, arguments, request_of
from rocketproof_properties.reports.choices import InputError
from rocketproof_protocol import codes

P49 = PROFILES["P49"]


def send() -> Command:
    call = request_of(("send", {"topic": "T"}), Context(ProgramNames("", 0), "broker-a"))
    assert call is not None
    return call.command()


def made(**settings: object) -> SimulatedDeployment:
    return SimulatedDeployment(cluster_of(ClusterSettings(settings={**SMALL_FILES, **settings}), P49))


def test_connection_sends_without_advancing_clock_unless_needed() -> None:
    with made() as deployment, deployment.connect("broker-a") as connection:
        before = deployment.cluster.clock.now()
        answer = connection.ask(send())
        assert (answer.code, (answer.ext_fields or {})["queueOffset"]) == (codes.SUCCESS, "0")
        assert deployment.cluster.clock.now() == before
        assert [record.topic for record in deployment.records("broker-a").records] == ["T"]


@pytest.mark.behaviour("FLU-03")
def test_time_advances_until_response_that_waits_for_disk() -> None:
    with made(flush_disk_type="SYNC_FLUSH") as deployment, deployment.connect("broker-a") as connection:
        deployment.act("flush", stuck=True)
        before = deployment.cluster.clock.now()
        assert connection.ask(send(), 10.0).code == codes.FLUSH_DISK_TIMEOUT
        assert deployment.cluster.clock.now() - before >= 5000
        with pytest.raises(TimedOut):
            connection.ask(send(), 1.0)
        connection.listen(10.0)
        assert [answer.code for answer in connection.strays] == [codes.FLUSH_DISK_TIMEOUT]


@pytest.mark.behaviour("REM-05", "HAZ-26")
def test_unawaited_responses_are_kept() -> None:
    with made() as deployment, deployment.connect("broker-a") as connection:
        connection.send_one_way(Command(UNSUPPORTED_CODE))
        assert [answer.code for answer in connection.strays] == [codes.REQUEST_CODE_NOT_SUPPORTED]


@pytest.mark.behaviour("NS-06")
def test_name_server_is_queried_like_broker() -> None:
    with made() as deployment, deployment.connect(NAME_SERVER) as connection:
        answer = connection.ask(Command(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}))
        assert answer.code == codes.SUCCESS and b"broker-a" in (answer.body or b"")
        with pytest.raises(InputError, match="broker-b"):
            deployment.connect("broker-b")


def test_simulation_performs_every_step_with_needs() -> None:
    needed = {kind.needs for kind in STEPS.values() if kind.needs is not None}
    assert needed <= SimulatedDeployment.offers
    needed -= {Capability.CONFIGURE, Capability.RESTART}
    assert not needed & InProcess.offers
    with InProcess("P49").open() as running, pytest.raises(TargetError, match="cannot do the step 'disk'"):
        running.act("disk", full=True)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_is_done_with_its_defaults(name: str) -> None:
    steps: list[Step] = [("send", {}), (name, {}), ("send", {})]
    history = history_of(P49, ClusterSettings(settings=SMALL_FILES), steps)
    dropped = name == "corrupt"  # the last record
    assert len(history.exchanges) >= 2 and len(history.logs["broker-a"].records) >= 2 - dropped


@pytest.mark.parametrize(
    ("step", "said"), [(("sned", {}), "nearest of"), (("disk", {"fill": True}), "step disk has no argument 'fill'; it has full")]
)
def test_step_or_argument_that_does_not_exist_is_refused(step: Step, said: str) -> None:
    with pytest.raises(InputError, match=said):
        history_of(P49, ClusterSettings(settings=SMALL_FILES), [step])
    with pytest.raises(InputError, match=said):
        arguments(step)
