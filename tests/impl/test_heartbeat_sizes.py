"""Counts in a heartbeat are validated before objects are created for them."""

from __future__ import annotations

import json

import pytest
from sending import Stand

from rocketproof_impl.bounds import MAX_CLIENT_GROUPS
from rocketproof_impl.remoting.command import Command
from rocketproof_protocol.codes import HEART_BEAT, SUCCESS, SYSTEM_ERROR


@pytest.mark.parametrize("kind", ["producerDataSet", "consumerDataSet"])
@pytest.mark.parametrize("more", [0, 1])
def test_heartbeat_groups_are_counted_before_any_is_created(kind: str, more: int) -> None:
    stand = Stand("P494")
    groups = [{"groupName": f"g{number}"} for number in range(MAX_CLIENT_GROUPS + more)]
    if not more:
        groups = groups[:3] + groups[:1] * (len(groups) - 3)  # only the count matters
    stand.broker.receive(stand.channel, Command(HEART_BEAT, {}, json.dumps({"clientID": "c", kind: groups}).encode()))
    stand.scheduler.advance(10_000)
    (answer,) = (each for each in stand.channel.written if each.is_response)
    assert answer.code == (SYSTEM_ERROR if more else SUCCESS)
    made = {**stand.broker.producers.groups, **stand.broker.consumers.groups}
    assert len(made) == (0 if more else 3)
