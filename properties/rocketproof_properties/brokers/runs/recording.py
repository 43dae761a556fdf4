"""Writing down what happens while it happens: requests and answers as events of a history, on both clocks.

Bodies travel as base64 up to KEPT bytes; of longer ones there are size and checksum.
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
"""Bytes of a body that are written down."""


def body_data(body: bytes | None) -> dict[str, Any]:
    """What is kept of a body."""
    if body is None:
        return {"bodySize": 0, "body": None}
    found: dict[str, Any] = {"bodySize": len(body), "bodyCrc": zlib.crc32(body)}
    if len(body) <= KEPT:
        found["body"] = base64.b64encode(body).decode()
    return found


def bytes_data(body: bytes | None) -> dict[str, Any]:
    """The same in memory, where bytes stay what they are."""
    return {"body": body}


def on_disk(event: Event) -> Event:
    """An event whose body was kept in memory, as it is written down."""
    body = event.value.get("body")
    return replace(event, value={**event.value, **body_data(body)}) if "body" in event.value and not isinstance(body, str) else event


def body_of(value: Mapping[str, Any]) -> bytes | None:
    """The body of an event; one that was too long to keep is filled up, which is what programs send. None where there is none."""
    body = value.get("body")
    if body is not None:
        return body if isinstance(body, bytes) else base64.b64decode(body)
    size = whole_number(value.get("bodySize", 0))
    return b"x" * size if size else b"" if "bodyCrc" in value else None


def is_kept(value: Mapping[str, Any]) -> bool:
    """Whether the body of an event is what was seen, and not filled up."""
    return value.get("body") is not None or not value.get("bodySize")


def call_data(call: RecordedCall, at: int | None = None, keep: Callable[[bytes | None], dict[str, Any]] = body_data) -> dict[str, Any]:
    """The value of `invoke`, now or `at` a time; `keep` says what is kept of the body."""
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
    """The value of `ok`, now or `at` a time; `keep` says what is kept of the body."""
    data = {"code": answer.code, "remark": answer.remark, "fields": dict(answer.ext_fields or {}), **keep(answer.body)}
    return data | {"at": wall() if at is None else at}


def worded(problem: RemotingError) -> str:
    """Why an answer was lost, as it is written down: the kind of the problem and its words."""
    return f"{type(problem).__name__}: {problem}"


def wall() -> int:
    """The wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


def last_number(folder: Path) -> int:
    """The greatest number of a history that was begun in a folder; new ones get greater ones."""
    names = [path.stem for path in folder.rglob("*.ndjson")]
    return max((java_int(name) or 0 for name in names), default=0)


class HistoryRecorder:
    """The history of one program, written by several threads. Its origin has `began`, time 0 on the machine's clock in nanoseconds.

    Raises TraceError where the file has a history already: two programs in one file are no history of either.
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
