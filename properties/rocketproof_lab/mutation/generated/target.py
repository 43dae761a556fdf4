"""The changed implementation as a target: a forked process that runs the nodes and judges nothing.

It is forked before this process has threads. Only the broker and the name server contain the change. Clients and judges are unchanged, and
nothing installed is modified. Commands arrive over a pipe. All set-ups that a validation opens, one after the other, run in this process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Final

from rocketproof_model import RocketproofError
from rocketproof_properties.brokers.deployment import DEFAULT, OF_TARGETS, Deployment, Setup, TargetError, ValidationTarget
from rocketproof_properties.brokers.inprocess import LACKS, InProcess
from rocketproof_properties.brokers.processes import PortTaken

from ..forks import limit_memory
from ..patch import Ready
from .sampling import ROOT

PATIENCE: Final = 15.0
"""Seconds within which a node must start or stop."""
Line = tuple[str, int]
"""A file and a line number."""


class Forked(ValidationTarget):
    """The implementation in its own process, with or without a change.

    `traced`: it records the lines it reaches. `closed`: the number of deployments that were closed.
    """

    offers = OF_TARGETS
    lacks = LACKS

    def __init__(self, profile: str, ready: Ready | None = None, *, traced: bool = False) -> None:
        self.name = f"inprocess:{profile}"
        self.version = profile
        self.profile = profile
        self.traced = traced
        self.closed = 0
        self._lock = threading.Lock()
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, profile, ready, traced))
        self._process.start()
        theirs.close()

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        return _Forked(self, setup)

    def lines(self) -> frozenset[Line]:
        """Return the lines reached since the last call."""
        return frozenset(self.command("lines")) if self.traced else frozenset()

    def command(self, name: str, *arguments: Any) -> Any:
        """Perform a command in the process. Raises TargetError if it fails or does not end in time."""
        with self._lock:
            try:
                self._pipe.send((name, *arguments))
                if not self._pipe.poll(PATIENCE):
                    raise TargetError(f"{self.name}: {name} did not end within {PATIENCE:g} s")
                done, result = self._pipe.recv()
            except (EOFError, OSError):
                raise TargetError(f"{self.name}: its process has ended") from None
        if isinstance(result, TargetError):
            raise result
        if not done:
            raise TargetError(str(result))
        return result

    def end(self) -> None:
        """Kill the process and everything in it."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


class _Forked(Deployment):
    def __init__(self, target: Forked, setup: Setup) -> None:
        self._target = target
        self.name, self.offers = target.name, target.offers
        self._number, self.name_server, self.brokers, self._stores = target.command("open", setup)

    def stop(self, part: str) -> None:
        self._target.command("stop", self._number, part)

    def kill(self, part: str) -> None:
        self._target.command("cut_off", self._number, part)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        self._target.command("restart", self._number, part, settings)

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        self._target.command("configure", self._number, broker, settings)

    def store(self, broker: str) -> Path:
        return Path(self._stores[broker])

    def close(self) -> None:
        """Close the deployment. If a changed node cannot end, it ends with the process."""
        self._target.closed += 1
        with suppress(TargetError):
            self._target.command("close", self._number)


def _serve(pipe: Connection, profile: str, ready: Ready | None, traced: bool) -> None:
    """Serve commands until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory()
    lines: set[Line] = set()
    if traced:
        _trace(lines)
    running: list[Deployment] = []
    with (ready or Ready()).applied():
        while True:
            try:
                name, *arguments = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            try:
                result = _done(InProcess(profile), running, lines, name, arguments)
            except RocketproofError as problem:
                pipe.send((False, problem if isinstance(problem, PortTaken) else str(problem)))
            except Exception as problem:  # noqa: BLE001 - a change can raise anything
                pipe.send((False, f"{name}: {type(problem).__name__}: {problem}"))
            else:
                pipe.send((True, result))


def _done(target: InProcess, running: list[Deployment], lines: set[Line], name: str, arguments: list[Any]) -> Any:
    if name == "open":
        deployment = target.open(*arguments)
        running.append(deployment)
        return (
            len(running) - 1,
            deployment.name_server,
            dict(deployment.brokers),
            {broker: str(deployment.store(broker)) for broker in deployment.brokers},
        )
    if name == "lines":
        reached = list(lines)  # copied in one step, as running threads add to them
        lines.difference_update(reached)
        return reached
    number, *rest = arguments
    return getattr(running[number], name)(*rest)


def _trace(lines: set[Line]) -> None:
    """Record each line of the implementation that any thread reaches from now on."""
    root = str(ROOT)

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return inside

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        return inside(frame, event, argument) if frame.f_code.co_filename.startswith(root) else None

    threading.settrace(trace)
    sys.settrace(trace)
