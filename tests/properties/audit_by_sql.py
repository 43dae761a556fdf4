"""The rules about stored rows once more, as SQL over the columns of their facts: written from the behaviour, not from the catalogue.

`load` makes these columns of a store's own files, which are read here once more where that is a few lines of struct.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from damaged_stores import BLANK, MAGIC

from rocketproof_traces.audit.rules import KINDS
from rocketproof_traces.stored.kinds import BIT, RUN_ON
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk

GIVEN = {
    "max_message_size": 4 * 1024 * 1024, "max_delay_level": 18, "clock_skew": 60_000, "known_flags": 2047, "limits_record": True,
    "stores_parsed": True, "stores_wait": False, "half_messages": True, "check_names": True, "refuses_inner": False, "topic_limit": 127,
    "plain_halves": True, "plain_delays": False, "early_batches": False, "before_49": True, "below_zero": True,
}  # fmt: skip
COUNTED = "sysFlag & 12 in (0, 8)"
DELAY = "topicClass = 'schedule' and delayLevel > 0"
UNSET = "entryTags < storeTimestamp or (entryTags - storeTimestamp) % 1000 <> 0"
OWN = f"{COUNTED} and entryThere and entryOffset = physicalOffset"
NUMBER = "( 1 + greatest( innerNumber - 1, 0 ) * ( $refuses_inner and sysFlag // 128 % 2 = 1 )::int )"
REAL_HALF = "$half_messages and topicClass = 'half' and (not $plain_halves or realClass not in ('none', 'half'))"
SQL = {
    "record": {
        "INV-37.stored": "storedPhysicalOffset <> physicalOffset",
        "INV-40.stored": "size <> partsSize",
        "INV-40.limit": "case when $limits_record then size else bodyLength end > $max_message_size",
        "INV-41.stored": "bodyCRC <> computedCRC",
        "INV-41.record": "recordCRC >= 0 and recordCRC <> computedRecordCRC",
        "STO-01.topic": "topicLength not between ( $check_names )::int and $topic_limit",
        "APP-05.stored": "propertiesLength not between 0 and 32767",
        "SEND-26.stored": "ignoredItems <> 0",
        "APP-08.sysFlag": "sysFlag & ~$known_flags <> 0",
        "APP-08.reconsumeTimes": "reconsumeTimes < 0",
        "INV-43.stored": "storePort not between 1 and 65535",
        "CL-01.born": "bornTimestamp not between 0 and storeTimestamp + $clock_skew",
        "CL-01.stored": "storeTimestamp < 1",
        "INV-34.sign": "queueOffset < 0",
        "INV-35.stored": "sysFlag & 12 in (4, 12) and queueOffset <> 0",
        "INV-36.stored": f"{COUNTED} and entryKnown and not entryThere",
        "SEND-26.text": "odd & 262144 <> 0",
        "APP-08.compressed": "falselyCompressed",
        "INV-48.ordinary": "topicClass = 'ordinary' and retryClass = 'none' and reconsumeTimes > 0",
        "INV-43.born": "bornPort not between 1 and 65535",
        "REC-05.topic": "topicClass in ('ordinary', 'own') and realClass <> 'none' and realQueueId >= 0 "
        "and not (realSame and realQueueId = queueId)",
        "REC-05.queue": "topicClass in ('schedule', 'half') and realQueues > 0 and realQueueId >= realQueues",
        "INV-50.form": "not originRead",
        "INV-50.place": "originHere and not originKnown",
        "INV-44.offset": f"{COUNTED} and entryThere and entryOffset < physicalOffset",
        "INV-44.later": f"{COUNTED} and entryThere and entryOffset > physicalOffset",
        "INV-44.size": f"{OWN} and entrySize <> size",
        # Tags that are no text have no known hash, older brokers read a part of those that run on, and a number far below zero is an
        # address in an extension's file.
        "INV-44.tags": f"{OWN} and not ({DELAY}) and odd & {BIT['TAGS']} = 0 and entryTags > -2147483649 and entryTags <> tagsHash "
        f"and (odd & {RUN_ON} = 0 or not $before_49)",
        "REC-04.deliver": f"{OWN} and {DELAY} and entryTags <> storeTimestamp + levelDelay and ({UNSET})",
        "REC-04.level": f"{OWN} and {DELAY} and entryTags <> storeTimestamp + levelDelay and not ({UNSET})",
        "INV-46.stored": "topicClass = 'schedule' and not delayLevel > 0",
        "INV-45.queue": f"{DELAY} and {COUNTED} and queueId <> delayLevel - 1 "
        "and not ($plain_delays and realClass = 'schedule' and realQueueId = queueId)",
        "INV-45.level": f"{DELAY} and delayLevel > $max_delay_level",
        "INV-45.topic": f"{DELAY} and {COUNTED} and ((realClass = 'none' and $check_names) or (realQueueId < 0 and not $below_zero))",
        "INV-45.half": f"{DELAY} and realClass = 'half'",
        "INV-45.applied": f"delayLevel > 0 and {COUNTED} and topicClass in ('ordinary', 'own') and realClass = 'none'",
        "INV-47.stored": "topicClass = 'dead' and reconsumeTimes < if(maxReconsumeTimes < 0, retryMaxTimes, maxReconsumeTimes)",
        "INV-48.chain": "originKnown and reconsumeTimes <= originTimes",
        "INV-49.chain": "originKnown and not originSame",
        "INV-49.stored": "retryClass in ('retry', 'dead', 'schedule', 'half')",
        "INV-50.stored": f"retryClass <> 'none' and properties & {BIT['ORIGIN_MESSAGE_ID']} = 0 "
        "and not ($before_49 and topicClass = 'dead' and reconsumeTimes < 2)",
        "INV-57.stored": f"$stores_parsed and not $stores_wait and properties & {BIT['WAIT']} <> 0 and realClass = 'none' "
        "and retryClass = 'none' and topicClass in ('ordinary', 'own', 'template')",
        "TRX-04.bits": f"{REAL_HALF} and sysFlag & 12 <> 0",
        "TRX-04.queue": f"{REAL_HALF} and queueId <> 0",
        "TRX-04.topic": f"{REAL_HALF} and (realClass = 'none' or realQueueId < 0)",
        "TRX-05.stored": "$half_messages and topicClass <> 'half' and sysFlag & 12 in (4, 12)",
        "TRX-06.commit": "sysFlag & 12 = 8 and not (preparedTransactionOffset between 1 and physicalOffset - 1 "
        "or preparedTransactionOffset = 0 and realClass <> 'none' and realQueueId >= 0)",
        "TRX-06.other": "sysFlag & 12 in (0, 4) and preparedTransactionOffset <> 0",
        "TRX-07.operations": "topicClass = 'operations' and tagsHash <> 100",
    },
    "log": {"INV-42.stored": "next.storeTimestamp < storeTimestamp - 10000 * ( $early_batches )::int"},
    "line": {
        "INV-34.stored": f"next.queueOffset not in (0, queueOffset + {NUMBER} )",
        "INV-34.again": f"next.queueOffset = 0 and queueOffset + {NUMBER} <> 0",
    },
    "queue": {
        "INV-30.sign": "queueId < 0 and not $below_zero",
        "INV-30.drawn": "queueId < 0 and $below_zero",
        "INV-30.stored": "known and queueId >= greatest(readQueueNums, writeQueueNums)",
        "INV-31.stored": "known and queueId >= writeQueueNums",
        "INV-32.stored": "known and queueId >= readQueueNums",
        "INV-34.first": "records > 0 and case when logStart = 0 then firstQueueOffset <> 0 "
        "else entriesKnown and entries > 0 and firstQueueOffset <> firstEntry end",
        "INV-27.stored": "tableThere and not known and topicClass not in ('schedule', 'half', 'operations')",
        "INV-53.stored": "known and perm & 2 = 0",
        "HAZ-31.stored": "known and perm & 4 = 0",
        "CHK-02.stored": "$check_names and not legalName",
    },
    "entry": {
        "INV-44.record": "not recordThere and not behindEnd",
        "INV-44.back": "recordThere and sameTopic and recordQueueId = queueId and recordQueueOffset <> index",
        "INV-44.queue": "recordThere and not (sameTopic and recordQueueId = queueId)",
        "REC-04.counted": "recordThere and sysFlag & 12 in (4, 12)",
    },
    "ending": {"INV-44.ended": "furthest > \"end\""},
    "ledger": {
        "INV-37.ledger": "position <> place",
        "INV-40.ledger": "size <> bodySize + 48",
        "INV-40.body": "recordSize <> 0 and bodySize <> recordSize",
        "INV-41.ledger": "bodyCRC <> computedCRC",
        "APP-08.ledger": "recordSize <> 0 and kind <> 1",
        "INV-36.ledger": "indexKnown and not indexThere",
        "INV-44.ledger": "indexThere and indexPosition <> place",
        "INV-44.ledgerSize": "indexThere and indexSize <> size",
        "INV-44.ledgerTerm": "indexThere and (indexNumber <> index or indexTerm <> term)",
    },
    "ledgers": {"INV-34.ledger": "next.index <> index + 1", "INV-42.ledger": "next.term < term"},
    "file": {
        "INV-38.stored": "size - \"end\" <> 0 and size - \"end\" < 8",
        "INV-06.stored": "\"end\" = 0 and blank > 0 and not ledger",
        "INV-06.ledger": "\"end\" = 0 and blank > 0 and ledger",
    },
    "files": {"INV-37.files": "next.base <> base + size", "PRE-01.size": "next.size <> size"},
    "topic": {
        "INV-10.stored": "topicClass not in ('template', 'own') and perm & 1 = 1",
        "INV-16.stored": "topicClass = 'template' and perm & 1 = 0",
        "INV-13.stored": "least(readQueueNums, writeQueueNums) < 1",
        "INV-12.stored": "readQueueNums <> writeQueueNums",
        "PERM-01.stored": "perm not between 0 and 15",
        "HAZ-05.stored": "perm & 6 = 0 and topicClass <> 'own'",
        "TCM-01.sysFlag": "topicSysFlag not between 0 and 3",
        "TCM-01.name": "not sameName",
        "REC-05.levels": "topicClass = 'schedule' and greatest(readQueueNums, writeQueueNums) < $max_delay_level",
    },
    "table": {
        "INV-28.stored": "records > 0 and not there",
        "INV-17.stored": "there and counter < created",
        "TCM-02.stored": "there and timestamp <= 0",
    },
    "damage": {
        "INV-37.contiguous": "reason in ('magic', 'size')",
        "INV-40.lengths": "reason = 'lengths'",
        "INV-39.stored": "reason = 'truncated'",
        "INV-37.hole": "reason = 'hole'",
        "INV-37.blank": "reason = 'blank'",
        "INV-37.ended": "reason = 'zeros'",
    },
    "outcome": {
        "TRX-06.half": "not halfThere",
        "TRX-06.topic": "halfThere and not sameTopic",
        "TRX-06.queue": "halfThere and sameTopic and not sameQueue",
        "TRX-06.message": "halfThere and committed and not sameMessage",
    },
    "operation": {
        "TRX-07.body": "not readable",
        "TRX-07.half": "halfKnown and not halfThere",
        "TRX-07.later": "halfThere and place >= physicalOffset",
    },
    "commit": {"TRX-07.commit": "operationsKnown and not named"},
    "host": {"INV-43.hosts": "others >= 2 and records < 2"},
    "config": {"PER-03.stored": "not backup and not readable", "PER-03.backup": "backup and not readable"},
    "level": {
        "REC-05.level": "level not between 1 and $max_delay_level",
        "REC-05.sign": "\"offset\" < 0",
        "REC-05.offset": "hasStopped and entriesKnown and \"offset\" > entries",
        "REC-05.ahead": "not hasStopped and entriesKnown and \"offset\" > entries",
        "REC-05.early": "lastDue > lastStored",
        "REC-05.late": "hasStopped and nextDue > 0 and lastStored - nextDue > 60000",
    },
    "progress": {
        "CLI-07.named": "not named or queueId < 0 or \"offset\" < 0",
        "CLI-07.topic": "named and not topicKnown",
        "CLI-07.queue": "topicKnown and queueId >= queues",
        "CLI-07.offset": "entriesKnown and \"offset\" > entries",
    },
    "checkpoint": {
        "REC-02.ahead": "asked and \"time\" > lastStored",
        "REC-02.stored": "asked and \"time\" between firstStored and lastStored and not stored",
        "REC-02.sign": "\"time\" < 0",
    },
    "index": {
        "REC-04.indexSize": "not whole",
        "REC-04.indexOwn": "not own",
        "REC-04.indexCount": "count <> filled or count > room",
        "REC-04.indexUsed": "usedSlots not in (slotsFilled, count - 1)",
        "REC-04.indexSlots": "slotsFilled <> slotsNamed",
        "REC-04.indexBegin": "beginOffset <> firstOffset",
        "REC-04.indexEnd": "endOffset <> lastOffset",
        "REC-04.indexFirst": "timesKnown and beginTimestamp <> firstStored",
        "REC-04.indexLast": "timesKnown and endTimestamp <> lastStored",
    },
    "key": {
        "REC-04.keyOrder": "\"offset\" > offsetBehind",
        "REC-04.keyChain": "previous <> expectedPrevious",
        "REC-04.keySlot": "newest and slot <> number",
        "REC-04.keyRecord": "recordKnown and not recordThere",
        "REC-04.key": "recordThere and not hasKey",
        "REC-04.keyTime": "recordThere and seconds <> expectedSeconds",
    },
}  # fmt: skip


def broken(connection: duckdb.DuckDBPyConnection, table: str, over: str, id_: str, given: Mapping[str, Any], wanted: str) -> list[Any]:
    """Return the `wanted` columns of all rows in a table that break a rule. Rules over two consecutive rows name them `this` and `next`."""
    predicate, step = SQL[over][id_], KINDS[over][1]
    for name, value in given.items():
        predicate = predicate.replace(f"${name}", str(value).lower())
    rows = f'{table} this join {table} next on next."row" = this."row" + 1' if step else f"{table} this"
    return connection.execute(f"select {wanted} from {rows} where {_of_this(predicate) if step else predicate} order by all").fetchall()


def _of_this(predicate: str) -> str:
    """Prefix columns without `next.` with `this.`."""
    words = predicate.split(" ")
    others = ("in", "not", "and", "or", "greatest(", "true", "false")
    return " ".join(w if not w[0].isalpha() or w in others or w.startswith("next.") else f"this.{w}" for w in words)


ENTRY = np.dtype([("entryOffset", ">i8"), ("entrySize", ">i4"), ("entryTags", ">i8")])
COLUMNS = (
    "physicalOffset", "size", "partsSize", "storedPhysicalOffset", "queueId", "queueOffset", "sysFlag", "bornTimestamp", "bornPort",
    "storeTimestamp",
    "storePort", "reconsumeTimes", "preparedTransactionOffset", "bodyLength", "bodyCRC", "computedCRC", "topicLength", "propertiesLength",
    "properties", "odd", "ignoredItems", "tagsHash", "delayLevel", "realQueueId", "maxReconsumeTimes", "innerNumber", "recordCRC",
    "computedRecordCRC",
)  # fmt: skip
DELAYS = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
VIEWS = """
create macro class_of(topic) as case when topic is null then 'none' when topic = 'SCHEDULE_TOPIC_XXXX' then 'schedule'
    when topic = 'RMQ_SYS_TRANS_HALF_TOPIC' then 'half' when topic = 'RMQ_SYS_TRANS_OP_HALF_TOPIC' then 'operations'
    when topic = 'TBW102' then 'template' when topic in ('DefaultCluster', 'broker-a') then 'own'
    when topic like '\\%RETRY\\%%' escape '\' then 'retry' when topic like '\\%DLQ\\%%' escape '\' then 'dead' else 'ordinary' end;
