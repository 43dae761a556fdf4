"""What a slave takes over of its master's tables."""

from __future__ import annotations

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_properties.steps.vocabulary import plain

MASTER, SLAVE = "broker-a", "broker-a:1"


def pair() -> Cluster:
    cluster = Cluster(0)
    for number, role in enumerate(("ASYNC_MASTER", "SLAVE")):
        settings = BrokerSettings(
            broker_name=MASTER,
            broker_id=number,
            broker_role=role,  # type: ignore[arg-type]
            listen_port=10911 + 10 * number,
            name_servers=(NAME_SERVER,),
        )
        cluster.start(cluster.add(settings, start=False))
    return cluster


def test_a_slave_takes_over_topics_and_groups_and_what_is_gone_goes() -> None:
    cluster = pair()
    master, slave = cluster.broker(MASTER), cluster.broker(SLAVE)
    for step in (plain("topic", topic="T"), plain("group", group="g")):
        cluster.call(step, MASTER)
    slave.groups.table["mine"] = SubscriptionGroupConfig("mine")
    cluster.scheduler.complete(slave.slave.sync_all())
    assert slave.topics.table.keys() == master.topics.table.keys() and "T" in slave.topics.table
    assert slave.groups.table == master.groups.table and "g" in slave.groups.table
    assert slave.groups.data_version == master.groups.data_version
    before = slave.groups.table
    cluster.scheduler.complete(slave.slave.sync_all())
    assert slave.groups.table is before, "the master has no other version"


def test_a_master_takes_over_nothing() -> None:
    cluster = pair()
    master, slave = cluster.broker(MASTER), cluster.broker(SLAVE)
    cluster.call(plain("group", group="g"), MASTER)
    cluster.scheduler.complete(master.slave.sync_all())
    assert "g" in master.groups.table and "g" not in slave.groups.table
