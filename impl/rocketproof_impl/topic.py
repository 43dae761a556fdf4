"""Topic configurations, the version of a topic table, permission bits, and the JSON of each (TCM-01, TCM-02, PERM-01)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rocketproof_protocol.flags import INHERIT, READ, WRITE
from rocketproof_protocol.numbers import INT, whole_number

from .java import hash_map_order

SINGLE_TAG, MULTI_TAG = "SINGLE_TAG", "MULTI_TAG"


@dataclass(slots=True)
class TopicConfig:
    """The configuration of a topic, with RocketMQ's defaults. Two are equal if all fields are (TCM-01).

    Mutable: TCM-13 changes the template's own entry. `attributes` is None in releases without attributes.
    """

    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = READ | WRITE
    topic_filter_type: str = SINGLE_TAG
    topic_sys_flag: int = 0
    order: bool = False
    attributes: dict[str, str] | None = None

    def copy(self) -> TopicConfig:
        return replace(self, attributes=None if self.attributes is None else dict(self.attributes))

    def __str__(self) -> str:
        """TopicConfig.toString(), part of a remark (CHK-10)."""
        return (
            f"TopicConfig [topicName={self.topic_name}, readQueueNums={self.read_queue_nums}, writeQueueNums={self.write_queue_nums}, "
            f"perm={perm_text(self.perm)}, topicFilterType={self.topic_filter_type}, topicSysFlag={self.topic_sys_flag}, "
            f"order={'true' if self.order else 'false'}{self._attributes_text()}]"
        )

    def _attributes_text(self) -> str:
        if self.attributes is None:
            return ""
        named = (f"{name}={self.attributes[name]}" for name in hash_map_order(tuple(self.attributes)))
        return f", attributes={{{', '.join(named)}}}"


@dataclass(slots=True)
class DataVersion:
    """The version of a table: the time of its last change in milliseconds, and a counter. Equality compares both."""

    timestamp: int
    counter: int = 0

    def next_version(self, now: int) -> None:
        """Set the time, then increment the counter (TCM-02)."""
        self.timestamp = now
        self.counter += 1

    def copy(self) -> DataVersion:
        return replace(self)


def is_readable(perm: int) -> bool:
    return perm & READ == READ


def is_writeable(perm: int) -> bool:
    return perm & WRITE == WRITE


def is_inherited(perm: int) -> bool:
    return perm & INHERIT == INHERIT


def without_inherit(perm: int) -> int:
    """Return the permission with the INHERIT bit cleared. It is never subtracted (PERM-01)."""
    return perm & ~INHERIT


def perm_text(perm: int) -> str:
    """Return PermName.perm2String: `RWX`, with `-` for each missing permission."""
    return f"{'R' if is_readable(perm) else '-'}{'W' if is_writeable(perm) else '-'}{'X' if is_inherited(perm) else '-'}"


def table_to_data(table: dict[str, TopicConfig], version: DataVersion) -> dict[str, Any]:
    """Return the serialised table as the file and a registration contain it."""
    return {
        "dataVersion": version_to_data(version),
        "topicConfigTable": {
            name: {
                **({} if config.attributes is None else {"attributes": dict(config.attributes)}),
                "order": config.order,
                "perm": config.perm,
                "readQueueNums": config.read_queue_nums,
                "topicFilterType": config.topic_filter_type,
                "topicName": config.topic_name,
                "topicSysFlag": config.topic_sys_flag,
                "writeQueueNums": config.write_queue_nums,
            }
            for name, config in table.items()
        },
    }


def table_from_data(data: Any) -> tuple[dict[str, TopicConfig], DataVersion | None]:
    """Read the result of `table_to_data`. Missing fields get their defaults.

    Raises ValueError, TypeError, KeyError or AttributeError for other shapes.
    """
    table = {}
    for name, entry in (data.get("topicConfigTable") or {}).items():
        defaults = TopicConfig(entry.get("topicName", name))
        table[name] = TopicConfig(
            defaults.topic_name,
            whole_number(entry.get("readQueueNums", defaults.read_queue_nums), INT),
            whole_number(entry.get("writeQueueNums", defaults.write_queue_nums), INT),
            whole_number(entry.get("perm", defaults.perm), INT),
            str(entry.get("topicFilterType", defaults.topic_filter_type)),
            whole_number(entry.get("topicSysFlag", defaults.topic_sys_flag), INT),
            bool(entry.get("order", defaults.order)),
            None if entry.get("attributes") is None else {str(key): str(value) for key, value in entry["attributes"].items()},
        )
    version = data.get("dataVersion")
    return table, None if version is None else version_from_data(version)


def version_to_data(version: DataVersion) -> dict[str, int]:
    return {"counter": version.counter, "timestamp": version.timestamp}


def version_from_data(data: Any) -> DataVersion:
    return DataVersion(whole_number(data["timestamp"]), whole_number(data["counter"]))
