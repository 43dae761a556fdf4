"""What a store has that the audit does not read, and so says nothing about: a line for each, which the operator sees.

Rules whose facts lie there are not asked, since a fact that is not read is no finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ..stored.config import TopicRow
from ..stored.paths import exists, join, names_of

BATCH_QUEUES, QUEUES, COMPACTED = "batchconsumequeue", "consumequeue", "compaction"
TABLES = ("topics", "metadata")  # where RocksDB keeps the topic table, of one release or another
TIMER = "rmq_sys_wheel_timer"


def is_rocks(folder: str) -> bool:
    """The folder is a database of RocksDB."""
    return exists(join(folder, "CURRENT"))


def rocks_queues(store: str) -> bool:
    """The consume queues are in a database."""
    return is_rocks(join(store, QUEUES)) or is_rocks(join(store, f"{QUEUES}_r"))


def rocks_table(store: str) -> bool:
    """The topic table is in a database; what a topics.json beside it says is of an earlier day."""
    return any(is_rocks(join(store, "config", name)) for name in TABLES)


def batch_topics(store: str, table: Mapping[str, TopicRow]) -> frozenset[str]:
    """The topics with batch consume queues."""
    asked = {name for name, row in table.items() if row.attributes.get("queue.type") == "BatchCQ"}
    return frozenset(asked.union(names_of(join(store, BATCH_QUEUES))))


def lines(store: str, batches: Set[str], topics: Set[str]) -> list[str]:
    """Of a store whose log has records of `topics`, and whose topics `batches` have batch consume queues."""
    found = []
    if rocks_queues(store):
        found.append("the consume queues, which are in RocksDB: no rule about their entries was asked")
    if rocks_table(store):
        found.append("the topic table, which is in RocksDB: no rule about topics and their counts was asked")
    if batches:
        named = ", ".join(sorted(batches)[:3]) + (", …" if len(batches) > 3 else "")
        count = f"{len(batches):,} topic{'s' * (len(batches) > 1)}"
        found.append(f"batch consume queues, of {count} ({named}): no rule about their entries was asked")
    if TIMER in topics:
        found.append("the timer wheel and its log: whether timer messages are delivered was not asked")
    if names_of(join(store, COMPACTED, "compactionLog")):
        found.append("the logs of compaction topics: their records are looked at in the commit log only")
    return found
