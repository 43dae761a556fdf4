"""The parts of a store that the audit does not read: one line for each, which the operator sees.

Rules that need facts from these parts are not checked: a missing fact is not a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ..stored.config import TopicRow
from ..stored.paths import exists, join, names_of

BATCH_QUEUES, QUEUES, COMPACTED = "batchconsumequeue", "consumequeue", "compaction"
TABLES = ("topics", "metadata")  # where RocksDB keeps the topic table, of one release or another
TIMER = "rmq_sys_wheel_timer"


def is_rocks(folder: str) -> bool:
    """Return whether the folder is a RocksDB database."""
    return exists(join(folder, "CURRENT"))


def rocks_queues(store: str) -> bool:
    """Return whether the consume queues are in a database."""
    return is_rocks(join(store, QUEUES)) or is_rocks(join(store, f"{QUEUES}_r"))


def rocks_table(store: str) -> bool:
    """Return whether the topic table is in a database. A topics.json next to it is outdated."""
    return any(is_rocks(join(store, "config", name)) for name in TABLES)


def batch_topics(store: str, table: Mapping[str, TopicRow]) -> frozenset[str]:
    """Return the topics with batch consume queues."""
    configured = {name for name, row in table.items() if row.attributes.get("queue.type") == "BatchCQ"}
    return frozenset(configured.union(names_of(join(store, BATCH_QUEUES))))


def lines(store: str, batches: Set[str], topics: Set[str]) -> list[str]:
    """Return the lines for a store. `topics`: the topics of the log's records. `batches`: the topics with batch consume queues."""
    texts = []
    if rocks_queues(store):
        texts.append("the consume queues, which are in RocksDB: no rule about their entries was asked")
    if rocks_table(store):
        texts.append("the topic table, which is in RocksDB: no rule about topics and their counts was asked")
    if batches:
        names = ", ".join(sorted(batches)[:3]) + (", …" if len(batches) > 3 else "")
        count = f"{len(batches):,} topic{'s' * (len(batches) > 1)}"
        texts.append(f"batch consume queues, of {count} ({names}): no rule about their entries was asked")
    if TIMER in topics:
        texts.append("the timer wheel and its log: whether timer messages are delivered was not asked")
    if names_of(join(store, COMPACTED, "compactionLog")):
        texts.append("the logs of compaction topics: their records are looked at in the commit log only")
    return texts
