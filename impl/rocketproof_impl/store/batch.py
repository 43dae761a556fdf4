"""The body of a batch: small messages one after the other, made into messages of their own (BAT-04)."""

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
    """The messages of a batch, with their parts; `host_flags` as in `Parts`.

    Each takes flag, body and properties from its item and the rest from the batch. `with_batch_properties`: the batch's own
    properties, which hold the header's and CLUSTER, are put behind the item's, which `separates` ends first; `trailing`: see
    `properties_text`. Where they are too long and nothing `limits_batch_properties`, as much is put as a short says, nothing if that is
    negative. A DELAY inside an item has no effect. Nobody looks at how long the properties are together: the record's length
    of them may not hold it (HAZ-50).
    Raises JavaError for a body that ends too early, where the batch's own properties are too long, also beside an item's where the short is
    negative, and where all records together are larger than `limit` or MAX_BATCH bytes, or the body is than `most`, if there is one.
    """
    data = batch.body or b""
    if most is not None and len(data) > most:
        raise JavaError("java.lang.RuntimeException", "message body size exceeded")
    whole = utf8(properties_text(batch.properties, trailing=trailing)) if with_batch_properties else b""
    if len(whole) > PROPERTIES_LIMIT and limits_batch_properties:
        raise JavaError("java.lang.RuntimeException", "Properties size of messageExtBatch exceeded!")
    added = whole[: _as_short(len(whole))]
    found: list[tuple[Message, RecordParts]] = []
    total = at = 0
    while at < len(data):
        flag, body, properties, at = _item(data, at)
        if properties and whole and not added:
            raise _underflow()  # the record's size leaves the item's properties out, and the reader of the records finds a rest
        parts = make_parts(body, batch.topic, _joined(properties, added, separates=separates), host_flags)
        total += parts.size
        if limit is not None and total > limit:
            raise JavaError("java.lang.RuntimeException", "message size exceeded")
        if total > MAX_BATCH:
            raise out_of_memory()
        message = batch.shallow_copy()
        message.flag, message.body, message.body_crc = flag, body, body_crc(body)
        found.append((message, parts))
    return found


def _as_short(length: int) -> int:
    """The length that is left of one which is cast to a short; 0 for one that becomes negative."""
    return 0 if length & 0x8000 else length & 0x7FFF


def _item(data: bytes, at: int) -> tuple[int, bytes, bytes, int]:
    """Flag, body and properties of the item at a position, and where the next one starts."""
    try:
        _, _, _, flag, body_length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if not 0 <= body_length <= len(data) - at:  # its checksum is the first that is made of it
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
