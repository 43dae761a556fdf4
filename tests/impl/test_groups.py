"""Consumer groups: a query creates a missing group, and the file is that of a real broker."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from marks import behaviour
from simulated import present

from rocketproof_impl.broker.groups import SubscriptionGroupConfig, SubscriptionGroupManager
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_impl.topic import DataVersion
from rocketproof_profiles import PROFILES
from rocketproof_protocol.groups import SYSTEM_GROUPS

MAIN = "store/config/subscriptionGroup.json"
STORE = Path(__file__).parents[1] / "data" / "store-4.9.4.tar.gz"


def manager(disk: SimulatedDisk | None = None, *, auto: bool = True, profile: str = "P49") -> SubscriptionGroupManager:
    settings = BrokerSettings(auto_create_subscription_group=auto)
    return SubscriptionGroupManager(settings, PROFILES[profile], disk or SimulatedDisk(), SimulatedClock(99))


@behaviour("DLQ-02")
def test_query_of_a_group_creates_it_once() -> None:
    disk = SimulatedDisk()
    groups = manager(disk)
    found = groups.find("G")
    assert found == SubscriptionGroupConfig("G", retry_queue_nums=1, retry_max_times=16)
    assert groups.data_version == DataVersion(99, 1)
    assert json.loads(disk.files[MAIN])["subscriptionGroupTable"]["G"]["retryMaxTimes"] == 16
    assert groups.find("G") is found
    assert groups.data_version.counter == 1


@behaviour("DLQ-02")
def test_without_automatic_creation_a_group_is_missing() -> None:
    groups = manager(auto=False)
    assert groups.find("G") is None
    assert groups.data_version.counter == 0
    for name in SYSTEM_GROUPS:
        assert groups.find(name) == SubscriptionGroupConfig(name)


@behaviour("DLQ-02")
@pytest.mark.parametrize("name", ["", "g|%_-9", "x" * 255, "x" * 256, "a b", "a.b", "a/b", "é", "CID_RMQ_SYS_a b"])
def test_since_5_only_administrators_create_illegally_named_groups(name: str) -> None:
    illegal = len(name) > 255 or not set(name) <= set("gx|%_-9")
    assert manager(profile="P494").find(name) is not None
    groups = manager(profile="P533")
    assert (groups.find(name) is None, groups.data_version.counter == 0) == (illegal, illegal)
    groups.update(SubscriptionGroupConfig(name))
    assert groups.find(name) == SubscriptionGroupConfig(name)


@behaviour("PER-03", "PER-04")
def test_stored_groups_replace_those_of_the_constructor() -> None:
    disk = SimulatedDisk()
    before = manager(disk)
    before.update(SubscriptionGroupConfig("G", retry_queue_nums=0, retry_max_times=3))
    before.update(SubscriptionGroupConfig("TOOLS_CONSUMER", retry_queue_nums=5))
    after = manager(disk)
    assert after.load()
    assert after.table == before.table
    assert after.data_version == DataVersion(99, 2)


@behaviour("PER-03")
def test_broken_file_falls_back_to_backup_and_broken_backup_fails() -> None:
    disk = SimulatedDisk()
    before = manager(disk)
    before.find("one")
    before.find("two")
    disk.write(MAIN, b'{"subscriptionGroupTable":{"x":{"retryQueueNums":"many"}}}')
    after = manager(disk)
    assert after.load()
    assert "one" in after.table
    assert not {"two", "x"} & set(after.table)
    disk.write(MAIN + ".bak", b"{")
    assert not manager(disk).load()


@behaviour("PER-04")
@pytest.mark.parametrize("text", [b"{}", b"null"])
def test_file_without_entries_is_valid(text: bytes) -> None:
    disk = SimulatedDisk()
    disk.write(MAIN, text)
    disk.write(MAIN + ".bak", b"{")
    groups = manager(disk)
    assert groups.load()
    assert set(groups.table) == set(SYSTEM_GROUPS)


@behaviour("PER-01", "PER-09")
@pytest.mark.parametrize("name", ["subscriptionGroup.json", "subscriptionGroup.json.bak"])
def test_real_brokers_group_file_round_trips_byte_for_byte(name: str) -> None:
    with tarfile.open(STORE) as archive:
        file = present(archive.extractfile(f"store-4.9.4/config/{name}"))
        content = file.read()
    disk = SimulatedDisk()
    disk.write(MAIN, content)
    groups = manager(disk)
    groups.table.clear()
    assert groups.load()
    groups.persist()
    assert disk.files[MAIN] == content
    assert disk.files[MAIN + ".bak"] == content
    assert set(SYSTEM_GROUPS) <= set(groups.table)


@behaviour("DLQ-02")
def test_deletion_removes_only_that_group_from_the_file() -> None:
    disk = SimulatedDisk()
    groups = manager(disk)
    for name in ("G", "H"):
        groups.find(name)
    before = disk.files[MAIN]
    groups.delete("nobody")
    assert (disk.files[MAIN], groups.data_version.counter) == (before, 2)
    groups.delete("G")
    assert json.loads(disk.files[MAIN])["subscriptionGroupTable"].keys() == groups.table.keys() == {*SYSTEM_GROUPS, "H"}
    assert groups.data_version.counter == 3
