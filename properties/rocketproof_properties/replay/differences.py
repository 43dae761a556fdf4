"""Where an answer, a record, a topic's entry or a route is not the recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketproof_impl import fastjson
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data

from . import masks
from .cases import ABSENT, Answer, Recorded, is_short, shorten

NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Difference:
    """One field, what was recorded and what was found. A field inside another is written with a dot."""

    field: str
    recorded: Any
    found: Any


def of_answer(case: Recorded, found: Command | None, drift: int) -> Iterator[Difference]:
    """Code, remark and extFields. `drift`: how many bytes further the log is than the recorded one."""
    recorded = case.answer
    if found is None or recorded.code is None:
        if (found is None) != (recorded.code is None):
            yield Difference("code", _answered(recorded), NO_ANSWER if found is None else found.code)
        return
    if recorded.code != found.code:
        yield Difference("code", recorded.code, found.code)
    if masks.remark(recorded.remark) != masks.remark(found.remark):
        yield Difference("remark", recorded.remark, found.remark)
    fields = found.ext_fields or {}
    for name in dict.fromkeys((*recorded.fields, *fields)):
        before, after = recorded.fields.get(name), fields.get(name)
        if masks.varies(name, case.version) and masks.made_up(before, after):
            continue
        expected = ",".join(moved(one, drift) for one in before.split(",")) if before is not None and name == "msgId" else before
        if expected != after:
            yield Difference(f"extFields.{name}", before, after)


def _answered(recorded: Answer) -> Any:
    return NO_ANSWER if recorded.code is None else recorded.code


def moved(msg_id: str, drift: int) -> str:
    """A message id whose place in the log lies so many bytes further."""
    return msg_id if not drift or len(msg_id) != 32 else f"{msg_id[:16]}{int(msg_id[16:], 16) + drift:016X}"


def of_records(case: Recorded, found: Sequence[bytes | None], drift: int) -> Iterator[Difference]:
    """Every field of every record that was read back."""
    recorded = case.stored or ()
    if len(recorded) != len(found):
        yield Difference("stored", len(recorded), len(found))
        return
    for number, (before, data) in enumerate(zip(recorded, found, strict=True)):
        where = f"stored[{number}]" if len(recorded) > 1 else "stored"
        after = None if data is None else record_data(data)
        if "topic" in before and after is not None:
            yield from _of_record(case, where, before, after, drift)
        elif "topic" in before or after is not None:
            yield Difference(where, dict(before), after)


def _of_record(case: Recorded, where: str, recorded: Mapping[str, Any], found: Mapping[str, Any], drift: int) -> Iterator[Difference]:
    for name, before in recorded.items():
        after = found.get(name)
        if name == "props":
            yield from _of_properties(case, f"{where}.props", before, after or {})
            continue
        moves = name == "physOffset" or (name == "preparedTxOffset" and before)
        if (before + drift if moves else before) != after:
            yield Difference(f"{where}.{name}", before, after)


def _of_properties(case: Recorded, where: str, recorded: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Difference]:
    for name in dict.fromkeys((*recorded, *found)):
        before, after = recorded.get(name), found.get(name)
        if masks.varies(name, case.version) and masks.made_up(before, after):
            continue
        if is_short(before) and after is not None:
            after = shorten(after)
        if before != after:
            yield Difference(f"{where}.{name}", before, after)


def record_data(data: bytes) -> dict[str, Any] | None:
    """A record by the names of a recording; None if the bytes are no record."""
    message = record.decode(data, exact=False)
    if message is None:
        return None
    size, magic = record.size_and_magic(data)
    return {
        "size": size,
        "magic": f"{magic & 0xFFFFFFFF:08x}",
        "queueId": message.queue_id,
        "flag": message.flag,
        "queueOffset": message.queue_offset,
        "physOffset": message.physical_offset,
        "sysFlag": message.sys_flag,
        "reconsumeTimes": message.reconsume_times,
        "preparedTxOffset": message.prepared_transaction_offset,
        "bodyLen": len(message.body or b""),
        "topic": message.topic,
        "props": message.properties,
    }


def of_topic(case: Recorded, found: TopicConfig | None) -> Iterator[Difference]:
    """The broker's entry for the case's topic, if it was recorded."""
    recorded = case.config
    if recorded == ABSENT:
        return
    data = None if found is None else table_to_data({case.topic: found}, DataVersion(0))["topicConfigTable"][case.topic]
    if not isinstance(recorded, Mapping) or data is None:
        if recorded != data:
            yield Difference("topicConfig", recorded, data)
        return
    for name, before in recorded.items():
        if before != data.get(name):
            yield Difference(f"topicConfig.{name}", before, data.get(name))


def of_body(case: Recorded, found: Command | None) -> Iterator[Difference]:
    """A body that is JSON, such as a route."""
    if case.body is None or found is None:
        return
    try:
        after = fastjson.loads(found.body or b"null")
    except ValueError:
        after = None
    if isinstance(case.body, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*case.body, *after)):
            if case.body.get(name) != after.get(name):
                yield Difference(f"body.{name}", case.body.get(name), after.get(name))
    elif case.body != after:
        yield Difference("body", case.body, after)
