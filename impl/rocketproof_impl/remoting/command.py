"""A command: what travels in either direction, and its frame on the wire (REM-01, REM-02)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rocketproof_protocol.codes import SYSTEM_ERROR

from ..copies import copier

RESPONSE, ONE_WAY = 1, 2
JSON: Final = 0
ROCKETMQ: Final = 1
VERSION = 399  # 4.9.3, which the recorded requests name
V3_4_9 = 121
NOT_SET = "not set any response code"


@dataclass(slots=True)
class Command:
    """A request or an answer, whose `code` says of which kind (REM-03). `ext_fields` are the custom header as texts; `opaque`
    pairs an answer with its request.

    `serialisation` is the form of its header on the wire (REM-01), and has no part in what is meant.
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


_copied = copier(Command)


def stamped(request: Command, opaque: int) -> Command:
    """A copy with this opaque."""
    found = _copied(request)
    found.opaque = opaque
    return found


def response_to(request: Command) -> Command:
    """A fresh answer: SYSTEM_ERROR, "not set any response code", opaque and serialisation of the request (REM-02)."""
    return Command(
        SYSTEM_ERROR,
        opaque=request.opaque,
        flag=RESPONSE,
        version=request.version,
        remark=NOT_SET,
        serialisation=request.serialisation,
    )
