"""Replication between a real 4.9.4 and this implementation, in both directions: the logs are the same, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replicating import COPIED, LOG_SIZE, Load, log_bytes
from waiting import until

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.system.background import Background
from rocketproof_impl.system.client import Client
from rocketproof_impl.system.node import BrokerNode
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.ports import AROUND_BROKER, HOST, free_port
from rocketproof_protocol.codes import GET_MAX_OFFSET, VIEW_MESSAGE_BY_ID

COMMANDS = ("java",)
VERSION = "4.9.4"
NAME = "broker-a"


@contextmanager
def our_broker(running: Deployment, folder: Path, **settings: Any) -> Iterator[BrokerNode]:
    """Run a reference broker that registers at the target's name server."""
    assert running.name_server is not None
    chosen = BrokerSettings(
        broker_name=NAME,
        name_servers=(running.name_server,),
        store_path_root_dir=str(folder),
        mapped_file_size_commit_log=LOG_SIZE,
        mapped_file_size_consume_queue=20_000,
        **settings,
    )
    with Background() as background:
        node = BrokerNode(chosen, profile="P494")
        background.complete(node.start())
        try:
            yield node
        finally:
            background.complete(node.stop())


def test_our_slave_follows_real_master(tmp_path: Path) -> None:
    with Apache(VERSION).open(Setup(settings={"brokerRole": "SYNC_MASTER"})) as running, Client() as client:
        assert running.name_server is not None
        with our_broker(running, tmp_path / "slave", broker_id=1, broker_role="SLAVE", listen_port=0) as slave:
            load = Load(client, running.name_server)
            load.wait_for_slave()
            results = load.run()
            copy, store = tmp_path / "slave", slave.broker.store
            until(lambda: log_bytes(copy) == log_bytes(running.store(NAME)), "the logs differ")
            assert len(log_bytes(copy)) > 1
            until(lambda: store.behind() == 0, "the slave does not dispatch")
            for result in results:
                if result.queue_offset < store.max_offset(COPIED, result.queue.queue_id):
                    assert store.get_message(COPIED, result.queue.queue_id, result.queue_offset) is not None
            assert sum(store.max_offset(COPIED, queue) for queue in range(4)) > 100
            until(lambda: slave.broker.topics.select(COPIED) is not None, "the table of topics is not copied")


def test_real_slave_follows_our_master(tmp_path: Path) -> None:
    port = free_port(AROUND_BROKER)
    own = {
        "brokerRole": "SLAVE", "brokerId": "1", "haMasterAddress": f"{HOST}:{port + 1}", "registerNameServerPeriod": "10000",
    }  # fmt: skip
    with Apache(VERSION).open(Setup(settings=own)) as running, Client() as client:
        assert running.name_server is not None
        settings = {"broker_role": "SYNC_MASTER", "flush_disk_type": "SYNC_FLUSH", "listen_port": port}
        with our_broker(running, tmp_path / "master", **settings) as master:
            load = Load(client, running.name_server)
            load.wait_for_slave()
            results = load.run()
            store, address = master.broker.store, running.brokers[NAME]
            until(lambda: log_bytes(tmp_path / "master") == log_bytes(running.store(NAME)), "the logs differ")
            assert len(log_bytes(tmp_path / "master")) > 1

            def lengths() -> list[str | None]:
                asked = [Command(GET_MAX_OFFSET, {"topic": COPIED, "queueId": str(queue)}) for queue in range(4)]
                return [(client.call(address, each).ext_fields or {}).get("offset") for each in asked]

            until(lambda: lengths() == [str(store.max_offset(COPIED, queue)) for queue in range(4)], "the slave does not dispatch")
            for result in results[::10]:
                offset = int(result.offset_msg_id[16:], 16)
                viewed = client.call(address, Command(VIEW_MESSAGE_BY_ID, {"offset": str(offset)}))
                assert viewed.body == store.select_one_message_by_offset(offset)
