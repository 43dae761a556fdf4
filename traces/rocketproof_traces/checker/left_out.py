"""The requests of a history that are not judged, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rocketproof_profiles import Profile, java_length
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, SERVICE_NOT_AVAILABLE, SYSTEM_BUSY
from rocketproof_protocol.topics import CHECK_MAX_TIME_TOPIC, RETRY_PREFIX

from ..history.covered import AT_LIMIT
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, SENDS
from .partition import HistoryPartition

BUSY = "a busy broker"
LONG_RETRIES = "sends to retry topics whose names only the store tests"
SLAVE = "from slave broker"  # what a slave answers where a master would change a topic


def reason(exchange: Exchange, profile: Profile) -> str:
    """Return why an answered request is not judged, an empty text if it is."""
    if exchange.op in SENDS:
        if why := beyond(exchange, profile):
            return why
        if exchange.code and is_busy(exchange):
            return BUSY
        if is_refused_late(exchange, profile):
            return LONG_RETRIES
        if exchange.op == "batch" and exchange.code == MESSAGE_ILLEGAL:
            return "limits of batches"
    elif is_rejected(exchange):
        return BUSY
    if exchange.op in ("update_topic", "delete_topic"):
        return exchange.reason or ("updates of a slave" if exchange.code and SLAVE in exchange.remark else "")
    if exchange.op == "max_offset" and exchange.code == 0 and exchange.answered("offset") is None:
        return "answers without their value"
    if exchange.op in ("max_offset", "topic_config") and exchange.topic == CHECK_MAX_TIME_TOPIC:
        return "half messages that were asked about too often"
    if exchange.op == "max_offset" and exchange.code != 0:
        return f"max_offset answered with code {exchange.code}"
    if exchange.op == "topic_config" and exchange.code not in (0, 17):
        return f"topic_config answered with code {exchange.code}"
    return ""


def is_busy(exchange: Exchange) -> bool:
    """Whether the answer states that the broker was too busy to serve the request, or to wait for its end."""
    return is_rejected(exchange) or exchange.code == SERVICE_NOT_AVAILABLE or (bool(exchange.code) and "broker busy" in exchange.remark)


def is_rejected(exchange: Exchange) -> bool:
    """Whether a busy broker did not begin with the request (REM-06, REM-07, REM-10)."""
    return bool(exchange.code == SYSTEM_BUSY)


def is_refused_late(exchange: Exchange, profile: Profile) -> bool:
    """Whether a send names a retry topic that only the store rejects, unless the message became a dead letter (STO-02)."""
    return (
        not profile.check_names
        and exchange.topic.startswith(RETRY_PREFIX)
        and java_length(exchange.topic) > profile.longest(exchange.topic)
    )


def beyond(exchange: Exchange, profile: Profile) -> str:
    """Return why the specification does not cover a send. In some profiles a last retry goes to the retry topic, which it covers
    (DLQ-02)."""
    return "" if exchange.reason == AT_LIMIT and profile.dlq_beyond else exchange.reason


def left_out(part: HistoryPartition, reasons: Sequence[str]) -> Counter[str]:
    """Count the requests of a partition that are not judged, by reason."""
    counts: Counter[str] = Counter()
    for exchange, why in zip(part.exchanges, reasons, strict=True):
        if exchange.again or exchange.op == CONFIGURE:
            continue  # the request was judged, or is counted; settings are changed in every part
        if part.cut is not None and (exchange.end is None or exchange.end >= part.cut):
            counts[part.why] += 1
        elif exchange.end is None:
            counts["no answer came"] += 1
        elif why:
            counts[why] += 1
    return counts


__all__ = ["BUSY", "LONG_RETRIES", "beyond", "is_busy", "is_refused_late", "is_rejected", "left_out", "reason"]
