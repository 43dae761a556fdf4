"""The offsets of consumer groups by topic and queue, and their file (ConsumerOffsetManager)."""

from __future__ import annotations

import json
from typing import Any

from rocketproof_profiles import Profile
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import INT, whole_number

from .. import persistence
from ..bounds import ENTRY, MAX_TABLE, TableBudget
from ..ports import Disk
from .settings import BrokerSettings


class ConsumerOffsetManager:
    """`table` maps "topic@group" and queue id to the offset of the group's next message."""

    __slots__ = ("_budget", "_disk", "_in_place", "path", "table")

    def __init__(self, settings: BrokerSettings, profile: Profile, disk: Disk) -> None:
        self._disk = disk
        self._in_place = profile.overwrites_in_place
        self.path = f"{settings.store_path_root_dir}/config/consumerOffset.json"
        self._budget = TableBudget(MAX_TABLE)
        self.table: dict[str, dict[int, int]] = {}

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store the offset, even if it is smaller than the previous one. Raises JavaError, without a change, if there is no room for
        another queue."""
        name = f"{topic}@{group}"
        if name not in self.table:
            self._budget.take(_size(name, 1))
        elif queue_id not in self.table[name]:
            self._budget.take(ENTRY)
        self.table.setdefault(name, {})[queue_id] = offset

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the committed offset, None if there is none."""
        return self.table.get(f"{topic}@{group}", {}).get(queue_id)

    def remove(self, group: str) -> None:
        """Remove a group's offsets in all topics."""
        self._replace({name: offsets for name, offsets in self.table.items() if name.split("@")[1:] != [group]})

    def remove_topic(self, topic: str) -> None:
        """Remove all groups' offsets in a topic."""
        self._replace(
            {name: offsets for name, offsets in self.table.items() if not (name.count("@") == 1 and name.startswith(f"{topic}@"))}
        )

    def _replace(self, table: dict[str, dict[int, int]]) -> None:
        self.table = table
        self._budget.used = sum(_size(name, len(offsets)) for name, offsets in table.items())

    def text(self) -> str:
        """Return the table as consumerOffset.json and the response to request 43 contain it: queue ids are unquoted keys."""
        queues = ",".join(_entry(name, offsets) for name, offsets in self.table.items())
        return f'{{\n\t"offsetTable":{{{queues}\n\t}}\n}}'

    def take(self, text: str) -> None:
        """Add the master's entries to the table, replacing entries of the same names, and persist.

        Raises ValueError, TypeError or AttributeError for other shapes.
        """
        self._replace(self.table | _table(loads(text)))
        self.persist()

    def persist(self) -> None:
        """Write consumerOffset.json (PER-01)."""
        persistence.persist(self._disk, self.text(), self.path, in_place=self._in_place)

    def load(self) -> bool:
        """Read consumerOffset.json or its backup. Return False if the broker must not start (PER-03)."""
        return persistence.load(self._disk, self.path, self._decode)

    def _decode(self, text: str) -> None:
        data = loads(text, most=None)
        if data is not None:
            self._replace(_table(data))


def _table(data: Any) -> dict[str, dict[int, int]]:
    table = {} if data is None else data.get("offsetTable") or {}
    return {name: {whole_number(queue, INT): whole_number(offset) for queue, offset in offsets.items()} for name, offsets in table.items()}


def _size(name: str, queues: int) -> int:
    """Return the bytes counted for a group's offsets in a topic."""
    return len(name) + ENTRY * (1 + queues)


def _entry(name: str, offsets: dict[int, int]) -> str:
    queues = ",".join(f"{queue_id}:{offset}" for queue_id, offset in sorted(offsets.items()))
    return f"{json.dumps(name, ensure_ascii=False)}:{{{queues}}}"
