"""The simulated deployment on which recordings and programs are replayed: one broker with its name server and an empty store.

It chooses the queues that the recorded broker chose at random. For a recording that does not start with an empty broker, the state before
is restored as far as the cases show it. The log continues at the place of the first stored message, a queue at its first message, and a
topic has the recorded entry. Records stored before are missing. Requests that refer to earlier records (send-back, end of a transaction)
find them only in a recording from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.nameserversettings import NameServerSettings
from rocketproof_impl.routeinfo import DEFAULTS
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.scheduler import START
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_profiles import Profile
from rocketproof_protocol.codes import UPDATE_AND_CREATE_TOPIC

from ...brokers.simulated import SimulatedDeployment
from .cases import ReplayCase


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

    def __init__(self, profile: Profile, settings: BrokerSettings, began: int = START, name_server: NameServerSettings = DEFAULTS) -> None:
        cluster = Cluster(0, profile=profile, name_server=name_server)
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


def first_place(cases: Sequence[ReplayCase]) -> int:
    """Return the place of the first message in the log. It is 0 in a recording from the start."""
    return next((case.positions[0] for case in cases if case.positions), 0)


def begin_log_at(broker: Broker, place: int) -> None:
    """Let the empty log continue at a place, as if the bytes before it existed."""
    store = broker.store
    mapped = store.commit_log.files.last_or_next(place)
    assert mapped is not None, "the simulated disk has room"
    mapped.wrote_position = mapped.flushed_position = place - mapped.file_from_offset
    store.dispatched_to = place


def recall(broker: Broker, case: ReplayCase) -> None:
    """Restore a topic and the next offset of its queue as they were before this case, unless they are known."""
    config = case.config
    if isinstance(config, dict) and case.code != UPDATE_AND_CREATE_TOPIC and broker.topics.select(case.topic) is None:
        broker.topics.table[case.topic] = _topic(case.topic, config)
    if case.queue is not None:
        topic, queue_id, queue_offset = case.queue
        broker.store.topic_queue_table.setdefault(f"{topic}-{queue_id}", queue_offset)


def _topic(name: str, config: dict[str, object]) -> TopicConfig:
    table, _ = table_from_data({"topicConfigTable": {name: {**config, "topicName": name}}})
    return table[name]
