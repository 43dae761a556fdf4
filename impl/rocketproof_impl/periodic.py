"""Periodic tasks as data: a driver calls the named method at its times."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol

from .tasks import Future

log = logging.getLogger("rocketproof_impl.periodic")
log.addHandler(logging.NullHandler())


class Periodic(NamedTuple):
    """The name of an object's method, and two times in milliseconds: until the first call, and between calls."""

    name: str
    first: int
    period: int


class _Thread(Protocol):
    @property
    def done(self) -> Future[Any]: ...


class Driver(Protocol):
    """Threads and timers of the simulator or of a server."""

    def spawn(self, work: Any, name: str = ...) -> _Thread: ...

    def every(self, first: int, period: int, action: Callable[[], None]) -> None: ...


def drive(driver: Driver, target: object, tasks: Iterable[Periodic], use: Callable[[Any], None] | None = None) -> None:
    """Call an object's periodic methods at their times from now on.

    A method that waits runs as a thread; calls due while it runs are skipped. A method that fails is called again next time. If a method
    returns a value other than a coroutine, such as connections to close, that value is passed to `use`.
    """
    for task in tasks:
        driver.every(task.first, task.period, _Repeated(driver, target, task.name, use))


class _Repeated:
    """A periodic method and the thread of its last call."""

    __slots__ = ("_driver", "_function", "_name", "_running", "_use")

    def __init__(self, driver: Driver, target: object, name: str, use: Callable[[Any], None] | None) -> None:
        self._driver = driver
        self._function = getattr(target, name)
        self._name = name
        self._running: Future[Any] | None = None
        self._use = use

    def __call__(self) -> None:
        if self._running is not None and not self._running.done:
            return
        try:
            result = self._function()
            if isinstance(result, Coroutine):
                self._running = self._driver.spawn(result, self._name).done
                self._running.then(self._ended)
            elif self._use is not None and result is not None:
                self._use(result)
        except Exception as problem:  # noqa: BLE001 - the next call may succeed
            log.error("periodic task %s: %r", self._name, problem)

    def _ended(self, future: Future[Any]) -> None:
        try:
            future.result()
        except Exception as problem:  # noqa: BLE001 - the next call may succeed
            log.error("periodic task %s: %r", self._name, problem)
