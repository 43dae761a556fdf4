"""A broker's topics: the table, and how a message to an unknown topic creates it.

Creation holds one lock while it looks up the topic again, copies the template, stores the entry, sets the next version and writes the file.
It registers the topic after releasing the lock. Readers take no lock, so a topic is visible as soon as it is in the table (TCM-04). At that
time it has no version, is not in the file, and is not registered (HAZ-10).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import INHERIT, READ, WRITE
from rocketproof_protocol.topics import (
    BENCHMARK_TOPIC,
    HALF_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    SCHEDULE,
    SELF_TEST_TOPIC,
    SYSTEM_PREFIX,
    TRACE_TOPIC,
    WHEEL_TIMER_TOPIC,
)

from .. import persistence
from ..bounds import room_for_name
from ..java import null_pointer
from ..ports import Clock, Disk
from ..pretty import PrettyTable
from ..remoting.headers import is_null
from ..tasks import Lock, Pause, TaskInterrupted
from ..topic import (
    DataVersion,
    TopicConfig,
    is_inherited,
    table_from_data,
    table_to_data,
    without_inherit,
)
from .log import log
from .settings import BrokerSettings

LOCK_TIMEOUT_MILLIS = 3000
UNIT, UNIT_SUB = 1, 2  # topic system flag

MISSING = Pause("missing")
LOCKED = Pause("locked")
FOUND = Pause("found")
TEMPLATE_WANTED = Pause("template")
INHERIT_ASKED = Pause("inherit")
REFUSED = Pause("refused")
BUILT = Pause("built")
PUT = Pause("put")
VERSIONED = Pause("versioned")
PERSISTED = Pause("persisted")
UNLOCKED = Pause("unlocked")

Register = Callable[[TopicConfig], Awaitable[None]]


def system_topics(settings: BrokerSettings, profile: Profile) -> dict[str, TopicConfig]:
    """Return the table's content before anything is loaded (TCM-03)."""
    inherited = READ | WRITE | INHERIT
    nums = settings.default_topic_queue_nums
    cluster, broker = settings.broker_cluster_name, settings.broker_name
    configs = [TopicConfig(SELF_TEST_TOPIC, 1, 1)]
    if settings.auto_create_topic_enable:
        configs.append(TopicConfig(profile.template, nums, nums, inherited))
    configs.append(TopicConfig(BENCHMARK_TOPIC, 1024, 1024))
    configs.append(TopicConfig(cluster, perm=inherited if settings.cluster_topic_enable else INHERIT))
    configs.append(TopicConfig(broker, 1, 1, inherited if settings.broker_topic_enable else INHERIT))
    configs.append(TopicConfig(OFFSET_MOVED_TOPIC, 1, 1))
    if profile.schedule_topic:
        configs.append(TopicConfig(SCHEDULE, 18, 18))
    if profile.trace_topic and settings.trace_topic_enable:
        configs.append(TopicConfig(TRACE_TOPIC, 1, 1))
    if profile.all_system_topics:
        configs.append(TopicConfig(f"{cluster}_REPLY_TOPIC", 1, 1))
    if profile.more_system_topics:
        configs.append(TopicConfig(f"{SYSTEM_PREFIX}REVIVE_LOG_{cluster}", 8, 8))
        configs.append(TopicConfig(f"{SYSTEM_PREFIX}SYNC_BROKER_MEMBER_{broker}", 1, 1, INHERIT))
        configs += (TopicConfig(name, 1, 1) for name in (HALF_TOPIC, OP_HALF_TOPIC))
    if profile.timer_topic and settings.timer_wheel_enable:
        configs.append(TopicConfig(WHEEL_TIMER_TOPIC, 1, 1))
    if profile.topic_attributes:
        for config in configs:
            config.attributes = {}
    return {config.topic_name: config for config in configs}


def like_template(topic: str, template: TopicConfig, client_queue_nums: int, sys_flag: int) -> TopicConfig:
    """Return a topic created from a template, with the smaller of the client's and the template's queues, possibly 0 (TCM-15, HAZ-07).

    The permission loses INHERIT and may then be empty (HAZ-05). The filter type is copied from the template, the order flag is not.
    """
    queue_nums = max(0, min(client_queue_nums, template.write_queue_nums))
    perm = without_inherit(template.perm)
    return TopicConfig(topic, queue_nums, queue_nums, perm, template.topic_filter_type, sys_flag)


