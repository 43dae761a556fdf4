"""An asyncio loop in its own thread, for programs that do not use asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from ..tasks import Work
from .threads import Threads

T = TypeVar("T")


class Background:
    """Runs coroutines for other threads. A context manager: entering starts the loop, leaving ends every thread."""

    def __init__(self, name: str = "rocketproof") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self.threads = Threads(self._loop)

    def __enter__(self) -> Background:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.complete(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def complete(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run an asyncio coroutine on the loop. Return its result or raise its exception."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def run(self, work: Work[T], name: str = "thread") -> T:
        """Run a thread of the implementation to its end. Return its result or raise its exception."""
        return self.submit(work, name).result()

    def submit(self, work: Work[T], name: str = "thread") -> concurrent.futures.Future[T]:
        """Start a thread of the implementation. Return a future of its result."""
        return asyncio.run_coroutine_threadsafe(self._outcome(work, name), self._loop)

    async def _outcome(self, work: Work[T], name: str) -> T:
        return await self.threads.outcome(self.threads.spawn(work, name).done)

    async def _end(self) -> None:
        self.threads.close()
        await asyncio.sleep(0.01)  # let asyncio call connection_lost of closing connections
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
