"""Drives a simulated broker by the model of waits for the lock: first sends that create topics, on the simulated clock.

A second of the specification is one millisecond shorter. A wait of 3 s is then due but not yet over when the action that ends it runs.
The broker's own deadline shows whether it is due. A slow persist is a thread that stops inside the lock.
"""

from __future__ import annotations

from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_spec.vocabulary import CREATING
from rocketproof_spec.waiting import LOCK_TIMEOUT, WaitingRequests

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require, serving

SECOND = 999
STEPS = {codes.SUCCESS: "created", codes.TOPIC_NOT_EXIST: "missing"}


class LocksDriver(ModelDriver):
    """One broker whose threads for sends stop at every pause."""

    def __init__(self, specification: WaitingRequests, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.cluster = Cluster(0, profile=profile)
        settings = BrokerSettings(broker_name="broker-a", name_servers=(NAME_SERVER,))
        self.node = self.cluster.add(settings)
        self.cluster.scheduler.stops = lambda task, pause: task in self.handlers.values() or task.name.endswith("/send")
        self.calls: dict[int, SimulatedThread[Command]] = {}
        self.handlers: dict[int, SimulatedThread[Any]] = {}
        self.retry: dict[int, bool] = {}
        self.second: set[int] = set()
        self.waited: dict[int, int] = {}
        self.holder: int | None = None
        self.since = 0

    # Actions

    def _performed(self) -> None:
        before, self.holder = self.holder, self._holder()
        if self.holder != before:
            self.since = self._now()

    def _do_arrive(self, r: int, retry: bool) -> None:
        """Send to a new topic, a millisecond after the previous send, and run the thread until it has the lock or waits for it."""
        self.cluster.scheduler.advance(1)
        self.retry[r] = retry
        self.calls[r] = self.cluster.calling(
            plain("send", topic=f"{RETRY_PREFIX}group-{r}" if retry else f"topic-{r}"), client=f"client-{r}"
        )
        self.handlers[r] = serving(self.node, list(self.handlers.values()), f"request {r}")
        self._forward(r)

    def _forward(self, r: int) -> None:
        """Run the thread until it has the lock, waits for it, or has answered."""
        handler = self.handlers[r]
        while handler.at is not None and handler.at.name not in CREATING:
            self.cluster.scheduler.resume(handler)

    def _do_release(self, r: int, heir: int) -> None:
        """Release the lock to the heir. The real lock is fair and the specification is not, so the heir is first moved to the front."""
        handler, waits = self.handlers[r], self.handlers[heir].waiting
        row = self.node.running.topics.lock.waiting
        if waits is not None and waits.future in row:
            row.remove(waits.future)
            row.appendleft(waits.future)
        while handler.at is not None:
            self.cluster.scheduler.resume(handler)

    def _do_give_up(self, r: int) -> None:
        """Time out the wait. The broker's deadline must be that of the specification."""
        handler = self.handlers[r]
        left = self._deadline(r) - self._now()
        if handler.waiting is None or not 0 < left < SECOND:
            raise Deviation(f"request {r} has {left} ms left to wait for the lock: the specification says that its time is up")
        self.cluster.scheduler.time_out(handler)
        self.second.add(r)
        self._forward(r)

    def _do_second(self) -> None:
        for r in self.handlers:
            if self._step(r) == "waits":
                self.waited[r] = self.waited.get(r, 0) + 1
        self.cluster.scheduler.advance(SECOND)

    # State

    def _now(self) -> int:
        return self.cluster.clock.now()

    def _deadline(self, r: int) -> int:
        return (self.handlers[r].deadline or 0) if r in self.handlers else 0

    def _holder(self) -> int | None:
        held = [r for r in self.handlers if self._step(r) == "holds"]
        if len(held) > 1 or bool(held) != self.node.running.topics.lock.held:
            raise Deviation(f"the requests {held} are inside topic creation: one at most may be, while the lock is held")
        return held[0] if held else None

    def _step(self, r: int) -> str:
        if r not in self.handlers:
            return "new"
        if self.calls[r].done.done:
            code = self.calls[r].result().code
            require(code in STEPS, f"request {r} is answered {code}: the specification has no such answer")
            return STEPS[code]
        return "waits" if self.handlers[r].waiting is not None else "holds"

    def seen(self) -> Seen:
        values: Seen = {}
        holder = self._holder()
        for r in self.s.Request.codes():
            step = self._step(r)
            retry = self.retry.get(r, False)
            values["job.step", r] = step
            values["job.retry", r] = retry
            values["job.second", r] = retry and r in self.second
            values["job.now", r] = self._waits(r)
            values["job.waited", r] = self.waited.get(r, 0)
        values["held"] = 0 if holder is None else (self._now() - self.since) // SECOND
        return values

    def _waits(self, r: int) -> int:
        """Return the seconds that this wait has lasted, according to its deadline."""
        if self._step(r) != "waits":
            return 0
        return (1000 * LOCK_TIMEOUT - (self._deadline(r) - self._now())) // SECOND
