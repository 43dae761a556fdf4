"""The rules that decide a field of a response, a record or a topic's entry. A reader of a difference learns from them what to read.

One table for recorded cases and programs. If it names one rule, a broker that follows it has the expected value, and another value
contradicts it. If it names several, the value alone does not show which is contradicted.

It is not visible from outside which request created a record or an entry. If several kinds of requests may have, no rule is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from rocketproof_impl.message import parse_properties
from rocketproof_impl.store.record import PROPERTIES_LIMIT
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, NOT, TRANSACTION_BITS
from rocketproof_protocol.numbers import java_boolean, java_int, whole_number
from rocketproof_protocol.properties import DELAY
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.parsed import ParsedHistory
from .cases import SENDS, ReplayCase
from .comparison import FieldDifference


class Decision(NamedTuple):
    """A request with its fields by full names, and its result. `answer`: the response's code, None without a response. `stored`: the topics
    of the stored records."""

    request: int
    fields: Mapping[str, str]
    answer: int | None = codes.SUCCESS
    remark: str = ""
    stored: Collection[str] = ()


When = Callable[[Decision], bool]


def _always(_: Decision) -> bool:
    return True


def _failed(decision: Decision) -> bool:
    return decision.answer != codes.SUCCESS


def _drawn(decision: Decision) -> bool:
    return decision.fields.get("queueId", "").startswith("-")


def _to_retry(decision: Decision) -> bool:
    return decision.fields.get("topic", "").startswith(RETRY_PREFIX)


def _by_itself(decision: Decision) -> bool:
    """Whether the delay level requests that the broker chooses one."""
    return decision.fields.get("delayLevel") == "0"


def _with_long_properties(decision: Decision) -> bool:
    return len(decision.fields.get("properties", "").encode("utf-8", "surrogatepass")) > PROPERTIES_LIMIT


def _of_a_unit(decision: Decision) -> bool:
    return java_boolean(decision.fields.get("unitMode"))


def _uncounted(decision: Decision) -> bool:
    flags = java_int(decision.fields.get("sysFlag", ""))
    return flags is not None and flags & TRANSACTION_BITS not in (NOT, COMMIT)


class _Line(NamedTuple):
    """The rules for fields with this prefix, for these requests, response and stored topic. Empty `requests` match every request."""

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
    _Line(SENDS, "", ("CHK-01",), codes.NO_PERMISSION, remark="the broker[", when=lambda decision: "transaction" not in decision.remark),
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
"""The rules of the first matching line apply."""

SHOWN: Final = frozenset(line.rules[0] for line in _TABLE if len(line.rules) == 1)
"""The rules that alone decide some field."""
TOGETHER: Final = frozenset(rule for line in _TABLE for rule in line.rules) - SHOWN
"""The rules that decide fields only together with others."""


def deciding(decision: Decision, field: str) -> tuple[str, ...]:
    """Return the ids of the rules that decide this field, named as in a recording; none if they are not known."""
    for line in _TABLE:
        if (
            (not line.requests or decision.request in line.requests)
            and field.startswith(line.field)
            and line.answer in (None, decision.answer)
            and decision.remark.startswith(line.remark)
            and (not line.stored or any(topic.startswith(line.stored) for topic in decision.stored))
            and line.when(decision)
        ):
            return line.rules
    return ()


def rules_of(case: ReplayCase, field: str) -> tuple[str, ...]:
    """Return the ids of the rules that decide this field of the recorded case; none if they are not known."""
    topics = [str(entry.get("topic", "")) for entry in case.stored or ()]
    return deciding(Decision(case.code, case.fields, case.answer.code, case.answer.remark or "", topics), field)


_RECORD: Final = re.compile(r"the record at [0-9]+ \((.+), queue -?[0-9]+\)")
_ABOUT_TOPIC: Final = "topic "
_ANSWERED: Final = ("queueId", "queueOffset", "msgId")
"""Fields that only a successful response to a send has."""
_PUT_ELSEWHERE: Final = (SCHEDULE, HALF_TOPIC, DLQ_PREFIX)


def rules_of_difference(difference: FieldDifference, parsed: ParsedHistory) -> tuple[str, ...]:
    """Return the rules that decide the field that differs; none if they are not known."""
    exchange = parsed.exchange_of(difference.seq)
    if exchange is not None:
        return _of_answer(difference, exchange)
    record = _RECORD.fullmatch(difference.where)
    if record is not None:
        decision = _of_record(parsed, record[1])
        return () if decision is None else deciding(decision, f"stored.{difference.field.replace('property ', 'props.')}")
    if difference.where.startswith(_ABOUT_TOPIC):
        decision = _of_entry(parsed, difference.where.removeprefix(_ABOUT_TOPIC))
        whole = difference.recorded is None or isinstance(difference.recorded, dict)
        return () if decision is None else deciding(decision, "topicConfig" if whole else f"topicConfig.{difference.field}")
    return ()


def deciding_alone(parsed: ParsedHistory, stored: Collection[str]) -> frozenset[str]:
    """Return the rules that alone decide something in a program without differences. `stored`: the topics of the records read back."""
    return frozenset(rules[0] for rules in _all(parsed, stored) if len(rules) == 1)


def _all(parsed: ParsedHistory, stored: Collection[str]) -> Iterator[tuple[str, ...]]:
    for exchange in parsed.exchanges:
        if exchange.code is None or exchange.one_way:
            continue
        decision = _decision(exchange)
        names = dict.fromkeys((*exchange.response_fields, *(_ANSWERED if decision.request in SENDS else ())))
        for field in ("code", *(f"extFields.{name}" for name in names)):
            yield deciding(decision, field)
    for topic in parsed.states.get("topics", {}).get("topics") or {}:
        entry = _of_entry(parsed, topic) if parsed.names.is_mine(topic) else None
        if entry is not None:
            yield from (deciding(entry, f"topicConfig.{field}") for field in ("perm", "topicSysFlag"))
    for topic in set(stored):
        made_by = _of_record(parsed, topic)
        if made_by is not None and made_by.request == codes.CONSUMER_SEND_MSG_BACK:
            yield from (deciding(made_by, f"stored.{field}") for field in ("topic", "reconsumeTimes", "props.RETRY_TOPIC", "props.DELAY"))
        elif made_by is not None and topic.startswith(_PUT_ELSEWHERE):
            yield deciding(made_by, "stored.topic")
        elif made_by is not None:
            sent = {name for each in parsed.exchanges if each.fields.get("topic") == topic for name in _properties(each)}
            fields = ("bodyCRC", "body", "queueId", *(f"props.{name}" for name in sorted(sent)))
            yield from (deciding(made_by, f"stored.{field}") for field in fields)


def _decision(exchange: Exchange) -> Decision:
    return Decision(whole_number(exchange.request["code"]), exchange.fields, exchange.code, str(exchange.outcome.get("remark") or ""))


def _of_answer(difference: FieldDifference, exchange: Exchange) -> tuple[str, ...]:
    """Return the rules that decide the expected response. If a success is expected, return the rules that decide the rejection received
    instead."""
    decision = _decision(exchange)
    if difference.field == "remark":
        return ()  # the code is correct, and no rule decides the words of a remark
    if difference.field != "code":
        return deciding(decision, f"extFields.{difference.field}")
    if not (isinstance(difference.found, list) and isinstance(difference.recorded, list)):
        return ()
    code, remark = difference.recorded if difference.found[0] == codes.SUCCESS else difference.found
    return deciding(decision._replace(answer=whole_number(code), remark=str(remark or "")), difference.field)


def _of_record(parsed: ParsedHistory, topic: str) -> Decision | None:
    """Return the decision that stored a topic's records: by sends or by send-backs. None if both are possible, or if the broker writes them
    itself."""
    kinds = {
        whole_number(exchange.request["code"])
        for exchange in parsed.exchanges
        if exchange.op in ("send", "batch", "send_back", "end_transaction")
    }
    if codes.END_TRANSACTION in kinds:
        return None
    if codes.CONSUMER_SEND_MSG_BACK in kinds and topic.startswith((RETRY_PREFIX, DLQ_PREFIX, SCHEDULE)):
        sent = (exchange for exchange in parsed.exchanges if exchange.op in ("send", "batch"))
        others = any(DELAY in _properties(exchange) or exchange.fields.get("topic") == topic for exchange in sent)
        backs = [exchange.fields for exchange in parsed.exchanges if exchange.op == "send_back"]
        return None if others else Decision(codes.CONSUMER_SEND_MSG_BACK, backs[0] if len(backs) == 1 else {}, stored=(topic,))
    sends = kinds - {codes.CONSUMER_SEND_MSG_BACK}
    return Decision(min(sends), {}, stored=(topic,)) if len(sends) == 1 else None


def _properties(exchange: Exchange) -> dict[str, str]:
    return parse_properties(exchange.fields.get("properties"), exact=False)


def _of_entry(parsed: ParsedHistory, topic: str) -> Decision | None:
    """Return the decision that created a topic's entry: by an administrator or by the first message; None otherwise."""
    about_topic = [exchange for exchange in parsed.exchanges if exchange.fields.get("topic") == topic]
    changed = next((exchange for exchange in about_topic if exchange.op == "update_topic" and exchange.code == codes.SUCCESS), None)
    creating = changed or next((exchange for exchange in about_topic if exchange.op in ("send", "batch")), None)
    back = any(exchange.op == "send_back" for exchange in parsed.exchanges) and topic.startswith(RETRY_PREFIX)
    return None if creating is None or back else Decision(whole_number(creating.request["code"]), creating.fields, codes.SUCCESS)
