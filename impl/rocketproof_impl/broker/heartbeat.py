"""Clients come, stay and go: heart beats (request 34) and good-byes (35), as ClientManageProcessor serves them."""

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
"""The answer's fields: heartbeats may come without what is known, and this one said everything."""


class ClientManageProcessor:
    """One method a request code, in `codes`."""

    __slots__ = ("_broker", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.codes: dict[int, Callable[[Channel, Command], Awaitable[None]]] = {
            HEART_BEAT: self._heart_beat,
            UNREGISTER_CLIENT: self._unregister_client,
        }

    async def process(self, channel: Channel, request: Command) -> Command:
        response = response_to(request)
        if request.code == HEART_BEAT and self._broker.profile.tells_second_heartbeat:
            response.ext_fields = dict(HEARTBEATS)
        await self.codes[request.code](channel, request)
        response.code, response.remark = SUCCESS, None
        return response

    async def _heart_beat(self, channel: Channel, request: Command) -> None:
        """The body has the client's id and the groups of its consumers and producers.

        Raises JavaError without a body, and for more than MAX_CLIENT_GROUPS of either.
        """
        if request.body is None:
            raise null_pointer()
        data = loads(request.body)
        client = ClientChannelInfo(channel, data.get("clientID") or "", request.language, request.version, self._broker.clock.now())
        consumers, producers = data.get("consumerDataSet") or (), data.get("producerDataSet") or ()
        limited(len(consumers), MAX_CLIENT_GROUPS)
        limited(len(producers), MAX_CLIENT_GROUPS)
        for consumer in consumers:
            await self._consumer(client, consumer)
        for producer in producers:
            self._broker.producers.register(text_of(producer["groupName"]), client)

    async def _consumer(self, client: ClientChannelInfo, data: Any) -> None:
        """A group that the broker knows or makes has its retry topic from the first heart beat on; later profiles do not hear another one.
        Whether one of its topics is ordered counts in later profiles."""
        group = text_of(data["groupName"])
        config = self._broker.groups.find(group)
        if config is None and not self._broker.profile.hears_unknown_groups:
            return
        if config is not None:
            flag = UNIT_SUB if data.get("unitMode") else 0
            topics = self._broker.topics
            order = any(topics.is_order_topic(each.get("topic", "")) for each in data.get("subscriptionDataSet") or ())
            await topics.create_topic_in_send_message_back(RETRY_PREFIX + group, config.retry_queue_nums, READ | WRITE, flag, order=order)
        changed = self._broker.consumers.register(
            group,
            client,
            data.get("messageModel", ""),
            [subscription_from_data(each) for each in data.get("subscriptionDataSet") or ()],
        )
        if changed and (config is None or config.notify_consumer_ids_changed_enable):
            self._tell(group, self._broker.consumers.groups[group].channels)

    async def _unregister_client(self, channel: Channel, request: Command) -> None:
        header = read(UnregisterClientRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        if header.producer_group is not None:
            self._broker.producers.unregister(header.producer_group, channel)
        if header.consumer_group is not None:
            config = self._broker.groups.find(header.consumer_group)
            rest = self._broker.consumers.unregister(header.consumer_group, channel)
            if config is None or config.notify_consumer_ids_changed_enable:
                self._tell(header.consumer_group, rest)

    def channel_closed(self, channel: Channel) -> None:
        """A connection is lost, and with it whoever spoke over it."""
        self._broker.producers.channel_closed(channel)
        for group, rest in self._broker.consumers.channel_closed(channel).items():
            self._tell(group, rest)

    def scan(self) -> list[Channel]:
        """Forget who was silent for too long; their connections, to be closed."""
        return list(dict.fromkeys([*self._broker.producers.scan(), *self._broker.consumers.scan()]))

    def _tell(self, group: str, channels: Iterable[Channel]) -> None:
        """Tell consumers that their group has changed (request 40, one way)."""
        for channel in channels:
            write(channel, Command(NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": group}, flag=ONE_WAY))
