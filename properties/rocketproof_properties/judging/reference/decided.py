"""The rules that decide what is compared in a program: those for one difference, and those that the broker kept if nothing differs.

It is not visible from outside which request created a record or an entry. If several kinds of requests may have, no rule is named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from rocketproof_impl.message import parse_properties
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.parsed import ParsedHistory
from .cases import SENDS
from .comparison import FieldDifference
from .rules import Decision, deciding

_RECORD: Final = re.compile(r"the record at [0-9]+ \((.+), queue -?[0-9]+\)")
_TOPIC: Final = "topic "
_BACK: Final = codes.CONSUMER_SEND_MSG_BACK
_ANSWERED: Final = ("queueId", "queueOffset", "msgId")
"""Fields that only a successful response to a send has."""
_PUT_ELSEWHERE: Final = (SCHEDULE, HALF_TOPIC, DLQ_PREFIX)


def rules_of(difference: FieldDifference, parsed: ParsedHistory) -> tuple[str, ...]:
    """Return the rules that decide the field that differs; none if they are not known."""
    exchange = next((each for each in parsed.exchanges if each.seq == difference.seq), None)
    if exchange is not None:
        return _of_answer(difference, exchange)
    record = _RECORD.fullmatch(difference.where)
    if record is not None:
        decision = _of_record(parsed, record[1])
        return () if decision is None else deciding(decision, f"stored.{difference.field.replace('property ', 'props.')}")
    if difference.where.startswith(_TOPIC):
        decision = _of_entry(parsed, difference.where.removeprefix(_TOPIC))
        whole = difference.recorded is None or isinstance(difference.recorded, dict)
        return () if decision is None else deciding(decision, "topicConfig" if whole else f"topicConfig.{difference.field}")
    return ()


def kept(parsed: ParsedHistory, stored: Collection[str]) -> frozenset[str]:
    """Return the rules that alone decide something in a program without differences. `stored`: the topics of the records read back."""
    return frozenset(rules[0] for rules in _all(parsed, stored) if len(rules) == 1)


def _all(parsed: ParsedHistory, stored: Collection[str]) -> Iterator[tuple[str, ...]]:
    for exchange in parsed.exchanges:
        if exchange.code is None or exchange.one_way:
            continue
        decision = _decision(exchange)
        names = dict.fromkeys((*(exchange.outcome.get("fields") or {}), *(_ANSWERED if decision.request in SENDS else ())))
        for field in ("code", *(f"extFields.{name}" for name in names)):
            yield deciding(decision, field)
    for topic in parsed.states.get("topics", {}).get("topics") or {}:
        entry = _of_entry(parsed, topic) if parsed.names.is_mine(topic) else None
        if entry is not None:
            yield from (deciding(entry, f"topicConfig.{field}") for field in ("perm", "topicSysFlag"))
    for topic in set(stored):
        made_by = _of_record(parsed, topic)
        if made_by is not None and made_by.request == _BACK:
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
    if _BACK in kinds and topic.startswith((RETRY_PREFIX, DLQ_PREFIX, SCHEDULE)):
        sent = (exchange for exchange in parsed.exchanges if exchange.op in ("send", "batch"))
        others = any(DELAY in _properties(exchange) or exchange.fields.get("topic") == topic for exchange in sent)
        backs = [exchange.fields for exchange in parsed.exchanges if exchange.op == "send_back"]
        return None if others else Decision(_BACK, backs[0] if len(backs) == 1 else {}, stored=(topic,))
    sends = kinds - {_BACK}
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
