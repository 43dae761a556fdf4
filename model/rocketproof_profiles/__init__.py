"""Profiles: which release is described, as named switches and their values. This package imports nothing of ours.

P40, P45 and P49 follow the articles that describe RocketMQ 4.0-4.2, 4.3-4.6 and 4.9; P494 is P49 plus what a recorded
4.9.4 does otherwise, each switch with the recorded case that is its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

NameClass = Literal["ordinary", "template", "cluster", "retry", "forbidden", "blank", "illegal", "long"]

TEMPLATE = "TBW102"
RETRY_PREFIX = "%RETRY%"
SCHEDULE = "SCHEDULE_TOPIC_XXXX"


@dataclass(frozen=True)
class Profile:
    """The switches of one release.

    Request:
    `null_fields`: a required field that is not in a request's header is null, and an error where it is used; otherwise the
    header cannot be read (REM-04). `check_names`: the broker tests blank, characters and length, then `forbidden` (CHK-02,
    CHK-03); otherwise it refuses the template's name and nothing else (CHK-04). `signed_random`: a negative queue id becomes
    abs(r % 99999999) % write with r any int, otherwise u % write with u in 0..99999998 (SEND-22). `after_hooks`: hooks run
    after a send (SEND-06). `asynchronous`: the put completes a future, and an exception there is never answered (SEND-07,
    REM-09). `stores_parsed`: the stored properties are the parsed map with CLUSTER and without WAIT, otherwise the header's
    text (SEND-25). `exact_properties`: how a text is parsed, and that it ends with byte 2 (SEND-26). `null_limit`: a request
    without maxReconsumeTimes is served by the group's limit, otherwise it is a null-pointer error (DLQ-03, BACK-11).
    `dlq_perm`: permission of a created dead-letter topic (DLQ-04). `dlq_clears_delay`: a message to the dead-letter topic loses
    its delay level, a send-back keeps its store host and is serialised twice (BACK-12, BACK-14, BACK-15). `half_messages`:
    transactional messages go to the half topic, and TRAN_MSG is parsed; otherwise it is only asked whether it is there, and
    only by a broker that refuses it (TRX-01, TRX-02). `batch_retry`: batches may go to retry topics (BAT-02).
    `queue_statistics`: the schedule topic is counted by queue (SEND-42). `short_disk_remark`: the older text of
    SERVICE_NOT_AVAILABLE. `size_remark`: how MESSAGE_ILLEGAL names the limits, `{limit}` being the broker's (SEND-41).

    Table: `all_system_topics`: the constructor's entries of P49; `trace_topic`: it may make the trace topic (TCM-03).

    Store: `busy_first`: the page cache is asked before topic and properties, whose excess is MESSAGE_ILLEGAL
    (STO-02; otherwise STO-01). `encode_first`: a message is encoded, and its sizes are tested, before the lock and before
    its queue has an offset (APP-06). `limits_record`: the size limit is one on the whole record, and on all records of a batch
    together, otherwise on the body alone (APP-06, BAT-04). `resets_lock_time`: also when append throws (CL-05). `replica_wait`:
    milliseconds to wait for a replica, None for the broker's slaveTimeout (FLU-07).

    `reasons`: switch to the case that shows it.
    """

    name: str
    about: str
    null_fields: bool
    check_names: bool
    signed_random: bool
    after_hooks: bool
    asynchronous: bool
    stores_parsed: bool
    exact_properties: bool
    null_limit: bool
    dlq_perm: int
    dlq_clears_delay: bool
    half_messages: bool
    batch_retry: bool
    queue_statistics: bool
    short_disk_remark: bool
    all_system_topics: bool
    trace_topic: bool
    busy_first: bool
    encode_first: bool
    limits_record: bool
    resets_lock_time: bool
    replica_wait: int | None
    size_remark: str = "msg body length limit 128k, msg properties length limit 32k."
    forbidden: frozenset[str] = frozenset()
    topic_limit: int = 127
    reasons: dict[str, str] = field(default_factory=dict)


_P45 = Profile(
    "P45",
    "RocketMQ 4.3 to 4.6 as described",
    null_fields=False,
    check_names=False,
    signed_random=True,
    after_hooks=True,
    asynchronous=False,
    stores_parsed=False,
    exact_properties=True,
    null_limit=False,
    dlq_perm=2,
    dlq_clears_delay=False,
    half_messages=True,
    batch_retry=True,
    queue_statistics=False,
    short_disk_remark=False,
    all_system_topics=False,
    trace_topic=True,
    busy_first=False,
    encode_first=False,
    limits_record=True,
    resets_lock_time=False,
    replica_wait=5000,
)

_P49 = Profile(
    "P49",
    "RocketMQ 4.7 to 4.9 as described",
    null_fields=False,
    check_names=True,
    signed_random=False,
    after_hooks=False,
    asynchronous=True,
    stores_parsed=True,
    exact_properties=False,
    null_limit=True,
    dlq_perm=6,
    dlq_clears_delay=True,
    half_messages=True,
    batch_retry=True,
    queue_statistics=True,
    short_disk_remark=False,
    all_system_topics=True,
    trace_topic=True,
    busy_first=True,
    encode_first=True,
    limits_record=True,
    resets_lock_time=True,
    replica_wait=None,
    forbidden=frozenset({SCHEDULE}),
)

PROFILES: dict[str, Profile] = {
    "P40": replace(
        _P45,
        name="P40",
        about="RocketMQ 4.0 to 4.2 as described",
        half_messages=False,
        batch_retry=False,
        short_disk_remark=True,
        trace_topic=False,
    ),
    "P45": _P45,
    "P49": _P49,
    "P494": replace(
        _P49,
        name="P494",
        about="RocketMQ 4.9.4 as recorded",
        null_fields=True,
        limits_record=False,
        size_remark="msg body length limit {limit}B, msg properties length limit 32KB.",
        forbidden=frozenset(
            {
                SCHEDULE,
                "RMQ_SYS_TRANS_HALF_TOPIC",
                "RMQ_SYS_TRANS_OP_HALF_TOPIC",
                "TRANS_CHECK_MAX_TIME_TOPIC",
                "SELF_TEST_TOPIC",
                "OFFSET_MOVED_EVENT",
            }
        ),
        reasons={
            "forbidden": "A-136, A-137, A-139, A-140 and A-141: five more system topics are refused with 16",
            "size_remark": "A-192 to A-196: MESSAGE_ILLEGAL names other limits",
            "null_fields": "not recorded: 4.9.4 writes a word about the field into its log and reads on",
            "limits_record": "A-192 to A-196: it is the body that the remark names a limit of",
        },
    ),
}

_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+", re.ASCII)


def java_length(text: str) -> int:
    """Length in UTF-16 units, as Java's String.length()."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def classify(name: str | None, profile: Profile) -> NameClass:
    """The class of a topic's name: what the specification knows instead of the text (CHK-02, CHK-03, CHK-04, CHK-06).

    The order is the broker's: blank, characters, length, forbidden. Profiles without name checks know only the template
    and retry names. "cluster" is a role in a scope, never a result.
    """
    if profile.check_names:
        if name is None or not name.strip():
            return "blank"
        if not _LEGAL.fullmatch(name):
            return "illegal"
        if java_length(name) > profile.topic_limit:
            return "long"
        if name in profile.forbidden:
            return "forbidden"
    if name == TEMPLATE:
        return "template"
    if name is not None and name.startswith(RETRY_PREFIX):
        return "retry"
    return "ordinary"
