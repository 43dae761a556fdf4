"""Turn recordings of single requests into histories: one client sends one request after the other. Each `cfg` is one history.

The headers of these histories have `recording`: true, and their events have further fields. In an invocation, `case` names the recorded
case, and `after` the case after which the topic is queried. In an answer, `stored` are the records of the request that were found in the
store. In a request for a route, `broker` names the broker whose registrations the route shows.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rocketproof_protocol import codes
from rocketproof_protocol.numbers import java_boolean, whole_number
from rocketproof_protocol.topics import TEMPLATE

from . import Event
from .cases import expanded, is_heading, no_case, rows, stored
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


def histories(path: Path) -> tuple[dict[str, dict[str, Any]], Iterator[tuple[str, Event]]]:
    """Return the origin of each `cfg` in the recording, and the events, each with its `cfg`. Raises RocketproofError for a line that is
    not a case."""
    lines = list(rows(path))
    origins: dict[str, dict[str, Any]] = {}
    for _, row in lines:
        cfg = str(row.get("cfg"))
        origin = {"settings": row["settings"]} if is_heading(row) else _origin(row)
        origins[cfg] = {**origin, **origins.get(cfg, {"recording": True})}
    return origins, _events(path, lines, origins)


def _origin(row: dict[str, Any]) -> dict[str, Any]:
    body = row.get("body")
    brokers = body.get("brokerDatas") if isinstance(body, dict) else None
    origin: dict[str, Any] = {"broker": brokers[0]["brokerName"], "cluster": brokers[0]["cluster"]} if brokers else {}
    request = row["request"] if isinstance(row.get("request"), dict) else {}
    if request.get("code") == codes.GET_ROUTEINFO_BY_TOPIC and (request.get("extFields") or {}).get("topic") == TEMPLATE:
        origin["settings"] = {"autoCreateTopicEnable": "true"} if row["response"]["code"] == 0 else {}  # a slave's has no route either
    return origin | ({"target": f"broker {row['version']}"} if "version" in row else {})


def _events(path: Path, lines: list[tuple[int, dict[str, Any]]], origins: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Event]]:
    numbers = dict.fromkeys(origins, 0)
    for line, row in lines:
        if is_heading(row):
            continue
        cfg = str(row.get("cfg"))
        try:
            case_events = _case(row, origins[cfg].get("broker", "broker-a"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise no_case(path, line, error) from None
        for type_, op, value in case_events:
            yield cfg, Event(numbers[cfg], type_, CLIENT, op, value)
            numbers[cfg] += 1


def _case(row: dict[str, Any], broker: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return a case as events: the request, its answer, and the topic's configuration afterwards."""
    request, response = row["request"], row["response"]
    code = whole_number(request["code"])
    fields = expanded(code, request.get("extFields") or {})
    op = OPS.get(code, "other")
    if op in SENDS:
        op = "batch" if java_boolean(str(fields.get("batch", ""))) else "send"
    case = f"{row['cfg']}-{row['n']} {row['case']!r}"
    request_value = {"to": broker, "code": code, "fields": fields, "bodySize": whole_number(request.get("body_len") or 0), "case": case}
    if row.get("to") == "ns" or op == "route":
        request_value |= {"to": NAME_SERVER, "broker": broker}
    request_value |= {"version": whole_number(request["version"])} if "version" in request else {}
    request_value |= {"body": _packed(request["body"])} if isinstance(request.get("body"), dict | str) else {}
    events: list[tuple[str, str, dict[str, Any]]] = [("invoke", op, request_value)]
    if response["code"] is None:
        events.append(("info", op, {}))
    else:
        answer = {"code": response["code"], "remark": response.get("remark"), "fields": response.get("extFields") or {}}
        if row.get("stored"):
            stored(row["stored"])  # raises for what is not a record
            answer["stored"] = row["stored"]
        answer |= {"body": _packed(row["body"])} if op == "route" and isinstance(row.get("body"), dict) else {}
        events.append(("ok", op, answer))
    if "topicConfig" in row and "topic" in fields:
        config = row["topicConfig"]
        query_value = {"to": broker, "code": 351, "fields": {"topic": fields["topic"]}, "after": case}
        events.append(("invoke", "topic_config", query_value))
        events.append(("ok", "topic_config", {"code": 17} if config is None else {"code": 0, "body": _packed(config)}))
    return events


def _packed(body: Any) -> str:
    return base64.b64encode((body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "replace")).decode()
