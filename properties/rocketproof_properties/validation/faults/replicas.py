"""A master and its slave: whether the slave has the whole log, and both brokers' other data for `judging.slaves` to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_profiles import inherited
from rocketproof_protocol.codes import GET_ALL_CONSUMER_OFFSET, GET_ALL_DELAY_OFFSET, SUCCESS
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.stored.config import read_json
from rocketproof_traces.stored.errors import StoredError

from ...brokers.deployment import Deployment
from ...brokers.runs.brokerview import contents, tables
from ...brokers.runs.readback import SECONDS, Reader
from ...brokers.runs.waiting import until
from ...judging.slaves import TABLES, View, breaches
from ...judging.wholelog import files
from ...programs.call import RecordedCall
from ...programs.names import ProgramNames

CAUGHT: Final = 30.0
"""Seconds within which a connected slave must have its master's log."""
OWN: Final[Mapping[str, str]] = {
    "brokerId": "1",
    "brokerRole": "SLAVE",
    "slaveReadEnable": "true",
    "haSendHeartbeatInterval": "1000",
}
"""The settings of a slave whose messages can be pulled, and which soon reports where its log ends.

It also has its master's `brokerName` and name server.
"""
_ASKS: Final = {"P40": "66", "P45": "12", "P440": "66", "P500": "66", "P533": "66"}
"""Seconds, by profile, within which a slave requests tables and offsets from its master: at least every ten from 4.5 to 4.9, else 60."""
_LATER: Final = 15.0  # further seconds, because it learns its master's address every ten seconds
_DISPATCHED: Final = 10.0
_LOOK: Final = 0.5
_FILES: Final = {"offsets": "consumerOffset.json", "delays": "delayOffset.json"}
_CODES: Final = {"offsets": GET_ALL_CONSUMER_OFFSET, "delays": GET_ALL_DELAY_OFFSET}
"""The requests by which a slave gets what it writes to these files. A master writes its own files seconds later."""


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

        def copied(both: tuple[View, View]) -> bool:
            return not any(property_ in TABLES for property_, _ in breaches(*both))

        def dispatched(both: tuple[View, View]) -> bool:
            return all(property_ in TABLES for property_, _ in breaches(*both))

        until(lambda: self._both(whole=False), copied, asks(self.profile) + _LATER, _LOOK)
        return until(lambda: self._both(whole=True), dispatched, _DISPATCHED, _LOOK)

    def _both(self, *, whole: bool) -> tuple[View, View]:
        master = self._view(self.master, self.name, self._told, whole=whole)
        return master, self._view(self.slave, self.slave_name, self._written, whole=whole)

    def _view(self, running: Deployment, broker: str, read: Callable[[str], dict[str, int] | None], *, whole: bool) -> dict[str, Any]:
        """Return the data of a broker whose offsets are read by `read`; with `whole` also what its topics contain."""
        reader = Reader(running, broker)
        try:
            view = tables(reader, self.names)
            unread = []
            for kind in _FILES:
                table = read(kind)
                unread += [kind] if table is None else []
                view[kind] = {key: value for key, value in (table or {}).items() if "@" not in key or self.names.is_mine(key)}
            if whole:
                view |= contents(reader, view["topics"])[0]
            return {**view, "missed": [*reader.take()[1], *unread]}
        finally:
            reader.close()

    def _told(self, kind: str) -> dict[str, int] | None:
        """Return the offsets in the master's response to its slave, none if it has none; None if there is no response."""
        try:
            with self.master.connect(self.name) as line:
                answer = line.ask(RecordedCall(kind, self.name, _CODES[kind], {}).command(), SECONDS)
        except RemotingError:
            return None
        return _offsets_of(loads(answer.body)) if answer.code == SUCCESS and answer.body else {}

    def _written(self, kind: str) -> dict[str, int]:
        return offsets(self.slave.store(self.slave_name) / "config" / _FILES[kind]) or {}


def difference(slave_log: bytes, master_log: bytes) -> str:
    """Return where a slave's log ceases to be the beginning of its master's; "" if it is the beginning."""
    if master_log.startswith(slave_log):
        return ""
    pairs = enumerate(zip(slave_log, master_log, strict=False))
    at = next((k for k, (own, theirs) in pairs if own != theirs), len(master_log))
    return f"{len(slave_log)} bytes are as those of its master up to {at}, which has {len(master_log)}"


def offsets(path: Path) -> dict[str, int] | None:
    """Return the offsets in a broker's file, by key; None if it cannot be read, such as while it is replaced."""
    try:
        return _offsets_of(read_json(str(path)))
    except StoredError:
        return None


def _offsets_of(data: Any) -> dict[str, int]:
    """Return the offsets of a table as a broker writes and sends it, by key."""
    result: dict[str, int] = {}
    for name, value in (data.get("offsetTable") or {}).items():
        if isinstance(value, dict):
            result |= {f"{name} {queue}": whole_number(offset) for queue, offset in value.items()}
        else:
            result[str(name)] = whole_number(value)
    return result
