"""A name server's configuration: values by namespace and key, which administrators put (KVConfigManager)."""

from __future__ import annotations

from collections.abc import Mapping

from .bounds import ENTRY, MAX_FRAME, TableBudget


class KvConfig:
    """The values. All of them with their names take MAX_FRAME bytes at most: the answer to a list is one frame."""

    __slots__ = ("_room", "_tables")

    def __init__(self) -> None:
        self._room = TableBudget(MAX_FRAME)
        self._tables: dict[str, dict[str, str]] = {}

    def put(self, namespace: str, key: str, value: str) -> None:
        """Put a value in place of the one before. Raises JavaError, and changes nothing, if there is no room."""
        old = self.table(namespace).get(key)
        self._room.take(len(value) - len(old) if old is not None else ENTRY + len(namespace) + len(key) + len(value))
        self._tables.setdefault(namespace, {})[key] = value

    def has(self, namespace: str) -> bool:
        """Return whether a value was put there."""
        return namespace in self._tables

    def table(self, namespace: str) -> Mapping[str, str]:
        """Return key to value of a namespace, empty for an unknown one."""
        return self._tables.get(namespace, {})
