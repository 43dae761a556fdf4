"""Audit rules compared with SQL on random rows: valid ones with a few changed columns, mostly near a limit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audit_by_sql import GIVEN, SQL, broken
from stored_rows import BASE, COMMITTED, DELAYED, HALF, PREPARED, SENT_BACK, Row

from rocketproof_model.columns import compile_columns
from rocketproof_model.language import Type
from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.rules import KINDS, chosen, instance

ROWS = 4000
OTHERS: list[dict[str, Any]] = [
    {
        "max_message_size": 160,
        "limits_record": False,
        "clock_skew": 0,
        "known_flags": 15,
        "half_messages": False,
        "check_names": False,
        "refuses_inner": True,
    },
    {
        "max_message_size": 140,
        "stores_wait": True,
        "max_delay_level": 2,
        "topic_limit": 255,
        "plain_halves": False,
        "plain_delays": True,
        "before_49": False,
        "below_zero": False,
    },
    {"stores_parsed": False, "max_delay_level": 4, "topic_limit": 9, "early_batches": True},
]

SOUND: dict[str, list[Row]] = {
    "record": [{}, {}, {"topicClass": "operations"}, DELAYED, {**DELAYED, "realQueues": 1}, HALF, PREPARED, COMMITTED, COMMITTED, SENT_BACK]
}


def some_value(chance: random.Random, type_: Type, row: Row, old: Any) -> Any:
    """Return a plausible value: for a number, one near another number of the row or a power of two, a small one, or a limit of its type."""
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


def both_ways(over: str, given: dict[str, Any], folder: Path) -> dict[str, list[int]]:
    """Return the numbers of the rows that break each rule, after checking that SQL and the audit agree."""
    kind, step = KINDS[over]
    made = instance(kind, given)
    types = {variable.name: variable.type for variable in made.model.variables}
    rows = some_rows(random.Random(f"{over} {given}"), kind, types)
    codes = {name: np.array([type_.encode(row[name]) for row in rows], np.int64) for name, type_ in types.items()}
    rules = chosen(stored_rules(), over)
    program = compile_columns(made, {rule.id: rule.claim.formula for rule in rules})
    parts = [{name: column[part] for name, column in codes.items()} for part in (slice(None, -1), slice(1, None))]
    said = program.broken(*parts) if step else program.broken(codes)
    assert not said.fault.any()
    ours = {rule.id: said.row[said.term == n].tolist() for n, rule in enumerate(rules)}
    table = pa.table({name: [row[name] for row in rows] for name in types} | {"row": range(ROWS)})
    pq.write_table(table, folder / "rows.parquet")
    read = f"read_parquet('{folder / 'rows.parquet'}')"
    connection, values = duckdb.connect(), {**GIVEN, **given}
    theirs = {id_: [row for (row,) in broken(connection, read, over, id_, values, "this.row")] for id_ in SQL[over]}
    assert theirs == ours, given
    return ours


@pytest.mark.slow
@pytest.mark.parametrize("over", SQL)
def test_sql_and_audit_find_same_rows(over: str, tmp_path: Path) -> None:
    """Under some settings a rule demands nothing: each rule must be broken by some rows under at least one setting."""
    found = [both_ways(over, given, tmp_path) for given in ({}, *OTHERS)]
    unseen = [id_ for id_ in SQL[over] if not any(0 < len(rows[id_]) < ROWS - 1 for rows in found)]
    assert not unseen, f"never, or always, broken: {unseen}"


def test_settings_are_defaults_of_profile() -> None:
    assert settings("P49").items() <= GIVEN.items()
