"""Whether the specification covers a request: a send, a topic update, a route query, or another request, with the reason.

Only this module decides that from the contents of a request. A topic's configuration and a stored record have their types here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rocketproof_protocol.codes import (
    FLUSH_DISK_TIMEOUT,
    FLUSH_SLAVE_TIMEOUT,
    GET_ROUTEINFO_BY_TOPIC,
    NO_PERMISSION,
    SEND_BATCH_MESSAGE,
    SEND_MESSAGE,
    SEND_MESSAGE_V2,
    SLAVE_NOT_AVAILABLE,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    UPDATE_AND_CREATE_TOPIC,
)
from rocketproof_protocol.fastjson import text_of
from rocketproof_protocol.fields import REQUIRED_OF_A_SEND
from rocketproof_protocol.flags import COMMIT, NOT, PREPARED, ROLLBACK, TRANSACTION_BITS
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import java_boolean, java_int, java_long, whole_number
from rocketproof_protocol.properties import DELAY, NAME_END, PROPERTY_END, REAL_QID, REAL_TOPIC, TRAN_MSG
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_spec.bounds import NAMES_LIMIT, is_given_up, retry_limit_of

KINDS = {NOT: "not", PREPARED: "prepared", COMMIT: "commit", ROLLBACK: "rollback"}
COUNTED = ("not", "commit")
"""The kinds of records that count in their queue."""
STATUSES = {FLUSH_DISK_TIMEOUT: "flush", SLAVE_NOT_AVAILABLE: "replication", FLUSH_SLAVE_TIMEOUT: "replication"}
_Numbers = Mapping[str, Callable[[str], int | None]]
_OF_A_SEND: _Numbers = {
    **dict.fromkeys(("defaultTopicQueueNums", "queueId", "sysFlag", "flag", "reconsumeTimes", "maxReconsumeTimes"), java_int),
    "bornTimestamp": java_long,
}
_OF_A_SEND_BACK: _Numbers = {"delayLevel": java_int, "offset": java_long}
ATTRIBUTES: Final = "attributes of topics"
_PLAIN_ATTRIBUTES: Final = re.compile(r"\+message\.type=(?:NORMAL|FIFO|DELAY|TRANSACTION)")
_OTHER_FILES: Final = ("BatchCQ", "COMPACTION")
_COUNTS = ("readQueueNums", "writeQueueNums", "perm")
_OF_AN_UPDATE: _Numbers = dict.fromkeys(_COUNTS, java_int)
CUT = re.compile(r"\.\.\.\(([0-9]+)\)$")  # how a recording shortens a long value
_LARGE_PROPERTIES, _LARGE_BODY = 32_000, 4_000_000  # near the limits, which the specification does not know
UNREADABLE = "headers that do not decode"
DEAD, AT_LIMIT, UNKNOWN_LIMIT = "dead letters", "retries at their limit", "retries of a group whose limit nobody recorded"
NO_GROUP = "subscription groups"
BATCHES = "batches"


Kind = Literal["send", "update", "route", "other"]


@dataclass(frozen=True)
class Config:
    """A topic's configuration."""

    read: int
    write: int
    perm: int
    order: bool

    def __str__(self) -> str:
        return f"(read {self.read}, write {self.write}, perm {self.perm}{', order' if self.order else ''})"


@dataclass(frozen=True)
class StoredMessage:
    """A record that the broker stored. `real` are its destination topic and queue if it is first stored elsewhere."""

    topic: str
    queue: int
    offset: int
    kind: str
    real: tuple[str, int] | None


def _bool(value: Any) -> bool:
    return java_boolean(str(value))


def _int(value: Any) -> int:
    return whole_number(value) if value is not None else 0


def stored(entries: Iterable[Mapping[str, Any]]) -> tuple[StoredMessage, ...]:
    """Return the records in a recording's list of stored records. Raises ValueError, KeyError, TypeError or AttributeError for invalid
    ones."""
    return tuple(_stored(entry) for entry in entries if "topic" in entry)


def _stored(entry: Mapping[str, Any]) -> StoredMessage:
    props = entry.get("props") or {}
    real = (str(props[REAL_TOPIC]), whole_number(props[REAL_QID])) if REAL_TOPIC in props and REAL_QID in props else None
    kind = KINDS[_int(entry.get("sysFlag")) & TRANSACTION_BITS]
    return StoredMessage(str(entry["topic"]), whole_number(entry["queueId"]), whole_number(entry["queueOffset"]), kind, real)


def properties_of(text: str) -> dict[str, str]:
    """Return the message's properties (SEND-26). An item without a value is ignored."""
    items = [item.partition(NAME_END) for item in text.split(PROPERTY_END)]
    return {name: value for name, _, value in items if name and value}


