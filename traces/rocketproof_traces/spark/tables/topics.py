"""The topic table, config/topics.json, as a table: a row for each topic, with the data version of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...stored.config import read_topics
from ...stored.errors import StoredError
from ...stored.paths import join
from .clauses import Clauses
from .table import INT, LONG, TEXT, TEXTS, TRUTH, StoreTable

_COLUMNS = {
    "topic": TEXT,
    "readQueueNums": INT,
    "writeQueueNums": INT,
    "perm": INT,
    "order": TRUTH,
    "topicSysFlag": INT,
    "topicFilterType": TEXT,
    "attributes": TEXTS,
    "counter": LONG,
    "timestamp": LONG,
    "stateVersion": LONG,
    "file": TEXT,
    "error": TEXT,
}


def _parts(folders: Sequence[str], clauses: Clauses, part_size: int) -> list[str]:
    return [join(folder, "config", "topics.json") for folder in folders]


def _read(part: str, columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    rows = list(_rows(part))
    if rows:
        yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in columns} for row in rows], schema=TABLE.schema(columns))


def _rows(path: str) -> Iterator[dict[str, Any]]:
    try:
        table = read_topics(path)
    except StoredError as error:
        yield {"file": path, "error": str(error)}
        return
    for row in table.topics.values():
        yield {
            "topic": row.name,
            "readQueueNums": row.read,
            "writeQueueNums": row.write,
            "perm": row.perm,
            "order": row.order,
            "topicSysFlag": row.sys_flag,
            "topicFilterType": row.filter_type,
            "attributes": list(row.attributes.items()),
            "counter": table.counter,
            "timestamp": table.timestamp,
            "stateVersion": table.state_version,
            "file": path,
        }


TABLE = StoreTable("rocketmq-topics", _COLUMNS, tuple(_COLUMNS), {}, _parts, _read)
