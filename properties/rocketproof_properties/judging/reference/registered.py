"""What a route may say, since a broker registers by itself too.

A name server has of a topic what it took last, and takes what has another version than it knows of the broker (NS-03). What a program asks
for is registered behind its change; what the broker registers of all topics at its times (NS-10) is not recorded, nor is in which order a
name server takes what came one way. So a route may be

- as a registration of all topics tells of the topic: if one falls between a change and its own registration it has the version of that
  change, and the change's own is not taken (HAZ-55). In some releases that differs from what is told of one topic alone (NS-11);
- as it was before the topic's last change, where topics that messages make are registered one way: such a registration may come behind
  that of the change, and an older one is taken all the same (HAZ-37).

Neither is a finding by itself: it is one when it comes again whenever the program is repeated. Any other route nobody has registered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.route import MASTER_ID, QueueData


class Registered:
    """What a name server has had of topics, of the one broker that follows a history."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._had: defaultdict[str, list[QueueData | None]] = defaultdict(lambda: [None])

    def note(self, topic: str, broker: Broker) -> None:
        """Remember what it has of a topic now."""
        now, had = self._of(topic, broker), self._had[topic]
        if now != had[-1]:
            had.append(now)

    def others(self, topic: str, broker: Broker) -> list[QueueData | None]:
        """What else it may have of the topic."""
        self.note(topic, broker)
        had, found = self._had[topic], list[QueueData | None]()
        if len(had) > 1 and not broker.profile.registers_created_alone:
            found.append(had[-2])
        config = broker.topics.table.get(topic)
        if config is not None and broker.settings.broker_id == MASTER_ID:
            found.append(broker.registration.queues_of(config, alone=False))
        return [one for one in found if one != had[-1]]

    def _of(self, topic: str, broker: Broker) -> QueueData | None:
        name = broker.settings.broker_name
        return next((one.copy() for one in self._server.topic_queue_table.get(topic, ()) if one.broker_name == name), None)

    @contextmanager
    def knowing(self, topic: str, broker: Broker, other: QueueData | None) -> Iterator[None]:
        """Have the name server know that of the topic, for as long as the context lasts."""
        table, name = self._server.topic_queue_table, broker.settings.broker_name
        before = table.pop(topic, None)
        rest = [one for one in before or () if one.broker_name != name]
        if entries := [*rest, *([other.copy()] if other is not None else [])]:
            table[topic] = entries
        try:
            yield
        finally:
            table.pop(topic, None)
            if before is not None:
                table[topic] = before
