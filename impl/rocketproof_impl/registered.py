"""The body of a broker's registration (request 103): JSON, or compressed with the topics one by one.

The compressed form has the version, how many topics, each topic as five words, and the filter servers: each behind its length, all of it
deflated. Of a topic it has no flags and no order. A broker of 5.0 or later appends its queue mappings, which none has here.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

from rocketproof_protocol.fastjson import loads

_INT: Final = Struct(">i")
_WORDS: Final = ("topicName", "readQueueNums", "writeQueueNums", "perm", "topicFilterType")


def compressed(body: Mapping[str, Any]) -> bytes:
    """The compressed form of a body given as JSON values."""
    wrapper = body["topicConfigSerializeWrapper"]
    topics = [" ".join(str(entry[word]) for word in _WORDS) for entry in wrapper["topicConfigTable"].values()]
    parts = [_sized(json.dumps(wrapper["dataVersion"])), _INT.pack(len(topics)), *map(_sized, topics)]
    return zlib.compress(b"".join([*parts, _sized(json.dumps(body["filterServerList"]))]))


def decompressed(data: bytes, *, mappings: bool = False) -> dict[str, Any]:
    """The JSON values of a compressed body. Raises ValueError for one that is none, or that ends too early, `mappings`: without a number of
    queue mappings."""
    try:
        rest = zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    version, rest = _part(rest)
    count, rest = _number(rest)
    table = {}
    for _ in range(count):
        text, rest = _part(rest)
        name, read, write, perm, kind = text.decode().split(" ")[: len(_WORDS)]
        values = (name, int(read), int(write), int(perm), kind)
        table[name] = dict(zip(_WORDS, values, strict=True))
    filters, rest = _part(rest)
    if mappings:
        _number(rest)
    return {
        "topicConfigSerializeWrapper": {"topicConfigTable": table, "dataVersion": loads(version)},
        "filterServerList": loads(filters),
    }


def _sized(text: str) -> bytes:
    data = text.encode()
    return _INT.pack(len(data)) + data


def _number(data: bytes) -> tuple[int, bytes]:
    if len(data) < _INT.size:
        raise ValueError("the compressed registration ends too early")
    (number,) = _INT.unpack_from(data)
    return number, data[_INT.size :]


def _part(data: bytes) -> tuple[bytes, bytes]:
    length, rest = _number(data)
    if not 0 <= length <= len(rest):
        raise ValueError("the compressed registration ends too early")
    return rest[:length], rest[length:]
