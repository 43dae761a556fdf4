"""Simulated time, a disk that can fail, and settings: the base of the broker, store and topic table of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_profiles import PROFILES

T = TypeVar("T")


class Simulated:
    """A scheduler with its clock, a disk, a profile, and a broker's settings as keyword arguments."""

    def __init__(self, profile: str = "P49", disk: SimulatedDisk | None = None, **settings: Any) -> None:
        self.scheduler = Scheduler()
        self.clock = self.scheduler.clock
        self.disk = disk or SimulatedDisk()
        self.settings = BrokerSettings(**settings)
        self.profile = PROFILES[profile]

    @contextmanager
    def failing(self, path: str = "", operation: str = "", error: Exception | None = None) -> Iterator[None]:
        """Within this context, each such operation on a path that contains `path` raises `error`, by default an OSError."""

        def fail(asked: str, there: str) -> None:
            if operation in asked and path in there:
                raise error or OSError(f"I/O error: {asked} {there}")

        self.disk.failing = fail
        yield
        self.disk.failing = None


class FakeChannel:
    """A connection that records the commands written to it; if `broken`, a write fails."""

    closing = False

    def __init__(self) -> None:
        self.remote = ("127.0.0.1", 50001)
        self.written: list[Command] = []
        self.broken = False

    def write(self, command: Command) -> None:
        if self.broken:
            raise OSError("broken pipe")
        self.written.append(command)


def present(found: T | None) -> T:
    """Assert that the value is not None and return it."""
    assert found is not None
    return found


def fields_of(command: Command) -> dict[str, str]:
    """Return the fields of a header that has fields."""
    return present(command.ext_fields)
