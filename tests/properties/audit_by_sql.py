"""The rules about stored records once more, as plain SQL: an opinion of their own beside the catalogue's.

`records` has a row for each record: what it says, what its names mean as text, and its consume queue entry. Written from the behaviour, not
from the catalogue.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from rocketproof_traces.stored.facts import BIT
from rocketproof_traces.stored.names import Names
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk

ENTRY = np.dtype([("entryOffset", ">i8"), ("entrySize", ">i4"), ("entryTags", ">i8")])
COLUMNS = (
    "physicalOffset", "size", "partsSize", "storedPhysicalOffset", "queueId", "queueOffset", "sysFlag", "bornTimestamp", "storeTimestamp",
    "storePort", "reconsumeTimes", "preparedTransactionOffset", "bodyLength", "bodyCRC", "computedCRC", "ignoredItems", "tagsHash",
    "delayLevel", "realQueueId", "properties",
)  # fmt: skip
DELAYS = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]


def load(root: Path) -> duckdb.DuckDBPyConnection:
    """The store's records and entries as tables `log` and `entries`, and views over them."""
    connection = duckdb.connect()
    parts = []
    for part in ranges(log_files([str(root)])):
        names = Names()
        for chunk in Walk(part, names):
            columns: dict[str, Any] = {name: chunk[name].copy() for name in ("kind", *COLUMNS)}
            real = chunk["realTopic"]
            texts = [*names.texts(), None]
            columns |= {
                name: pa.array([texts[n] for n in numbers], pa.string())
                for name, numbers in (("topic", chunk["topic"]), ("realTopic", real))
            }
            parts.append(pa.table(columns))
    connection.register("parts", pa.concat_tables(parts))
    connection.execute("create table log as select * from parts where kind <= 2")
    connection.execute("create table delays (level bigint, wait bigint)")
    connection.executemany("insert into delays values (?, ?)", [[level, 1000 * wait] for level, wait in enumerate(DELAYS, 1)])
    connection.register("read", _entries(root))
    connection.execute("create table entries as select * from read where entrySize > 0")
    connection.execute(
        "create view counted as select log.*, entryOffset, entrySize, entryTags from log "
        "left join entries on log.topic = entries.entryTopic and log.queueId = entries.entryQueue and log.queueOffset = entries.index "
        "where log.sysFlag & 12 in (0, 8)"
    )
    return connection


def _entries(root: Path) -> pa.Table:
    found = []
    for path in sorted((root / "consumequeue").glob("*/*/*")):
        data = np.fromfile(path, ENTRY)
        columns = {name: data[name].astype(np.int64) for name in ENTRY.names or ()}
        topic, queue, base = path.parts[-3], int(path.parts[-2]), int(path.name) // ENTRY.itemsize
        found.append(
            pa.table(
                {"entryTopic": [topic] * len(data), "entryQueue": [queue] * len(data), "index": np.arange(len(data)) + base, **columns}
            )
        )
    return pa.concat_tables(found)


SCHEDULE, HALF = "topic = 'SCHEDULE_TOPIC_XXXX'", "topic = 'RMQ_SYS_TRANS_HALF_TOPIC'"
DELAYED = f"{SCHEDULE} and delayLevel > 0"
QUERIES = {
    "INV-37.stored": "from log where storedPhysicalOffset != physicalOffset",
    "INV-40.stored": "from log where size != partsSize",
    "INV-40.limit": "from log where bodyLength > 4194304",
    "INV-41.stored": "from log where bodyCRC != computedCRC",
    "SEND-26.stored": "from log where ignoredItems != 0",
    "APP-08.sysFlag": "from log where sysFlag & ~2047 != 0",
    "APP-08.reconsumeTimes": "from log where reconsumeTimes < 0",
    "INV-43.stored": "from log where storePort not between 1 and 65535",
    "CL-01.born": "from log where bornTimestamp not between 0 and storeTimestamp + 60000",
    "CL-01.stored": "from log where storeTimestamp <= 0",
    "INV-42.stored": "from (select *, lag(storeTimestamp) over (order by physicalOffset) earlier from log) where storeTimestamp < earlier",
    "INV-34.sign": "from log where queueOffset < 0",
    "INV-34.stored": "from (select *, lag(queueOffset) over (partition by topic, queueId order by physicalOffset) earlier from counted) "
    "where queueOffset not in (0, earlier + 1)",
    "INV-34.again": "from (select *, lag(queueOffset) over (partition by topic, queueId order by physicalOffset) earlier from counted) "
    "where queueOffset = 0 and earlier >= 0",
    "INV-35.stored": "from log where sysFlag & 12 in (4, 12) and queueOffset != 0",
    "INV-36.stored": "from counted where entryOffset is null",
    "INV-44.offset": "from counted where entryOffset < physicalOffset",
    "INV-44.later": "from counted where entryOffset > physicalOffset",
    "INV-44.size": "from counted where entryOffset = physicalOffset and entrySize != size",
    "INV-44.tags": f"from counted where entryOffset = physicalOffset and entryTags != tagsHash and not ({DELAYED})",
    "REC-04.deliver": f"from counted join delays on level = least(delayLevel, 18) where {DELAYED} and entryOffset = physicalOffset "
    "and entryTags != storeTimestamp + wait and (entryTags < storeTimestamp or (entryTags - storeTimestamp) % 1000 != 0)",
    "REC-04.level": f"from counted join delays on level = least(delayLevel, 18) where {DELAYED} and entryOffset = physicalOffset "
    "and entryTags != storeTimestamp + wait and entryTags >= storeTimestamp and (entryTags - storeTimestamp) % 1000 = 0",
    "INV-46.stored": f"from log where {SCHEDULE} and delayLevel <= 0",
    "INV-45.queue": f"from log where {DELAYED} and queueId != delayLevel - 1",
    "INV-45.topic": f"from log where {DELAYED} and (realTopic is null or realQueueId < 0)",
    "INV-45.half": f"from log where {DELAYED} and realTopic = 'RMQ_SYS_TRANS_HALF_TOPIC'",
    "INV-57.stored": f"from log where properties & {BIT['WAIT']} != 0 and topic like 'topic-%' and realTopic is null "
    f"and properties & {BIT['RETRY_TOPIC']} = 0",
    "TRX-04.bits": f"from log where {HALF} and sysFlag & 12 != 0",
    "TRX-04.queue": f"from log where {HALF} and queueId != 0",
    "TRX-04.topic": f"from log where {HALF} and (realTopic is null or realQueueId < 0)",
    "TRX-05.stored": f"from log where not ({HALF}) and sysFlag & 12 in (4, 12)",
    "TRX-06.other": "from log where sysFlag & 12 in (0, 4) and preparedTransactionOffset != 0",
    "TRX-06.commit": "from log where sysFlag & 12 = 8 and not (preparedTransactionOffset between 1 and physicalOffset - 1 "
    "or preparedTransactionOffset = 0 and realTopic is not null and realQueueId >= 0)",
}  # fmt: skip


def offsets(connection: duckdb.DuckDBPyConnection) -> dict[str, list[int]]:
    """The physical offsets that break each rule."""
    return {
        id_: [row[0] for row in connection.execute(f"select physicalOffset {query} order by 1").fetchall()]
        for id_, query in QUERIES.items()
    }
