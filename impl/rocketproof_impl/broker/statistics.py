"""A broker's counts of stored messages (SEND-42, BACK-16)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class BrokerStatistics:
    """Numbers of messages and bytes by topic, by (topic, queueId) and in total, and of messages sent back by (group, topic).

    The topic is the one under which a message was stored, not the requested one (HAZ-14).
    """

    topic_put_nums: Counter[str] = field(default_factory=Counter)
    topic_put_size: Counter[str] = field(default_factory=Counter)
    queue_put_nums: Counter[tuple[str, int]] = field(default_factory=Counter)
    queue_put_size: Counter[tuple[str, int]] = field(default_factory=Counter)
    send_back_nums: Counter[tuple[str, str]] = field(default_factory=Counter)
    broker_put_nums: int = 0

    def count_topic(self, topic: str, nums: int, size: int) -> None:
        self.topic_put_nums[topic] += nums
        self.topic_put_size[topic] += size

    def count_queue(self, topic: str, queue_id: int, nums: int, size: int) -> None:
        self.queue_put_nums[topic, queue_id] += nums
        self.queue_put_size[topic, queue_id] += size
