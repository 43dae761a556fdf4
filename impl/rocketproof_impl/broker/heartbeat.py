"""Heartbeats of clients (request 34) and their unregistration (35), as in ClientManageProcessor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from rocketproof_protocol.codes import HEART_BEAT, NOTIFY_CONSUMER_IDS_CHANGED, SUCCESS, UNREGISTER_CLIENT
from rocketproof_protocol.fastjson import loads, text_of
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.topics import RETRY_PREFIX

from ..bounds import MAX_CLIENT_GROUPS, limited
from ..java import null_pointer
from ..remoting.command import ONE_WAY, Command, response_to
from ..remoting.dispatch import write
from ..remoting.headers import UnregisterClientRequestHeader, read
from ..remoting.ports import Channel
from .clients import ClientChannelInfo
from .parts import BrokerParts
from .subscription import subscription_from_data
from .topics import UNIT_SUB

HEARTBEATS: Final = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
"""Fields of the response: the broker supports heartbeats without known data, and this heartbeat contained all subscriptions."""


class ClientManageProcessor:
    """Serves each request code with one method, listed in `codes`."""

    __slots__ = ("_broker", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.codes: dict[int, Callable[[Channel, Command], Awaitable[None]]] = {
            HEART_BEAT: self._heartbeat,
            UNREGISTER_CLIENT: self._unregister_client,
        }

    async def process(self, channel: Channel, request: Command) -> Command:
        response = response_to(request)
        if request.code == HEART_BEAT and self._broker.profile.tells_second_heartbeat:
            response.ext_fields = dict(HEARTBEATS)
        await self.codes[request.code](channel, request)
        response.code, response.remark = SUCCESS, None
        return response

    async def _heartbeat(self, channel: Channel, request: Command) -> None:
        """Register the client's consumer and producer groups from the body.

        Raises JavaError without a body, and for more than MAX_CLIENT_GROUPS of either kind.
        """
        if request.body is None:
            raise null_pointer()
        data = loads(request.body)
        client = ClientChannelInfo(channel, data.get("clientID") or "", request.language, request.version, self._broker.clock.now())
        consumers, producers = data.get("consumerDataSet") or (), data.get("producerDataSet") or ()
        limited(len(consumers), MAX_CLIENT_GROUPS)
        limited(len(producers), MAX_CLIENT_GROUPS)
        for consumer in consumers:
            await self._register_consumer(client, consumer)
        for producer in producers:
            self._broker.producers.register(text_of(producer["groupName"]), client)

    async def _register_consumer(self, client: ClientChannelInfo, data: Any) -> None:
        """Register a consumer group, and create its retry topic if the broker knows or creates the group.

        Later profiles ignore other groups. In later profiles the retry topic is ordered if one of the group's topics is.
        """
        group = text_of(data["groupName"])
        config = self._broker.groups.find(group)
        if config is None and not self._broker.profile.hears_unknown_groups:
            return
        if config is not None:
            flag = UNIT_SUB if data.get("unitMode") else 0
            topics = self._broker.topics
            order = any(topics.is_order_topic(subscription.get("topic", "")) for subscription in data.get("subscriptionDataSet") or ())
            await topics.create_topic_in_send_message_back(RETRY_PREFIX + group, config.retry_queue_nums, READ | WRITE, flag, order=order)
        changed = self._broker.consumers.register(
            group,
            client,
            data.get("messageModel", ""),
            [subscription_from_data(subscription) for subscription in data.get("subscriptionDataSet") or ()],
        )
        if changed and (config is None or config.notify_consumer_ids_changed_enable):
            self._notify(group, self._broker.consumers.groups[group].channels)

    async def _unregister_client(self, channel: Channel, request: Command) -> None:
        header = read(UnregisterClientRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        if header.producer_group is not None:
            self._broker.producers.unregister(header.producer_group, channel)
        if header.consumer_group is not None:
            config = self._broker.groups.find(header.consumer_group)
            remaining = self._broker.consumers.unregister(header.consumer_group, channel)
            if config is None or config.notify_consumer_ids_changed_enable:
                self._notify(header.consumer_group, remaining)

    def channel_closed(self, channel: Channel) -> None:
        """Remove all clients of a lost connection."""
        self._broker.producers.channel_closed(channel)
        for group, remaining in self._broker.consumers.channel_closed(channel).items():
            self._notify(group, remaining)

    def scan(self) -> list[Channel]:
        """Remove clients that were silent for too long. Return their connections, which the caller closes."""
        return list(dict.fromkeys([*self._broker.producers.scan(), *self._broker.consumers.scan()]))

    def _notify(self, group: str, channels: Iterable[Channel]) -> None:
        """Notify consumers that their group has changed (request 40, one-way)."""
        for channel in channels:
            write(channel, Command(NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": group}, flag=ONE_WAY))