create view record as select parts.*, coalesce(realTopic = topic, false) realSame,
    coalesce((select greatest(readQueueNums, writeQueueNums) from topics where key = realTopic), 0) realQueues,
    false falselyCompressed, true originRead, false originHere, false originKnown,
    class_of(topic) topicClass, class_of(realTopic) realClass, class_of(retryTopic) retryClass,
    coalesce(wait, 0) levelDelay, 16 retryMaxTimes, true entryKnown, entryOffset is not null entryThere, entryOffset, entrySize, entryTags,
    row_number() over (order by physicalOffset) "row"
    from parts left join delays on level = least(delayLevel, 18)
    left join entries on topic = entryTopic and queueId = entryQueue and queueOffset = index;
create view line as select * replace (row_number() over (partition by topic, queueId order by physicalOffset)
    + (dense_rank() over (order by topic, queueId) << 32) as "row") from record where sysFlag & 12 in (0, 8);
create view reached as select entries.*, entryTopic topic, entryQueue queueId, place is not null recordThere, said = entryTopic sameTopic,
    saidQueue recordQueueId, saidIndex recordQueueOffset, flags sysFlag,
    place is null and entryOffset >= (select max(physicalOffset + size) from parts) behind
    from entries left join heads on entryOffset = place;
create view following as select max(physicalOffset + size) place from parts union all select max(base + size) from file;
create view lost as select count(*) > 1 and exists (from following where min(entryOffset) between place and place + 4194304) lostEnd
    from reached where behind;
