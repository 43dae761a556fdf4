"""What is done again and again, as data: a driver calls the function of that name at its times."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol

from .tasks import Future

log = logging.getLogger("rocketproof_impl.periodic")
log.addHandler(logging.NullHandler())


class Periodic(NamedTuple):
    """The name of a function of the same object, and milliseconds: until the first call, and from call to call."""

    name: str
    first: int
    period: int


class _Thread(Protocol):
    @property
    def done(self) -> Future[Any]: ...


class Driver(Protocol):
    """Threads and timers, the simulator's or a server's."""

    def spawn(self, work: Any, name: str = ...) -> _Thread: ...

    def every(self, first: int, period: int, action: Callable[[], None]) -> None: ...


def drive(driver: Driver, thing: object, tasks: Iterable[Periodic], use: Callable[[Any], None] | None = None) -> None:
    """Call an object's periodic functions at their times from now on.

    One that waits is a thread; while it goes on, its next times are left out. One that fails is called again all the same. What a
    function gives that is not a thread, such as the connections to be closed, is handed to `use`.
    """
    for task in tasks:
        driver.every(task.first, task.period, _Repeated(driver, thing, task.name, use))


class _Repeated:
    """One periodic function, and the thread of its last call."""

    __slots__ = ("_driver", "_function", "_name", "_running", "_use")

    def __init__(self, driver: Driver, thing: object, name: str, use: Callable[[Any], None] | None) -> None:
        self._driver = driver
        self._function = getattr(thing, name)
        self._name = name
        self._running: Future[Any] | None = None
        self._use = use

    def __call__(self) -> None:
        if self._running is not None and not self._running.done:
            return
        try:
            made = self._function()
            if isinstance(made, Coroutine):
                self._running = self._driver.spawn(made, self._name).done
                self._running.then(self._ended)
            elif self._use is not None and made is not None:
                self._use(made)
        except Exception as problem:  # noqa: BLE001 - the next time may be better
            log.error("periodic task %s: %r", self._name, problem)

    def _ended(self, future: Future[Any]) -> None:
        try:
            future.result()
        except Exception as problem:  # noqa: BLE001 - the next time may be better
            log.error("periodic task %s: %r", self._name, problem)