class TopicConfigManager:
    """The table of topics, its version and its file.

    `register` registers a topic that was created or whose flag was set (NS-10). `table` is read without a lock. `lock` guards only creation
    by messages (TCM-30).
    """

    __slots__ = ("_clock", "_disk", "_file", "_profile", "_register", "_settings", "data_version", "lock", "path", "table")

    def __init__(self, settings: BrokerSettings, profile: Profile, clock: Clock, disk: Disk, register: Register) -> None:
        self._settings = settings
        self._profile = profile
        self._clock = clock
        self._disk = disk
        self._file = PrettyTable("topicConfigTable")
        self._register = register
        self.path = f"{settings.store_path_root_dir}/config/topics.json"
        self.lock = Lock()
        self.table = system_topics(settings, profile)
        self.data_version = DataVersion(clock.now())

    def select(self, topic: str) -> TopicConfig | None:
        """Return the entry itself, not a copy, without taking a lock (TCM-04)."""
        return self.table.get(topic)

    def is_order_topic(self, topic: str) -> bool:
        """Return whether the topic is known and ordered (TCM-33). Raises JavaError for null, which Java's table rejects as a key."""
        if is_null(topic):
            raise null_pointer()
        config = self.table.get(topic)
        return config is not None and config.order

    # Creation by a message

    async def create_topic_in_send_message(
        self, topic: str, default_topic: str | None, remote_address: str, client_queue_nums: int, sys_flag: int
    ) -> TopicConfig | None:
        """Return the topic, created like `default_topic` if still missing. Return None if that is not allowed or the lock was not acquired.

        The topic is not looked up before the lock (TCM-10). Raises JavaError if `default_topic` is None (TCM-12).
        """
        return await self._create(topic, lambda: self._inherited(topic, default_topic, remote_address, client_queue_nums, sys_flag))

    async def create_topic_in_send_message_back(
        self, topic: str, queue_nums: int, perm: int, sys_flag: int, *, order: bool = False
    ) -> TopicConfig | None:
        """Return the topic unchanged (TCM-20), or created with exactly these values. Return None if the lock was not acquired (TCM-21).

        In later profiles a known topic takes over the order flag, without a registration.
        """
        config = self.select(topic)
        if config is None:
            return await self._create(topic, lambda: self._as_given(topic, queue_nums, perm, sys_flag, order))
        if self._profile.keeps_order and config.order != order:
            config.order = order
            self._changed()
        return config

    async def _create(self, topic: str, build: Callable[[], Awaitable[TopicConfig | None]]) -> TopicConfig | None:
        """Build and add the topic under the lock, unless another thread has added it; then register it.

        A thread waits at most 3 seconds for the lock (TCM-10, TCM-21, HAZ-08). If it then finds the topic, it neither writes nor registers
        (TCM-11). The lock is released in every case. The registration follows without the lock (TCM-17, TCM-23); an exception skips it
        (TCM-18).
        """
        config: TopicConfig | None = None
        create_new = False
        try:
            await MISSING
            if await self.lock.acquire(LOCK_TIMEOUT_MILLIS):
                try:
                    await LOCKED
                    config = self.select(topic)
                    if config is not None:
                        await FOUND.carrying(config)
                        return config
                    await TEMPLATE_WANTED
                    config = await build()
                    if config is None:
                        await REFUSED
                    else:
                        await BUILT.carrying(config)
                        await self._add(config)
                        create_new = True
                finally:
                    self.lock.release()
        except TaskInterrupted as error:
            log.error("creation of topic %s interrupted: %r", topic, error)
        if config is not None and create_new:
            await UNLOCKED
            await self._register(config)
        return config

    async def _inherited(
        self, topic: str, default_topic: str | None, remote_address: str, client_queue_nums: int, sys_flag: int
    ) -> TopicConfig | None:
        """Return a new topic like the default topic. Return None if there is no default topic (TCM-12) or it lacks INHERIT.

        Nothing else is checked: a template with another name works even with auto-creation off (TCM-14, HAZ-04).
        """
        template = self._template(default_topic)
        if template is None:
            log.warning("no topic %s, because the default topic %s does not exist. producer: %s", topic, default_topic, remote_address)
            return None
        await INHERIT_ASKED.carrying(template)
        if not is_inherited(template.perm):
            log.warning(
                "no topic %s, because the default topic %s has no perm %d. producer: %s",
                topic,
                default_topic,
                template.perm,
                remote_address,
            )
            return None
        return like_template(topic, template, client_queue_nums, sys_flag)

    def _template(self, default_topic: str | None) -> TopicConfig | None:
        """Return the entry to copy.

        With auto-creation off, looking up TBW102 removes INHERIT from the shared entry, without a new version or a write of the file
        (TCM-13, HAZ-02, HAZ-03).
        """
        if default_topic is None:
            raise null_pointer()
        template = self.table.get(default_topic)
        if template is not None and default_topic == self._profile.template and not self._settings.auto_create_topic_enable:
            template.perm = READ | WRITE
        return template

    async def _as_given(self, topic: str, queue_nums: int, perm: int, sys_flag: int, order: bool) -> TopicConfig:
        """Return a new topic with exactly these values, without a template, whatever autoCreateTopicEnable is (TCM-22)."""
        return TopicConfig(topic, queue_nums, queue_nums, perm, topic_sys_flag=sys_flag, order=order and self._profile.keeps_order)

    async def _add(self, config: TopicConfig) -> None:
        """Store the entry, set the next version, persist. The lock is held, so each creation waits for the others' disk writes (TCM-16,
        TCM-22, HAZ-09)."""
        self._put(config)
        await PUT
        self.data_version.next_version(self._clock.now())
        await VERSIONED
        self.persist()
        await PERSISTED

    # Other changes

    def update(self, config: TopicConfig) -> None:
        """Store the entry, set the next version, persist, without the lock. The caller registers (TCM-30)."""
        self._put(config)
        self._changed()

    def _put(self, config: TopicConfig) -> None:
        """Store the entry, in later profiles with attributes, which are empty for a new topic (TCM-01).

        Raises JavaError, without a change, if there is no room for another topic.
        """
        room_for_name(config.topic_name, self.table)
        if self._profile.topic_attributes and config.attributes is None:
            config.attributes = {}
        self.table[config.topic_name] = config

    def delete(self, topic: str) -> None:
        """Remove the topic. If it existed, set the next version and persist (TCM-31). The name servers keep it (HAZ-36)."""
        if self.table.pop(topic, None) is not None:
            self._changed()
        else:
            log.warning("delete topic config failed, topic: %s not exists", topic)

    async def set_flag(self, topic: str, bit: int, on: bool) -> None:
        """Set or clear UNIT or UNIT_SUB of a known topic, and register it (TCM-32). No request of this broker calls it."""
        config = self.table.get(topic)
        if config is None:
            return
        config.topic_sys_flag = config.topic_sys_flag | bit if on else config.topic_sys_flag & ~bit
        self._changed()
        await self._register(config)

    def update_order(self, order_topics: set[str]) -> None:
        """Set the order flags of known topics to whether they are listed; most profiles never clear a flag. On a change, set the next
        version and persist (NS-12)."""
        wrong = [config for name, config in self.table.items() if config.order != (name in order_topics)]
        if self._profile.keeps_order:
            wrong = [config for config in wrong if not config.order]
        for config in wrong:
            config.order = not config.order
        if wrong:
            self._changed()

    def _changed(self) -> None:
        """Set the next version and persist."""
        self.data_version.next_version(self._clock.now())
        self.persist()

    # The file

    def persist(self) -> None:
        """Write table and version to topics.json (PER-01)."""
        text = self._file.text(table_to_data(self.table, self.data_version))
        persistence.persist(self._disk, text, self.path, in_place=self._profile.overwrites_in_place)

    def load(self) -> bool:
        """Read topics.json or its backup. Return False if the broker must not start (PER-03)."""
        return persistence.load(self._disk, self.path, self._decode)

    def _decode(self, text: str) -> None:
        """Read the file's text. Stored entries and the stored version replace those of the constructor (PER-04, HAZ-03).

        A file without entries is valid, and so is null.
        """
        data = json.loads(text)
        if data is None:
            return
        stored, version = table_from_data(data)
        self.table.update(stored)
        self.data_version = version or DataVersion(self._clock.now())
