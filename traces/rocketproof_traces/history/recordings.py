"""Recordings of single requests: one JSON object per line, a request with its response and what was read back after it.

`read` is the only parser of such files. A recording is also a history (`histories`): one client sends one request after the other. Each
`cfg` is one history.

The headers of these histories have `recording`: true, and their events have further fields. In an invocation, `case` names the recorded
case, and `after` the case after which the topic is queried. In an answer, `stored` are the records of the request that were found in the
store. In a request for a route, `broker` names the broker whose registrations the route shows.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocketproof_model import RocketproofError
from rocketproof_protocol import codes
from rocketproof_protocol.fields import FULL_NAMES
from rocketproof_protocol.numbers import java_boolean, whole_number
from rocketproof_protocol.topics import TEMPLATE

from ..common.compressed import open_text
from . import Event, Header
from .covered import stored
from .exchanges import NAME_SERVER, SENDS

OPS = {
    codes.SEND_MESSAGE: "send",
    codes.UPDATE_AND_CREATE_TOPIC: "update_topic",
    codes.GET_MAX_OFFSET: "max_offset",
    codes.HEART_BEAT: "heartbeat",
    codes.QUERY_CONSUMER_OFFSET: "progress",
    codes.UPDATE_CONSUMER_OFFSET: "commit",
    codes.CONSUMER_SEND_MSG_BACK: "send_back",
    codes.END_TRANSACTION: "end_transaction",
    codes.GET_ROUTEINFO_BY_TOPIC: "route",
    codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: "update_group",
    codes.DELETE_SUBSCRIPTIONGROUP: "delete_group",
    codes.DELETE_TOPIC_IN_BROKER: "delete_topic",
    codes.DELETE_TOPIC_IN_NAMESRV: "forget_topic",
    codes.REGISTER_TOPIC: "register_topic",
    codes.UPDATE_BROKER_CONFIG: "configure",
    codes.SEND_MESSAGE_V2: "send",
    codes.SEND_BATCH_MESSAGE: "batch",
    codes.GET_TOPIC_CONFIG: "topic_config",
}
CLIENT = "recorder"


ABSENT: Final = "absent"


@dataclass(frozen=True)
class RecordedCase:
    """One line of a recording, with the values as they were recorded.

    - `line`: its number in the file. `number`: its number in the recording.
    - `fields`: the request's extFields by full names. Long values are shortened.
    - `request_body`: a text or a JSON value, None if it is not recorded. `body_length` is its length in bytes.
    - `response`: the response's code, remark and extFields. The code is None without a response.
    - `body`: the response's body if it is JSON.
    - `millis`: how long the caller waited.
    - `stored`: the records read back, None if none were read.
    - `config`: the topic's entry after the case. None: the topic did not exist. ABSENT: the entry was not read.
    """

    line: int
    number: int
    cfg: str
    name: str
    version: str
    to_name_server: bool
    code: int
    request_version: int | None
    fields: Mapping[str, Any]
    body_length: int
    request_body: Any
    response: Mapping[str, Any]
    body: Any
    millis: float
    stored: tuple[Mapping[str, Any], ...] | None
    config: Mapping[str, Any] | str | None

    @property
    def label(self) -> str:
        return f"{self.cfg}-{self.number} {self.name!r}"


@dataclass(frozen=True)
class Recording:
    """All cases in order, and the broker settings that the recording contains for each `cfg`. `problem` is the error of the first line
    that is not a case; the cases before it are here."""

    cases: tuple[RecordedCase, ...]
    settings: Mapping[str, Mapping[str, Any]]
    problem: RocketproofError | None = None


def read(path: Path) -> Recording:
    """Read a recording. Raises RocketproofError naming the line that is not a case."""
    recording = _parsed(path)
    if recording.problem is not None:
        raise recording.problem
    return recording


def _parsed(path: Path) -> Recording:
    cases, settings = list[RecordedCase](), dict[str, Mapping[str, Any]]()
    for line, row in _rows(path):
        try:
            if _is_heading(row):
                settings[str(row["cfg"])] = dict(row["settings"])
            else:
                cases.append(_case(line, row))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Recording(tuple(cases), settings, not_a_case(path, line, error))
    return Recording(tuple(cases), settings)


def _case(line: int, row: Mapping[str, Any]) -> RecordedCase:
    request, response = row["request"], row["response"]
    code, records = whole_number(request["code"]), row.get("stored")
    stored(records or ())  # raises for what is not a record
    return RecordedCase(
        line=line,
        number=whole_number(row["n"]),
        cfg=str(row["cfg"]),
        name=str(row["case"]),
        version=str(row.get("version", "")),
        to_name_server=row.get("to") == "ns",
        code=code,
        request_version=whole_number(request["version"]) if "version" in request else None,
        fields=expanded(code, request.get("extFields") or {}),
        body_length=whole_number(request.get("body_len") or 0),
        request_body=request.get("body", request.get("body_text")),
        response={"code": response["code"], "remark": response.get("remark"), "fields": response.get("extFields") or {}},
        body=row.get("body"),
        millis=float(row.get("ms") or 0),
        stored=None if records is None else tuple(dict(entry) for entry in records),
        config=ABSENT if "topicConfig" not in row else None if row["topicConfig"] is None else dict(row["topicConfig"]),
    )


def expanded(code: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's fields with their full names (REM-04)."""
    if code not in (codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE):
        return dict(fields)
    return {FULL_NAMES[key]: value for key, value in fields.items() if key in FULL_NAMES}


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a recording with their line numbers, in order. Raises RocketproofError for a file that is not a
    recording."""
    try:
        with open_text(path) as file:
            lines = file.read().split("\n")  # not splitlines: a topic name may contain a Unicode line separator
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RocketproofError(f"{path}: cannot be read as a recording ({reason}); give a file of one JSON case a line") from None
    cases = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise not_a_case(path, number, error) from None
        if not isinstance(row, dict):
            raise not_a_case(path, number, TypeError(f"{type(row).__name__} instead of an object"))
        cases += not _is_heading(row)
        yield number, row
    if not cases:
        raise RocketproofError(f"{path}: holds no case; give a file of one JSON case a line")


def not_a_case(path: Path, number: int, error: Exception) -> RocketproofError:
    """Return the error for a line that is not a case."""
    reason = f"{error} is missing" if isinstance(error, KeyError) else error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return RocketproofError(f"{path}:{number}: not a recorded case ({reason}); a case has n, cfg, case, request and response")


def _is_heading(row: dict[str, Any]) -> bool:
    """Whether a line is not a case, but lists the settings with which the broker of a `cfg` was started."""
    return "settings" in row and "request" not in row


def histories(path: Path) -> tuple[dict[str, dict[str, Any]], Iterator[tuple[str, Event]]]:
    """Return the origin of each `cfg` in a recording, and the events, each with its `cfg`.

    Raises RocketproofError for a line that is not a case, after the events of the cases before it.
    """
    recording = _parsed(path)
    origins: dict[str, dict[str, Any]] = {cfg: {"settings": settings, "recording": True} for cfg, settings in recording.settings.items()}
    for case in recording.cases:
        origins[case.cfg] = {**_origin(case), **origins.get(case.cfg, {"recording": True})}
    return origins, _events(recording, origins)


def by_cfg(path: Path) -> dict[str, tuple[Header, list[Event]]]:
    """Return the history of each `cfg` in a recording. Raises RocketproofError for a line that is not a case."""
    origins, events = histories(path)
    events_of: dict[str, list[Event]] = {}
    for cfg, event in events:
        events_of.setdefault(cfg, []).append(event)
    return {cfg: (Header(origins[cfg]), of_cfg) for cfg, of_cfg in events_of.items()}


def _origin(case: RecordedCase) -> dict[str, Any]:
    brokers = case.body.get("brokerDatas") if isinstance(case.body, dict) else None
    origin: dict[str, Any] = {"broker": brokers[0]["brokerName"], "cluster": brokers[0]["cluster"]} if brokers else {}
    if case.code == codes.GET_ROUTEINFO_BY_TOPIC and case.fields.get("topic") == TEMPLATE:
        origin["settings"] = {"autoCreateTopicEnable": "true"} if case.response["code"] == 0 else {}  # a slave's has no route either
    return origin | ({"target": f"broker {case.version}"} if case.version else {})


def _events(recording: Recording, origins: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Event]]:
    numbers = dict.fromkeys(origins, 0)
    for case in recording.cases:
        for type_, op, value in _events_of(case, origins[case.cfg].get("broker", "broker-a")):
            yield case.cfg, Event(numbers[case.cfg], type_, CLIENT, op, value)
            numbers[case.cfg] += 1
    if recording.problem is not None:
        raise recording.problem


def _events_of(case: RecordedCase, broker: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the events of a case: the request, its answer, and the topic's configuration afterwards."""
    op = OPS.get(case.code, "other")
    if op in SENDS:
        op = "batch" if java_boolean(str(case.fields.get("batch", ""))) else "send"
    asked = {"to": broker, "code": case.code, "fields": case.fields, "bodySize": case.body_length, "case": case.label}
    if case.to_name_server or op == "route":
        asked |= {"to": NAME_SERVER, "broker": broker}
    asked |= {} if case.request_version is None else {"version": case.request_version}
    asked |= {"body": _packed(case.request_body)} if isinstance(case.request_body, dict | str) else {}
    yield "invoke", op, asked
    if case.response["code"] is None:
        yield "info", op, {}
    else:
        answer = dict(case.response)
        answer |= {"stored": list(case.stored)} if case.stored else {}
        answer |= {"body": _packed(case.body)} if op == "route" and isinstance(case.body, dict) else {}
        yield "ok", op, answer
    if case.config != ABSENT and "topic" in case.fields:
        yield "invoke", "topic_config", {"to": broker, "code": 351, "fields": {"topic": case.fields["topic"]}, "after": case.label}
        yield "ok", "topic_config", {"code": 17} if case.config is None else {"code": 0, "body": _packed(case.config)}


def _packed(body: Any) -> str:
    return base64.b64encode((body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "replace")).decode()
