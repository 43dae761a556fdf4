"""TCM-03: the topics that a broker's table holds before its file is read."""

from __future__ import annotations

from rocketproof_protocol.topics import (
    BENCHMARK_TOPIC,
    HALF_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    SCHEDULE,
    SELF_TEST_TOPIC,
    TEMPLATE,
    WHEEL_TIMER_TOPIC,
)


def system_topics(
    cluster: str, broker: str, template: str = TEMPLATE, *, auto_create: bool, all_: bool = True, schedule: bool = True, more: bool = False
) -> dict[str, tuple[int, int]]:
    """Return the topics that a 4.9 broker's constructor makes with default switches, as name to (queues, permission) (TCM-03).

    `all_`: include the topics that releases before 4.9 do not make; `schedule`: among them the schedule topic; `more`: include the topics
    that 5.x adds.
    """
    topics = {
        SELF_TEST_TOPIC: (1, 6),
        BENCHMARK_TOPIC: (1024, 6),
        cluster: (16, 7),
        broker: (1, 7),
        OFFSET_MOVED_TOPIC: (1, 6),
    }
    if all_:
        topics |= {**({SCHEDULE: (18, 6)} if schedule else {}), f"{cluster}_REPLY_TOPIC": (1, 6)}
    if more:
        topics |= {
            HALF_TOPIC: (1, 6),
            OP_HALF_TOPIC: (1, 6),
            WHEEL_TIMER_TOPIC: (1, 6),
            f"rmq_sys_REVIVE_LOG_{cluster}": (8, 6),
            f"rmq_sys_SYNC_BROKER_MEMBER_{broker}": (1, 1),
        }
    return {**topics, template: (8, 7)} if auto_create else topics
