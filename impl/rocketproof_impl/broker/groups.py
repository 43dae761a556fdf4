"""A broker's consumer groups: how often and over how many queues a group retries. Looking up a group can create it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rocketproof_profiles import Profile
from rocketproof_protocol.fastjson import text_of
from rocketproof_protocol.groups import RETRY_MAX_TIMES, SYSTEM_GROUP_PREFIX, SYSTEM_GROUPS
from rocketproof_protocol.numbers import INT, whole_number

from .. import persistence
from ..bounds import room_for_name
from ..names import is_group_illegal
from ..ports import Clock, Disk
from ..pretty import PrettyTable
from ..topic import DataVersion, version_from_data, version_to_data
from .settings import BrokerSettings


@dataclass(slots=True)
class SubscriptionGroupConfig:
    """SubscriptionGroupConfig with its defaults (DLQ-02). Broker id 0 is the master."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = RETRY_MAX_TIMES
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True


class SubscriptionGroupManager:
    """The table of groups, its version and its file."""

    __slots__ = ("_checked", "_clock", "_disk", "_file", "_in_place", "_longest", "_settings", "data_version", "path", "table")

    def __init__(self, settings: BrokerSettings, profile: Profile, disk: Disk, clock: Clock) -> None:
        self._settings = settings
        self._file = PrettyTable("subscriptionGroupTable")
        self._checked, self._longest = profile.check_groups, profile.group_limit
        self._in_place = profile.overwrites_in_place
        self._disk = disk
        self._clock = clock
        self.path = f"{settings.store_path_root_dir}/config/subscriptionGroup.json"
        self.table = {name: SubscriptionGroupConfig(name) for name in SYSTEM_GROUPS}
        self.data_version = DataVersion(clock.now())

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """Return the group, creating it with the defaults if autoCreateSubscriptionGroup is on or it is a system group (DLQ-02).

        Later profiles create no group with an illegal name.
        """
        config = self.table.get(group)
        creates = self._settings.auto_create_subscription_group or group.startswith(SYSTEM_GROUP_PREFIX)
        if config is None and creates and not (self._checked and is_group_illegal(group, self._longest)):
            config = SubscriptionGroupConfig(group)
            self.update(config)
        return config

    def update(self, config: SubscriptionGroupConfig) -> None:
        """Store the group, set the next version, persist. Raises JavaError, without a change, if there is no room for another group."""
        room_for_name(config.group_name, self.table)
        self.table[config.group_name] = config
        self.data_version.next_version(self._clock.now())
        self.persist()

    def delete(self, name: str) -> None:
        """Delete the group. If it existed, set the next version and persist."""
        if self.table.pop(name, None) is not None:
            self.data_version.next_version(self._clock.now())
            self.persist()

    def take(self, data: Any) -> None:
        """Replace table and version by those of the master's response, and persist, if the version differs.

        Raises ValueError, LookupError, TypeError or AttributeError for other shapes.
        """
        version = version_from_data(data["dataVersion"])
        if version != self.data_version:
            self.table = {name: group_from_data(name, entry) for name, entry in data["subscriptionGroupTable"].items()}
            self.data_version = version
            self.persist()

    def persist(self) -> None:
        """Write table and version to subscriptionGroup.json (PER-01, PER-02)."""
        persistence.persist(self._disk, self._file.text(self.data()), self.path, in_place=self._in_place)

    def data(self) -> dict[str, Any]:
        """Return table and version as the file and request 201 contain them."""
        groups = {name: group_to_data(config) for name, config in self.table.items()}
        return {"dataVersion": version_to_data(self.data_version), "subscriptionGroupTable": groups}

    def load(self) -> bool:
        """Read subscriptionGroup.json or its backup. Return False if the broker must not start (PER-03)."""
        return persistence.load(self._disk, self.path, self._decode)

    def _decode(self, text: str) -> None:
        """Read the file's text. Stored groups and the stored version replace those of the constructor (PER-04)."""
        data = json.loads(text)
        if data is None:
            return
        stored = {name: group_from_data(name, entry) for name, entry in (data.get("subscriptionGroupTable") or {}).items()}
        version = data.get("dataVersion")
        self.data_version = DataVersion(self._clock.now()) if version is None else version_from_data(version)
        self.table.update(stored)


def group_to_data(config: SubscriptionGroupConfig) -> dict[str, Any]:
    """Return a group as its file and requests 200 and 201 contain it."""
    return {
        "brokerId": config.broker_id,
        "consumeBroadcastEnable": config.consume_broadcast_enable,
        "consumeEnable": config.consume_enable,
        "consumeFromMinEnable": config.consume_from_min_enable,
        "groupName": config.group_name,
        "notifyConsumerIdsChangedEnable": config.notify_consumer_ids_changed_enable,
        "retryMaxTimes": config.retry_max_times,
        "retryQueueNums": config.retry_queue_nums,
        "whichBrokerWhenConsumeSlowly": config.which_broker_when_consume_slowly,
    }


def group_from_data(name: str, data: Any) -> SubscriptionGroupConfig:
    """Read the result of `group_to_data`. Missing fields get their defaults.

    Raises ValueError, TypeError or AttributeError for other shapes.
    """
    defaults = SubscriptionGroupConfig(name)
    return SubscriptionGroupConfig(
        text_of(data.get("groupName", name)),
        bool(data.get("consumeEnable", defaults.consume_enable)),
        bool(data.get("consumeFromMinEnable", defaults.consume_from_min_enable)),
        bool(data.get("consumeBroadcastEnable", defaults.consume_broadcast_enable)),
        whole_number(data.get("retryQueueNums", defaults.retry_queue_nums), INT),
        whole_number(data.get("retryMaxTimes", defaults.retry_max_times), INT),
        whole_number(data.get("brokerId", defaults.broker_id)),
        whole_number(data.get("whichBrokerWhenConsumeSlowly", defaults.which_broker_when_consume_slowly)),
        bool(data.get("notifyConsumerIdsChangedEnable", defaults.notify_consumer_ids_changed_enable)),
    )
