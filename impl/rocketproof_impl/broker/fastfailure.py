"""Fast failure: answers requests in a queue that have waited too long, or that wait while the page cache is busy (REM-10).

No thread has processed these requests.
"""

from __future__ import annotations

from ..ports import Clock
from ..remoting.dispatch import FLOW_CONTROL, system_busy, write
from ..remoting.ports import Executor, RequestTask
from ..store.service import MessageStore
from .settings import BrokerSettings

LIMITS = {
    "send": "wait_time_mills_in_send_queue",
    "pull": "wait_time_mills_in_pull_queue",
    "heartbeat": "wait_time_mills_in_heartbeat_queue",
    "transaction": "wait_time_mills_in_transaction_queue",
}
"""The setting for the maximum wait, by the pool whose queue the request is in."""


class BrokerFastFailure:
    """BrokerFastFailure for the pools of a broker."""

    __slots__ = ("_clock", "_executors", "_settings", "_store")

    def __init__(self, settings: BrokerSettings, store: MessageStore, clock: Clock, executors: dict[str, Executor]) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._executors = {name: executors[name] for name in LIMITS if name in executors}

    def clean(self) -> None:
        """Run one round: first the send queue while the page cache is busy, then the expired requests at the head of each queue.

        One-way requests are answered too (HAZ-26). A task that completes an earlier request (REM-09) is not removed, and ends the round of
        its queue.
        """
        if not self._settings.broker_fast_failure_enable:
            return
        send = self._executors["send"]
        while self._store.is_os_page_cache_busy() and _request_at_head(send):
            self._refuse(send, "PCBUSY_CLEAN_QUEUE")
        for name, executor in self._executors.items():
            limit: int = getattr(self._settings, LIMITS[name])
            while (task := _request_at_head(executor)) and self._clock.now() - task.created >= limit:
                self._refuse(executor, "TIMEOUT_CLEAN_QUEUE")

    def _refuse(self, executor: Executor, reason: str) -> None:
        """Remove the head of the queue and answer it. The remark shows the queue's size after the removal."""
        task = executor.take()
        assert task.channel is not None and task.request is not None, "the head is a request"
        waited = self._clock.now() - task.created
        remark = f"[{reason}]broker busy, {FLOW_CONTROL}, period in queue: {waited}ms, size of queue: {executor.waiting}"
        write(task.channel, system_busy(task.request, remark))


def _request_at_head(executor: Executor) -> RequestTask | None:
    task = executor.head()
    return task if task is not None and task.request is not None else None
