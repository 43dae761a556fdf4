"""A deployment whose name server and brokers are child processes: how they are started, awaited, stopped and cleaned up.

A target's `Builder` defines the command of a part and when it is ready.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self, TypeVar

from rocketproof_model import interrupts
from rocketproof_protocol.codes import SUCCESS

from ..programs.parts import NAME_SERVER, Capability
from ..programs.vocabulary import plain
from ..reports.choices import known
from . import guardian, probe
from .children import Child
from .deployment import Deployment, NotOffered, Setup, TargetError

READY_SECONDS = 60.0
STOP_SECONDS = 30.0
_POLL = 0.1
D = TypeVar("D", bound=Deployment)


class PortTaken(TargetError):
    """A port that was free when it was chosen is in use now."""


@dataclass(frozen=True)
class Launch:
    """How a part is started. `ready` raises TargetError until it is ready. `stop` and `kill` are commands; without them the process gets a
    signal."""

    command: Sequence[str]
    ready: Callable[[], None]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    stop: Sequence[str] = ()
    kill: Sequence[str] = ()


class Builder(Protocol):
    """What a target knows about its parts."""

    name: str
    offers: frozenset[Capability]

    def addresses(self, setup: Setup) -> tuple[str | None, dict[str, str]]:
        """Return the addresses of the name server and the brokers of a new setup."""
        ...

    def launch(self, running: Processes, part: str) -> Launch:
        """Return how a part is started with `running.settings[part]`, after writing its files."""
        ...


class Processes(Deployment):
    """Child processes, each with a folder of its own inside a temporary one."""

    def __init__(self, builder: Builder, setup: Setup, *, ready_seconds: float = READY_SECONDS, stop_seconds: float = STOP_SECONDS) -> None:
        self.name, self.offers = builder.name, builder.offers
        self._builder = builder
        self._ready_seconds, self._stop_seconds = ready_seconds, stop_seconds
        self.name_server, self.brokers = builder.addresses(setup)
        self.settings = {name: setup.settings_of(name) for name in self.brokers}
        self.name_server_settings = setup.name_server
        self.folder = Path(tempfile.mkdtemp(prefix="rocketproof-"))
        guardian.guard_folder(self.folder)
        self._stores = {name: Path(store).absolute() for name, store in setup.stores.items()}
        self._children: dict[str, Child] = {}
        self._launches: dict[str, Launch] = {}
        self.clocks: dict[str, int] = {}
        self._around: dict[str, tuple[str, ...]] = {}

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts, the name server first, because brokers register there."""
        return (*([] if self.name_server is None else [NAME_SERVER]), *self.brokers)

    def begin(self) -> Self:
        """Start the name server, then all brokers concurrently. Raises TargetError after cleaning up."""
        try:
            servers = [part for part in self.parts if part == NAME_SERVER]
            for group in (servers, list(self.brokers)):
                for part in group:
                    self._start(part)
                for part in group:
                    self._await(part)
        except BaseException:
            self.close()
            raise
        return self

    def home(self, part: str) -> Path:
        """Return the part's folder."""
        folder = self.folder / part.replace(" ", "-")
        folder.mkdir(exist_ok=True)
        return folder

    def store(self, broker: str) -> Path:
        self._need(Capability.STORE)
        return self.store_folder(known("part", broker, self.brokers))

    def store_folder(self, broker: str) -> Path:
        return self._stores.get(broker, self.home(broker) / "store")

    def stop(self, part: str) -> None:
        self._need(Capability.STOP)
        child = self._child(part)
        began = time.monotonic()
        command = self._launches[part].stop
        if command:
            self._run(part, command)
        if not child.stop(max(0.0, self._stop_seconds - (time.monotonic() - began)), ask=not command):
            raise TargetError(f"{self.name}: {part} did not stop within {self._stop_seconds:g} s and was killed; give it more time")

    def kill(self, part: str) -> None:
        self._need(Capability.KILL)
        self._end(part)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        self._need(Capability.RESTART)
        if self._child(part).alive:
            self.stop(part)
        if settings:
            self.settings[known("part", part, self.brokers)].update(settings)
        self._start(part)
        self._await(part)

    def around(self, part: str, command: Sequence[str]) -> None:
        """Set a command, such as a tracer, that runs the part's own command from its next start on. An empty one removes it."""
        self._around[known("part", part, self.parts)] = tuple(command)

    def set_clock(self, broker: str, ahead: int) -> None:
        if ahead and Capability.SET_CLOCK not in self.offers:
            super().set_clock(broker, ahead)
        self.clocks[known("part", broker, self.brokers)] = ahead

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        self._need(Capability.CONFIGURE)
        configure(self.brokers[known("part", broker, self.brokers)], settings)
        self.settings[broker].update(settings)  # a broker saves them in its file

    def log(self, part: str) -> str:
        return self._child(part).printed()

    def pid(self, part: str) -> int:
        """Return the process id of a part, for measurements."""
        return self._child(part).pid

    def close(self) -> None:
        try:
            for part in reversed(self.parts):
                if part in self._children:
                    self._end(part)
        finally:
            for child in self._children.values():
                child.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
            guardian.release_folder(self.folder)

    def _need(self, capability: Capability) -> None:
        if capability not in self.offers:
            raise NotOffered(self.name, capability)

    def _child(self, part: str) -> Child:
        return self._children[known("part", part, self.parts)]

    def _start(self, part: str) -> None:
        launch = self._launches[part] = self._builder.launch(self, part)
        command = (*self._around.get(part, ()), *launch.command)
        self._children[part] = Child(command, output=self.home(part) / "output.txt", env=launch.env, folder=launch.folder)

    def _await(self, part: str) -> None:
        child, ready = self._children[part], self._launches[part].ready
        end = time.monotonic() + self._ready_seconds
        while True:
            try:
                ready()
            except TargetError as problem:
                why = str(problem)
            else:
                return
            if not child.alive:
                printed = child.printed()
                if "already in use" in printed:
                    raise PortTaken(f"{self.name}: {part} found its port taken; end what listens there")
                raise TargetError(f"{self.name}: {part} ended while it started, with code {child.exit_code}: {child.last_line()}")
            if time.monotonic() > end:
                raise TargetError(f"{self.name}: {part} was not ready within {self._ready_seconds:g} s: {why}")
            interrupts.pause(_POLL)

    def _end(self, part: str) -> None:
        """Run the target's kill command, if any, and then kill the process that was started here."""
        child, command = self._children[part], self._launches[part].kill
        if command and child.alive:
            self._run(part, command)
        child.kill()

    def _run(self, part: str, command: Sequence[str]) -> None:
        launch = self._launches[part]
        child = Child(command, output=self.home(part) / "ended.txt", env=launch.env, folder=launch.folder)
        if not child.wait(self._stop_seconds):
            raise TargetError(f"{self.name}: {command[0]}, which ends {part}, took more than {self._stop_seconds:g} s")
        if child.exit_code:
            raise TargetError(f"{self.name}: {command[0]}, which ends {part}, failed with code {child.exit_code}: {child.last_line()}")


def opened(begin: Callable[[], D], tries: int = 3) -> D:
    """Return the running target that `begin` starts. If a port is taken during its start, retry with other ports."""
    while True:
        tries -= 1
        try:
            return begin()
        except PortTaken:
            if not tries:
                raise


def configure(address: str, settings: Mapping[str, str]) -> None:
    """Change settings of a running broker. Raises TargetError if it rejects them."""
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    answer = probe.ask(address, plain("configure", line=lines))
    if answer.code != SUCCESS:
        raise TargetError(f"{address} refuses the settings {', '.join(settings)} with code {answer.code}: {answer.remark}")
