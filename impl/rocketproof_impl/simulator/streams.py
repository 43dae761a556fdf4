"""Byte streams of the simulator: two links that feed each other, with a delay if a test sets it."""

from __future__ import annotations

from collections.abc import Callable

from ..link import Link
from .scheduler import Scheduler


class SimulatedStreams:
    """Listeners and connections. `delay` is how many milliseconds bytes take; `cut` decides between which addresses they are lost."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._listening: dict[str, Callable[[Link], None]] = {}
        self._links: list[tuple[str, str, Link]] = []
        self.delay = 0
        self.cut: Callable[[str, str], bool] = lambda source, target: False

    def listen(self, address: str, accept: Callable[[Link], None]) -> None:
        self._listening[address] = accept

    def dial(self, source: str, target: str) -> Link:
        """Connect one address to another. Raises OSError if no process listens."""
        accept = self._listening.get(target)
        if accept is None:
            raise ConnectionRefusedError(f"connect to {target} failed")
        near = Link(target, lambda data: self._carry(source, target, far, data), lambda: self._hang_up(far))
        far = Link(source, lambda data: self._carry(target, source, near, data), lambda: self._hang_up(near))
        self._links.append((source, target, near))
        accept(far)
        return near

    def close(self, address: str) -> None:
        """Stop listening at an address and close all its connections, which the other ends notice."""
        self._listening.pop(address, None)
        gone = [link for source, target, link in self._links if address in (source, target)]
        self._links = [entry for entry in self._links if entry[2] not in gone]
        for link in gone:
            link.close()

    def _carry(self, source: str, target: str, link: Link, data: bytes) -> None:
        if self.cut(source, target):
            return
        if self.delay:
            self._scheduler.after(self.delay, lambda: link.feed(data))
        else:
            link.feed(data)

    def _hang_up(self, link: Link) -> None:
        if not link.closed:
            link.ended()
