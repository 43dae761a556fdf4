"""The implementation in this process with modified requests: some are never forwarded, and a broker may lose everything when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from rocketproof_impl.remoting.command import RESPONSE, Command
from rocketproof_properties.brokers.connection import Connection, TcpConnection
from rocketproof_properties.brokers.deployment import DEFAULT, OF_TARGETS, Deployment, Setup, TargetError, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_protocol import codes

Spoil = Callable[[Command], Command | None]


class _Spoilt:
    """A connection that answers some requests without forwarding them."""

    def __init__(self, line: Connection, spoil: Spoil) -> None:
        self._line, self._spoil = line, spoil

    def ask(self, request: Command, seconds: float = 5.0) -> Command:
        return self._spoil(request) or self._line.ask(request, seconds)

    def send_one_way(self, request: Command, seconds: float = 5.0) -> None:
        if self._spoil(request) is None:
            self._line.send_one_way(request, seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()


class Spoilt(ValidationTarget):
    """The implementation in this process, with modified requests.

    A deployment that `forgets` is empty after its end; it starts at most `starts` times.
    """

    name, version, profile, offers = "spoilt", "", "P494", OF_TARGETS

    def __init__(self, spoil: Spoil = lambda _: None, forgets: str = "", starts: int = 1000) -> None:
        self.spoil, self.forgets, self.starts = spoil, forgets, starts

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        return _Running(InProcess("P494").open(setup), self)


class _Running(Deployment):
    def __init__(self, inner: Deployment, target: Spoilt) -> None:
        self._inner, self._target = inner, target
        self.name, self.offers, self.name_server, self.brokers = target.name, target.offers, inner.name_server, inner.brokers

    def connect(self, part: str, seconds: float = 5.0) -> Any:
        return _Spoilt(TcpConnection(str(self.address(part)), seconds), self._target.spoil)

    def stop(self, part: str) -> None:
        self._end(part, "stop")

    def kill(self, part: str) -> None:
        self._end(part, "kill")

    def _end(self, part: str, how: str) -> None:
        self._inner.stop(part)
        if self._target.forgets == how:
            for file in sorted(self._inner.store(part).rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        self._inner.configure(broker, settings)

    def store(self, broker: str) -> Path:
        return self._inner.store(broker)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        if not self._target.starts:
            raise TargetError(f"{self.name}: {part} ended while it started, with code 1: no log")
        self._target.starts -= 1
        self._inner.restart(part, settings)

    def close(self) -> None:
        self._inner.close()


def answering(code: int, with_: int = codes.SUCCESS, **fields: str) -> Spoil:
    """Answer requests of this code without performing them."""
    return lambda request: Command(with_, dict(fields), flag=RESPONSE, opaque=request.opaque) if request.code == code else None
