"""A master and its slave: whether the slave has the whole log, and both brokers' other data for `judging.slaves` to compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocketproof_profiles import inherited
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.stored.config import read_json
from rocketproof_traces.stored.errors import StoredError

from ...brokers.deployment import Deployment
from ...brokers.runs.brokerview import contents, tables
from ...brokers.runs.readback import Reader
from ...brokers.runs.waiting import until
from ...judging.slaves import TABLES, View, breaches
from ...judging.wholelog import files
from ...programs.names import ProgramNames

CAUGHT: Final = 30.0
"""Seconds within which a connected slave must have its master's log."""
OWN: Final[Mapping[str, str]] = {"brokerId": "1", "brokerRole": "SLAVE", "slaveReadEnable": "true"}
"""The settings of a slave whose messages can be pulled. It also has its master's `brokerName` and name server."""
_ASKS: Final = {"P40": "66", "P45": "12", "P440": "66", "P500": "66", "P533": "66"}
"""Seconds, by profile, within which a slave requests tables and offsets from its master: at least every ten from 4.5 to 4.9, else 60."""
_LATER: Final = 15.0  # further seconds, because it learns its master's address every ten seconds
_DISPATCHED: Final = 10.0
_LOOK: Final = 0.5
_FILES: Final = {"offsets": "consumerOffset.json", "delays": "delayOffset.json"}


def asks(profile: str) -> float:
    """Return the seconds within which a slave requests tables and offsets from its master."""
    return float(inherited(_ASKS, profile))


@dataclass(frozen=True)
class Replica:
    """A broker `name` of a deployment and its slave `slave_name`, which may be in another deployment. `names` chooses the topics and groups
    that are compared."""

    master: Deployment
    name: str
    slave: Deployment
    slave_name: str
    profile: str
    names: ProgramNames

    def caught_up(self) -> tuple[bytes | None, bytes | None]:
        """Return the logs of the slave and its master as soon as they are equal, or after a while. None: a log cannot be read."""

        def logs() -> tuple[bytes | None, bytes | None]:
            both = (files(running.store(name)) for running, name in ((self.slave, self.slave_name), (self.master, self.name)))
            slave_log, master_log = (None if log_files is None else log_files[0] for log_files in both)
            return slave_log, master_log

        return until(logs, lambda pair: pair[0] is not None and pair[0] == pair[1], CAUGHT, 0.2)

    def views(self) -> tuple[View, View]:
        """Return the data of the master and of its slave as soon as they are equal, or when the slave has had the time to copy them.

        `missed` of a view has the queries without a response.
        """
        copied = until(lambda: self._both(whole=False), lambda both: _equal(both, *TABLES), asks(self.profile) + _LATER, _LOOK)
        return until(lambda: self._both(whole=True), _equal, _DISPATCHED, _LOOK) if _equal(copied, "slave.topics") else copied

    def _both(self, *, whole: bool) -> tuple[View, View]:
        return self._view(self.master, self.name, whole=whole), self._view(self.slave, self.slave_name, whole=whole)

    def _view(self, running: Deployment, broker: str, *, whole: bool) -> dict[str, Any]:
        """Return the data of a broker; with `whole` also what its topics contain."""
        reader = Reader(running, broker)
        try:
            view = tables(reader, self.names)
            view |= {kind: self._mine(offsets(running.store(broker) / "config" / name) or {}) for kind, name in _FILES.items()}
            if whole:
                view |= contents(reader, view["topics"])[0]
            return {**view, "missed": reader.take()[1]}
        finally:
            reader.close()

    def _mine(self, table: Mapping[str, int]) -> dict[str, int]:
        """Return the offsets of delay levels, and those of the topics that are compared."""
        return {key: value for key, value in table.items() if "@" not in key or self.names.is_mine(key)}


def _equal(both: tuple[View, View], *properties: str) -> bool:
    """Return whether the views show none of these breaches; of any property if none are given."""
    return not any(property_ in properties or not properties for property_, _ in breaches(*both))


def offsets(path: Path) -> dict[str, int] | None:
    """Return the offsets in a broker's file, by key; None if it cannot be read, such as while it is replaced."""
    try:
        table: dict[str, Any] = read_json(str(path)).get("offsetTable") or {}
    except StoredError:
        return None
    result: dict[str, int] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            result |= {f"{name} {queue}": whole_number(offset) for queue, offset in value.items()}
        else:
            result[str(name)] = whole_number(value)
    return result
