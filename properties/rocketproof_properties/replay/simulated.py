"""The simulated broker on which recordings and programs are replayed, and how it is asked.

It draws the queues that the recorded broker drew, and its log begins where the recorded one did.
"""

from __future__ import annotations

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_profiles import Profile

PATIENCE = 20_000
"""Milliseconds to wait for an answer; longer than any wait of a broker's own."""


class RecordedDraw(SimulatedRandomness):
    """Randomness that draws the queue which a recorded broker drew."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = 0

    def below(self, limit: int) -> int:
        return self.queue % limit

    def int32(self) -> int:
        return self.queue


class SimulatedBroker:
    """One broker with its name server and an empty store."""

    def __init__(self, profile: Profile, settings: BrokerSettings) -> None:
        self.cluster = Cluster(0, profile=profile)
        node = self.cluster.add(settings, start=False)
        node.random = self._draw = RecordedDraw()
        self.cluster.start(node)
        self.broker = node.running

    def begin_log_at(self, place: int) -> None:
        """Let the empty log go on at a place, as if the bytes before it had been there."""
        store = self.broker.store
        mapped = store.commit_log.files.last_or_next(place)
        assert mapped is not None, "the simulated disk has room"
        mapped.wrote_position = mapped.flushed_position = place - mapped.file_from_offset
        store.dispatched_to = place

    def ask(
        self,
        request: Command,
        *,
        name_server: bool = False,
        drawn: int = 0,
        client: str = "client",
        millis: int = PATIENCE,
        one_way: bool = False,
    ) -> Command | None:
        """The answer, None if none comes in time or none is wanted. `drawn`: the queue to draw where the broker draws one."""
        self._draw.queue = drawn
        to = NAME_SERVER if name_server else self.broker.settings.address
        scheduler, caller = self.cluster.scheduler, self.cluster.caller(client)
        try:
            if one_way:
                scheduler.complete(caller.post(to, request))
                scheduler.settle()
                return None
            return scheduler.complete(caller.call(to, request, millis))
        except RemotingError:
            return None
        finally:
            self.broker.store.dispatch()

    def wait(self, millis: int) -> None:
        """Let time pass; what is delayed until then is delivered."""
        self.cluster.scheduler.advance(millis)
        self.cluster.scheduler.complete(self.broker.store.deliver_delayed(), "deliver delayed")
        self.broker.store.dispatch()
