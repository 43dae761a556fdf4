"""The body of a batch: consecutive small messages, split into separate messages (BAT-04)."""

from __future__ import annotations

import struct
from struct import Struct

from ..bounds import MAX_BATCH, out_of_memory
from ..java import JavaError, utf8
from ..message import Message, properties_text
from .record import PROPERTIES_LIMIT, RecordParts, body_crc, make_parts

_SEPARATOR = 2
_HEAD = Struct(">iiiii")  # totalSize magic bodyCRC flag bodyLength
_SHORT = Struct(">h")


def items(
    batch: Message,
    limit: int | None,
    host_flags: int = 0,
    *,
    most: int | None = None,
    with_batch_properties: bool,
    limits_batch_properties: bool = True,
    trailing: bool = False,
    separates: bool = True,
) -> list[tuple[Message, RecordParts]]:
    """Return the messages of a batch, with their parts; `host_flags` as in `RecordParts`.

    Each message takes flag, body and properties from its item, and everything else from the batch. A DELAY property inside an item has no
    effect. The total length of the properties is not checked, so the record's length field may be too short for it (HAZ-50).

    - `with_batch_properties`: append the batch's own properties (the header's, and CLUSTER) to the item's.
    - `separates`: end the item's properties with a separator first.
    - `trailing`: see `properties_text`.
    - `limits_batch_properties`: reject batch properties that are too long. Otherwise their length is cast to a short; nothing is appended
      if
    that is negative.

    Raises JavaError for a body that ends too early, for rejected batch properties, and for an item with properties next to a negative
    short. Also raises it if the body exceeds `most` bytes, or all records together exceed `limit` or MAX_BATCH bytes.
    """
    data = batch.body or b""
    if most is not None and len(data) > most:
        raise JavaError("java.lang.RuntimeException", "message body size exceeded")
    batch_properties = utf8(properties_text(batch.properties, trailing=trailing)) if with_batch_properties else b""
    if len(batch_properties) > PROPERTIES_LIMIT and limits_batch_properties:
        raise JavaError("java.lang.RuntimeException", "Properties size of messageExtBatch exceeded!")
    added = batch_properties[: _as_short(len(batch_properties))]
    messages: list[tuple[Message, RecordParts]] = []
    total = at = 0
    while at < len(data):
        flag, body, properties, at = _item(data, at)
        if properties and batch_properties and not added:
            raise _underflow()  # the record's size omits the item's properties, so the reader of the records finds extra bytes
        parts = make_parts(body, batch.topic, _joined(properties, added, separates=separates), host_flags)
        total += parts.size
        if limit is not None and total > limit:
            raise JavaError("java.lang.RuntimeException", "message size exceeded")
        if total > MAX_BATCH:
            raise out_of_memory()
        message = batch.shallow_copy()
        message.flag, message.body, message.body_crc = flag, body, body_crc(body)
        messages.append((message, parts))
    return messages


def _as_short(length: int) -> int:
    """Return the length cast to a short; 0 if that is negative."""
    return 0 if length & 0x8000 else length & 0x7FFF


def _item(data: bytes, at: int) -> tuple[int, bytes, bytes, int]:
    """Return flag, body and properties of the item at a position, and the position of the next one."""
    try:
        _, _, _, flag, body_length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if not 0 <= body_length <= len(data) - at:  # the release first computes its checksum
            raise JavaError("java.lang.ArrayIndexOutOfBoundsException")
        body, at = data[at : at + body_length], at + body_length
        (length,) = _SHORT.unpack_from(data, at)
    except struct.error:
        raise _underflow() from None
    return flag, body, *_properties(data, at + _SHORT.size, length)


def _properties(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    if at + length > len(data):
        raise JavaError("java.lang.IllegalArgumentException", f"newPosition > limit: ({at + length} > {len(data)})")
    if length < 0:
        raise _underflow()
    return data[at : at + length], at + length


def _underflow() -> JavaError:
    return JavaError("java.nio.BufferUnderflowException")


def _joined(properties: bytes, added: bytes, *, separates: bool) -> bytes:
    separated = not separates or not properties or not added or properties[-1] == _SEPARATOR
    return properties + added if separated else properties + bytes((_SEPARATOR,)) + added
