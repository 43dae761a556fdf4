"""The tables that a slave copies from its master."""

from __future__ import annotations

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.store.settings import Role
from rocketproof_properties.programs.vocabulary import plain

MASTER, SLAVE = "broker-a", "broker-a:1"


def pair() -> Cluster:
    cluster = Cluster(0)
    roles: tuple[Role, Role] = ("ASYNC_MASTER", "SLAVE")
    for number, role in enumerate(roles):
        settings = BrokerSettings(
            broker_name=MASTER,
            broker_id=number,
            broker_role=role,
            listen_port=10911 + 10 * number,
            name_servers=(NAME_SERVER,),
        )
        cluster.start(cluster.add(settings, start=False))
    return cluster


def test_slave_copies_topics_and_groups_and_deletes_missing_entries() -> None:
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


def test_slave_copies_offsets_and_delivers_no_delayed_message() -> None:
    cluster = pair()
    master, slave = cluster.broker(MASTER), cluster.broker(SLAVE)
    cluster.call(plain("commit", topic="T", group="g", offset=7), MASTER)
    master.store.schedule.pass_by(1, 3)
    slave.offsets.commit("mine", "T", 0, 1)
    cluster.scheduler.complete(slave.slave.sync_all())
    assert (slave.offsets.query("g", "T", 0), slave.offsets.query("mine", "T", 0)) == (7, 1)
    assert slave.store.schedule.offsets == {1: 3}
    files = cluster.node(SLAVE).disk.files
    written = {name.rpartition("/")[2]: bytes(data) for name, data in files.items()}
    assert b"{1:3" in written["delayOffset.json"] and b'"T@g":{0:7}' in written["consumerOffset.json"]
    assert cluster.scheduler.complete(slave.store.deliver_delayed()) == 0


def test_master_copies_no_tables() -> None:
    cluster = pair()
    master, slave = cluster.broker(MASTER), cluster.broker(SLAVE)
    cluster.call(plain("group", group="g"), MASTER)
    cluster.scheduler.complete(master.slave.sync_all())
    assert "g" in master.groups.table and "g" not in slave.groups.table
