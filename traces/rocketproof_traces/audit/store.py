"""What the audit has to know of a store besides its log: the topic table, the groups' limits, what the names of topics say."""

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
from .delays import shown
from .vocabulary import Class

REPLY, MEMBERS = "_REPLY_TOPIC", "rmq_sys_SYNC_BROKER_MEMBER_"
_FIXED = {TEMPLATE: "template", SCHEDULE: "schedule", HALF_TOPIC: "half", OP_HALF_TOPIC: "operations"}
_SYSTEM = frozenset({SELF_TEST_TOPIC, BENCHMARK_TOPIC, OFFSET_MOVED_TOPIC, CHECK_MAX_TIME_TOPIC, WHEEL_TIMER_TOPIC})
_SYSTEM_PREFIXES = ("RMQ_SYS_", SYSTEM_PREFIX)
_LEGAL = re.compile(r"(%RETRY%[%|a-zA-Z0-9_-]+\+)?[%|a-zA-Z0-9_-]+", re.ASCII)  # 5.x: a group's retry topic of one topic
CLUSTER_QUEUES = 16
NEVER_BEHIND = LIMIT = 1 << 61


@dataclass(frozen=True)
class StoreFolder:
    """A store's folder; what was read of it is kept. `problems`: configuration that cannot be read, as one line each."""

    folder: str
    hosts_by_flag: bool = True
    problems: list[str] = field(default_factory=list)

    @cached_property
    def topics_path(self) -> str:
        return join(self.folder, "config", "topics.json")

    @cached_property
    def topics(self) -> Topics | None:
        """The topic table; None where there is none that can be read."""
        found = self._topics
        return None if isinstance(found, StoredError) else found

    @property
    def is_table_unknown(self) -> bool:
        """The bytes of topics.json cannot be read: what is in it, or whether it is there, is unknown."""
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
        """The topic table is where the audit does not read it."""
        return unread.rocks_table(self.folder)

    @cached_property
    def log(self) -> tuple[LogFile, ...]:
        """The files of the log. Raises StoredError."""
        return log_files([self.folder], hosts_by_flag=self.hosts_by_flag)

    @cached_property
    def queues(self) -> Queues:
        """Those that the audit reads."""
        return Queues([] if unread.rocks_queues(self.folder) else [self.folder])

    @cached_property
    def has_stopped(self) -> bool:
        """The broker has stopped in order."""
        return not has_abort(self.folder)

    @cached_property
    def dispatched(self) -> int:
        """The greatest physical offset that an entry points at, where the broker runs or was killed: it fills the queues in the order of
        the log, and what lies behind is not in them yet; nor is what DLedger's group has not agreed on. NEVER_BEHIND where the broker has
        stopped in order."""
        if self.has_stopped and not any(file.header for file in self.log):
            return NEVER_BEHIND
        last = (queue.entries(queue.max - 1, 1).physicalOffset for queue in self.queues.all() if queue.max > queue.min)
        return max((index(found[0]) for found in last if len(found)), default=-1)

    @cached_property
    def batch_topics(self) -> frozenset[str]:
        """The topics whose queues are others, which the audit does not read."""
        return unread.batch_topics(self.folder, self.topics.topics if self.topics else {})

    def has_queues_of(self, topic: str) -> bool:
        """The entries of a topic are in queues that the audit reads, if there are any."""
        return bool(self.queues.all()) and topic not in self.batch_topics

    def queues_of(self, topic: str) -> int:
        """How many queues a topic has, by the larger of its counts; 0 where that is not known."""
        row = self.topics.topics.get(topic) if self.topics is not None else None
        return 0 if row is None else max(row.read, row.write)

    @cached_property
    def first_half(self) -> int:
        """The number of the first half message that has an entry, -1 without a queue that tells it."""
        queue = self.queues.find(HALF_TOPIC, 0)
        return -1 if queue is None else queue.min

    @cached_property
    def checkpoint_times(self) -> tuple[int, ...]:
        """Up to when log, queues and index are on the device, by the checkpoint; empty without one that can be read."""
        path = join(self.folder, "checkpoint")
        try:
            if not exists(path):
                return ()
            found = read_checkpoint(path)
        except StoredError as error:
            self.problems.append(str(error))
            return ()
        return tuple(max(min(time, LIMIT), -LIMIT) for time in (found.physic, found.logics, found.index))

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """How often each group consumes a message again. Raises Unreadable: without these numbers dead letters cannot be judged."""
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
        """The names of cluster and broker, which are topics too (TCM-03). Their permission may be inherited. The cluster's has 16 queues
        and a reply topic beside it, in older releases it is the only such one; the broker's has a topic of members beside it in newer
        ones, else it is the only such topic of one queue."""
        if self.topics is None:
            return frozenset()
        names = self.topics.topics
        wide = self._inherited(CLUSTER_QUEUES)
        clusters = {name for name in wide if name + REPLY in names} or _only(wide)
        members = {name for name in names if name.startswith(MEMBERS)}
        brokers = {name.removeprefix(MEMBERS) for name in members} & set(names)
        return frozenset(members | clusters | (brokers or _only(self._inherited(1) - clusters)))

    def _inherited(self, queues: int) -> Set[str]:
        """The topics of so many queues whose permission may be inherited."""
        assert self.topics is not None
        rows = self.topics.topics.items()
        return {name for name, row in rows if row.read == row.write == queues and row.perm & INHERIT and name != TEMPLATE}

    def class_of(self, name: str) -> int:
        """The code of what a topic's name says."""
        return class_of(name, self.own)

    def limit_of(self, name: str) -> int:
        """How often the group whose dead letters the topic has consumes a message again."""
        return self.limits.get(name.removeprefix(DLQ_PREFIX), RETRY_MAX_TIMES)

    @cached_property
    def delays(self) -> tuple[int, ...]:
        """What the broker waited on its delay levels, in milliseconds: as the store shows it, else as RocketMQ does by default."""
        try:
            levels = [queue for queue in self.queues.all() if queue.topic == SCHEDULE]
            seen = shown(levels, self.log) if levels else {}
        except StoredError as error:
            self.problems.append(str(error))
            seen = {}
        usual = dict(enumerate(DELAYS, 1)) | seen
        return tuple(usual.get(level, 0) for level in range(1, max(usual) + 1))


@lru_cache(maxsize=8)
def opened(folder: str, moment: int, hosts_by_flag: bool) -> StoreFolder:
    """The store of a folder, read once for each audit in a process. `hosts_by_flag`: as of `segments.LogFile`."""
    del moment
    return StoreFolder(folder, hosts_by_flag)


def class_of(name: str, own: Set[str] = frozenset()) -> int:
    """The code of what a topic's name says, where the cluster's and the broker's names are `own`."""
    said = _FIXED.get(name)
    if said is None:
        if name.startswith(RETRY_PREFIX):
            said = "retry"
        elif name.startswith(DLQ_PREFIX):
            said = "dead"
        elif name in own:
            said = "own"
        elif name in _SYSTEM or name.startswith(_SYSTEM_PREFIXES) or name.endswith(REPLY):
            said = "system"
        else:
            said = "ordinary"
    return Class.encode(said)


def legal(name: str) -> bool:
    """CHK-02."""
    return _LEGAL.fullmatch(name) is not None


def is_created(store: StoreFolder, name: str, perm: int) -> bool:
    """The topic is one that a request has created: none that a broker makes by itself."""
    return Class.names[store.class_of(name)] in ("ordinary", "retry", "dead") and not perm & INHERIT


def _only(names: Set[str]) -> Set[str]:
    """These if there is exactly one."""
    return names if len(names) == 1 else frozenset()
