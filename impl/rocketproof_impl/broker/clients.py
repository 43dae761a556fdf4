"""Who is connected: producers and consumers by group, as their heart beats say (ProducerManager, ConsumerManager).

A client leaves when it says so, when its connection is lost, and when nothing was heard of it for more than 120 seconds.
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
    """A client on a connection, and when it was last heard of (milliseconds)."""

    channel: Channel
    client_id: str
    language: str
    version: int
    last_update_timestamp: int


Channels = dict[Channel, ClientChannelInfo]


def expired(channels: Channels, now: int) -> list[Channel]:
    """Remove whoever was silent for more than 120 seconds; their connections."""
    silent = [channel for channel, info in channels.items() if now - info.last_update_timestamp > EXPIRED_MILLIS]
    for channel in silent:
        del channels[channel]
    return silent


class ProducerManager:
    """Producers by group. A group whose connections were all lost stays as an empty one."""

    __slots__ = ("_clock", "_turn", "groups")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turn = 0
        self.groups: dict[str, Channels] = {}

    def register(self, group: str, client: ClientChannelInfo) -> None:
        """Register a heartbeat; on a known connection only its time is new. Raises JavaError for more than MAX_GROUPS."""
        room_for(group, self.groups, MAX_GROUPS)
        found = self.groups.setdefault(group, {}).setdefault(client.channel, client)
        found.last_update_timestamp = self._clock.now()

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
        """A connection of the group, another one each time; None if it has none."""
        channels = list(self.groups.get(group, ()))
        if not channels:
            log.warning("no channel of producer group %s", group)
            return None
        self._turn += 1
        return channels[self._turn % len(channels)]


@dataclass(slots=True)
class ConsumerGroupInfo:
    """The consumers of a group and what they subscribed; the last heart beat decides for all whether each gets every message."""

    message_model: str = ""
    channels: Channels = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def update_channel(self, client: ClientChannelInfo) -> bool:
        """Whether the connection is new."""
        known = self.channels.get(client.channel)
        if known is not None and known.client_id == client.client_id:
            known.last_update_timestamp = client.last_update_timestamp
            return False
        self.channels[client.channel] = client
        return known is None

    def update_subscriptions(self, wanted: Iterable[SubscriptionData]) -> bool:
        """Make the subscriptions these, keeping those that are newer; whether a topic came or went."""
        found = {each.topic: each for each in wanted}
        changed = found.keys() != self.subscriptions.keys()
        kept = {
            topic: each for topic, each in self.subscriptions.items() if topic in found and each.sub_version >= found[topic].sub_version
        }
        self.subscriptions = found | kept
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
        """Register a heartbeat; return whether the group has another member or another topic now.

        Raises JavaError for more than MAX_GROUPS.
        """
        room_for(group, self.groups, MAX_GROUPS)
        info = self.groups.setdefault(group, ConsumerGroupInfo())
        info.message_model = message_model
        came = info.update_channel(client)
        return info.update_subscriptions(subscriptions) or came

    def unregister(self, group: str, channel: Channel) -> list[Channel]:
        """The consumer leaves; the connections of those that stay."""
        info = self.groups.get(group)
        if info is None:
            return []
        info.channels.pop(channel, None)
        return self._rest(group, info)

    def channel_closed(self, channel: Channel) -> dict[str, list[Channel]]:
        """A connection is lost; the groups that lost somebody with it, and who is left in each."""
        affected = [(group, info) for group, info in self.groups.items() if channel in info.channels]
        return {group: self.unregister(group, channel) for group, _ in affected}

    def scan(self) -> list[Channel]:
        silent = [channel for info in self.groups.values() for channel in expired(info.channels, self._clock.now())]
        for group, info in list(self.groups.items()):
            self._rest(group, info)
        return silent

    def _rest(self, group: str, info: ConsumerGroupInfo) -> list[Channel]:
        """Who is left; a group without anybody is forgotten with its subscriptions."""
        if not info.channels:
            del self.groups[group]
        return list(info.channels)
