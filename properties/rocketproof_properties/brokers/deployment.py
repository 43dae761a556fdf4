"""The one protocol of deployments: brokers and a name server that run somewhere, and what can be done to them.

A `ValidationTarget` states its name and capabilities. `open` sets up a name server and brokers and returns a `Deployment`: connections
to its parts and, by capability, the means to stop, kill and restart parts, to change settings, and to read files. Everything but
connections is optional; `LOST` states what a validation cannot find out without a capability.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rocketproof_model import RocketproofError, interrupts

from ..programs.parts import NAME_SERVER, Capability
from ..reports.choices import InputError
from .connection import SECONDS, Connection, TcpConnection

LOST: Final[Mapping[Capability, str]] = {
    Capability.START: "programs run on the brokers and settings as they are, among what they stored before; programs that need a number of "
    "brokers, or a setting from the start, are left out, and so are the model's witnesses",
    Capability.STOP: "programs with a graceful stop are left out: what a broker writes when it stops, and its absence, go unseen",
    Capability.KILL: "programs with a crash are left out, and so are witnesses of the model in which a broker crashes: what is lost with a "
    "process goes unseen",
    Capability.RESTART: "programs that go on after a stop or a crash are left out, and so are witnesses of the model in which a broker "
    "restarts: recovery goes unseen",
    Capability.CONFIGURE: "programs that change a setting of a running broker are left out",
    Capability.STORE: "files are not read: records are known only as far as the broker gives them out",
}
"""What a validation cannot find out without each capability that a target outside of this process may have."""

OF_TARGETS: Final = frozenset(LOST)
"""The capabilities that a target may offer."""

FILE_SIZES: Final[Mapping[str, str]] = {"mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000"}
"""The settings of brokers that are started here, unless others are given: a store of theirs takes little room, and fills soon."""


SMALL_INDEX: Final[Mapping[str, str]] = {"maxHashSlotNum": "1000", "maxIndexNum": "4000"}
"""The settings of an index whose file is small."""


class TargetError(RocketproofError):
    """A target cannot be set up, reached or used; `str(error)` is one line that says what to do."""


class NotOffered(TargetError):
    """A capability was asked for that the target does not offer."""

    def __init__(self, name: str, capability: Capability) -> None:
        super().__init__(f"{name} does not offer {capability.value!r}" + (f": {LOST[capability]}" if capability in LOST else ""))
        self.capability = capability


@dataclass(frozen=True)
class Setup:
    """What to set up: so many brokers; settings by RocketMQ's names, for all and for single ones by the part's name.

    `stores`: an existing store directory for a broker, which is used as it is and stays; without one a broker gets a new
    directory that goes away.
    """

    brokers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stores: Mapping[str, Path] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The brokers' names among the parts."""
        return tuple(f"broker-{chr(ord('a') + number)}" for number in range(self.brokers))

    def settings_of(self, broker: str) -> dict[str, str]:
        return {**self.settings, **self.own.get(broker, {})}


DEFAULT: Final = Setup()


class Deployment(ABC):
    """Brokers and a name server that run. A context manager; behind it no process, port or folder that `open` made is left.

    `part` is a broker's name or NAME_SERVER everywhere. Each method raises NotOffered where its capability is missing and
    TargetError where it fails or takes too long.
    """

    name: str
    offers: frozenset[Capability]
    name_server: str | None
    """host:port, None where only brokers are known; whoever knows it besides may set it then."""
    brokers: Mapping[str, str]
    """host:port by the broker's name; the same after a restart."""

    @cached_property
    def unsized(self) -> dict[str, list[str]]:
        """By broker, the files without a length that were taken away, as it did not start with them (HAZ-59)."""
        return {}

    def address(self, part: str) -> str | None:
        """Where a part listens, None for one that is not known."""
        return self.name_server if part == NAME_SERVER else self.brokers.get(part)

    def act(self, name: str, broker: str | int = 0, /, **arguments: Any) -> None:
        """Do a step of the vocabulary that is not a request, with all its arguments. Raises TargetError where it cannot."""
        del broker
        if name != "time":
            raise TargetError(f"{self.name} cannot do the step {name!r}")
        interrupts.pause(arguments["millis"] / 1000)

    def connect(self, part: str, seconds: float = SECONDS) -> Connection:
        """A new connection to a part. Raises ConnectFailed where nobody listens, InputError for a part that is not known."""
        address = self.address(part)
        if address is None:
            raise InputError(f"{self.name} has no {part}; it has {', '.join(self.brokers)}")
        return TcpConnection(address, seconds)

    def stop(self, part: str) -> None:
        """End it gracefully and wait until it is gone."""
        raise NotOffered(self.name, Capability.STOP)

    def kill(self, part: str) -> None:
        """End it at once, as `kill -9` does, and wait until it is gone."""
        raise NotOffered(self.name, Capability.KILL)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        """Start a part again on what it stored, with some settings changed for good, and wait until it answers. One that still runs
        is stopped first."""
        raise NotOffered(self.name, Capability.RESTART)

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        """Change settings of a running broker (UPDATE_BROKER_CONFIG, 25)."""
        raise NotOffered(self.name, Capability.CONFIGURE)

    def store(self, broker: str) -> Path:
        """The directory where the broker keeps its files."""
        raise NotOffered(self.name, Capability.STORE)

    def log(self, part: str) -> str:
        """What the part printed last, "" where that is not known; for a report."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """End everything that `open` began. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class ValidationTarget(ABC):
    """What is validated: its name and version for reports, and the profile that it is judged by."""

    name: str
    version: str
    profile: str
    offers: frozenset[Capability]
    lacks: frozenset[str] = frozenset()
    """Settings by RocketMQ's names that it refuses: who only prefers them to be set leaves them out."""
    note: str = ""
    """What a reader of the report has to know besides."""

    @abstractmethod
    def open(self, setup: Setup = DEFAULT) -> Deployment:
        """Set it up and wait until every part answers. Nothing is left behind if that fails.

        Raises TargetError, NotOffered where the setup asks for what the target cannot do, InputError for a bad setting.
        """

    @property
    def lost(self) -> dict[Capability, str]:
        """What cannot be found out, by the capability that is missing."""
        return {capability: sentence for capability, sentence in LOST.items() if capability not in self.offers}


def bare(name: str, setup: Setup) -> None:
    """Refuse a setup that a target without START cannot make. Raises NotOffered."""
    if setup.settings or any(setup.own.values()) or setup.stores:
        raise NotOffered(name, Capability.START)
