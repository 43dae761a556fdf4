"""Rows about everything except the log: the tables in `config`, the checkpoint, delivery and consumption progress.

Also the rows about what the segments of the log recorded for the whole store. Each kind of rows has a function that locates a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import index
from typing import Any

from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import SCHEDULE

from ..stored.config import read_json
from ..stored.errors import StoredError, Unreadable
from ..stored.facts import LIMIT
from ..stored.layout import ENTRY
from ..stored.paths import exists, join
from .store import StoreFolder, is_created
from .task import Segment
from .vocabulary import MARKS

Numbers = dict[str, list[Any]]
Rows = tuple[str, Mapping[str, Any], Callable[[int], dict[str, Any]]]
"""The kind, the columns, and a function from a row's number to its location and what a finding records of it."""

TOPICS, GROUPS, CONSUMED, DELAYED = "topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json"
TABLES = {TOPICS: "topicConfigTable", GROUPS: "subscriptionGroupTable", CONSUMED: "offsetTable", DELAYED: "offsetTable"}
BACKUP = ".bak"
_TIMES = 8  # bytes of each of the checkpoint's times
_MAX_INT = (1 << 31) - 1


def append(rows: Numbers, row: Mapping[str, Any]) -> None:
    """Append one row."""
    for name, value in row.items():
        rows.setdefault(name, []).append(value)


def table_rows(store: StoreFolder, records: int, marks: Callable[[str], int]) -> Iterator[Rows]:
    """Yield topics.json as a whole, and topic by topic. `records`: the number of records in the log. `marks`: see `own.OwnRules`."""
    table = store.topics
    path = store.topics_path
    created = 0 if table is None else sum(is_created(store, name, row.perm) for name, row in table.topics.items())
    whole = {
        "there": [int(table is not None)],
        "counter": [table.counter if table else 0],
        "timestamp": [table.timestamp if table else 0],
        "created": [created],
        "records": [records],
    }
    if not store.has_rocks_table and not store.is_table_unknown:
        yield "table", whole, lambda _: {"file": path, "offset": 0}
    if table is None:
        return
    names = sorted(table.topics)
    rows: Numbers = {}
    for name in names:
        row = table.topics[name]
        append(
            rows,
            {
                "topicClass": store.class_of(name),
                "readQueueNums": row.read,
                "writeQueueNums": row.write,
                "perm": row.perm,
                "topicSysFlag": row.sys_flag,
                "order": int(row.order),
                "sameName": int(row.topic == name),
                MARKS: marks(name),
            },
        )
    yield "topic", rows, lambda row: {"file": path, "offset": 0, "topic": names[row]}


def config_rows(store: StoreFolder, last_stored: int) -> Iterator[Rows]:
    """Yield the tables of config. `last_stored`: the log's last store timestamp, 0 without records."""
    if store.has_rocks_table:
        return  # the JSON files are from before the change to RocksDB
    rows: Numbers = {}
    paths = []
    for name, inner in TABLES.items():
        for backup in (False, True):
            path = join(store.folder, "config", name + BACKUP * backup)
            if exists(path):
                append(rows, {"backup": int(bool(backup)), "readable": int(isinstance(_table(path, inner), dict))})
                paths.append(path)
    yield "config", rows, lambda row: {"file": paths[row], "offset": 0}
    yield from _levels(store, join(store.folder, "config", DELAYED), last_stored)
    yield from _progress(store, join(store.folder, "config", CONSUMED))


def _table(path: str, inner: str) -> Any:
    """Return a table of a file, None if there is none. Raises Unreadable."""
    try:
        return read_json(path).get(inner) if exists(path) else None
    except Unreadable:
        raise
    except StoredError:
        return None


def _number(value: Any) -> int:
    """Return a number of a table, clipped to the range of rules; -1 for anything else."""
    try:
        return max(min(whole_number(value), LIMIT >> 1), -(LIMIT >> 1))
    except (TypeError, ValueError):
        return -1


