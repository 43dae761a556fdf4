"""Mutants of the name server, and of the wire names of a send request's fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..patch import Patch, Text, ValuePatch

_SERVER = "rocketproof_impl.routeinfo:RouteInfoManager"
_LAYOUT = "rocketproof_impl.remoting.headers:SEND_V2"


def _exchanged(first: str, second: str) -> Callable[[Any], Any]:
    """Return a change of a layout that exchanges two field names."""
    names = {first: second, second: first}
    return lambda layout: tuple((attribute, names.get(name, name), parse, required) for attribute, name, parse, required in layout)


PATCHES: dict[str, Patch] = {
    "M-114": [
        Text(
            f"{_SERVER}.is_topic_config_changed",
            "live.data_version != version",
            "(live.data_version.timestamp, live.data_version.counter) < (version.timestamp, version.counter)",
        )
    ],
    "M-115": [
        Text(
            f"{_SERVER}.register_broker",
            "changed = register_first or self.is_topic_config_changed(who, version)\n",
            "changed = register_first or self.is_topic_config_changed(who, version)\n"
            "for topic in self.topic_queue_table.keys() - table.keys() if changed else ():\n"
            "    entries = self.topic_queue_table[topic]\n"
            "    entries[:] = [entry for entry in entries if entry.broker_name != broker_name]\n"
            "    if not entries:\n"
            "        del self.topic_queue_table[topic]\n",
        )
    ],
    "M-116": [
        Text(f"{_SERVER}._update_queue_data", "entries[:] = [entry for entry in entries if entry.broker_name != new.broker_name]\n", "")
    ],
    "M-117": [Text(f"{_SERVER}._reads_topics", "if broker_id == MASTER_ID:", "if True:")],
    "M-118a": [Text(f"{_SERVER}.scan", "EXPIRED_MILLIS < now", "EXPIRED_MILLIS <= now")],
    "M-118b": [Text(f"{_SERVER}._clean", "self._drop_topics(broker.broker_name)", "")],
    "M-120a": [ValuePatch(_LAYOUT, _exchanged("j", "l"))],
    "M-120b": [ValuePatch(_LAYOUT, _exchanged("k", "m"))],
}
