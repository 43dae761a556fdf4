"""What of a history is not judged, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rocketproof_profiles import Profile, java_length
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, SERVICE_NOT_AVAILABLE, SYSTEM_BUSY
from rocketproof_protocol.topics import RETRY_PREFIX

from ..history.cases import AT_LIMIT
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, SENDS
from .parts import HistoryPartition

BUSY = "a busy broker"
LONG_RETRIES = "sends to retry topics whose names only the store tests"
SLAVE = "from slave broker"  # what a slave answers where a master would change a topic


def reason(one: Exchange, profile: Profile) -> str:
    """Why an answered operation is not judged."""
    if one.op in SENDS:
        if why := beyond(one, profile):
            return why
        if one.code and is_busy(one):
            return BUSY
        if is_refused_late(one, profile):
            return LONG_RETRIES
        if one.op == "batch" and one.code == MESSAGE_ILLEGAL:
            return "limits of batches"
    elif is_rejected(one):
        return BUSY
    if one.op in ("update_topic", "delete_topic"):
        return one.reason or ("updates of a slave" if one.code and SLAVE in one.remark else "")
    if one.op == "max_offset" and one.code == 0 and one.answered("offset") is None:
        return "answers without their value"
    if one.op == "max_offset" and one.code != 0:
        return f"max_offset answered with code {one.code}"
    if one.op == "topic_config" and one.code not in (0, 17):
        return f"topic_config answered with code {one.code}"
    return ""


def is_busy(one: Exchange) -> bool:
    """Whether the answer says that the broker was too busy to serve the request, or to wait for its end."""
    return is_rejected(one) or one.code == SERVICE_NOT_AVAILABLE or (bool(one.code) and "broker busy" in one.remark)


def is_rejected(one: Exchange) -> bool:
    """Whether a busy broker has not even begun with the request (REM-06, REM-07, REM-10)."""
    return bool(one.code == SYSTEM_BUSY)


def is_refused_late(one: Exchange, profile: Profile) -> bool:
    """Whether a send is to a retry topic whose name the store alone tests, unless the message has become a dead letter (STO-02)."""
    return not profile.check_names and one.topic.startswith(RETRY_PREFIX) and java_length(one.topic) > profile.longest(one.topic)


def beyond(one: Exchange, profile: Profile) -> str:
    """Why the specification does not speak of a send: a last retry goes to the retry topic in some profiles (DLQ-02)."""
    return "" if one.reason == AT_LIMIT and profile.dlq_beyond else one.reason


def left_out(part: HistoryPartition, reasons: Sequence[str]) -> Counter[str]:
    """The operations of a part that are not judged, by reason."""
    found: Counter[str] = Counter()
    for one, why in zip(part.asked, reasons, strict=True):
        if one.again or one.op == CONFIGURE:
            continue  # the request was judged, or is counted; settings are changed in every part
        if part.cut is not None and (one.end is None or one.end >= part.cut):
            found[part.why] += 1
        elif one.end is None:
            found["no answer came"] += 1
        elif why:
            found[why] += 1
    return found


__all__ = ["BUSY", "LONG_RETRIES", "beyond", "is_busy", "is_refused_late", "is_rejected", "left_out", "reason"]
