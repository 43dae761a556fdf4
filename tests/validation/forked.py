"""Serve the implementation with mutants in one forked process, which starts much faster than new interpreters.

The process is forked once, applies all patches, and then opens every deployment. The judging process is unchanged.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, Final, Self

from rocketproof_lab.mutation.patch import Patch, prepare
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess


class ForkedMutants(ValidationTarget):
    """The implementation with patches. A context manager; no threads may run when it is entered."""

    def __init__(self, patches: Sequence[Patch], name: str = "broker under test", profile: str = "P494") -> None:
        self.name, self.version, self.profile = name, "", profile
        self.offers, self.lacks = frozenset(), InProcess.lacks
        self._patches = patches
        self._host = _Host(ctx=multiprocessing.get_context("fork"))

    def __enter__(self) -> Self:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads that survive a fork
            self._host.start(_apply, (self._patches,))
        return self

    def __exit__(self, *_: object) -> None:
        self._host.shutdown()

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        return _Remote(self, self._host.opened(self.profile, setup))


class _Opened:
    """A deployment in the forked process."""

    def __init__(self, profile: str, setup: Setup) -> None:
        self._running = InProcess(profile).open(setup)

    def addresses(self) -> tuple[str | None, Mapping[str, str]]:
        return self._running.name_server, self._running.brokers

    def call(self, method: str, *arguments: Any) -> Any:
        return getattr(self._running, method)(*arguments)


class _Host(BaseManager):
    opened: Any


_Host.register("opened", _Opened)


_APPLIED: Final = ExitStack()


def _apply(patches: Sequence[Patch]) -> None:
    """Apply the patches for the life of the forked process."""
    for patch in patches:
        _APPLIED.enter_context(prepare(patch).applied())


class _Remote(Deployment):
    """A deployment in the forked process, as the judging process sees it."""

    def __init__(self, target: ForkedMutants, opened: Any) -> None:
        self.name, self.offers, self._opened = target.name, target.offers, opened
        self.name_server, self.brokers = opened.addresses()

    def stop(self, part: str) -> None:
        self._opened.call("stop", part)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        self._opened.call("restart", part, settings)

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        self._opened.call("configure", broker, settings)

    def store(self, broker: str) -> Path:
        return Path(self._opened.call("store", broker))

    def close(self) -> None:
        self._opened.call("close")
