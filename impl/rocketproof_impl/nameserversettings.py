"""A name server's configuration: the settings used by the described rules, with RocketMQ's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameServerSettings:
    """What a name server is started with.

    - `order_message_enable`: routes contain the order of a topic that administrators have listed (NS-06).
    - `return_order_topic_config_to_broker`: since 5.0, the response to a registration contains the order topics (NS-12).
    - `delete_topic_with_broker_registration`: since 5.1.4, a registration removes the broker's topics that it lacks (HAZ-36).
    """

    order_message_enable: bool = False
    return_order_topic_config_to_broker: bool = True
    delete_topic_with_broker_registration: bool = False