def has_plain_attributes(fields: Mapping[str, Any]) -> bool:
    """Whether a topic update requests no attributes, or only a message type that every release with attributes accepts.

    For other attributes, the specification does not know whether a release accepts them.
    """
    text = fields.get("attributes")
    return not text or _PLAIN_ATTRIBUTES.fullmatch(str(text)) is not None


def has_other_files(fields: Mapping[str, Any]) -> bool:
    """Whether a topic update requests queues or log files of another format, which neither the specification nor the reference
    implementation knows."""
    return any(value in str(fields.get("attributes") or "") for value in _OTHER_FILES)


def reach(
    code: int,
    fields: Mapping[str, Any],
    properties: Mapping[str, str],
    answered: int | None,
    body: int,
    version: int = NAMES_LIMIT,
    group_limit: int | None = RETRY_MAX_TIMES,
) -> tuple[Kind, str]:
    """Return whether the specification covers a request, and otherwise why not. The answer decides only if no field of the request does.

    `properties` are the message's, `body` is its size in bytes, `version` the request's version. `group_limit` is the retry limit of a
    retry topic's group, None if unknown.
    """
    if code == GET_ROUTEINFO_BY_TOPIC:
        return "route", ""
    if code == UPDATE_AND_CREATE_TOPIC:
        if fields.get("topicFilterType", "SINGLE_TAG") not in ("SINGLE_TAG", "MULTI_TAG"):
            return "other", "filter types"
        if not _decodes(fields, _COUNTS, _OF_AN_UPDATE):
            return "other", UNREADABLE
        if any(whole_number(fields[name]) < 0 for name in _COUNTS) or whole_number(fields["perm"]) > 15:
            return "other", "counts or permissions that no topic has"
        if not has_plain_attributes(fields):
            return "other", ATTRIBUTES
        return ("other", "order topics") if _bool(fields.get("order", False)) else ("update", "")
    if code not in (SEND_MESSAGE, SEND_MESSAGE_V2):
        return "other", BATCHES if code == SEND_BATCH_MESSAGE else f"request code {code}"
    if not _decodes(fields, REQUIRED_OF_A_SEND, _OF_A_SEND):
        return "other", UNREADABLE
    if "batch" in fields and _bool(fields["batch"]):
        return "other", BATCHES
    text = str(fields.get("properties") or "")
    if body > _LARGE_BODY or (text and (len(text.encode()) > _LARGE_PROPERTIES or CUT.search(text))):
        return "other", "size limits"
    stored = answered == 0 or answered is None or answered in STATUSES
    if DELAY in properties and (java_int(properties[DELAY]) is None or (whole_number(properties[DELAY]) > 0 and stored)):
        return "other", "delayed messages"
    if _bool(properties.get(TRAN_MSG, "")) and (stored or answered == NO_PERMISSION):
        return "other", "transactional messages"
    why = _retried(fields, answered, version, group_limit) if str(fields["topic"]).startswith(RETRY_PREFIX) else ""
    return ("other", why) if why else ("send", "")


def _retried(fields: Mapping[str, Any], answered: int | None, version: int, group_limit: int | None) -> str:
    """Return why a send to a retry topic is not covered: it may have become a dead letter (DLQ-02, DLQ-03)."""
    requested, times = number_of(fields, "maxReconsumeTimes"), number_of(fields, "reconsumeTimes") or 0
    if group_limit is None and (requested is None or version < NAMES_LIMIT):
        return UNKNOWN_LIMIT if times > 0 else ""
    limit = retry_limit_of(requested, version, group_limit or 0)
    if is_given_up(times, limit, beyond=True):
        return DEAD
    if answered == SUBSCRIPTION_GROUP_NOT_EXIST:
        return NO_GROUP
    return AT_LIMIT if is_given_up(times, limit) else ""


def decodes_send_back(fields: Mapping[str, Any]) -> bool:
    """Whether the numbers in the header of a send-back decode. If not, the broker answers before any effect."""
    return _decodes(fields, (), _OF_A_SEND_BACK)


def number_of(fields: Mapping[str, Any], name: str) -> int | None:
    """Return an optional int of a header. None if it is missing or Java does not parse its text; the broker then has null (REM-04)."""
    return None if fields.get(name) is None else java_int(text_of(fields[name]))


def _decodes(fields: Mapping[str, Any], required: Iterable[str], numbers: _Numbers) -> bool:
    """Whether a header decodes: required fields are present, and Java parses its numbers."""
    present = {name: value for name, value in fields.items() if value is not None}
    return present.keys() >= set(required) and all(
        read(text_of(present[name])) is not None for name, read in numbers.items() if name in present
    )