create view entry as select reached.*, behind and lostEnd behindEnd from reached cross join lost;
create view topic as select *, class_of(key) topicClass, name = key sameName from topics;
create view queue as select record.topic, queueId, any_value(record.topicClass) topicClass, min(physicalOffset) begun, true tableThere,
    count(key) > 0 known, any_value(readQueueNums) readQueueNums, any_value(writeQueueNums) writeQueueNums, any_value(perm) perm,
    regexp_full_match(record.topic, '[%|a-zA-Z0-9_-]+') legalName, count(*) filter (where sysFlag & 12 in (0, 8)) records, 0 logStart,
    arg_min(queueOffset, physicalOffset) filter (where sysFlag & 12 in (0, 8)) firstQueueOffset,
    true entriesKnown, 0 entries, 0 firstEntry -- of a log that begins later
    from record left join topics on record.topic = key where record.topic is not null group by record.topic, queueId;
"""


def load(root: Path) -> duckdb.DuckDBPyConnection:
    """Load the rows of a store into tables named by kind: record, line, entry, queue, file and topic. Tables of the log have a column
    `row`.
    """
    connection = duckdb.connect()
    connection.register("parts", _records(root))
    connection.execute("create table delays (level bigint, wait bigint)")
    connection.executemany("insert into delays values (?, ?)", [[level, 1000 * wait] for level, wait in enumerate(DELAYS, 1)])
    connection.register("read", _entries(root))
    connection.execute("create table entries as select * from read where entrySize > 0")
    table = json.loads((root / "config" / "topics.json").read_text())["topicConfigTable"]
    fields = ("topicName", "readQueueNums", "writeQueueNums", "perm", "topicSysFlag")
    columns = {"key": list(table), **{name: [row[name] for row in table.values()] for name in fields}}
    connection.register("topics", pa.table(columns).rename_columns(["key", "name", *fields[1:]]))
    logs = {int(path.name): path.read_bytes() for path in sorted((root / "commitlog").iterdir())}
    blank = [struct.unpack_from(">I", data, 4)[0] == BLANK for data in logs.values()]
    files = {"base": list(logs), "size": [len(data) for data in logs.values()], "row": range(len(logs)), "ledger": [False] * len(logs)}
    # A file that begins with a blank has no records.
    connection.register(
        "file", pa.table({**files, "end": [0 if is_blank else 1 for is_blank in blank], "blank": [int(is_blank) for is_blank in blank]})
    )
    pointed = [offset for (offset,) in connection.execute("select distinct entryOffset from entries").fetchall()]
    heads = [(offset, *found) for offset in pointed if (found := record_at(logs, offset)) is not None]
    names = ("place", "said", "saidQueue", "saidIndex", "flags")
    connection.register("heads", pa.table({name: [head[n] for head in heads] for n, name in enumerate(names)}))
    connection.execute(VIEWS)
    return connection


def _records(root: Path) -> pa.Table:
    parts = []
    for part in ranges(log_files([str(root)])):
        names = NameTable()
        for chunk in Walk(part, names):
            kept = chunk["kind"] <= 2
            columns: dict[str, Any] = {name: chunk[name][kept] for name in COLUMNS}
            texts = [*names.texts(), None]
            for name in ("topic", "realTopic", "retryTopic"):
                columns[name] = pa.array([texts[n] for n in chunk[name][kept]], pa.string())
            parts.append(pa.table(columns))
    return pa.concat_tables(parts)


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


def record_at(logs: dict[int, bytes], offset: int) -> tuple[str, int, int, int] | None:
    """Return topic, queue id, queue offset and flags of what looks like a record at a physical offset; None without one."""
    for name, data in logs.items():
        at = offset - name
        if 0 <= at <= len(data) - 91 and struct.unpack_from(">I", data, at + 4)[0] == MAGIC:
            queue, _, index, _, flags = struct.unpack_from(">iiqqi", data, at + 12)
            topic_at = at + 88 + max(0, struct.unpack_from(">i", data, at + 84)[0])
            length = data[topic_at] if topic_at < len(data) else 0
            return data[topic_at + 1 : topic_at + 1 + length].decode("latin1"), queue, index, flags
    return None
