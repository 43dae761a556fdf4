"""Facts of a store that the audit needs besides its log: the topic table, the groups' limits, the classes of topic names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import index

from rocketproof_protocol.flags import INHERIT
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import (
    BENCHMARK_TOPIC,
    CHECK_MAX_TIME_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE,
    SELF_TEST_TOPIC,
    SYSTEM_PREFIX,
    TEMPLATE,
    WHEEL_TIMER_TOPIC,
)
from rocketproof_spec.bounds import DELAYS

from ..stored.config import Topics, has_abort, read_checkpoint, read_json, read_topics
from ..stored.errors import StoredError, Unreadable
from ..stored.paths import exists, join
from ..stored.queues import Queues
from ..stored.segments import LogFile, log_files
from . import unread
from .delays import observed_delays
from .vocabulary import Class

REPLY, MEMBERS = "_REPLY_TOPIC", "rmq_sys_SYNC_BROKER_MEMBER_"
_FIXED = {TEMPLATE: "template", SCHEDULE: "schedule", HALF_TOPIC: "half", OP_HALF_TOPIC: "operations"}
_SYSTEM = frozenset({SELF_TEST_TOPIC, BENCHMARK_TOPIC, OFFSET_MOVED_TOPIC, CHECK_MAX_TIME_TOPIC, WHEEL_TIMER_TOPIC})
_SYSTEM_PREFIXES = ("RMQ_SYS_", SYSTEM_PREFIX)
_LEGAL = re.compile(r"(%RETRY%[%|a-zA-Z0-9_-]+\+)?[%|a-zA-Z0-9_-]+", re.ASCII)  # 5.x: the retry topic of a group for one topic
CLUSTER_QUEUES = 16
ALL_DISPATCHED = LIMIT = 1 << 61


@dataclass(frozen=True)
class StoreFolder:
    """A store's folder; what was read from it is cached. `problems`: errors about configuration files that cannot be read."""

    folder: str
    hosts_by_flag: bool = True
    problems: list[str] = field(default_factory=list)

    @cached_property
    def topics_path(self) -> str:
        return join(self.folder, "config", "topics.json")

    @cached_property
    def topics(self) -> Topics | None:
        """The topic table; None if it does not exist or cannot be read."""
        table = self._topics
        return None if isinstance(table, StoredError) else table

    @property
    def is_table_unknown(self) -> bool:
        """Whether topics.json cannot be read: its content or existence is unknown."""
        return isinstance(self._topics, Unreadable)

    @cached_property
    def _topics(self) -> Topics | StoredError | None:
        if self.has_rocks_table:
            return None
        try:
            return read_topics(self.topics_path) if exists(self.topics_path) else None
        except StoredError as error:
            self.problems.append(str(error))
            return error

    @cached_property
    def has_rocks_table(self) -> bool:
        """Whether the topic table is in RocksDB, where the audit does not read it."""
        return unread.rocks_table(self.folder)

    @cached_property
    def log(self) -> tuple[LogFile, ...]:
        """The files of the log. Raises StoredError."""
        return log_files([self.folder], hosts_by_flag=self.hosts_by_flag)

    @cached_property
    def queues(self) -> Queues:
        """The consume queues that the audit reads."""
        return Queues([] if unread.rocks_queues(self.folder) else [self.folder])

    @cached_property
    def has_stopped(self) -> bool:
        """Whether the broker has shut down in order."""
        return not has_abort(self.folder)

    @cached_property
    def dispatched(self) -> int:
        """The largest physical offset in an entry, if the broker is running or was killed.

        The broker fills the queues in the order of the log: later records have no entries yet. The same is true for records that DLedger's
        group has not committed. ALL_DISPATCHED if the broker has shut down in order.
        """
        if self.has_stopped and not any(file.header for file in self.log):
            return ALL_DISPATCHED
        last_offsets = (queue.entries(queue.max - 1, 1).physicalOffset for queue in self.queues.all() if queue.max > queue.min)
        return max((index(offsets[0]) for offsets in last_offsets if len(offsets)), default=-1)

    @cached_property
    def batch_topics(self) -> frozenset[str]:
        """The topics with batch consume queues, which the audit does not read."""
        return unread.batch_topics(self.folder, self.topics.topics if self.topics else {})

    def has_queues_of(self, topic: str) -> bool:
        """Return whether the audit reads the queues of a topic."""
        return bool(self.queues.all()) and topic not in self.batch_topics

    def queues_of(self, topic: str) -> int:
        """Return the larger queue count of a topic, 0 if it is unknown."""
        row = self.topics.topics.get(topic) if self.topics is not None else None
        return 0 if row is None else max(row.read, row.write)

    @cached_property
    def first_half(self) -> int:
        """The queue offset of the first half message with an entry, -1 without a queue of half messages."""
        queue = self.queues.find(HALF_TOPIC, 0)
        return -1 if queue is None else queue.min

    @cached_property
    def checkpoint_times(self) -> tuple[int, ...]:
        """The times in the checkpoint up to which log, queues and index are on the device; empty if it cannot be read."""
        path = join(self.folder, "checkpoint")
        try:
            if not exists(path):
                return ()
            times = read_checkpoint(path)
        except StoredError as error:
            self.problems.append(str(error))
            return ()
        return tuple(max(min(time, LIMIT), -LIMIT) for time in (times.physic, times.logics, times.index))

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """How often each group redelivers a message.

        Raises Unreadable: dead letters cannot be judged without these numbers.
        """
        path = join(self.folder, "config", "subscriptionGroup.json")
        if not exists(path):
            return {}
        try:
            groups = read_json(path).get("subscriptionGroupTable", {})
            return {name: whole_number(group.get("retryMaxTimes", RETRY_MAX_TIMES)) for name, group in groups.items()}
        except Unreadable:
            raise
        except (StoredError, AttributeError, TypeError, ValueError) as error:
            self.problems.append(f"{path}: {error}")
            return {}

    @cached_property
    def own(self) -> frozenset[str]:
        """The topics with the names of the cluster and the broker (TCM-03). Their permission can be inherited.

        The cluster's topic has 16 queues. A reply topic belongs to it; in older releases it is the only inherited topic with 16 queues. The
        broker's topic has a topic of members in newer releases; else it is the only inherited topic with one queue.
        """
        if self.topics is None:
            return frozenset()
        names = self.topics.topics
        wide = self._inherited(CLUSTER_QUEUES)
        clusters = {name for name in wide if name + REPLY in names} or _only(wide)
        members = {name for name in names if name.startswith(MEMBERS)}
        brokers = {name.removeprefix(MEMBERS) for name in members} & set(names)
        return frozenset(members | clusters | (brokers or _only(self._inherited(1) - clusters)))

    def _inherited(self, queues: int) -> Set[str]:
        """Return the topics with this number of queues whose permission can be inherited."""
        assert self.topics is not None
        rows = self.topics.topics.items()
        return {name for name, row in rows if row.read == row.write == queues and row.perm & INHERIT and name != TEMPLATE}

    def class_of(self, name: str) -> int:
        """Return the code of the class of a topic's name."""
        return class_of(name, self.own)

    def limit_of(self, name: str) -> int:
        """Return how often the group of a dead letter topic redelivers a message."""
        return self.limits.get(name.removeprefix(DLQ_PREFIX), RETRY_MAX_TIMES)

    @cached_property
    def delays(self) -> tuple[int, ...]:
        """The waits of the delay levels in milliseconds: observed in the store, else RocketMQ's defaults."""
        try:
            levels = [queue for queue in self.queues.all() if queue.topic == SCHEDULE]
            observed = observed_delays(levels, self.log) if levels else {}
        except StoredError as error:
            self.problems.append(str(error))
            observed = {}
        waits = dict(enumerate(DELAYS, 1)) | observed
        return tuple(waits.get(level, 0) for level in range(1, max(waits) + 1))


