"""A master of one release and a slave of another: what the slave has of its master, and what a consumer can get of it alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replicating import COPIED, Load, log_bytes
from waiting import until

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.system.client import Client
from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import call
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads

COMMANDS = ("java", "mvn")
NAME = "broker-a"
SEND = 40
TOLD = ("readQueueNums", "writeQueueNums", "perm", "order")


def table(address: str, code: int, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(address, Command(code)).body or b"{}")[name]
    return found


def lengths(address: str) -> list[str | None]:
    asked = [Command(codes.GET_MAX_OFFSET, {"topic": COPIED, "queueId": str(queue)}) for queue in range(4)]
    return [(call(address, each).ext_fields or {}).get("offset") for each in asked]


def of_pair(master: Deployment, slave: Deployment) -> dict[str, Any]:
    """Return the slave's data, each kind as soon as it equals the master's."""
    there, here, server = master.brokers[NAME], slave.brokers[NAME], master.name_server
    assert server is not None
    call(there, plain("group", group="g"))
    with Client() as client:
        load = Load(client, server)
        load.wait_for_slave()
        load.run(SEND)
    call(there, plain("commit", topic=COPIED, group="g", offset=1))
    until(lambda: log_bytes(master.store(NAME)) == log_bytes(slave.store(NAME)), "the logs differ")
    until(lambda: lengths(here) == lengths(there), "the slave does not dispatch")
    until(lambda: COPIED in table(here, codes.GET_ALL_TOPIC_CONFIG, "topicConfigTable"), "the table of topics is not copied")
    until(lambda: "g" in table(here, codes.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroupTable"), "the table of groups is not copied")
    asked = plain("progress", topic=COPIED, group="g")
    until(lambda: (call(here, asked).ext_fields or {}).get("offset") == "1", "what groups have told is not copied")
    (routed,) = loads(call(server, plain("route", topic=COPIED)).body or b"")["brokerDatas"]
    mine, its = (table(broker, codes.GET_ALL_TOPIC_CONFIG, "topicConfigTable")[COPIED] for broker in (here, there))
    return {"topic": [name for name in sorted(TOLD) if mine[name] == its[name]], "routed": sorted(map(str, routed["brokerAddrs"]))}


@pytest.mark.parametrize(("first", "second"), [("4.9.4", "5.3.3"), ("5.3.3", "4.9.4")])
def test_slave_of_other_release_has_all_data_of_master(first: str, second: str) -> None:
    with Apache(first).open(Setup(settings={"brokerRole": "SYNC_MASTER"})) as master:
        own = {"brokerRole": "SLAVE", "brokerId": "1", "namesrvAddr": str(master.name_server), "registerNameServerPeriod": "10000"}
        with Apache(second).open(Setup(settings=own)) as slave:
            assert of_pair(master, slave) == {"topic": ["order", "perm", "readQueueNums", "writeQueueNums"], "routed": ["0", "1"]}
            master.kill(NAME)
            pulled = call(slave.brokers[NAME], plain("pull", topic=COPIED, group="g"))
            with InProcess(nearest_profile(second)).open(Setup(settings={"brokerRole": "SLAVE", "brokerId": "1"})) as ours:
                alone = call(ours.brokers[NAME], plain("pull", topic=COPIED, group="g"))
            rejects = PROFILES[nearest_profile(second)].slave_rejects_pulls
            assert (pulled.code, alone.code == codes.SYSTEM_BUSY) == ((codes.SYSTEM_BUSY, True) if rejects else (codes.SUCCESS, False))
            assert not rejects or pulled.remark == alone.remark
