"""The protocol of deployments: brokers and a name server that run somewhere, and the operations on them.

A `ValidationTarget` states its name and capabilities. `open` sets up a name server and brokers and returns a `Deployment`: connections to
its parts and, by capability, the means to stop, kill and restart parts, to change settings, and to read files. Everything but connections
is optional; `LOST` states what a validation cannot find out without a capability.
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
from ..programs.settings import at_start, of_name_server
from ..reports.choices import InputError
from .connection import SECONDS, Connection, TcpConnection

LOST: Final[Mapping[Capability, str]] = {
    Capability.START: "programs run on the given brokers with their settings and earlier data; programs that need several brokers or an "
    "initial setting are left out, and so are the model's witnesses",
    Capability.START_NAME_SERVER: "programs that need a setting of the name server are left out",
    Capability.STOP: "programs with a graceful stop are left out, so the files that a stop writes are not checked",
    Capability.KILL: "programs and witnesses with a crash are left out, so data lost in a crash is not checked",
    Capability.RESTART: "programs and witnesses with a restart are left out, so recovery is not checked",
    Capability.CONFIGURE: "programs that change a setting of a running broker are left out",
    Capability.STORE: "files are not read: only records that the broker returns are known",
}
"""What a validation cannot find out without each capability that a target outside of this process may have."""

OF_TARGETS: Final = frozenset(LOST)
"""The capabilities that a target may offer."""

FILE_SIZES: Final[Mapping[str, str]] = {"mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000"}
"""Default settings of brokers that are started here: their stores are small and their files fill quickly."""


SMALL_INDEX: Final[Mapping[str, str]] = {"maxHashSlotNum": "1000", "maxIndexNum": "4000"}
"""Settings for a small index file."""


class TargetError(RocketproofError):
    """A target cannot be set up, reached or used. `str(error)` is one line that states what to do."""


class NotOffered(TargetError):
    """The target does not offer a required capability."""

    def __init__(self, name: str, capability: Capability) -> None:
        super().__init__(f"{name} does not offer {capability.value!r}" + (f": {LOST[capability]}" if capability in LOST else ""))
        self.capability = capability


@dataclass(frozen=True)
class Setup:
    """What to set up: the number of brokers, and settings by RocketMQ's names: common ones, those of each broker (`own`), and those of the
    name server.

    `stores`: existing store directories by broker, which are used and kept. Other brokers get a temporary directory.
    """

    brokers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    name_server: Mapping[str, str] = field(default_factory=dict)
    stores: Mapping[str, Path] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The brokers' part names."""
        return tuple(f"broker-{chr(ord('a') + number)}" for number in range(self.brokers))

    def settings_of(self, broker: str) -> dict[str, str]:
        return {**self.settings, **self.own.get(broker, {})}


DEFAULT: Final = Setup()


def setup_of(needs: str) -> Setup:
    """Return the setup that programs with these `needs` run on."""
    return Setup(settings=at_start(needs), name_server=of_name_server(needs))


class Deployment(ABC):
    """A running name server and brokers. A context manager; `close` removes every process, port and folder that `open` created.

    `part` is a broker's name or NAME_SERVER. Methods raise NotOffered if the capability is missing, and TargetError if they fail or time
    out.
    """

    name: str
    offers: frozenset[Capability]
    name_server: str | None
    """host:port; None if only the brokers are known. A caller that knows it may set it."""
    brokers: Mapping[str, str]
    """host:port by broker name; it does not change on restart."""

    @cached_property
    def unsized(self) -> dict[str, list[str]]:
        """By broker, the empty files that were deleted because it did not start with them (HAZ-59)."""
        return {}

    def address(self, part: str) -> str | None:
        """Return the address of a part, None if it is unknown."""
        return self.name_server if part == NAME_SERVER else self.brokers.get(part)

    def act(self, name: str, broker: str | int = 0, /, **arguments: Any) -> None:
        """Perform a step of the vocabulary that is not a request, given all its arguments. Raises TargetError if it is not supported."""
        del broker
        if name != "time":
            raise TargetError(f"{self.name} cannot do the step {name!r}")
        interrupts.pause(arguments["millis"] / 1000)

    def connect(self, part: str, seconds: float = SECONDS) -> Connection:
        """Return a new connection to a part. Raises ConnectFailed if it cannot be made, InputError for an unknown part."""
        address = self.address(part)
        if address is None:
            raise InputError(f"{self.name} has no {part}; it has {', '.join(self.brokers)}")
        return TcpConnection(address, seconds)

    def stop(self, part: str) -> None:
        """Stop it gracefully and wait until it is gone."""
        raise NotOffered(self.name, Capability.STOP)

    def kill(self, part: str) -> None:
        """Kill it like `kill -9` and wait until it is gone."""
        raise NotOffered(self.name, Capability.KILL)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        """Start a part on its existing files, with some settings changed permanently, and wait until it answers.

        A part that still runs is stopped first.
        """
        raise NotOffered(self.name, Capability.RESTART)

    def set_clock(self, broker: str, ahead: int) -> None:
        """Set how many milliseconds a broker's clock is ahead of this machine's from its next start on; negative: behind."""
        if ahead:
            raise TargetError(
                f"{self.name} cannot start a broker with another clock; use served, install libfaketime for apache, or leave the clock out"
            )

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        """Change settings of a running broker (UPDATE_BROKER_CONFIG, 25)."""
        raise NotOffered(self.name, Capability.CONFIGURE)

    def store(self, broker: str) -> Path:
        """Return the broker's store directory."""
        raise NotOffered(self.name, Capability.STORE)

    def log(self, part: str) -> str:
        """Return the last output of the part for a report, "" if unknown."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """Release everything that `open` created. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class ValidationTarget(ABC):
    """A target of validation: its name and version for reports, and the profile it is judged by."""

    name: str
    version: str
    profile: str
    offers: frozenset[Capability]
    lacks: frozenset[str] = frozenset()
    """Settings by RocketMQ's names that it rejects. A caller leaves them out if they are optional."""
    note: str = ""
    """Further information for readers of the report."""

    @abstractmethod
    def open(self, setup: Setup = DEFAULT) -> Deployment:
        """Set it up and wait until every part answers. If that fails, everything is removed.

        Raises TargetError, NotOffered for a setup that the target does not support, InputError for an invalid setting.
        """

    @property
    def lost(self) -> dict[Capability, str]:
        """What cannot be found out, by missing capability."""
        return {capability: sentence for capability, sentence in LOST.items() if capability not in self.offers}


def require_no_setup(name: str, setup: Setup) -> None:
    """Raise NotOffered for a setup that a target without START cannot provide."""
    if setup.settings or any(setup.own.values()) or setup.name_server or setup.stores:
        raise NotOffered(name, Capability.START)
