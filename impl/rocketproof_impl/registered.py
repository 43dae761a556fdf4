"""The body of a broker's registration (request 103): JSON, or a compressed form with the topics one by one.

The compressed form is deflated. It contains the version, the number of topics, each topic as five words, and the filter servers; each part
is preceded by its length. It contains no topic flags and no order. A broker of 5.0 or later appends its queue mappings; brokers of this
package have none.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import INT, whole_number

from .bounds import MAX_TOPICS, inflate

_INT: Final = Struct(">i")
_WORDS: Final = ("topicName", "readQueueNums", "writeQueueNums", "perm", "topicFilterType")


def compressed(body: Mapping[str, Any]) -> bytes:
    """Return the compressed form of a body of JSON values."""
    wrapper = body["topicConfigSerializeWrapper"]
    topics = [" ".join(str(entry[word]) for word in _WORDS) for entry in wrapper["topicConfigTable"].values()]
    parts = [_length_prefixed(json.dumps(wrapper["dataVersion"])), _INT.pack(len(topics)), *map(_length_prefixed, topics)]
    return zlib.compress(b"".join([*parts, _length_prefixed(json.dumps(body["filterServerList"]))]))


def decompressed(data: bytes, *, mappings: bool = False) -> dict[str, Any]:
    """Read a compressed body as JSON values. With `mappings`, a number of queue mappings must follow.

    Raises ValueError for a malformed or truncated body, for more than MAX_INFLATED bytes, and for more than MAX_TOPICS topics.
    """
    reader = _Reader(inflate(data))
    version = reader.part()
    count = reader.number()
    if count > MAX_TOPICS:
        raise ValueError(f"{count} topics are more than {MAX_TOPICS}")
    table = {}
    for _ in range(count):
        name, read, write, perm, kind = reader.part().decode().split(" ", len(_WORDS))[: len(_WORDS)]
        values = (name, *(whole_number(text, INT) for text in (read, write, perm)), kind)
        table[name] = dict(zip(_WORDS, values, strict=True))
    filters = reader.part()
    if mappings:
        reader.number()
    return {
        "topicConfigSerializeWrapper": {"topicConfigTable": table, "dataVersion": loads(version)},
        "filterServerList": loads(filters),
    }


class _Reader:
    """Reads numbers and length-prefixed parts in order. Raises ValueError if the data are too short."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        at = self._at
        if len(self._data) - at < _INT.size:
            raise ValueError("the compressed registration ends too early")
        self._at = at + _INT.size
        number: int = _INT.unpack_from(self._data, at)[0]
        return number

    def part(self) -> bytes:
        length, at = self.number(), self._at
        if not 0 <= length <= len(self._data) - at:
            raise ValueError("the compressed registration ends too early")
        self._at = at + length
        return self._data[at : self._at]


def _length_prefixed(text: str) -> bytes:
    data = text.encode()
    return _INT.pack(len(data)) + data
