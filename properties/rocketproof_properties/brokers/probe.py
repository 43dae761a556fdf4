"""Checks whether a broker or a name server listens at an address and, if not, states in one line what is there."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import ConnectFailed, RemotingError, TimedOut
from rocketproof_impl.remoting.frame import FrameError
from rocketproof_protocol import fastjson
from rocketproof_protocol.codes import REQUEST_CODE_NOT_SUPPORTED, SUCCESS
from rocketproof_protocol.topics import TEMPLATE

from ..programs.vocabulary import plain
from .connection import SECONDS, ConnectionLost, call
from .deployment import TargetError
from .forms import host_and_port

MASTER = "0"
_AGAIN = 2


class Unanswered(TargetError):
    """There is no readable response: the effect of the request is unknown."""


class NobodyListens(Unanswered):
    """No connection could be made."""


class AnotherProtocol(Unanswered):
    """The response is not a RocketMQ frame."""


class Silent(Unanswered):
    """The connection was accepted, but there was no response."""


class Died(Unanswered):
    """The connection was closed before the response was complete."""


class NotANameServer(TargetError):
    """The address belongs to a broker."""


class NotABroker(TargetError):
    """The address belongs to a name server."""


class NoBrokers(TargetError):
    """The name server knows no broker."""


def ask(address: str, request: Command, seconds: float = SECONDS) -> Command:
    """Return the response, whatever its code. A connection that breaks is retried, because these requests are idempotent.

    Raises NobodyListens, AnotherProtocol, Silent or Died.
    """
    try:
        for _ in range(_AGAIN):
            with suppress(ConnectionLost, FrameError):
                return call(address, request, seconds)
        return call(address, request, seconds)
    except ValueError as problem:
        raise TargetError(str(problem)) from None
    except ConnectFailed as problem:
        raise NobodyListens(f"nobody listens at {address} ({_reason(problem)}); start the broker or give another address") from None
    except FrameError:
        raise AnotherProtocol(f"{_what(address)} at {address}; give the address of a RocketMQ broker or name server") from None
    except TimedOut:
        if _speaks_http(address, seconds):
            raise AnotherProtocol(f"a web server answers at {address}; give the address of a RocketMQ broker or name server") from None
        raise Silent(f"{address} accepts connections and did not answer in {seconds:g} s; is it RocketMQ, and is it healthy?") from None
    except RemotingError as problem:
        raise Died(f"{address} closed the connection before it had answered; is it RocketMQ, and does it still run? ({problem})") from None


def cluster(name_server: str, seconds: float = SECONDS) -> dict[str, str]:
    """Return the masters that a name server knows: address by broker name.

    Raises NotANameServer, NoBrokers, and the errors of `ask`.
    """
    answer = ask(name_server, plain("cluster"), seconds)
    if answer.code != SUCCESS or answer.body is None:
        why = f"it answers {answer.code} to a question about the cluster"
        raise NotANameServer(f"{name_server} is not a name server ({why}); is it a broker's address?")
    try:
        known = masters(answer.body)
    except (ValueError, AttributeError, TypeError):
        raise NotANameServer(f"{name_server} answers with a cluster that cannot be read; is it a name server of RocketMQ?") from None
    if not known:
        raise NoBrokers(f"the name server at {name_server} knows no broker; start one that registers there, or wait until it has")
    return known


def masters(body: bytes) -> dict[str, str]:
    """Return the masters in the body of a cluster response, sorted by name."""
    table = fastjson.loads(body).get("brokerAddrTable") or {}
    by_name = {str(name): entry.get("brokerAddrs", {}) for name, entry in table.items() if isinstance(entry, Mapping)}
    return {name: str(addresses[MASTER]) for name, addresses in sorted(by_name.items()) if MASTER in addresses}


def broker(address: str, seconds: float = SECONDS) -> None:
    """Return if a broker answers at the address. Raises NotABroker, and the errors of `ask`."""
    if _refuses(address, seconds):
        raise NotABroker(f"{address} is not a broker (it does not know a question about a queue); is it a name server's address?")


def _refuses(address: str, seconds: float) -> bool:
    """Return whether the request is not supported.

    A name server of 4.x does not answer an unknown request. It is therefore sent another one that it supports.
    """
    try:
        return ask(address, question(), seconds).code == REQUEST_CODE_NOT_SUPPORTED
    except Silent:
        try:
            cluster(address, seconds)
        except NoBrokers:
            return True
        except TargetError:
            pass
        else:
            return True
        raise


def question() -> Command:
    """Return a request that every broker answers and no name server: the next offset of a queue."""
    return plain("max_offset", topic=TEMPLATE)


def _reason(problem: ConnectFailed) -> str:
    return str(problem).rpartition("failed: ")[2].lower()


def _what(address: str) -> str:
    return "a web server answers" if _speaks_http(address, SECONDS) else "another protocol than RocketMQ's is spoken"


def _speaks_http(address: str, seconds: float) -> bool:
    """Return whether a web server answers an HTTP request at the address.

    A web server waits for the end of a line, which a frame does not contain.
    """
    try:
        with socket.create_connection(host_and_port(address), timeout=seconds) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return connection.recv(5) == b"HTTP/"
    except OSError:
        return False
