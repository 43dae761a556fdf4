"""Commands as bytes on a connection (REM-01).

A frame consists of its length (without these 4 bytes), a word, the header, and the body. The word has the serialisation type in its top
byte and the header's length below. Type 0 is a JSON header, type 1 RocketMQ's binary header.
"""

from __future__ import annotations

import json
import struct
from struct import Struct
from typing import Any

from rocketproof_protocol.fastjson import text_of
from rocketproof_protocol.numbers import INT, whole_number

from ..bounds import MAX_FRAME, MAX_HEADER
from ..java import utf8
from .command import JSON, ROCKETMQ, Command
from .errors import RemotingError

_WORD = Struct(">I")
_PREFIX = Struct(">II")
_FIXED = Struct(">hBhii")  # code language version opaque flag
_INT = Struct(">i")
_SHORT = Struct(">h")
_quoted = json.JSONEncoder(ensure_ascii=False).encode
_LANGUAGES = ("JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST")


class FrameError(RemotingError):
    """The bytes are not a frame. The connection cannot be used any more."""


def encode(command: Command, serialisation: int = JSON) -> bytes:
    """Return the whole frame including its length (REM-01)."""
    header = _binary_header(command) if serialisation == ROCKETMQ else _json_header(command)
    body = command.body or b""
    return _PREFIX.pack(4 + len(header) + len(body), serialisation << 24 | len(header)) + header + body


def size_of_first(buffer: bytearray) -> int | None:
    """Return the size in bytes of the first frame in `buffer`, with its length; None if it is incomplete. Raises FrameError."""
    if len(buffer) < 4:
        return None
    (length,) = _WORD.unpack_from(buffer)
    if length > MAX_FRAME:
        raise FrameError(f"a frame of {length} bytes is longer than {MAX_FRAME}")
    size: int = 4 + length
    return None if len(buffer) < size else size


def take(buffer: bytearray) -> Command | None:
    """Remove the first frame from `buffer` and return its command; None if it is incomplete. Raises FrameError."""
    size = size_of_first(buffer)
    if size is None:
        return None
    with memoryview(buffer) as arrived, arrived[4:size] as frame:
        command = decode(frame)
    del buffer[:size]
    return command


def decode(frame: bytes | memoryview) -> Command:
    """Return the command of a frame without its length. An empty body is None (REM-01). Raises FrameError."""
    try:
        (word,) = _WORD.unpack_from(frame)
        header_end = 4 + (word & 0xFFFFFF)
        if header_end > len(frame):
            raise FrameError("the header is longer than its frame")
        if header_end > MAX_HEADER:
            raise FrameError(f"a header of {header_end - 4} bytes is longer than {MAX_HEADER}")
        read = _READERS.get(word >> 24)
        if read is None:
            raise FrameError(f"serialisation type {word >> 24} is unknown")
        command = read(bytes(frame[4:header_end]))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OverflowError, struct.error) as problem:
        raise FrameError(f"the header cannot be read: {problem!r}") from problem
    command.body = bytes(frame[header_end:]) or None
    command.serialisation = word >> 24
    return command


def _json_header(command: Command) -> bytes:
    """Return the header as JSON. It is formatted by hand, which takes a quarter of a general encoder's time."""
    fields, remark = "", ""
    if command.ext_fields is not None:
        fields = '"extFields":{' + ",".join([f"{_quoted(name)}:{_quoted(value)}" for name, value in command.ext_fields.items()]) + "},"
    if command.remark is not None:
        remark = f'"remark":{_quoted(command.remark)},'
    return utf8(
        f'{{"code":{command.code},{fields}"flag":{command.flag},"language":{_quoted(command.language)},"opaque":{command.opaque},'
        f'{remark}"serializeTypeCurrentRPC":"JSON","version":{command.version}}}'
    )


def _read_json(header: bytes) -> Command:
    data = json.loads(header.decode("utf-8", "replace"))
    fields, remark = data.get("extFields"), data.get("remark")
    if fields is not None:
        fields = {name: value if value.__class__ is str else text_of(value) for name, value in fields.items() if value is not None}
    return Command(
        _int32(data["code"]),
        fields,
        opaque=_int32(data.get("opaque", 0)),
        flag=_int32(data.get("flag", 0)),
        version=_int32(data.get("version", 0)),
        language=str(data.get("language", "JAVA")),
        remark=None if remark is None else text_of(remark),
    )


def _int32(value: Any) -> int:
    """Return a number of the header. Raises FrameError unless it fits into a Java int."""
    try:
        return whole_number(value, INT)
    except ValueError as error:
        raise FrameError(str(error)) from None


def _binary_header(command: Command) -> bytes:
    language = _LANGUAGES.index(command.language) if command.language in _LANGUAGES else _LANGUAGES.index("OTHER")
    fields = bytearray()
    for name, value in (command.ext_fields or {}).items():
        raw, content = utf8(name), utf8(value)
        fields += _SHORT.pack(len(raw)) + raw + _INT.pack(len(content)) + content
    remark = utf8(command.remark or "")
    fixed = _FIXED.pack(_int16(command.code), language, _int16(command.version), command.opaque, command.flag)
    return fixed + _INT.pack(len(remark)) + remark + _INT.pack(len(fields)) + fields


def _int16(number: int) -> int:
    """Return the low 16 bits of a number as a short: the binary header has no room for more."""
    return (number + 0x8000) % 0x10000 - 0x8000


def _read_binary(header: bytes) -> Command:
    code, language, version, opaque, flag = _FIXED.unpack_from(header)
    remark, at = _length_prefixed(header, _FIXED.size, _INT)
    fields, at = _length_prefixed(header, at, _INT)
    ext_fields: dict[str, str] = {}
    at = 0
    while at < len(fields):
        name, at = _length_prefixed(fields, at, _SHORT)
        value, at = _length_prefixed(fields, at, _INT)
        ext_fields[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    return Command(code, ext_fields or None, None, opaque, flag, version, _LANGUAGES[language], remark.decode("utf-8", "replace") or None)


_READERS = {JSON: _read_json, ROCKETMQ: _read_binary}


def _length_prefixed(data: bytes, at: int, length: Struct) -> tuple[bytes, int]:
    """Return the bytes after a length at `at`, and the position after them."""
    (size,) = length.unpack_from(data, at)
    start = at + length.size
    if size < 0 or start + size > len(data):
        raise FrameError("a length points out of the header")
    return data[start : start + size], start + size
