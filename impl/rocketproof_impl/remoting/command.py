"""A command: a request or a response, and its fields (REM-01, REM-02)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rocketproof_protocol.codes import SYSTEM_ERROR

from ..copies import copier

RESPONSE, ONE_WAY = 1, 2
JSON: Final = 0
ROCKETMQ: Final = 1
VERSION = 399  # of 4.9.3, as in the recorded requests
V3_4_9 = 121
NOT_SET = "not set any response code"


@dataclass(slots=True)
class Command:
    """A request or a response; `code` is the request code or the response code (REM-03).

    `ext_fields` are the fields of the custom header as texts. `opaque` pairs a response with its request. `serialisation` is the encoding
    of its header on the wire (REM-01) and does not change its meaning.
    """

    code: int
    ext_fields: dict[str, str] | None = None
    body: bytes | None = None
    opaque: int = 0
    flag: int = 0
    version: int = VERSION
    language: str = "JAVA"
    remark: str | None = None
    serialisation: int = field(default=JSON, compare=False)

    @property
    def is_response(self) -> bool:
        return bool(self.flag & RESPONSE)

    @property
    def is_one_way(self) -> bool:
        return bool(self.flag & ONE_WAY)


_copy = copier(Command)


def stamped(request: Command, opaque: int) -> Command:
    """Return a copy of the request with this opaque."""
    copy = _copy(request)
    copy.opaque = opaque
    return copy


def response_to(request: Command) -> Command:
    """Return a new response with SYSTEM_ERROR, "not set any response code", and the request's opaque and serialisation (REM-02)."""
    return Command(
        SYSTEM_ERROR,
        opaque=request.opaque,
        flag=RESPONSE,
        version=request.version,
        remark=NOT_SET,
        serialisation=request.serialisation,
    )
