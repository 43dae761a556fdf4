"""Read the small files of a store: topics.json and the other tables, the checkpoint, the abort file of a broker that is running or crashed.

The tables are JSON as fastjson writes it: the names of an object may be bare numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import INT, whole_number

from .errors import StoredError
from .paths import exists, join, read_whole

_TIMES = Struct(">qqq")
_OFFSETS = Struct(">qq")


@dataclass(frozen=True)
class TopicRow:
    """An entry of topics.json. `name` is its key, `topic` the name in its value."""

    name: str
    topic: str
    read: int
    write: int
    perm: int
    order: bool
    sys_flag: int
    filter_type: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Topics:
    """topics.json: its data version and its entries by name. `state_version` exists since 5.x, before that it is 0."""

    path: str
    counter: int
    timestamp: int
    state_version: int
    topics: dict[str, TopicRow]


@dataclass(frozen=True)
class CheckpointTimes:
    """The checkpoint of a store.

    `physic`, `logics`, `index`: store timestamps in milliseconds up to which the log, the queues and the index are on the device, 0 for
    never. `master_flushed`, `confirmed`: physical offsets of 5.x.
    """

    physic: int
    logics: int
    index: int
    master_flushed: int
    confirmed: int


def read_json(path: str) -> dict[str, Any]:
    """Return the JSON object in a file. Raises StoredError if the file contains anything else."""
    try:
        text = read_whole(path).decode("utf-8")
        data = loads(text, most=None)
    except UnicodeDecodeError as error:
        raise StoredError(path, f"is no text in UTF-8 (byte {error.start})", "give the broker's own file") from None
    except ValueError as error:
        raise StoredError(path, f"is no JSON ({error})", "give the broker's own file, or the one beside it that ends in .bak") from None
    if not isinstance(data, dict):
        raise StoredError(path, "is no JSON object", "give the broker's own file")
    return data


def read_topics(path: str) -> Topics:
    """Read topics.json. Raises StoredError."""
    data = read_json(path)
    version, table = data.get("dataVersion") or {}, data.get("topicConfigTable")
    if not isinstance(table, dict) or not isinstance(version, dict):
        raise StoredError(path, "has no topicConfigTable", "give config/topics.json of a store")
    try:
        rows = {name: _row(name, row) for name, row in table.items()}
        numbers = [whole_number(version.get(name) or 0) for name in ("counter", "timestamp", "stateVersion")]
    except (AttributeError, TypeError, ValueError) as error:
        raise StoredError(path, f"has an entry of another form ({error})", "give config/topics.json of a store") from None
    return Topics(path, numbers[0], numbers[1], numbers[2], rows)


def _row(name: str, row: dict[str, Any]) -> TopicRow:
    return TopicRow(
        name,
        str(row.get("topicName", name)),
        whole_number(row.get("readQueueNums", 16), INT),
        whole_number(row.get("writeQueueNums", 16), INT),
        whole_number(row.get("perm", 6), INT),
        bool(row.get("order", False)),
        whole_number(row.get("topicSysFlag", 0), INT),
        str(row.get("topicFilterType", "SINGLE_TAG")),
        {str(key): str(value) for key, value in (row.get("attributes") or {}).items()},
    )


def read_checkpoint(path: str) -> CheckpointTimes:
    """Read the checkpoint. Raises StoredError."""
    data = read_whole(path)
    if len(data) < _TIMES.size + _OFFSETS.size:
        raise StoredError(path, f"has {len(data)} bytes, fewer than a checkpoint", "delete it: the broker starts without one")
    return CheckpointTimes(*_TIMES.unpack_from(data), *_OFFSETS.unpack_from(data, _TIMES.size))


def has_abort(folder: str) -> bool:
    """Return whether the store's broker is running or stopped without a shutdown. Raises StoredError."""
    return exists(join(folder, "abort"))
