"""The rules that decide what is compared of a program: those of one difference, and those that the broker kept where there is none.

Nobody sees from outside which request has left a record or an entry. Where several kinds may have, no rule is named.
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
"""What a successful answer to a send has, and another one has not."""
_PUT_ELSEWHERE: Final = (SCHEDULE, HALF_TOPIC, DLQ_PREFIX)


def rules_of(one: FieldDifference, parsed: ParsedHistory) -> tuple[str, ...]:
    """The rules that decide the field that differs; none where they are not known."""
    asked = next((each for each in parsed.asked if each.seq == one.seq), None)
    if asked is not None:
        return _of_answer(one, asked)
    record = _RECORD.fullmatch(one.where)
    if record is not None:
        made = _of_record(parsed, record[1])
        return () if made is None else deciding(made, f"stored.{one.field.replace('property ', 'props.')}")
    if one.where.startswith(_TOPIC):
        made = _of_entry(parsed, one.where.removeprefix(_TOPIC))
        whole = one.recorded is None or isinstance(one.recorded, dict)
        return () if made is None else deciding(made, "topicConfig" if whole else f"topicConfig.{one.field}")
    return ()


def kept(parsed: ParsedHistory, stored: Collection[str]) -> frozenset[str]:
    """The rules that alone decide something of a program in which nothing differs; `stored` are the topics of the records read back."""
    return frozenset(rules[0] for rules in _all(parsed, stored) if len(rules) == 1)


def _all(parsed: ParsedHistory, stored: Collection[str]) -> Iterator[tuple[str, ...]]:
    for asked in parsed.asked:
        if asked.code is None or asked.one_way:
            continue
        made = _decision(asked)
        names = dict.fromkeys((*(asked.outcome.get("fields") or {}), *(_ANSWERED if made.request in SENDS else ())))
        for field in ("code", *(f"extFields.{name}" for name in names)):
            yield deciding(made, field)
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
            sent = {name for each in parsed.asked if each.fields.get("topic") == topic for name in _properties(each)}
            fields = ("bodyCRC", "body", "queueId", *(f"props.{name}" for name in sorted(sent)))
            yield from (deciding(made_by, f"stored.{field}") for field in fields)


def _decision(asked: Exchange) -> Decision:
    return Decision(whole_number(asked.request["code"]), asked.fields, asked.code, str(asked.outcome.get("remark") or ""))


def _of_answer(one: FieldDifference, asked: Exchange) -> tuple[str, ...]:
    """The rules behind the answer that should have come; where that is a success, those behind the refusal that came instead."""
    made = _decision(asked)
    if one.field == "remark":
        return ()  # the answer is the right one, and its words tell more than a rule decides
    if one.field != "code":
        return deciding(made, f"extFields.{one.field}")
    if not (isinstance(one.found, list) and isinstance(one.recorded, list)):
        return ()
    code, remark = one.recorded if one.found[0] == codes.SUCCESS else one.found
    return deciding(made._replace(answer=whole_number(code), remark=str(remark or "")), one.field)


def _of_record(parsed: ParsedHistory, topic: str) -> Decision | None:
    """Who has stored records of a topic: sends, or send-backs; None where it may be either, or the broker by itself."""
    kinds = {whole_number(one.request["code"]) for one in parsed.asked if one.op in ("send", "batch", "send_back", "end_transaction")}
    if codes.END_TRANSACTION in kinds:
        return None
    if _BACK in kinds and topic.startswith((RETRY_PREFIX, DLQ_PREFIX, SCHEDULE)):
        sent = (one for one in parsed.asked if one.op in ("send", "batch"))
        others = any(DELAY in _properties(one) or one.fields.get("topic") == topic for one in sent)
        backs = [one.fields for one in parsed.asked if one.op == "send_back"]
        return None if others else Decision(_BACK, backs[0] if len(backs) == 1 else {}, stored=(topic,))
    sends = kinds - {_BACK}
    return Decision(min(sends), {}, stored=(topic,)) if len(sends) == 1 else None


def _properties(one: Exchange) -> dict[str, str]:
    return parse_properties(one.fields.get("properties"), exact=False)


def _of_entry(parsed: ParsedHistory, topic: str) -> Decision | None:
    """Who has made the entry of a topic: an administrator, or the first message; None for anybody else."""
    about = [one for one in parsed.asked if one.fields.get("topic") == topic]
    changed = next((one for one in about if one.op == "update_topic" and one.code == codes.SUCCESS), None)
    made = changed or next((one for one in about if one.op in ("send", "batch")), None)
    back = any(one.op == "send_back" for one in parsed.asked) and topic.startswith(RETRY_PREFIX)
    return None if made is None or back else Decision(whole_number(made.request["code"]), made.fields, codes.SUCCESS)