def _levels(store: StoreFolder, path: str, last_stored: int) -> Iterator[Rows]:
    table = _table(path, TABLES[DELAYED])
    if not isinstance(table, dict):
        return
    queues = {queue.queue_id + 1: queue for queue in store.queues.all() if queue.topic == SCHEDULE}
    offsets = dict.fromkeys(queues, 0) | {_level(name): _number(offset) for name, offset in table.items()}
    rows: Numbers = {}
    levels = sorted(offsets)
    for level in levels:
        queue, offset = queues.get(level), offsets[level]
        due = {}
        for name, at in (("lastDue", offset - 1), ("nextDue", offset)):
            entry = queue.entries(at, 1) if queue is not None and queue.min <= at < queue.max else None
            due[name] = index(entry.tagsCode[0]) if entry is not None and (entry.found == ENTRY).all() else 0
        append(
            rows,
            {
                "level": level,
                "offset": offset,
                "hasStopped": int(store.has_stopped),
                "entriesKnown": int(queue is not None),
                "entries": queue.max if queue is not None else 0,
                **{name: min(value, LIMIT >> 1) for name, value in due.items()},
                "lastStored": last_stored,
            },
        )

    def place(row: int) -> dict[str, Any]:
        return {"file": path, "offset": 0, "topic": SCHEDULE, "queue_id": levels[row] - 1, "queue_offset": offsets[levels[row]]}

    yield "level", rows, place


def _level(name: Any) -> int:
    return min(_number(name), _MAX_INT)


def _progress(store: StoreFolder, path: str) -> Iterator[Rows]:
    table = _table(path, TABLES[CONSUMED])
    if not isinstance(table, dict):
        return
    topics = store.topics.topics if store.topics is not None else None
    rows: Numbers = {}
    keys = []
    for key, offsets in sorted(table.items()):
        topic, _, group = str(key).partition("@")
        for name, value in offsets.items() if isinstance(offsets, dict) else (("", ""),):
            queue_id, offset = min(_number(name), _MAX_INT), _number(value)
            queue = store.queues.find(topic, queue_id)
            append(
                rows,
                {
                    "named": int(bool(topic and group)),
                    "topicKnown": int(topics is None or topic in topics),
                    "queueId": queue_id,
                    "queues": _MAX_INT if topics is None else store.queues_of(topic),
                    "offset": offset,
                    "entriesKnown": int(queue is not None),
                    "entries": queue.max if queue is not None else 0,
                },
            )
            keys.append((topic, queue_id, offset, group))

    def place(row: int) -> dict[str, Any]:
        topic, queue_id, offset, group = keys[row]
        return {"file": path, "offset": 0, "topic": topic, "queue_id": queue_id, "queue_offset": offset, "more": f"group {group}"}

    yield "progress", rows, place


def noted_rows(store: StoreFolder, segments: Sequence[Segment], whole: bool) -> Iterator[Rows]:
    """Yield the rows about what the segments recorded. `whole`: the complete log was read."""
    noted = [segment.noted for segment in segments if segment.noted]
    yield from _hosts([(segment.task.file.path, segment.noted) for segment in segments if segment.noted])
    if not noted or not whole:
        return
    stored = [time for notes in noted for time in notes["stored"]]
    stored_times = {time for notes in noted for time in notes["times"]}
    path = join(store.folder, "checkpoint")
    rows: Numbers = {}
    ledger = any(file.header for file in store.log)
    for time in store.checkpoint_times:
        times = {"time": time, "firstStored": min(stored, default=0), "lastStored": max(stored, default=0)}
        append(rows, {**times, "stored": int(time in stored_times), "asked": int(bool(stored) and not ledger)})
    yield "checkpoint", rows, lambda row: {"file": path, "offset": row * _TIMES}
    ends = {name: [value for notes in noted for value in notes[name]] for name in ("half", "commit", "queue", "number", "operation", "at")}
    last, named = max(ends["at"], default=-1), set(ends["operation"])
    base = {file.base: file.path for file in store.log}
    rows = {
        "half": ends["half"],
        "operationsKnown": [int(place < last) for place in ends["commit"]],
        "named": [int(half in named) for half in ends["half"]],
    }

    def place(row: int) -> dict[str, Any]:
        at = ends["commit"][row]
        file = base[max(start for start in base if start <= at)]
        return {"file": file, "offset": at, "queue_id": ends["queue"][row], "queue_offset": ends["number"][row]}

    yield "commit", rows, place


def _hosts(noted: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Rows]:
    counts: dict[tuple[int, int], int] = {}
    places: dict[tuple[int, int], tuple[str, int]] = {}
    for path, notes in noted:
        for address, port, count, at in notes["hosts"]:
            counts[address, port] = counts.get((address, port), 0) + count
            places.setdefault((address, port), (path, at))
    hosts = sorted(counts)
    others = [max((count for other, count in counts.items() if other != host), default=0) for host in hosts]
    rows = {"records": [counts[host] for host in hosts], "others": others}
    yield "host", rows, lambda row: {"file": places[hosts[row]][0], "offset": places[hosts[row]][1]}
