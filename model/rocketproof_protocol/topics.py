"""Topics of the brokers themselves, prefixes of topics of groups, and the legal characters of a name (CHK-02, TCM-03)."""

from __future__ import annotations

import re
from typing import Final

TEMPLATE: Final = "TBW102"
TEMPLATES: Final = (TEMPLATE, "AUTO_CREATE_TOPIC_KEY")
"""The names of the template: in all releases except 4.3.0, and in 4.3.0."""
SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_TOPIC: Final = "OFFSET_MOVED_EVENT"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
WHEEL_TIMER_TOPIC: Final = "rmq_sys_wheel_timer"

SYSTEM_TOPICS: Final = frozenset(
    {
        TEMPLATE,
        SCHEDULE,
        BENCHMARK_TOPIC,
        HALF_TOPIC,
        TRACE_TOPIC,
        OP_HALF_TOPIC,
        CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
    }
)
SYSTEM_PREFIX: Final = "rmq_sys_"

RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"

LEGAL: Final = re.compile(r"[%|a-zA-Z0-9_-]+", re.ASCII)
"""A name is legal if this matches all of it."""
