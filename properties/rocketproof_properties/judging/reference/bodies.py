"""The body of a recorded request. Content is free, but a batch has to be one (BAT-04).

A recorded batch shows its messages in the records that were read back, else their number in the answer, else it was refused:
then one message of the right length is as good as any.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from rocketproof_impl.message import parse_properties
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import CLUSTER, MSG_REGION, NAME_END, PROPERTY_END, TRACE_ON

from ...programs.requests import batch_item
from .cases import RecordedCase

FILL = b"x"
ITEM_SIZE = len(batch_item(b"", ""))
_HEAD = ITEM_SIZE - 2
"""Bytes before a message's body; the length of its properties follows the body, in two."""


_PAST = re.compile(r"\(([0-9]+) > ([0-9]+)\)")
"""By how much its properties go beyond the batch."""


def _early(length: int, said: str) -> bytes | None:
    """Of so many bytes a message that ends early, as the broker's exception tells; None if it tells of none."""
    if said.startswith("java.nio.BufferUnderflowException"):
        return _without_lengths(length)
    if said.startswith("java.lang.ArrayIndexOutOfBoundsException"):
        return batch_item(FILL * length, "")[:length]
    past = _PAST.search(said) if said.startswith("java.lang.IllegalArgumentException: newPosition > limit") else None
    if past is None:
        return None
    return batch_item(FILL * max(0, length - ITEM_SIZE), "x" * (whole_number(past[1]) - whole_number(past[2])))[:length]


def _without_lengths(length: int) -> bytes:
    return batch_item(FILL * max(0, length - _HEAD - 1), "")[:length]


class Item(NamedTuple):
    """One message of a batch; its body is so many bytes long."""

    flag: int
    length: int
    properties: str

    def encoded(self) -> bytes:
        return batch_item(FILL * self.length, self.properties, self.flag)


def body(case: RecordedCase) -> bytes | None:
    """The body to send; None where there is none."""
    if case.text is not None:
        return case.text.encode()
    if not case.body_length:
        return None
    return batch(case) if case.is_batch else FILL * case.body_length


def batch(case: RecordedCase) -> bytes:
    """A batch of the recorded length, with the recorded messages as far as it shows any."""
    length = case.body_length
    early = _early(length, case.answer.remark or "")
    if early is not None or length < ITEM_SIZE:
        return _without_lengths(length) if early is None else early
    found = b"".join(map(Item.encoded, _closed(_stored(case), length)))
    return found if len(found) == length else b"".join(map(Item.encoded, _equal_items(max(1, len(case.positions)), length)))


def _stored(case: RecordedCase) -> list[Item]:
    """The messages that were read back, without what came from the batch's header and from the broker."""
    added = {CLUSTER, MSG_REGION, TRACE_ON, *parse_properties(case.fields.get("properties"), exact=False)}
    return [Item(whole_number(entry["flag"]), whole_number(entry["bodyLen"]), _own(entry["props"], added)) for entry in case.records]


def _own(properties: Mapping[str, Any], added: Collection[str]) -> str:
    """The text in the recorded order, which is the sender's: the broker does not serialise it again."""
    return PROPERTY_END.join(f"{name}{NAME_END}{value}" for name, value in properties.items() if name not in added)


def _closed(items: list[Item], length: int) -> list[Item]:
    """The same with a separator behind the properties of as many as the recorded length asks for: records do not show them."""
    spare = length - sum(len(item.encoded()) for item in items)
    with_properties = [number for number, item in enumerate(items) if item.properties]
    ends = set(with_properties[: max(0, spare)])
    return [item._replace(properties=item.properties + PROPERTY_END) if number in ends else item for number, item in enumerate(items)]


def _equal_items(count: int, length: int) -> list[Item]:
    """So many messages that fill the length, if they can."""
    each, rest = divmod(length - count * ITEM_SIZE, count)
    if each < 0:
        return _equal_items(1, length)
    return [Item(0, each + (rest if number == 0 else 0), "") for number in range(count)]
