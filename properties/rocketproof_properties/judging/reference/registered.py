"""The possible contents of a route, given that a broker also registers by itself.

A name server stores the last registration it accepted for a topic. It accepts a registration whose version differs from the broker's known
version (NS-03). The registration for a program's request follows the change. The broker's periodic registrations of all topics (NS-10) are
not recorded, nor is the order in which a name server handles one-way requests. A route may therefore contain:

- the entry from a registration of all topics. It may fall between a change and the change's own registration. It then has the version of
  the change, and the change's own registration is ignored (HAZ-55). In some releases a registration of a single topic has another entry
  (NS-11).
- the entry from before the topic's last change, if topics created by messages are registered one-way. Such a registration may arrive after
  the registration of the change, and older registrations are accepted too (HAZ-37).
- the entry from before the topic's last change, if topics are registered alone. The registration of another topic's later change may arrive
  first. It has the same version, so the name server ignores the change's own registration (HAZ-55).

Neither is a finding by itself. It is a finding if it recurs in every repetition of the program. No other route was ever registered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.route import MASTER_ID, QueueData


class Registered:
    """The entries that a name server had for topics of the broker that follows a history.

    `in_turn`: no requests to this broker overlap, also not with those of other programs.
    """

    def __init__(self, server: NameServer, *, in_turn: bool) -> None:
        self._server = server
        self._in_turn = in_turn
        self._had: defaultdict[str, list[QueueData | None]] = defaultdict(lambda: [None])

    def note(self, topic: str, broker: Broker) -> None:
        """Remember the current entry of a topic."""
        now, earlier = self._of(topic, broker), self._had[topic]
        if now != earlier[-1]:
            earlier.append(now)

    def others(self, topic: str, broker: Broker) -> list[QueueData | None]:
        """Return the other entries that the name server may have for the topic."""
        self.note(topic, broker)
        earlier, possible = self._had[topic], list[QueueData | None]()
        if len(earlier) > 1 and (not broker.profile.registers_created_alone or self._may_be_hidden(broker, earlier[-2])):
            possible.append(earlier[-2])
        config = broker.topics.table.get(topic)
        if config is not None and broker.settings.broker_id == MASTER_ID:
            possible.append(broker.registration.queues_of(config, alone=False))
        return [entry for entry in possible if entry != earlier[-1]]

    def _of(self, topic: str, broker: Broker) -> QueueData | None:
        name = broker.settings.broker_name
        return next((entry.copy() for entry in self._server.topic_queue_table.get(topic, ()) if entry.broker_name == name), None)

    def _may_be_hidden(self, broker: Broker, before: QueueData | None) -> bool:
        """Whether a name server with the entry `before` may ignore a topic's registration because of its version.

        Some releases can register topics without a version (TCM-34). Some name servers accept each topic that they do not have (NS-03).
        """
        versioned = not (broker.profile.registers_topics and broker.settings.enable_single_topic_register)
        return not self._in_turn and versioned and (before is not None or not broker.profile.takes_unknown_topics)

    @contextmanager
    def knowing(self, topic: str, broker: Broker, other: QueueData | None) -> Iterator[None]:
        """Replace the name server's entry for the topic within the context."""
        table, name = self._server.topic_queue_table, broker.settings.broker_name
        before = table.pop(topic, None)
        rest = [entry for entry in before or () if entry.broker_name != name]
        if entries := [*rest, *([other.copy()] if other is not None else [])]:
            table[topic] = entries
        try:
            yield
        finally:
            table.pop(topic, None)
            if before is not None:
                table[topic] = before
