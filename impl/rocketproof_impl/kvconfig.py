"""A name server's configuration: values by namespace and key, set by administrators (KVConfigManager)."""

from __future__ import annotations

from collections.abc import Mapping

from .bounds import ENTRY, MAX_FRAME, TableBudget


class KvConfig:
    """The values. Names and values together take at most MAX_FRAME bytes, because the response to a list is one frame."""

    __slots__ = ("_budget", "_tables")

    def __init__(self) -> None:
        self._budget = TableBudget(MAX_FRAME)
        self._tables: dict[str, dict[str, str]] = {}

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set a value, replacing the previous one. Raises JavaError, without a change, if there is no room."""
        old = self.table(namespace).get(key)
        self._budget.take(len(value) - len(old) if old is not None else ENTRY + len(namespace) + len(key) + len(value))
        self._tables.setdefault(namespace, {})[key] = value

    def has(self, namespace: str) -> bool:
        """Return whether the namespace has a value."""
        return namespace in self._tables

    def table(self, namespace: str) -> Mapping[str, str]:
        """Return the namespace's values by key, empty for an unknown namespace."""
        return self._tables.get(namespace, {})
