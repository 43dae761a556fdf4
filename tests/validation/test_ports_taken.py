"""Another process has the port when a broker returns: the run waits for it, and reports nothing about the broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocketproof_impl.system.listening import listening_socket
from rocketproof_lab.mutation.generated.target import Forked
from rocketproof_properties.brokers import comeback
from rocketproof_properties.brokers.comeback import come_back
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.ports import HOST
from rocketproof_properties.brokers.processes import PortTaken
from rocketproof_properties.programs.vocabulary import plain


@pytest.fixture(params=["in this process", "forked"])
def running(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    target = InProcess("P494") if request.param == "in this process" else Forked("P494")
    try:
        with target.open() as made:
            yield made
    finally:
        if isinstance(target, Forked):
            target.end()


def test_taken_port_is_awaited_and_shows_nothing_of_broker(running: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comeback, "_PAUSES", (0.01,))
    ((broker, address),) = running.brokers.items()
    running.stop(broker)
    with listening_socket(HOST, int(address.rpartition(":")[2])), pytest.raises(PortTaken):
        come_back(running, broker)
    come_back(running, broker)
    with running.connect(broker) as line:
        assert line.ask(plain("topics")).code == 0
