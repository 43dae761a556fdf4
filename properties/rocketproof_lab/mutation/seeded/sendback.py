"""Mutants of retries: messages that a consumer sends back, and the conditions for a dead letter."""

from __future__ import annotations

from ..patch import Patch, Text, switched

_BROKER = "rocketproof_impl.broker"
_BACK = f"{_BROKER}.sendback"
_PROCESS = f"{_BACK}:consumer_send_msg_back"

PATCHES: dict[str, Patch] = {
    "M-100": [
        Text(
            _PROCESS,
            "if not broker.settings.writable:",
            "if not broker.settings.writable and broker.topics.is_order_topic(RETRY_PREFIX + header.group):",
        )
    ],
    "M-101": [Text(_PROCESS, "= SUCCESS, None", '= SYSTEM_ERROR, "no retry queues"')],
    "M-102a": [Text(f"{_BROKER}.retry:handle_retry_and_dlq", ">= most", "> most")],
    "M-102b": [Text(f"{_BACK}:is_dead", ">= most", "> most")],
    "M-103a": [Text(f"{_BACK}:is_dead", "delay_level < 0", "delay_level <= 0")],
    "M-103b": [Text(f"{_BACK}:next_delay_level", "FIRST_DELAY_LEVEL + original.reconsume_times", "FIRST_DELAY_LEVEL")],
    "M-104": [
        Text(
            f"{_BACK}:mark",
            "original.properties.setdefault(RETRY_TOPIC, original.topic)",
            "original.properties[RETRY_TOPIC] = original.topic",
        )
    ],
    "M-105": [Text(f"{_BACK}:copy_for_retry", "original.reconsume_times + 1", "original.reconsume_times")],
    "M-106": [Text(f"{_BACK}:count_back", "original.properties.get(RETRY_TOPIC, original.topic)", "RETRY_PREFIX + group")],
    "M-107": [
        Text(
            f"{_BACK}:answer_put",
            "refuse(response, SYSTEM_ERROR, result.status.name)",
            "from .answering import SENT\n\nrefuse(response, SENT.get(result.status, SYSTEM_ERROR), result.status.name)",
        )
    ],
    **switched("M-160", f"{_BACK}:name_origin", "broker.profile.names_origin"),
    **switched("M-161", f"{_BACK}:copy_for_retry", "broker.profile.keeps_store_host"),
    **switched("M-162", f"{_BROKER}.retry:to_dead_letter_topic", "profile.dlq_clears_delay"),
}
