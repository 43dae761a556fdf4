"""Connected producers and consumers by group, from their heartbeats (ProducerManager, ConsumerManager).

A client is removed when it unregisters, when its connection is lost, or after 120 seconds without a heartbeat.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..bounds import MAX_GROUPS, room_for
from ..ports import Clock
from ..remoting.ports import Channel
from .log import log
from .subscription import SubscriptionData

EXPIRED_MILLIS = 120_000


@dataclass(slots=True)
class ClientChannelInfo:
    """A client on a connection, and the time of its last heartbeat (milliseconds)."""

    channel: Channel
    client_id: str
    language: str
    version: int
    last_update_timestamp: int


Channels = dict[Channel, ClientChannelInfo]


def expired(channels: Channels, now: int) -> list[Channel]:
    """Remove clients that were silent for more than 120 seconds. Return their connections."""
    silent = [channel for channel, info in channels.items() if now - info.last_update_timestamp > EXPIRED_MILLIS]
    for channel in silent:
        del channels[channel]
    return silent


class ProducerManager:
    """Producers by group. A group that lost all its connections remains as an empty group."""

    __slots__ = ("_clock", "_turn", "groups")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turn = 0
        self.groups: dict[str, Channels] = {}

    def register(self, group: str, client: ClientChannelInfo) -> None:
        """Register a heartbeat. On a known connection only its time is updated. Raises JavaError for more than MAX_GROUPS groups."""
        room_for(group, self.groups, MAX_GROUPS)
        registered = self.groups.setdefault(group, {}).setdefault(client.channel, client)
        registered.last_update_timestamp = self._clock.now()

    def unregister(self, group: str, channel: Channel) -> None:
        channels = self.groups.get(group)
        if channels:
            channels.pop(channel, None)
            if not channels:
                del self.groups[group]

    def channel_closed(self, channel: Channel) -> None:
        for channels in self.groups.values():
            channels.pop(channel, None)

    def scan(self) -> list[Channel]:
        return [channel for channels in self.groups.values() for channel in expired(channels, self._clock.now())]

    def available_channel(self, group: str) -> Channel | None:
        """Return a connection of the group, in rotation; None if it has none."""
        channels = list(self.groups.get(group, ()))
        if not channels:
            log.warning("no channel of producer group %s", group)
            return None
        self._turn += 1
        return channels[self._turn % len(channels)]


@dataclass(slots=True)
class ConsumerGroupInfo:
    """The consumers of a group and their subscriptions. The last heartbeat sets the message model for all of them."""

    message_model: str = ""
    channels: Channels = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def update_channel(self, client: ClientChannelInfo) -> bool:
        """Store the client. Return whether its connection is new."""
        known = self.channels.get(client.channel)
        if known is not None and known.client_id == client.client_id:
            known.last_update_timestamp = client.last_update_timestamp
            return False
        self.channels[client.channel] = client
        return known is None

    def update_subscriptions(self, wanted: Iterable[SubscriptionData]) -> bool:
        """Replace the subscriptions, keeping stored ones with a version at least as new. Return whether the set of topics changed."""
        by_topic = {subscription.topic: subscription for subscription in wanted}
        changed = by_topic.keys() != self.subscriptions.keys()
        kept = {
            topic: known
            for topic, known in self.subscriptions.items()
            if topic in by_topic and known.sub_version >= by_topic[topic].sub_version
        }
        self.subscriptions = by_topic | kept
        return changed


class ConsumerManager:
    """Consumers by group."""

    __slots__ = ("_clock", "groups")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.groups: dict[str, ConsumerGroupInfo] = {}

    def register(
        self,
        group: str,
        client: ClientChannelInfo,
        message_model: str,
        subscriptions: Iterable[SubscriptionData],
    ) -> bool:
        """Register a heartbeat. Return whether the group's members or topics changed.

        Raises JavaError for more than MAX_GROUPS groups.
        """
        room_for(group, self.groups, MAX_GROUPS)
        info = self.groups.setdefault(group, ConsumerGroupInfo())
        info.message_model = message_model
        is_new = info.update_channel(client)
        return info.update_subscriptions(subscriptions) or is_new

    def unregister(self, group: str, channel: Channel) -> list[Channel]:
        """Remove the consumer of this connection. Return the connections of the remaining consumers."""
        info = self.groups.get(group)
        if info is None:
            return []
        info.channels.pop(channel, None)
        return self._remaining(group, info)

    def channel_closed(self, channel: Channel) -> dict[str, list[Channel]]:
        """Remove the consumers of a lost connection. Return each affected group with its remaining connections."""
        affected = [(group, info) for group, info in self.groups.items() if channel in info.channels]
        return {group: self.unregister(group, channel) for group, _ in affected}

    def scan(self) -> list[Channel]:
        silent = [channel for info in self.groups.values() for channel in expired(info.channels, self._clock.now())]
        for group, info in list(self.groups.items()):
            self._remaining(group, info)
        return silent

    def _remaining(self, group: str, info: ConsumerGroupInfo) -> list[Channel]:
        """Return the group's connections. A group without consumers is removed with its subscriptions."""
        if not info.channels:
            del self.groups[group]
        return list(info.channels)
