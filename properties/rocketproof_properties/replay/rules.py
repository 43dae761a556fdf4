"""Which rules decide a field of an answer, so that whoever sees a difference knows what to read."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from rocketproof_protocol import codes
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE

from .cases import SENDS, Recorded


class _Line(NamedTuple):
    """Rules for a field, or for fields that start so, of a case with such a request, answer and stored topic."""

    requests: Collection[int]
    field: str
    rules: tuple[str, ...]
    answer: int | None = None
    remark: str = ""
    stored: str = ""


_ROUTE, _BACK, _TOPIC = (codes.GET_ROUTEINFO_BY_TOPIC,), (codes.CONSUMER_SEND_MSG_BACK,), (codes.UPDATE_AND_CREATE_TOPIC,)
_TABLE = (
    _Line(_ROUTE, "", ("NS-06",)),
    _Line(_TOPIC, "topicConfig", ("TCM-30",)),
    _Line(_BACK, "", ("BACK-03",), codes.SUBSCRIPTION_GROUP_NOT_EXIST),
    _Line(_BACK, "", ("BACK-04", "BACK-08"), codes.NO_PERMISSION),
    _Line(_BACK, "", ("BACK-09",), remark="look message by offset failed"),
    _Line(_BACK, "", ("BACK-12", "BACK-13", "BACK-16")),
    _Line(SENDS, "topicConfig", ("TCM-15", "TCM-22")),
    _Line(SENDS, "position", ("APP-11", "REC-05")),
    _Line(SENDS, "extFields.queueId", ("SEND-22", "SEND-42")),
    _Line(SENDS, "extFields.queueOffset", ("APP-04", "APP-10")),
    _Line(SENDS, "extFields.msgId", ("APP-02",)),
    _Line(SENDS, "extFields.", ("SEND-11", "SEND-46")),
    _Line(SENDS, "stored", ("CL-02",), stored=SCHEDULE),
    _Line(SENDS, "stored", ("TRX-04",), stored=HALF_TOPIC),
    _Line(SENDS, "stored", ("TRX-04",), stored=OP_HALF_TOPIC),
    _Line(SENDS, "stored", ("DLQ-04",), stored=DLQ_PREFIX),
    _Line((codes.SEND_BATCH_MESSAGE,), "stored", ("BAT-03", "BAT-04")),
    _Line(SENDS, "stored", ("SEND-24", "SEND-25", "APP-08")),
    _Line(SENDS, "", ("CHK-02",), remark="The specified topic"),
    _Line(SENDS, "", ("CHK-03",), remark="Sending message to topic["),
    _Line(SENDS, "", ("CHK-10",), remark="request queueId["),
    _Line(SENDS, "", ("REM-08",), remark="java."),
    _Line(SENDS, "", ("CHK-09",), codes.TOPIC_NOT_EXIST),
    _Line(SENDS, "", ("CHK-01", "TRX-01"), codes.NO_PERMISSION),
    _Line(SENDS, "", ("DLQ-02",), codes.SUBSCRIPTION_GROUP_NOT_EXIST),
    _Line(SENDS, "", ("FLU-02",), codes.FLUSH_DISK_TIMEOUT),
    _Line(SENDS, "", ("FLU-07",), codes.SLAVE_NOT_AVAILABLE),
    _Line(SENDS, "", ("FLU-07",), codes.FLUSH_SLAVE_TIMEOUT),
    _Line(SENDS, "", ("STO-01", "STO-02"), codes.SERVICE_NOT_AVAILABLE),
    _Line(SENDS, "", ("APP-05", "APP-06", "SEND-41"), codes.MESSAGE_ILLEGAL),
    _Line(SENDS, "", ("SEND-41", "SEND-42"), codes.SUCCESS),
)
"""The first line that fits has the rules."""


def rules_of(case: Recorded, field: str) -> tuple[str, ...]:
    """The ids of the rules that decide this field of the recorded case; none where they are not known."""
    topics = [str(entry.get("topic", "")) for entry in case.stored or ()]
    for line in _TABLE:
        if (
            case.code in line.requests
            and field.startswith(line.field)
            and line.answer in (None, case.answer.code)
            and (case.answer.remark or "").startswith(line.remark)
            and (not line.stored or any(topic.startswith(line.stored) for topic in topics))
        ):
            return line.rules
    return ()
