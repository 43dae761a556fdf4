"""A simulated master and its slave: an error planted in either is a finding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocketproof_impl import nameserver
from rocketproof_impl.broker.slave import SlaveSynchronize
from rocketproof_impl.store import haclient
from rocketproof_impl.store.flush import Durability
from rocketproof_impl.store.ha import OFFSET
from rocketproof_properties.conformance.drivers.doubles import RECORD
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour
FOLLOWED = ["register_slave()", "connect()"]


def more_than_it_has(end: int) -> bytes:
    return OFFSET.pack(end + RECORD)


def good_enough(self: Durability, where: int) -> bool:
    """Accept a slave that is exactly at the limit."""
    behind = where - self.replicas.push2_slave_max_offset
    return self.replicas.connections > 0 and behind <= self.settings.ha_slave_fall_behind_max


async def copies_nothing(self: SlaveSynchronize) -> None:
    return None


def asks_nobody(self: Durability, appended: Any, message: Any) -> None:
    return None


@behaviour("FLU-07", "FLU-08", "INV-06", "NS-08")
@pytest.mark.parametrize(
    ("where", "name", "planted", "steps"),
    [
        (Durability, "slave_ok", good_enough, [*FOLLOWED, "put(late=False)", "time_out()", "put(late=False)"]),
        (Durability, "ask_replica", asks_nobody, ["put(late=True)"]),
        (haclient, "OFFSET", SimpleNamespace(pack=more_than_it_has), [*FOLLOWED, "put(late=False)", "copy()", "report()", "confirm()"]),
        (SlaveSynchronize, "sync_all", copies_nothing, ["create()", "register_slave()", "copy_topics()", "lose_master()", "promote()"]),
        (nameserver.NameServer, "_clean", lambda *_: None, ["create()", "lose_master()"]),
    ],
    ids=["lag", "flush first", "report", "topics", "route"],
)
def test_another_pair_is_finding(where: Any, name: str, planted: Any, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    replay("pair", "P49", steps, {"lags": True})
    monkeypatch.setattr(where, name, planted)
    with pytest.raises(ConformanceError):
        replay("pair", "P49", steps, {"lags": True})
