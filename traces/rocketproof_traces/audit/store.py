"""What the audit has to know of a store besides its log: the topic table, the groups' limits, what the names of topics say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..stored.config import Topics, read_json, read_topics
from ..stored.errors import StoredError
from ..stored.layout import DLQ_PREFIX, RETRY_PREFIX
from ..stored.paths import exists, join
from ..stored.queues import Queues
from .vocabulary import Class

TEMPLATE = "TBW102"
SCHEDULE, HALF, OPERATIONS = "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
REPLY, MEMBERS = "_REPLY_TOPIC", "rmq_sys_SYNC_BROKER_MEMBER_"
_FIXED = {TEMPLATE: "template", SCHEDULE: "schedule", HALF: "half", OPERATIONS: "operations"}
_SYSTEM = frozenset({"SELF_TEST_TOPIC", "BenchmarkTest", "OFFSET_MOVED_EVENT", "TRANS_CHECK_MAX_TIME_TOPIC", "rmq_sys_wheel_timer"})
_SYSTEM_PREFIXES = ("RMQ_SYS_", "rmq_sys_")
_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+", re.ASCII)
RETRY_MAX_TIMES = 16
INHERIT = 1
CLUSTER_QUEUES = 16
SECOND = 1000
DELAYS = tuple(SECOND * s for s in (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200))
"""What the broker waits on the delay levels 1 to 18, in milliseconds (REC-05)."""


@dataclass(frozen=True)
class Store:
    """A store's folder; what was read of it is kept. `problems`: configuration that cannot be read, as one line each."""

    folder: str
    delays: tuple[int, ...] = DELAYS
    problems: list[str] = field(default_factory=list)

    @cached_property
    def topics_path(self) -> str:
        return join(self.folder, "config", "topics.json")

    @cached_property
    def topics(self) -> Topics | None:
        """The topic table; None where there is none that can be read."""
        if not exists(self.topics_path):
            return None
        try:
            return read_topics(self.topics_path)
        except StoredError as error:
            self.problems.append(str(error))
            return None

    @cached_property
    def queues(self) -> Queues:
        return Queues([self.folder])

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """How often each group consumes a message again."""
        path = join(self.folder, "config", "subscriptionGroup.json")
        if not exists(path):
            return {}
        try:
            groups = read_json(path).get("subscriptionGroupTable", {})
            return {name: int(group.get("retryMaxTimes", RETRY_MAX_TIMES)) for name, group in groups.items()}
        except (StoredError, AttributeError, TypeError, ValueError) as error:
            self.problems.append(f"{path}: {error}")
            return {}

    @cached_property
    def own(self) -> frozenset[str]:
        """The names of cluster and broker, which are topics too (TCM-03). The cluster's has a reply topic beside it, in older releases it
        is the only topic of 16 queues whose permission may be inherited; the broker's has a topic of members beside it in newer ones,
        else it is the only such topic of one queue."""
        if self.topics is None:
            return frozenset()
        names = self.topics.topics
        clusters = {name.removesuffix(REPLY) for name in names if name.endswith(REPLY)} & set(names)
        members = {name for name in names if name.startswith(MEMBERS)}
        brokers = {name.removeprefix(MEMBERS) for name in members} & set(names)
        return frozenset(members | (clusters or self._only(CLUSTER_QUEUES)) | (brokers or self._only(1, clusters)))

    def _only(self, queues: int, without: Set[str] = frozenset()) -> Set[str]:
        """The topic of so many queues whose permission may be inherited, if there is exactly one."""
        assert self.topics is not None
        rows = self.topics.topics.items()
        found = {n for n, row in rows if row.read == row.write == queues and row.perm & INHERIT and n not in without and n != TEMPLATE}
        return found if len(found) == 1 else frozenset()

    def class_of(self, name: str) -> int:
        """The code of what a topic's name says."""
        said = _FIXED.get(name)
        if said is None:
            if name.startswith(RETRY_PREFIX):
                said = "retry"
            elif name.startswith(DLQ_PREFIX):
                said = "dead"
            elif name in self.own:
                said = "own"
            elif name in _SYSTEM or name.startswith(_SYSTEM_PREFIXES) or name.endswith(REPLY):
                said = "system"
            else:
                said = "ordinary"
        return Class.encode(said)

    def limit_of(self, name: str) -> int:
        """How often the group whose dead letters the topic has consumes a message again."""
        return self.limits.get(name.removeprefix(DLQ_PREFIX), RETRY_MAX_TIMES)

    @cached_property
    def waits(self) -> NDArray[np.int64]:
        """By delay level; a level beyond the last one waits like that one."""
        return np.array((0, *self.delays), np.int64)


@lru_cache(maxsize=8)
def opened(folder: str, moment: int) -> Store:
    """The store of a folder, read once for each audit in a process."""
    return Store(folder)


def legal(name: str) -> bool:
    """CHK-02."""
    return _LEGAL.fullmatch(name) is not None


def is_created(store: Store, name: str, perm: int) -> bool:
    """The topic is one that a request has created: none that a broker makes by itself."""
    return Class.names[store.class_of(name)] in ("ordinary", "retry", "dead") and not perm & INHERIT
