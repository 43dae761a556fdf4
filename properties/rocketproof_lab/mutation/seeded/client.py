"""Mutants of a producer: the source of its routes, and its retries."""

from __future__ import annotations

from rocketproof_protocol.codes import SYSTEM_BUSY, TOPIC_NOT_EXIST

from ..patch import Patch, Text

_PRODUCER = "rocketproof_impl.producer"
_INSTANCE, _SENDING = f"{_PRODUCER}.instance:ClientInstance", f"{_PRODUCER}.send:Sending"

_REFUSED = 'log.warning("updateTopicRouteInfoFromNameServer of %s: %s", topic, refused)'
_CODES = "self.producer.settings.retry_response_codes"

PATCHES: dict[str, Patch] = {
    "M-108": [
        Text(f"{_PRODUCER}.producer:Producer.try_to_find_topic_publish_info", "if info.have_topic_router_info or info.ok:", "if info.ok:")
    ],
    "M-109": [Text(f"{_INSTANCE}._default_route", "entry.read_queue_nums)", "entry.write_queue_nums)")],
    "M-110": [
        Text(
            f"{_INSTANCE}.update_route",
            "self._store_route(topic, route)",
            "self._store_route(topic if default is None else default.topic, route)",
        )
    ],
    "M-111": [
        Text(
            f"{_INSTANCE}.update_route",
            _REFUSED,
            f"{_REFUSED}\n"
            "self.topic_route_table.pop(topic, None)\n"
            "for table in self.producer_table.values():\n"
            "    if topic in table:\n"
            "        table[topic] = PublishInfo()",
        )
    ],
    "M-112a": [Text(f"{_SENDING}._may_retry", _CODES, f"{_CODES} | {{{SYSTEM_BUSY}}}")],
    "M-112b": [Text(f"{_SENDING}._may_retry", _CODES, f"{_CODES} - {{{TOPIC_NOT_EXIST}}}")],
    "M-113": [Text(f"{_SENDING}.attempt", "transmit(queue, self.timeout - cost)", "transmit(queue, self.timeout)")],
}
