"""Recordings of a broker: requests and answers, one case a line, read into what the specification can speak of.

A case is a send, a topic update, a route query, or out of the specification's reach, with the reason. Both forms of the
send header are read: V1 names for code 10, letters a to m for 310 and 320 (REM-04).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rocketproof_model import RocketproofError
from rocketproof_model.language.types import JAVA_INT
from rocketproof_profiles import RETRY_PREFIX, TEMPLATE

SEND, SEND_V2, BATCH, UPDATE, ROUTE = 10, 310, 320, 17, 105
SERVICE_NOT_AVAILABLE = 14
_V2 = {
    "b": "topic",
    "c": "defaultTopic",
    "d": "defaultTopicQueueNums",
    "e": "queueId",
    "f": "sysFlag",
    "i": "properties",
    "j": "reconsumeTimes",
    "l": "maxReconsumeTimes",
    "m": "batch",
}
_KINDS = {0: "not", 4: "prepared", 8: "commit", 12: "rollback"}
_OTHER_CODES = {10: "flush", 11: "replication", 12: "replication", 13: "size limits", 14: "role of the store", 26: "subscription groups"}
_RETRY_MAX = 16


@dataclass(frozen=True)
class Config:
    """What a recording says of a topic on the broker."""

    read: int
    write: int
    perm: int
    order: bool


@dataclass(frozen=True)
class Stored:
    """A record that the broker stored."""

    topic: str
    queue: int
    offset: int
    kind: str
    size: int
    position: int
    real: tuple[str, int] | None


@dataclass(frozen=True)
class Case:
    """One recorded request with its answer. `config` is absent if it was not recorded, None if the topic did not exist."""

    number: int
    cfg: str
    name: str
    kind: Literal["send", "update", "route", "other"]
    why: str
    topic: str
    default: str
    numbers: int
    queue: int
    transaction: str
    wanted: Config | None
    code: int | None
    remark: str
    answered_queue: int | None
    answered_offset: int | None
    stored: tuple[Stored, ...]
    config: Config | Literal["absent"] | None
    route: dict[str, Config] = field(default_factory=dict)
    cluster: str = ""

    @property
    def label(self) -> str:
        return f"{self.cfg}-{self.number} {self.name!r}"


def read(path: Path) -> list[Case]:
    """The cases of a recording, in order. Raises RocketproofError naming the line that is no case."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RocketproofError(f"{path}: cannot be read as a recording: {error}; give a file of one JSON case a line") from None
    cases = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            cases.append(_case(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RocketproofError(
                f"{path}:{number}: no recorded case ({type(error).__name__}: {error}); a case has n, cfg, case, request and response"
            ) from None
    if not cases:
        raise RocketproofError(f"{path}: holds no case; give a file of one JSON case a line")
    return cases


def _config(entry: dict[str, Any] | None) -> Config | None:
    if entry is None:
        return None
    return Config(entry["readQueueNums"], entry["writeQueueNums"], entry["perm"], bool(entry.get("order", False)))


def _stored(entry: dict[str, Any]) -> Stored:
    props = entry.get("props") or {}
    real = (props["REAL_TOPIC"], int(props["REAL_QID"])) if "REAL_TOPIC" in props and "REAL_QID" in props else None
    return Stored(
        entry["topic"], entry["queueId"], entry["queueOffset"], _KINDS[entry["sysFlag"] & 12], entry["size"], entry["physOffset"], real
    )


def _case(row: dict[str, Any]) -> Case:
    request, response = row["request"], row["response"]
    code = request["code"]
    fields = dict(request["extFields"] or {})
    if code in (SEND_V2, BATCH):
        fields = {_V2[key]: value for key, value in fields.items() if key in _V2}
    answer = response["extFields"] or {}
    stored = tuple(_stored(entry) for entry in row.get("stored") or () if "topic" in entry)
    kind, why = _reach(code, fields, response, stored)
    body = row.get("body") if isinstance(row.get("body"), dict) else {}
    brokers = (body or {}).get("brokerDatas", [])
    return Case(
        number=row["n"],
        cfg=row["cfg"],
        name=row["case"],
        kind=kind,
        why=why,
        topic=str(fields.get("topic", "")),
        default=str(fields.get("defaultTopic", TEMPLATE)),
        numbers=_int(fields.get("defaultTopicQueueNums")),
        queue=_int(fields.get("queueId")),
        transaction=_KINDS[_int(fields.get("sysFlag")) & 12],
        wanted=_config(fields) if kind == "update" else None,
        code=response["code"],
        remark=response.get("remark") or "",
        answered_queue=int(answer["queueId"]) if "queueId" in answer else None,
        answered_offset=int(answer["queueOffset"]) if "queueOffset" in answer else None,
        stored=stored,
        config=_config(row["topicConfig"]) if "topicConfig" in row else "absent",
        route={
            q["brokerName"]: Config(q["readQueueNums"], q["writeQueueNums"], q["perm"], False) for q in (body or {}).get("queueDatas", [])
        },
        cluster=brokers[0]["cluster"] if brokers else "",
    )


def _int(value: Any) -> int:
    return int(value) if value is not None else 0


def _reach(code: int, fields: dict[str, Any], response: dict[str, Any], stored: tuple[Stored, ...]) -> tuple[Any, str]:
    """(kind, reason why it is out of reach)."""
    answered = response["code"]
    if code == ROUTE:
        return "route", ""
    if code == UPDATE:
        if fields.get("topicFilterType", "SINGLE_TAG") not in ("SINGLE_TAG", "MULTI_TAG"):
            return "other", "filter types"
        return "update", ""
    if code not in (SEND, SEND_V2):
        return "other", "batches" if code == BATCH else f"request code {code}"
    for name in ("queueId", "defaultTopicQueueNums", "sysFlag"):
        if not JAVA_INT[0] <= _int(fields.get(name)) <= JAVA_INT[1]:
            return "other", "headers that do not decode"
    if str(fields.get("batch", False)).lower() == "true":
        return "other", "batches"
    if answered in _OTHER_CODES:
        return "other", _OTHER_CODES[answered]
    properties = str(fields.get("properties") or "")
    keys = {item.partition("\x01")[0] for item in properties.split("\x02") if item}
    if "DELAY" in keys:
        return "other", "delayed messages"
    if "TRAN_MSG" in keys:
        return "other", "transactional messages"
    if "..." in properties:
        return "other", "size limits"
    if str(fields.get("topic", "")).startswith(RETRY_PREFIX):
        limit = fields.get("maxReconsumeTimes")
        if _int(fields.get("reconsumeTimes")) >= (_RETRY_MAX if limit is None else int(limit)):
            return "other", "dead letters"
    return "send", ""
