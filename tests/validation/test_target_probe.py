"""Probing an address: each way in which it is no broker gives one line with the address and help."""

from __future__ import annotations

import socket

import pytest
from target_doubles import Serve, answering, closes, dies_inside, greeting, server, silent, web

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers import probe
from rocketproof_properties.brokers.address import AddressTarget, version_name
from rocketproof_properties.brokers.deployment import OF_TARGETS, NotOffered, Setup, TargetError
from rocketproof_properties.brokers.probe import AnotherProtocol, Died, NobodyListens, NoBrokers, NotABroker, NotANameServer, Silent
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.reports.choices import InputError
from rocketproof_protocol.codes import GET_BROKER_CLUSTER_INFO, REQUEST_CODE_NOT_SUPPORTED, SUCCESS

SECONDS = 0.5
NO_CLUSTER = b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
CLUSTER = (
    b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:"127.0.0.1:1",1:"127.0.0.1:2"},"brokerName":"b"},"a":{"brokerAddrs":{1:"127.0.0.1:3"}}}}'
)


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def one_line(error: BaseException, address: str) -> str:
    text = str(error)
    assert address in text and "\n" not in text
    return text


def test_port_without_listener_is_reported() -> None:
    address = free_address()
    with pytest.raises(NobodyListens) as caught:
        probe.broker(address, SECONDS)
    assert "connection refused" in one_line(caught.value, address)


@pytest.mark.parametrize(
    ("serve", "kind", "seconds", "said"),
    [
        (web, AnotherProtocol, SECONDS, "a web server answers"),
        (greeting, AnotherProtocol, SECONDS, "another protocol"),
        (silent, Silent, 0.1, "did not answer in 0.1 s"),
        (closes, Died, SECONDS, "before it had answered"),
        (dies_inside, Died, SECONDS, "inside an answer"),
    ],
)
def test_other_listener_is_reported(serve: Serve, kind: type[TargetError], seconds: float, said: str) -> None:
    with server(serve) as address:
        for ask in (probe.broker, probe.cluster):
            with pytest.raises(kind) as caught:
                ask(address, seconds)
            assert said in one_line(caught.value, address)


def test_name_server_without_brokers() -> None:
    with server(answering(lambda _: Command(SUCCESS, body=NO_CLUSTER))) as address, pytest.raises(NoBrokers) as caught:
        probe.cluster(address, SECONDS)
    assert "knows no broker" in one_line(caught.value, address)


def test_swapped_broker_and_name_server_are_reported() -> None:
    with server(answering(lambda _: Command(REQUEST_CODE_NOT_SUPPORTED))) as address:
        with pytest.raises(NotANameServer) as caught:
            probe.cluster(address, SECONDS)
        assert "a broker's address" in one_line(caught.value, address)
        with pytest.raises(NotABroker) as other:
            probe.broker(address, SECONDS)
        assert "a name server's address" in one_line(other.value, address)


def test_masters_are_found_by_name() -> None:
    with server(answering(lambda _: Command(SUCCESS, body=CLUSTER))) as address:
        assert probe.cluster(address, SECONDS) == {"b": "127.0.0.1:1"}


@pytest.mark.parametrize("text", ["localhost", "127.0.0.1:", "127.0.0.1:x", ":10911", "127.0.0.1:0", "127.0.0.1:65536"])
def test_invalid_address_is_reported(text: str) -> None:
    with pytest.raises(InputError, match="is not an address; give host:port"):
        AddressTarget([text])


def test_address_offers_nothing_that_needs_its_process() -> None:
    target = AddressTarget(["127.0.0.1:10911"])
    assert target.offers == frozenset()
    assert set(target.lost) == OF_TARGETS and all(target.lost.values())
    assert AddressTarget(["127.0.0.1:10911"], may_configure=True).offers == {Capability.CONFIGURE}
    with pytest.raises(NotOffered, match="does not offer 'start'"):
        target.open(Setup(settings={"brokerPermission": "4"}))


def test_broker_by_its_address() -> None:
    def answer(request: Command) -> Command:
        return Command(REQUEST_CODE_NOT_SUPPORTED if request.code == GET_BROKER_CLUSTER_INFO else SUCCESS, version=401)

    with server(answering(answer)) as address:
        target = AddressTarget([address])
        with target.open() as running:
            assert running.name_server is None and running.brokers == {"broker-a": address}
            assert target.version == "4.9.4"
            for call in (running.stop, running.kill, running.restart, running.store):
                with pytest.raises(NotOffered):
                    call("broker-a")


@pytest.mark.parametrize(("number", "name"), [(401, "4.9.4"), (479, "5.3.3"), (402, "4.9.5-SNAPSHOT"), (213, "4.0.0"), (121, "")])
def test_version_number_maps_to_release(number: int, name: str) -> None:
    assert version_name(number) == name
