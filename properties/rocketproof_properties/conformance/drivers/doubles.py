"""Test doubles for a flush and a connection, and logs with records of equal size.

A driver completes a flush itself, reads the commands written to a connection, and counts places of the log in units of the specification.
"""

from __future__ import annotations

from typing import Final

from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.result import PutResult
from rocketproof_impl.tasks import Future

from .base import Deviation

RECORD: Final = 200
"""Bytes of every record in the log."""
_WITHOUT_BODY = 91
PATIENCE: Final = 5000
"""Milliseconds that a put waits for its flush."""


class ManualFlush:
    """A flush that completes at once, or else when the driver completes its future.

    `requests`: the end of each put's record in bytes, and the put's future.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.at_once = at_once
        self.requests: list[tuple[int, Future[bool]]] = []

    def request(self, next_offset: int) -> Future[bool]:
        flushed: Future[bool] = Future()
        if self.at_once:
            flushed.complete(True)
        self.requests.append((next_offset, flushed))
        return flushed

    def wakeup(self) -> None:
        """Do nothing: no thread waits."""


class RecordingChannel:
    """A connection that keeps the written commands."""

    remote = ("127.0.0.1", 50_001)
    closing = False

    def __init__(self) -> None:
        self.written: list[Command] = []

    def write(self, command: Command) -> None:
        self.written.append(command)


def filling_message(topic: str) -> Message:
    """Return a message whose record has `RECORD` bytes."""
    return Message(topic, 0, b"x" * (RECORD - _WITHOUT_BODY - len(topic)))


def units(offset: int, file_size: int, units_of_file: int) -> int:
    """Return an offset in bytes as a number of units: records, and a blank at the end of each file. Raises Deviation inside a record."""
    file, position = divmod(offset, file_size)
    records, more = divmod(position, RECORD)
    if more:
        raise Deviation(f"{offset} lies inside a record: they have {RECORD} bytes each")
    return file * units_of_file + records


def check_flush_timeout(put: SimulatedThread[PutResult] | None, who: str) -> SimulatedThread[PutResult]:
    """Return a put that waits for its flush, for as long as the specification says. Raises Deviation."""
    waits = put.waiting if put is not None else None
    if put is None or waits is None or waits.millis != PATIENCE:
        raise Deviation(f"{who} waits {waits.millis if waits else 0} ms for its flush: the specification says {PATIENCE}")
    return put
