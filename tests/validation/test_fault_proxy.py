"""The test proxy injects exactly its faults, at the named request."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from target_doubles import answering, server

from faultproxy import LOST, Fault, FaultProxy
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import ConnectFailed, RemotingError, TimedOut
from rocketproof_impl.remoting.frame import FrameError
from rocketproof_properties.brokers.connection import ConnectionLost, TcpConnection

SECONDS = 0.2


class Counting:
    """A server that answers each request with its number."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Command) -> Command:
        self.asked += 1
        return Command(0, {"count": str(self.asked)}, b"body of some length")


@pytest.fixture
def counting() -> Iterator[tuple[Counting, str]]:
    made = Counting()
    with server(answering(made)) as address:
        yield made, address


def ask(line: TcpConnection) -> Command:
    return line.ask(Command(105, {"topic": "A"}), SECONDS)


@pytest.mark.parametrize(
    ("fault", "raised", "served"),
    [
        (Fault.CLOSE_BEFORE, ConnectionLost, 1),
        (Fault.CLOSE_AFTER, ConnectionLost, 2),
        (Fault.CLOSE_INSIDE, ConnectionLost, 2),
        (Fault.GARBAGE, FrameError, 2),
        (Fault.UNREADABLE, FrameError, 2),
        (Fault.HALF, TimedOut, 2),
        (Fault.SILENT, TimedOut, 2),
    ],
)
def test_answer_is_lost(counting: tuple[Counting, str], fault: Fault, raised: type[RemotingError], served: int) -> None:
    made, address = counting
    with FaultProxy(address, at={2: fault}) as proxy, TcpConnection(proxy.address) as line:
        assert ask(line).code == 0
        with pytest.raises(raised):
            ask(line)
        assert fault in LOST
        assert (made.asked, dict(proxy.happened)) == (served, {fault: 1})
        with TcpConnection(proxy.address) as other:
            assert ask(other).code == 0


@pytest.mark.parametrize(
    ("fault", "counts", "strays"),
    [
        (Fault.SLOW, ["1", "2", "3"], []),
        (Fault.DRIBBLE, ["1", "2", "3"], []),
        (Fault.LATER, ["1", "2", "3"], []),
        (Fault.TWICE, ["1", "2", "3"], ["2"]),
        (Fault.DOUBLED, ["1", "2", "4"], ["3"]),
        (Fault.CHANGED, ["1", "3", "3"], []),
    ],
)
def test_response_arrives_modified(counting: tuple[Counting, str], fault: Fault, counts: list[str], strays: list[str]) -> None:
    _, address = counting
    with FaultProxy(address, at={2: fault}) as proxy, TcpConnection(proxy.address) as line:
        assert [(ask(line).ext_fields or {})["count"] for _ in counts] == counts
        assert [(stray.ext_fields or {})["count"] for stray in line.strays] == strays


def test_listener_disappears_for_while(counting: tuple[Counting, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultproxy._AWAY", 1.5)  # longer than a busy machine lets this process wait
    _, address = counting
    with FaultProxy(address, at={1: Fault.REFUSED}) as proxy:
        with TcpConnection(proxy.address) as line, pytest.raises(RemotingError):
            ask(line)
        with pytest.raises(ConnectFailed):
            TcpConnection(proxy.address)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                with TcpConnection(proxy.address) as line:
                    assert ask(line).code == 0
                return
            except ConnectFailed:
                time.sleep(0.02)
        pytest.fail("it did not come back")


def test_same_seed_draws_same_faults() -> None:
    def drawn(seed: int) -> list[Fault | None]:
        with FaultProxy("127.0.0.1:9", {Fault.SLOW: 0.2, Fault.HALF: 0.2}, seed=seed, after=5) as proxy:
            return [proxy.fault(Command(105)) for _ in range(60)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(1)[:5] == [None] * 5
    assert {Fault.SLOW, Fault.HALF, None} == set(drawn(1))
