"""The rules about stored rows once more, as SQL over a Parquet file of their columns: written from the behaviour, not from the catalogue.

Rows are random: sound ones in which a few columns have other values, most of them near a border. `audit_by_sql` does the same with what
a whole store's records say.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stored_rows import BASE, COMMITTED, DELAYED, HALF, PREPARED, SENT_BACK, Row

from rocketproof_model.columns import compile_columns
from rocketproof_model.language import Type
from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.rules import KINDS, chosen, instance
from rocketproof_traces.stored.facts import BIT, RUN_ON

ROWS = 4000
GIVEN = {
    "max_message_size": 4 * 1024 * 1024, "max_delay_level": 18, "clock_skew": 60_000, "known_flags": 2047, "limits_record": True,
    "stores_parsed": True, "stores_wait": False, "half_messages": True, "check_names": True, "topic_limit": 127,
    "before_49": True,
}  # fmt: skip
OTHERS: list[dict[str, Any]] = [
    {"max_message_size": 160, "limits_record": False, "clock_skew": 0, "known_flags": 15, "half_messages": False, "check_names": False},
    {"max_message_size": 140, "stores_wait": True, "max_delay_level": 2, "topic_limit": 255, "before_49": False},
    {"stores_parsed": False, "max_delay_level": 4, "topic_limit": 9},
]

COUNTED = "sysFlag & 12 in (0, 8)"
DELAY = "topicClass = 'schedule' and delayLevel > 0"
UNSET = "entryTags < storeTimestamp or (entryTags - storeTimestamp) % 1000 <> 0"
OWN = f"{COUNTED} and entryThere and entryOffset = physicalOffset"
NUMBER = "( 1 + greatest( innerNumber - 1, 0 ) * ( sysFlag // 128 % 2 = 1 )::int )"
SQL = {
    "record": {
        "INV-37.stored": "storedPhysicalOffset <> physicalOffset",
        "INV-40.stored": "size <> partsSize",
        "INV-40.limit": "case when $limits_record then size else bodyLength end > $max_message_size",
        "INV-41.stored": "bodyCRC <> computedCRC",
        "INV-41.record": "recordCRC >= 0 and recordCRC <> computedRecordCRC",
        "STO-01.topic": "topicLength not between 1 and $topic_limit",
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
        "INV-45.queue": f"{DELAY} and queueId <> delayLevel - 1",
        "INV-45.level": f"{DELAY} and delayLevel > $max_delay_level",
        "INV-45.topic": f"{DELAY} and (realClass = 'none' or realQueueId < 0)",
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
        "TRX-04.bits": "$half_messages and topicClass = 'half' and sysFlag & 12 <> 0",
        "TRX-04.queue": "$half_messages and topicClass = 'half' and queueId <> 0",
        "TRX-04.topic": "$half_messages and topicClass = 'half' and (realClass = 'none' or realQueueId < 0)",
        "TRX-05.stored": "$half_messages and topicClass <> 'half' and sysFlag & 12 in (4, 12)",
        "TRX-06.commit": "sysFlag & 12 = 8 and not (preparedTransactionOffset between 1 and physicalOffset - 1 "
        "or preparedTransactionOffset = 0 and realClass <> 'none' and realQueueId >= 0)",
        "TRX-06.other": "sysFlag & 12 in (0, 4) and preparedTransactionOffset <> 0",
        "TRX-07.operations": "topicClass = 'operations' and tagsHash <> 100",
    },
    "log": {"INV-42.stored": "storeTimestamp > next.storeTimestamp"},
    "line": {
        "INV-34.stored": f"next.queueOffset not in (0, queueOffset + {NUMBER} )",
        "INV-34.again": f"next.queueOffset = 0 and queueOffset + {NUMBER} <> 0",
    },
    "queue": {
        "INV-30.sign": "queueId < 0",
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
        "INV-44.record": "not recordThere",
        "INV-44.back": "recordThere and sameTopic and recordQueueId = queueId and recordQueueOffset <> index",
        "INV-44.queue": "recordThere and not (sameTopic and recordQueueId = queueId)",
        "REC-04.counted": "recordThere and sysFlag & 12 in (4, 12)",
    },
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
}  # fmt: skip
SOUND: dict[str, list[Row]] = {"record": [{}, {}, DELAYED, DELAYED, HALF, PREPARED, COMMITTED, COMMITTED, SENT_BACK]}


def some_value(chance: random.Random, type_: Type, row: Row, old: Any) -> Any:
    """A readable value: of a number one near another number of the row, near a power of two, small, or a border of its type."""
    if type_.sort != "int":
        return type_.decode(chance.randint(type_.lo, type_.hi))
    numbers = [value for value in row.values() if isinstance(value, int) and not isinstance(value, bool)]
    near = chance.choice((old, old, 0, 0, 8, 16, *numbers, type_.lo, type_.hi, 1 << chance.randrange(40)))
    return min(max(near + chance.choice((-1, 0, 0, 1, 2)), type_.lo), type_.hi)


def some_rows(chance: random.Random, kind: str, types: dict[str, Type]) -> list[Row]:
    rows = []
    for _ in range(ROWS):
        row = {**BASE[kind], **chance.choice(SOUND.get(kind, [{}]))}
        for name in chance.sample(sorted(types), min(len(types), chance.choice((0, 1, 1, 2, 3, 6)))):
            row[name] = some_value(chance, types[name], row, row[name])
        rows.append(row)
    return rows


@pytest.mark.parametrize("given", [{}, *OTHERS], ids=["defaults", "one", "two", "three"])
@pytest.mark.parametrize("over", SQL)
def test_sql_and_the_audit_find_the_same_rows(over: str, given: dict[str, Any], tmp_path: Path) -> None:
    kind, step = KINDS[over]
    made = instance(kind, given)
    types = {variable.name: variable.type for variable in made.model.variables}
    rows = some_rows(random.Random(f"{over} {given}"), kind, types)
    codes = {name: np.array([type_.encode(row[name]) for row in rows], np.int64) for name, type_ in types.items()}
    rules = chosen(stored_rules(), over)
    program = compile_columns(made, {rule.id: rule.claim.formula for rule in rules})
    parts = [{name: column[part] for name, column in codes.items()} for part in (slice(None, -1), slice(1, None))]
    broken = program.broken(*parts) if step else program.broken(codes)
    assert not broken.fault.any()
    ours = {rule.id: broken.row[broken.term == n].tolist() for n, rule in enumerate(rules)}
    table = pa.table({name: [row[name] for row in rows] for name in types} | {"row": range(ROWS)})
    pq.write_table(table, tmp_path / "rows.parquet")
    theirs = {id_: by_sql(tmp_path / "rows.parquet", step, predicate, {**GIVEN, **given}) for id_, predicate in SQL[over].items()}
    assert theirs == ours
    if not given:
        assert all(0 < len(found) < ROWS - 1 for found in ours.values()), "some rule is never, or always, broken"


def by_sql(path: Path, step: bool, predicate: str, given: dict[str, Any]) -> list[int]:
    """The numbers of the rows of which the predicate is true; `next` is the row after it."""
    for name, value in given.items():
        predicate = predicate.replace(f"${name}", str(value).lower())
    rows = f"read_parquet('{path}')"
    table = f"{rows} this join {rows} next on next.row = this.row + 1" if step else f"{rows} this"
    text = f"select this.row from {table} where {_of_this(predicate) if step else predicate} order by 1"
    return [row for (row,) in duckdb.sql(text).fetchall()]


def _of_this(predicate: str) -> str:
    """Columns that are not said to be of the next row are of this one."""
    words = predicate.split(" ")
    others = ("in", "not", "and", "or", "greatest(")
    return " ".join(w if not w[0].isalpha() or w in others or w.startswith("next.") else f"this.{w}" for w in words)


def test_the_settings_are_the_defaults_of_a_profile() -> None:
    assert settings("P49").items() <= GIVEN.items()
