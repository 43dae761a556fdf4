"""Which rules decide a field of an answer, of a record or of a topic's entry, so that whoever sees a difference knows what to read.

One table for recorded cases and for programs. Where it names one rule, a broker that keeps it has the right value there, and one that has
another value contradicts it; where it names several, the value alone does not tell which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from rocketproof_impl.store.record import PROPERTIES_LIMIT
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, NOT, TRANSACTION_BITS
from rocketproof_protocol.numbers import java_boolean, java_int
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE

from .cases import SENDS, RecordedCase


class Decision(NamedTuple):
    """What a broker was asked, with fields by their full names, and what came of it: the answer's code, None without one, its remark, and
    the topics of what it has stored."""

    request: int
    fields: Mapping[str, str]
    answer: int | None = codes.SUCCESS
    remark: str = ""
    stored: Collection[str] = ()


When = Callable[[Decision], bool]


def _always(_: Decision) -> bool:
    return True


def _failed(one: Decision) -> bool:
    return one.answer != codes.SUCCESS


def _drawn(one: Decision) -> bool:
    return one.fields.get("queueId", "").startswith("-")


def _to_retry(one: Decision) -> bool:
    return one.fields.get("topic", "").startswith(RETRY_PREFIX)


def _by_itself(one: Decision) -> bool:
    """The delay level that asks the broker to choose one."""
    return one.fields.get("delayLevel") == "0"


def _with_long_properties(one: Decision) -> bool:
    return len(one.fields.get("properties", "").encode("utf-8", "surrogatepass")) > PROPERTIES_LIMIT


def _of_a_unit(one: Decision) -> bool:
    return java_boolean(one.fields.get("unitMode"))


def _uncounted(one: Decision) -> bool:
    flags = java_int(one.fields.get("sysFlag", ""))
    return flags is not None and flags & TRANSACTION_BITS not in (NOT, COMMIT)


class _Line(NamedTuple):
    """Rules for a field, or for fields that start so, of such a request, answer and stored topic; no requests: whatever was asked."""

    requests: Collection[int]
    field: str
    rules: tuple[str, ...]
    answer: int | None = None
    remark: str = ""
    stored: str = ""
    when: When = _always


_ROUTE, _BACK, _TOPIC = (codes.GET_ROUTEINFO_BY_TOPIC,), (codes.CONSUMER_SEND_MSG_BACK,), (codes.UPDATE_AND_CREATE_TOPIC,)
_BATCH = (codes.SEND_BATCH_MESSAGE,)
_TABLE = (
    _Line((), "", ("REM-05",), codes.REQUEST_CODE_NOT_SUPPORTED),
    _Line(_ROUTE, "code", ("NS-06",)),
    _Line(_ROUTE, "", ("NS-04", "NS-06")),
    _Line(_TOPIC, "topicConfig", ("TCM-30",)),
    _Line(_BACK, "", ("BACK-03",), codes.SUBSCRIPTION_GROUP_NOT_EXIST),
    _Line(_BACK, "", ("BACK-04",), codes.NO_PERMISSION, "the broker["),
    _Line(_BACK, "", ("BACK-08",), codes.NO_PERMISSION),
    _Line(_BACK, "", ("BACK-09",), remark="look message by offset failed"),
    _Line(_BACK, "stored.topic", ("BACK-12",), stored=DLQ_PREFIX),
    _Line(_BACK, "stored.props.DELAY", ("BACK-13",), when=_by_itself),
    _Line(_BACK, "stored.reconsumeTimes", ("BACK-14",)),
    _Line(_BACK, "stored.props.RETRY_TOPIC", ("BACK-10",)),
    _Line(_BACK, "", ("BACK-12", "BACK-13", "BACK-16")),
    _Line(SENDS, "topicConfig", ("CHK-08", "TCM-22"), when=_to_retry),
    _Line(SENDS, "topicConfig.topicSysFlag", ("CHK-06",), when=_of_a_unit),
    _Line(SENDS, "topicConfig.", ("TCM-15",)),
    _Line(SENDS, "topicConfig", ("CHK-07", "TCM-12", "TCM-14")),
    _Line(SENDS, "position", ("APP-11", "REC-05")),
    _Line(SENDS, "extFields.queueId", ("SEND-46",), when=_failed),
    _Line(SENDS, "extFields.queueOffset", ("SEND-46",), when=_failed),
    _Line(SENDS, "extFields.msgId", ("SEND-46",), when=_failed),
    _Line(SENDS, "extFields.queueId", ("SEND-22",), when=_drawn),
    _Line(SENDS, "extFields.queueId", ("SEND-42",)),
    _Line(_BATCH, "extFields.queueOffset", ("BAT-04",)),
    _Line(SENDS, "extFields.queueOffset", ("APP-04",), when=_uncounted),
    _Line(SENDS, "extFields.queueOffset", ("APP-10",)),
    _Line(SENDS, "extFields.msgId", ("APP-02",)),
    _Line(SENDS, "extFields.", ("SEND-11",)),
    _Line(SENDS, "stored", ("CL-02",), stored=SCHEDULE),
    _Line(SENDS, "stored", ("TRX-04",), stored=HALF_TOPIC),
    _Line(SENDS, "stored", ("TRX-04",), stored=OP_HALF_TOPIC),
    _Line(SENDS, "stored", ("DLQ-04",), stored=DLQ_PREFIX),
    _Line(_BATCH, "stored", ("BAT-03", "BAT-04")),
    _Line(SENDS, "stored.props.CLUSTER", ("SEND-27",)),
    _Line(SENDS, "stored.props.WAIT", ("SEND-25",)),
    _Line(SENDS, "stored.props.", ("SEND-26",)),
    _Line(SENDS, "stored.bodyCRC", ("CL-01",)),
    _Line(SENDS, "stored.body", ("SEND-20",)),
    _Line(SENDS, "stored.queueId", ("APP-09",)),
    _Line(SENDS, "stored", ("SEND-24", "SEND-25", "APP-08")),
    _Line(SENDS, "", ("CHK-02",), remark="The specified topic"),
    _Line(SENDS, "", ("CHK-03",), remark="Sending message to topic["),
    _Line(SENDS, "", ("CHK-10",), remark="request queueId["),
    _Line(SENDS, "", ("SEND-12",), remark="broker unable to service"),
    _Line(SENDS, "", ("REM-08",), remark="java."),
    _Line(SENDS, "", ("CHK-09",), codes.TOPIC_NOT_EXIST),
    _Line(SENDS, "", ("CHK-01",), codes.NO_PERMISSION, remark="the broker[", when=lambda one: "transaction" not in one.remark),
    _Line(SENDS, "", ("TRX-01",), codes.NO_PERMISSION),
    _Line(SENDS, "", ("DLQ-02",), codes.SUBSCRIPTION_GROUP_NOT_EXIST),
    _Line(SENDS, "", ("FLU-02",), codes.FLUSH_DISK_TIMEOUT),
    _Line(SENDS, "", ("FLU-07",), codes.SLAVE_NOT_AVAILABLE),
    _Line(SENDS, "", ("FLU-07",), codes.FLUSH_SLAVE_TIMEOUT),
    _Line(SENDS, "", ("STO-01", "STO-02"), codes.SERVICE_NOT_AVAILABLE),
    _Line(SENDS, "", ("APP-05",), codes.MESSAGE_ILLEGAL, when=_with_long_properties),
    _Line(SENDS, "", ("APP-05", "APP-06", "SEND-41"), codes.MESSAGE_ILLEGAL),
    _Line(SENDS, "", ("SEND-41",), codes.SUCCESS),
)
"""The first line that fits has the rules."""

SHOWN: Final = frozenset(line.rules[0] for line in _TABLE if len(line.rules) == 1)
"""The rules that decide some field alone."""
TOGETHER: Final = frozenset(rule for line in _TABLE for rule in line.rules) - SHOWN
"""Those that decide only together with others."""


def deciding(one: Decision, field: str) -> tuple[str, ...]:
    """The ids of the rules that decide this field, by its name in a recording; none where they are not known."""
    for line in _TABLE:
        if (
            (not line.requests or one.request in line.requests)
            and field.startswith(line.field)
            and line.answer in (None, one.answer)
            and one.remark.startswith(line.remark)
            and (not line.stored or any(topic.startswith(line.stored) for topic in one.stored))
            and line.when(one)
        ):
            return line.rules
    return ()


def rules_of(case: RecordedCase, field: str) -> tuple[str, ...]:
    """The ids of the rules that decide this field of the recorded case; none where they are not known."""
    topics = [str(entry.get("topic", "")) for entry in case.stored or ()]
    return deciding(Decision(case.code, case.fields, case.answer.code, case.answer.remark or "", topics), field)
