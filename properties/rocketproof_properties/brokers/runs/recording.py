"""Records requests and responses as events of a history while they happen, with times of both clocks.

Bodies of up to KEPT bytes are stored as base64; of longer ones only size and checksum.
"""

from __future__ import annotations

import base64
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_protocol.numbers import java_int, whole_number
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header, Writer

from ...programs.call import RecordedCall

KEPT: Final = 65_536
"""The maximum size in bytes of a body that is recorded."""


def body_data(body: bytes | None) -> dict[str, Any]:
    """Return the recorded form of a body."""
    if body is None:
        return {"bodySize": 0, "body": None}
    data: dict[str, Any] = {"bodySize": len(body), "bodyCrc": zlib.crc32(body)}
    if len(body) <= KEPT:
        data["body"] = base64.b64encode(body).decode()
    return data


def bytes_data(body: bytes | None) -> dict[str, Any]:
    """Return the form in memory, with the body's bytes unchanged."""
    return {"body": body}


def on_disk(event: Event) -> Event:
    """Return an event with its body in the form for files."""
    body = event.value.get("body")
    return replace(event, value={**event.value, **body_data(body)}) if "body" in event.value and not isinstance(body, str) else event


def body_of(value: Mapping[str, Any]) -> bytes | None:
    """Return the body of an event, None without one.

    A body that was too long to be recorded is replaced by padding of the same size, which programs use.
    """
    body = value.get("body")
    if body is not None:
        return body if isinstance(body, bytes) else base64.b64decode(body)
    size = whole_number(value.get("bodySize", 0))
    return b"x" * size if size else b"" if "bodyCrc" in value else None


def is_kept(value: Mapping[str, Any]) -> bool:
    """Return whether the body of an event is the real one, not padding."""
    return value.get("body") is not None or not value.get("bodySize")


def call_data(call: RecordedCall, at: int | None = None, keep: Callable[[bytes | None], dict[str, Any]] = body_data) -> dict[str, Any]:
    """Return the value of an `invoke` event, at time `at` or now. `keep` returns the form of the body."""
    data: dict[str, Any] = {
        "to": call.to,
        "code": call.code,
        "fields": dict(call.fields),
        "version": call.version,
        "oneWay": call.one_way,
        **keep(call.body),
        "at": wall() if at is None else at,
    }
    return data | {"line": call.line} if call.line else data


def answer_data(answer: Command, at: int | None = None, keep: Callable[[bytes | None], dict[str, Any]] = body_data) -> dict[str, Any]:
    """Return the value of an `ok` event, at time `at` or now. `keep` returns the form of the body."""
    data = {"code": answer.code, "remark": answer.remark, "fields": dict(answer.ext_fields or {}), **keep(answer.body)}
    return data | {"at": wall() if at is None else at}


def worded(problem: RemotingError) -> str:
    """Return the reason for a lost response as it is recorded: kind and message of the error."""
    return f"{type(problem).__name__}: {problem}"


def wall() -> int:
    """Return the wall clock in ms."""
    return time.time_ns() // 1_000_000


def last_number(folder: Path) -> int:
    """Return the highest number of a history in a folder, finished or not. New histories get higher numbers."""
    names = [path.stem for path in folder.rglob("*.ndjson")]
    return max((java_int(name) or 0 for name in names), default=0)


class HistoryRecorder:
    """The history of one program, written by several threads. `began` in its origin is time 0 on the monotonic clock, in nanoseconds.

    Raises TraceError if the file already has a history.
    """

    def __init__(self, path: Path, origin: Mapping[str, Any]) -> None:
        if path.exists() and path.stat().st_size:
            raise TraceError(str(path), "has the history of another program", "give another folder, or remove the file")
        self._lock = threading.Lock()
        self._began = time.monotonic_ns()
        self._writer = Writer(path, Header({**origin, "began": self._began}, datetime.now(UTC).isoformat(timespec="milliseconds")))

    def add(self, type_: str, process: str, op: str, value: Mapping[str, Any]) -> Event:
        with self._lock:
            return self._writer.add(type_, process, op, value, time.monotonic_ns() - self._began)

    def close(self) -> None:
        self._writer.close()
