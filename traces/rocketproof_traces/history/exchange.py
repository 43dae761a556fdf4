"""One request with its responses, times and connection: the type that recorders, replays, checkers and rules share.

Only this module reads the contents of its header, message and response.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from rocketproof_protocol.codes import SEND_MESSAGE, SYSTEM_BUSY, UPDATE_AND_CREATE_TOPIC
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import hexadecimal, java_boolean, whole_number
from rocketproof_spec.bounds import NAMES_LIMIT

from ..common.errors import TraceError, short
from .covered import Config, Kind, StoredMessage, properties_of, reach, stored

_HEAD: Final = 20  # bytes of a batch's message in front of its body; the last four are the body's length
_SHORT: Final = 2  # bytes of the length of its properties
MESSAGE_ID: Final = re.compile(r"[0-9A-Fa-f]{32}")
"""A broker's message id: its address, and the place in the log."""
_MILLI: Final = 1_000_000  # nanoseconds


@dataclass(frozen=True)
class Exchange:
    """One request with its responses.

    * `process` is the connection that sent it, and `broker` the broker or name server that it addresses.
    * `seq` and `end` are the numbers of the events that sent and ended it.
    * `closed` is the type of the ending event: `ok` (a response), `fail` (no effect), `info` or `crash` (the effect is unknown), or empty
      if no event ended it. `outcome` is that event's value.
    * `sent` is in nanoseconds since the start of the history, `took` in nanoseconds; both are None without a clock.
    * `strays` are further responses.
    * `again`: it represents a second execution of a request that was answered twice.
    """

    process: str
    op: str
    broker: str
    seq: int
    request: Mapping[str, Any]
    closed: str = ""
    outcome: Mapping[str, Any] = field(default_factory=dict)
    end: int | None = None
    sent: int | None = None
    took: int | None = None
    again: bool = False
    strays: list[Mapping[str, Any]] = field(default_factory=list)

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the request's header."""
        return _fields(self.request)

    @property
    def response(self) -> Mapping[str, Any] | None:
        """The response as it was recorded, None without one."""
        return self.outcome if self.closed == "ok" else None

    @cached_property
    def response_fields(self) -> Mapping[str, Any]:
        """The fields of the response's header."""
        return {} if self.response is None else _fields(self.response)

    @property
    def code(self) -> Any:
        """The response's code, None without a response."""
        return None if self.response is None else self.response.get("code")

    @cached_property
    def topic(self) -> str:
        """The topic of the request's header."""
        return str(self.fields.get("topic", ""))

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """The properties of the request's message."""
        text = self.fields.get("properties")
        return properties_of(str(text)) if text else {}

    @property
    def one_way(self) -> bool:
        """Whether the client requests no response."""
        return bool(self.request.get("oneWay"))

    @property
    def is_lost(self) -> bool:
        """Whether a response was expected and no readable one arrived."""
        return self.closed == "info" and "error" in self.outcome and not self.one_way

    @property
    def is_doubled(self) -> bool:
        """Whether a request that expects one response got more."""
        return self.closed == "ok" and bool(self.strays) and not self.one_way

    @property
    def sent_millis(self) -> int:
        """The time of sending, in milliseconds since the start of the history; 0 without a clock."""
        return (self.sent or 0) // _MILLI

    @property
    def ended_millis(self) -> int:
        """The time of its end, in milliseconds since the start of the history; 0 if unknown."""
        return ((self.sent or 0) + self.took) // _MILLI if self.took is not None else 0

    @property
    def refused(self) -> bool:
        """Whether the broker was busy and did nothing (REM-06, REM-07, REM-10). One-way requests get this response too (HAZ-26)."""
        responses = [self.response] if self.response is not None else []
        return any(response.get("code") == SYSTEM_BUSY for response in (*responses, *self.strays))

    def __str__(self) -> str:
        about = self.topic or self.fields.get("group") or ""
        return f"event {self.seq} ({self.op} {about})".replace(" )", ")")

    @cached_property
    def places(self) -> Sequence[int]:
        """The places in the log, in bytes, of the messages that the response acknowledges."""
        return places(self.outcome.get("fields") or {})

    def number(self, name: str, otherwise: int = 0) -> int:
        """Return a field of the header as a number, `otherwise` if it is missing or not a number."""
        try:
            return whole_number(self.fields.get(name, otherwise))
        except (ValueError, TypeError):
            return otherwise

    @property
    def remark(self) -> str:
        """The remark of the answer; empty without one."""
        return str((self.response or {}).get("remark") or "")

    def answered(self, name: str) -> int | None:
        """Return a field of the answer as a number, None if it is missing or not a number."""
        value = self.response_fields.get(name)
        try:
            return whole_number(value) if isinstance(value, (str, int)) else None
        except ValueError:
            return None

    @cached_property
    def reason(self) -> str:
        """Why the specification does not cover a send or an update; empty if it does."""
        if self.op == "batch":
            return "" if self.messages else "batches without messages" if self.messages == 0 else "batches without their body"
        if self.op not in ("send", "update_topic"):
            return ""
        code = UPDATE_AND_CREATE_TOPIC if self.op == "update_topic" else SEND_MESSAGE
        return self.reach(code)[1]

    def reach(self, code: int, group_limit: int | None = RETRY_MAX_TIMES) -> tuple[Kind, str]:
        """Return whether the specification covers it as a request of this code, and otherwise why not (`covered.reach`)."""
        size, version = whole_number(self.request.get("bodySize") or 0), whole_number(self.request.get("version", NAMES_LIMIT))
        return reach(code, self.fields, self.properties, self.code, size, version, group_limit)

    def group(self) -> tuple[str, int, int] | None:
        """Return the group of an update, its retry limit and its number of retry queues; None if the body is not in the history."""
        try:
            data = json.loads(kept_body(self.request) or b"")
            return (
                str(data["groupName"]),
                whole_number(data.get("retryMaxTimes", RETRY_MAX_TIMES)),
                whole_number(data.get("retryQueueNums", 1)),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    @cached_property
    def messages(self) -> int | None:
        """The number of messages of a batch, 1 for other requests. 0 if it is rejected because it is not a batch, None if its body is
        not in the history."""
        if self.op != "batch":
            return 1
        body = kept_body(self.request)
        if body is None and self.request.get("bodySize"):
            return self._ids()
        messages = _batched(body or b"")
        return len(messages) if messages is not None else 0 if self.code == 1 else None

    def batched(self) -> list[tuple[int, str]]:
        """Return the body size and the raw properties of each message of a batch; none if they are not in the history."""
        return (_batched(kept_body(self.request) or b"") or []) if self.op == "batch" else []

    def _ids(self) -> int | None:
        """Return the number of message ids in the response, None without any."""
        named = self.response_fields.get("msgId")
        return named.count(",") + 1 if isinstance(named, str) and named else None

    @property
    def case(self) -> str:
        """The recorded case of the request, empty in other histories."""
        return str(self.request.get("case", ""))

    @property
    def queried_after(self) -> str:
        """The recorded case after which this request queries the topic, empty in other histories."""
        return str(self.request.get("after", ""))

    def stored(self) -> tuple[StoredMessage, ...]:
        """Return the records that the request stored, if the history has them. Raises TraceError for invalid records."""
        try:
            return stored((self.response or {}).get("stored") or ())
        except (AttributeError, ValueError, TypeError, KeyError) as error:
            problem = f"'stored' holds no records ({short(str(error))})"
            raise TraceError(f"event {self.end}", problem, "a record has topic, queueId, queueOffset, sysFlag") from None

    def route(self) -> Config | None:
        """Return the broker's queues for the topic in a route, None if there are none. Raises TraceError for an invalid route."""
        try:
            data = (json.loads(kept_body(self.response or {}) or b"null") or {}).get("queueDatas", ())
            configs = [Config(q["readQueueNums"], q["writeQueueNums"], q["perm"], False) for q in data if q["brokerName"] == self.broker]
        except (AttributeError, ValueError, TypeError, KeyError) as error:
            problem = f"its body holds no route ({short(str(error))})"
            raise TraceError(f"event {self.end}", problem, "record the answer's body as it came") from None
        return configs[0] if configs else None

    def settings(self) -> dict[str, str]:
        """Return the broker settings that the request changes, by name; none if its body is not in the history."""
        return settings_of(self.request)

    def registered_routes(self) -> list[tuple[str, Config]]:
        """Return the queues in the request's route, each with its broker; none if its body has no route."""
        try:
            data = (json.loads(kept_body(self.request) or b"null") or {}).get("queueDatas") or ()
            return [(str(q["brokerName"]), Config(q["readQueueNums"], q["writeQueueNums"], q["perm"], False)) for q in data]
        except (AttributeError, ValueError, TypeError, KeyError):
            return []

    def config(self) -> Config | None:
        """Return the topic's configuration in the answer, None if the topic does not exist. Raises TraceError for an invalid body."""
        if self.code != 0:
            return None
        body = kept_body(self.response or {})
        try:
            return config_of(json.loads(body or b"null"))
        except ValueError as error:
            problem = f"its body holds no topic's configuration ({short(str(error))})"
            raise TraceError(f"event {self.end}", problem, "record the answer's body as it came") from None


def places(fields: Mapping[str, str]) -> list[int]:
    """Return the places in the log, in bytes, that the message ids in a response's fields name. Invalid ids are skipped."""
    return [hexadecimal(text[16:]) for text in fields.get("msgId", "").split(",") if MESSAGE_ID.fullmatch(text)]


def _fields(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the header fields of a request or an answer, empty if it has none."""
    fields = value.get("fields")
    return fields if isinstance(fields, Mapping) else {}


def settings_of(request: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that a request changes, by name; none if its body is not in the history."""
    lines = ((kept_body(request) or b"").decode("utf-8", "replace")).splitlines()
    return {name.strip(): value.strip() for name, sign, value in (line.partition("=") for line in lines) if sign}


def config_of(data: Any) -> Config | None:
    """Return a configuration in the form that brokers write. Raises ValueError for an invalid one."""
    if data is None:
        return None
    try:
        return known_config(data.get("topicConfig", data))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no topic's configuration: {error}") from None


def known_config(entry: Mapping[str, Any]) -> Config:
    """Return a topic's configuration from its JSON. Raises KeyError, ValueError or TypeError for an invalid one."""
    order = entry.get("order", False)
    order = java_boolean(str(order))
    return Config(whole_number(entry["readQueueNums"]), whole_number(entry["writeQueueNums"]), whole_number(entry["perm"]), order)


def _batched(body: bytes) -> list[tuple[int, str]] | None:
    """Return the body size and the properties of each message in a batch, None if the batch does not end at the end of a message.

    Messages are separated as a broker does it: by the lengths of bodies and properties, not by the messages' own sizes (BAT-04).
    """
    at, messages = 0, []
    while at < len(body):
        length = int.from_bytes(body[at + _HEAD - 4 : at + _HEAD], "big", signed=True)
        at += _HEAD
        if not 0 <= length <= len(body) - at - _SHORT:
            return None
        at += length + _SHORT
        properties = int.from_bytes(body[at - _SHORT : at], "big", signed=True)
        if not 0 <= properties <= len(body) - at:
            return None
        messages.append((length, body[at : at + properties].decode("utf-8", "replace")))
        at += properties
    return messages


def kept_body(value: Mapping[str, Any]) -> bytes | None:
    """Return the body of a request or response; None if it is not in the history, or is not in the form for files."""
    body = value.get("body")
    if isinstance(body, bytes):
        return body
    if not isinstance(body, str):
        return None
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None
