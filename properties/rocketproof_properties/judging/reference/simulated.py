"""The simulated deployment on which recordings and programs are replayed: one broker with its name server and an empty store.

It chooses the queues that the recorded broker chose at random.
"""

from __future__ import annotations

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.scheduler import START
from rocketproof_profiles import Profile

from ...brokers.simulated import SimulatedDeployment


class RecordedDraw(SimulatedRandomness):
    """Randomness that returns the queue that a recorded broker chose."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = 0

    def below(self, limit: int) -> int:
        return self.queue % limit

    def int32(self) -> int:
        return self.queue


class ReplayDeployment(SimulatedDeployment):
    """A single broker. `part`: its name among the parts. `draw`: the queue it chooses next. `began`: the initial time of its clock (ms)."""

    def __init__(self, profile: Profile, settings: BrokerSettings, began: int = START) -> None:
        cluster = Cluster(0, profile=profile)
        cluster.clock.time = began
        node = cluster.add(settings, start=False)
        node.random = self.draw = RecordedDraw()
        cluster.start(node)
        super().__init__(cluster)
        (self.part,) = self.brokers

    @property
    def broker(self) -> Broker:
        """The broker's running process."""
        return self.node(self.part).running
