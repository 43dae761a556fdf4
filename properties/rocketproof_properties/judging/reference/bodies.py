"""Rebuild the body of a recorded request. Its content is free, but a batch must be well-formed (BAT-04).

The messages of a recorded batch are known from the records that were read back. Otherwise the response shows their number. A rejected batch
shows neither: it is replaced by one message of the recorded length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from rocketproof_impl.message import parse_properties
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import CLUSTER, MSG_REGION, NAME_END, PROPERTY_END, TRACE_ON

from ...programs.requests import batch_item
from .cases import ReplayCase

FILL = b"x"
ITEM_SIZE = len(batch_item(b"", ""))
_HEAD = ITEM_SIZE - 2
"""Bytes of a message before its body. The body is followed by two bytes with the length of the properties."""


_PAST = re.compile(r"\(([0-9]+) > ([0-9]+)\)")
"""The number of bytes by which the properties exceed the batch."""


def _early(length: int, remark: str) -> bytes | None:
    """Return a batch of this length whose last message ends too early, so that the broker throws the exception in the remark. None for
    other remarks."""
    if remark.startswith("java.nio.BufferUnderflowException"):
        return _without_lengths(length)
    if remark.startswith("java.lang.ArrayIndexOutOfBoundsException"):
        return batch_item(FILL * length, "")[:length]
    excess = _PAST.search(remark) if remark.startswith("java.lang.IllegalArgumentException: newPosition > limit") else None
    if excess is None:
        return None
    return batch_item(FILL * max(0, length - ITEM_SIZE), "x" * (whole_number(excess[1]) - whole_number(excess[2])))[:length]


def _without_lengths(length: int) -> bytes:
    return batch_item(FILL * max(0, length - _HEAD - 1), "")[:length]


class Item(NamedTuple):
    """One message of a batch. `length`: bytes of its body."""

    flag: int
    length: int
    properties: str

    def encoded(self) -> bytes:
        return batch_item(FILL * self.length, self.properties, self.flag)


def body(case: ReplayCase) -> bytes | None:
    """Return the body to send, None if there is none."""
    if case.text is not None:
        return case.text.encode()
    if not case.body_length:
        return None
    return batch(case) if case.is_batch else FILL * case.body_length


def batch(case: ReplayCase) -> bytes:
    """Return a batch of the recorded length with the recorded messages that are known."""
    length = case.body_length
    early = _early(length, case.answer.remark or "")
    if early is not None or length < ITEM_SIZE:
        return _without_lengths(length) if early is None else early
    encoded = b"".join(map(Item.encoded, _closed(_stored(case), length)))
    return encoded if len(encoded) == length else b"".join(map(Item.encoded, _equal_items(max(1, len(case.positions)), length)))


def _stored(case: ReplayCase) -> list[Item]:
    """Return the messages that were read back, without the properties added by the batch's header or the broker."""
    added = {CLUSTER, MSG_REGION, TRACE_ON, *parse_properties(case.fields.get("properties"), exact=False)}
    return [Item(whole_number(entry["flag"]), whole_number(entry["bodyLen"]), _own(entry["props"], added)) for entry in case.records]


def _own(properties: Mapping[str, Any], added: Collection[str]) -> str:
    """Return the sender's properties as text in the recorded order: the broker does not serialize them again."""
    return PROPERTY_END.join(f"{name}{NAME_END}{value}" for name, value in properties.items() if name not in added)


def _closed(items: list[Item], length: int) -> list[Item]:
    """Append a separator to the properties of some messages until the batch has the recorded length. Records do not show trailing
    separators."""
    spare = length - sum(len(item.encoded()) for item in items)
    with_properties = [number for number, item in enumerate(items) if item.properties]
    ends = set(with_properties[: max(0, spare)])
    return [item._replace(properties=item.properties + PROPERTY_END) if number in ends else item for number, item in enumerate(items)]


def _equal_items(count: int, length: int) -> list[Item]:
    """Return `count` messages that fill the length, or a single message if they do not fit."""
    each, rest = divmod(length - count * ITEM_SIZE, count)
    if each < 0:
        return _equal_items(1, length)
    return [Item(0, each + (rest if number == 0 else 0), "") for number in range(count)]