@lru_cache(maxsize=8)
def store_folder(folder: str, moment: int, hosts_by_flag: bool) -> StoreFolder:
    """Return the store of a folder, read once per audit in a process. `hosts_by_flag`: see `segments.LogFile`."""
    del moment
    return StoreFolder(folder, hosts_by_flag)


def class_of(name: str, own: Set[str] = frozenset()) -> int:
    """Return the code of the class of a topic's name; `own` are the names of the cluster and the broker."""
    class_name = _FIXED.get(name)
    if class_name is None:
        if name.startswith(RETRY_PREFIX):
            class_name = "retry"
        elif name.startswith(DLQ_PREFIX):
            class_name = "dead"
        elif name in own:
            class_name = "own"
        elif name in _SYSTEM or name.startswith(_SYSTEM_PREFIXES) or name.endswith(REPLY):
            class_name = "system"
        else:
            class_name = "ordinary"
    return Class.encode(class_name)


def legal(name: str) -> bool:
    """CHK-02: return whether the name is legal."""
    return _LEGAL.fullmatch(name) is not None


def is_created(store: StoreFolder, name: str, perm: int) -> bool:
    """Return whether a request created the topic: brokers do not create it themselves."""
    return Class.names[store.class_of(name)] in ("ordinary", "retry", "dead") and not perm & INHERIT


def _only(names: Set[str]) -> Set[str]:
    """Return the set if it has exactly one name, else an empty set."""
    return names if len(names) == 1 else frozenset()
