"""The implementation with a change in it, as a target: a process of its own, forked, in which nodes run and nothing is judged.

It is forked before this process has threads. So the change is in the broker and the name server and nowhere else; who asks and who judges
stay as they are, and nothing that is installed is touched. What it is told comes over a pipe: the set-ups that a validation opens, one
after the other, all live in it.
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

from ..seeded.forks import limit_memory
from ..seeded.patch import Ready
from .sampling import ROOT

PATIENCE: Final = 15.0
"""Seconds for what a node is told to do: to start, to stop."""
Line = tuple[str, int]
"""A file and the number of a line of it."""


class Forked(ValidationTarget):
    """The implementation in a process of its own, with a change or with none.

    `traced`: it notes which lines it goes through. `started` are those of its deployments' starts, and of what ran meanwhile.
    """

    offers = OF_TARGETS
    lacks = LACKS

    def __init__(self, profile: str, ready: Ready | None = None, *, traced: bool = False) -> None:
        self.name = f"inprocess:{profile}"
        self.version = profile
        self.profile = profile
        self.traced = traced
        self.started: frozenset[Line] = frozenset()
        self._lock = threading.Lock()
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, profile, ready, traced))
        self._process.start()
        theirs.close()

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        return _Forked(self, setup)

    def lines(self) -> frozenset[Line]:
        """The lines that were gone through since the last time."""
        return frozenset(self.tell("lines")) if self.traced else frozenset()

    def tell(self, what: str, *given: Any) -> Any:
        """Have it do something. Raises TargetError where it cannot, or does not in time."""
        with self._lock:
            try:
                self._pipe.send((what, *given))
                if not self._pipe.poll(PATIENCE):
                    raise TargetError(f"{self.name}: {what} did not end within {PATIENCE:g} s")
                done, said = self._pipe.recv()
            except (EOFError, OSError):
                raise TargetError(f"{self.name}: its process has ended") from None
        if isinstance(said, TargetError):
            raise said
        if not done:
            raise TargetError(str(said))
        return said

    def end(self) -> None:
        """End the process and all that is in it."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


class _Forked(Deployment):
    def __init__(self, target: Forked, setup: Setup) -> None:
        self._target = target
        self.name, self.offers = target.name, target.offers
        self._number, self.name_server, self.brokers, self._stores = target.tell("open", setup)
        target.started |= target.lines()

    def stop(self, part: str) -> None:
        self._target.tell("stop", self._number, part)

    def kill(self, part: str) -> None:
        self._target.tell("cut_off", self._number, part)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        self._target.tell("restart", self._number, part, settings)

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        self._target.tell("configure", self._number, broker, settings)

    def store(self, broker: str) -> Path:
        return Path(self._stores[broker])

    def close(self) -> None:
        """What does not end ends with the process: a changed node may not know how."""
        with suppress(TargetError):
            self._target.tell("close", self._number)


def _serve(pipe: Connection, profile: str, ready: Ready | None, traced: bool) -> None:
    """What the process does until its pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory()
    lines: set[Line] = set()
    if traced:
        _trace(lines)
    running: list[Deployment] = []
    with (ready or Ready()).applied():
        while True:
            try:
                what, *given = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            try:
                said = _done(InProcess(profile), running, lines, what, given)
            except RocketproofError as problem:
                pipe.send((False, problem if isinstance(problem, PortTaken) else str(problem)))
            except Exception as problem:  # noqa: BLE001 - whatever a change makes of it
                pipe.send((False, f"{what}: {type(problem).__name__}: {problem}"))
            else:
                pipe.send((True, said))


def _done(target: InProcess, running: list[Deployment], lines: set[Line], what: str, given: list[Any]) -> Any:
    if what == "open":
        made = target.open(*given)
        running.append(made)
        return len(running) - 1, made.name_server, dict(made.brokers), {name: str(made.store(name)) for name in made.brokers}
    if what == "lines":
        found = list(lines)  # at once, as threads that run add to them
        lines.difference_update(found)
        return found
    number, *rest = given
    return getattr(running[number], what)(*rest)


def _trace(lines: set[Line]) -> None:
    """Note each line of the implementation that any thread from here on goes through."""
    root = str(ROOT)

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return inside

    def trace(frame: FrameType, event: str, given: Any) -> Any:
        return inside(frame, event, given) if frame.f_code.co_filename.startswith(root) else None

    threading.settrace(trace)
    sys.settrace(trace)
